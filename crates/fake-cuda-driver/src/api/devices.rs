//! Devices, their contexts, and the names of errors.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::{call, call_in, give};
use crate::answer::{Answer, code};
use crate::context::Context;
use crate::state::{current, set_current};
use crate::{CAPABILITIES, MOST_SHARED};

fn device(ordinal: c_int) -> Answer<usize> {
    usize::try_from(ordinal).ok().filter(|&ordinal| ordinal < CAPABILITIES.len()).ok_or(code::INVALID_DEVICE)
}

/// The result codes that have a name in this driver.
const NAMES: [(u32, &CStr); 9] = [
    (1, c"CUDA_ERROR_INVALID_VALUE"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED"),
    (201, c"CUDA_ERROR_INVALID_CONTEXT"),
    (218, c"CUDA_ERROR_INVALID_PTX"),
    (222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (400, c"CUDA_ERROR_INVALID_HANDLE"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED"),
];

functions! {
    call cuInit(flags: c_uint) |_state| { if flags == 0 { Ok(()) } else { Err(code::INVALID_VALUE) } }

    call cuGetErrorName(number: u32, name: *mut *const c_char) |_state| {
        let known = NAMES.iter().find(|(code, _)| *code == number);
        give(name, known.map_or(std::ptr::null(), |(_, text)| text.as_ptr()))?;
        known.map(drop).ok_or(code::INVALID_VALUE)
    }

    call cuDeviceGetCount(count: *mut c_int) |_state| { give(count, CAPABILITIES.len() as c_int) }

    call cuDeviceGet(found: *mut c_int, ordinal: c_int) |_state| { give(found, device(ordinal)? as c_int) }

    call cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, number: c_int) |_state| {
        let (major, minor) = CAPABILITIES[device(number)?].0;
        match attribute {
            // The count of multiprocessors.
            16 => give(value, 2),
            75 => give(value, major),
            76 => give(value, minor),
            // The most shared memory of a block whose kernel has requested it.
            97 => give(value, MOST_SHARED as c_int),
            // Whether the device supports memory pools.
            115 => give(value, 1),
            _ => Err(code::INVALID_VALUE),
        }
    }

    call cuDeviceGetName(name: *mut c_char, length: c_int, number: c_int) |_state| {
        let ordinal = device(number)?;
        let text = format!("fake device {ordinal}\0");
        if text.len() > length as usize {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        Ok(())
    }

    call cuDevicePrimaryCtxRetain(context: *mut usize, number: c_int) |state| {
        let ordinal = device(number)?;
        let handle = state.handle();
        let device = &mut state.devices[ordinal];
        device.retained += 1;
        let primary = device.primary.get_or_insert_with(|| Context::new(handle, ordinal));
        give(context, primary.handle)
    }

    call cuDevicePrimaryCtxRelease_v2(number: c_int) |state| {
        let device = &mut state.devices[device(number)?];
        if device.retained == 0 {
            return state.violation("cuDevicePrimaryCtxRelease", "it was not retained", code::INVALID_CONTEXT);
        }
        device.retained -= 1;
        if device.retained == 0 {
            device.primary = None;
        }
        Ok(())
    }

    call cuCtxGetCurrent(context: *mut usize) |_state| { give(context, current()) }

    call cuCtxSetCurrent(context: usize) |_state| {
        set_current(context);
        Ok(())
    }

    call_in cuCtxSynchronize() |state| {
        let streams: Vec<usize> = state.context()?.streams.keys().copied().collect();
        streams.into_iter().try_for_each(|stream| state.finish(stream))
    }
}
