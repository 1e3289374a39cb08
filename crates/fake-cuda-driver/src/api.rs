//! The functions of the driver, under their names.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::slice;

use crate::answer::{Answer, code};
use crate::context::Context;
use crate::state::{State, current, set_current, state};
use crate::stream::{Event, Stream, Work};
use crate::{CAPABILITIES, TOTAL_MEMORY};

/// Does a call: counts it, and answers the fault planted for it or its own result.
fn call(name: &'static str, work: impl FnOnce(&mut State) -> Answer) -> u32 {
    let mut state = state();
    match state.count(name).and_then(|()| work(&mut state)) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// Does a call like [`call`], in a context, which must be current.
fn call_in(name: &'static str, work: impl FnOnce(&mut State) -> Answer) -> u32 {
    call(name, |state| {
        state.working(name)?;
        work(state)
    })
}

/// Defines the functions, each with what makes its call: `call`, or `call_in` if a context must be
/// current.
macro_rules! functions {
    ($($how:ident $name:ident($($argument:ident: $type:ty),* $(,)?) |$state:ident| $body:block)*) => {
        $(
            /// Calls the driver's function of this name.
            ///
            /// # Safety
            /// As its documentation by NVIDIA says.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the driver's names")]
            #[allow(clippy::too_many_arguments, reason = "the driver's functions have them")]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
                $how(stringify!($name), |$state| $body)
            }
        )*
    };
}

/// Writes the result of a call.
fn give<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller of the driver gave the pointer for this.
    unsafe { to.write(value) };
    Ok(())
}

fn device(ordinal: c_int) -> Answer<usize> {
    usize::try_from(ordinal).ok().filter(|&ordinal| ordinal < CAPABILITIES.len()).ok_or(code::INVALID_DEVICE)
}

/// The numbers of errors that this driver has a name for.
/// The shared memory of a block in bytes, and the most if its kernel asks for it.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 99 << 10;

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
            // Multiprocessors.
            16 => give(value, 2),
            75 => give(value, major),
            76 => give(value, minor),
            // The most shared memory of a block whose kernel asks for it.
            97 => give(value, MOST_SHARED as c_int),
            // Memory pools.
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

    call_in cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: usize) |state| {
        let context = state.context()?;
        match (attribute, context.holds(address, 1), context.locks(address, 1)) {
            // The context.
            (1, true, _) => give(data.cast(), context.handle),
            // The kind of memory: the host's, or the device's. Ordinary memory has none.
            (2, _, true) => give(data.cast(), 1 as c_uint),
            (2, true, _) => give(data.cast(), 2 as c_uint),
            _ => Err(code::INVALID_VALUE),
        }
    }

    call_in cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |state| {
        give(free, state.context()?.free())?;
        give(total, TOTAL_MEMORY)
    }

    call_in cuMemAlloc_v2(address: *mut usize, bytes: usize) |state| {
        give(address, state.context()?.allocate(bytes, false)?)
    }

    call_in cuMemFree_v2(address: usize) |state| { free(state, "cuMemFree", address, false) }

    call_in cuMemAllocAsync(address: *mut usize, bytes: usize, _stream: usize) |state| {
        give(address, state.context()?.allocate(bytes, false)?)
    }

    call_in cuMemFreeAsync(address: usize, stream: usize) |state| {
        state.finish(stream)?;
        free(state, "cuMemFreeAsync", address, false)
    }

    call_in cuMemAllocHost_v2(pointer: *mut usize, bytes: usize) |state| {
        give(pointer, state.context()?.allocate(bytes, true)?)
    }

    call_in cuMemHostGetDevicePointer_v2(address: *mut usize, pointer: usize, _flags: c_uint) |state| {
        if !state.context()?.pinned.contains_key(&pointer) {
            return state.violation("cuMemHostGetDevicePointer", "no such memory", code::INVALID_VALUE);
        }
        give(address, pointer)
    }

    call_in cuMemFreeHost(pointer: usize) |state| { free(state, "cuMemFreeHost", pointer, true) }

    call_in cuMemcpyHtoDAsync_v2(to: usize, from: *const u8, bytes: usize, stream: usize) |state| {
        inside(state, "cuMemcpyHtoD", to, bytes)?;
        if state.context()?.locks(from.addr(), bytes) {
            // It is read when the stream comes to it.
            let from = from.expose_provenance();
            return state.queue("cuMemcpyHtoD", stream, Work::Copy { from, to, bytes });
        }
        // Memory that is not page-locked has been read when the driver returns.
        // SAFETY: the caller has that many bytes there.
        let from = if bytes == 0 { Vec::new() } else { unsafe { slice::from_raw_parts(from, bytes) }.to_vec() };
        state.queue("cuMemcpyHtoD", stream, Work::Upload { from, to })
    }

    call_in cuMemcpyDtoHAsync_v2(to: *mut u8, from: usize, bytes: usize, stream: usize) |state| {
        inside(state, "cuMemcpyDtoH", from, bytes)?;
        if state.context()?.locks(to.addr(), bytes) {
            // It is written when the stream comes to it.
            let to = to.expose_provenance();
            return state.queue("cuMemcpyDtoH", stream, Work::Copy { from, to, bytes });
        }
        // Memory that is not page-locked has been written when the driver returns.
        state.finish(stream)?;
        // SAFETY: an allocation has these bytes, and the caller's buffer as many.
        unsafe { to.copy_from_nonoverlapping(std::ptr::with_exposed_provenance(from), bytes) };
        Ok(())
    }

    call_in cuMemcpyDtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize) |state| {
        inside(state, "cuMemcpyDtoD", from, bytes)?;
        inside(state, "cuMemcpyDtoD", to, bytes)?;
        state.queue("cuMemcpyDtoD", stream, Work::Copy { from, to, bytes })
    }

    call_in cuMemsetD8Async(at: usize, byte: u8, bytes: usize, stream: usize) |state| {
        inside(state, "cuMemsetD8", at, bytes)?;
        state.queue("cuMemsetD8", stream, Work::Fill { at, byte, bytes })
    }

    call_in cuModuleLoadDataEx(
        module: *mut usize,
        image: *const c_char,
        options: c_uint,
        names: *const c_uint,
        values: *const *mut c_void,
    ) |state| {
        // SAFETY: the caller's image ends with a zero byte, and there are that many names and
        // values.
        let (ptx, names, values) = unsafe {
            let options = options as usize;
            (CStr::from_ptr(image), slice::from_raw_parts(names, options), slice::from_raw_parts(values, options))
        };
        let handle = state.handle();
        let loaded = state.context()?.load(handle, &ptx.to_string_lossy());
        if let Err((code, log)) = loaded {
            let option = |number| names.iter().position(|&name| name == number).map(|at| values[at]);
            // The log's buffer and its size.
            if let (Some(buffer), Some(bytes)) = (option(5), option(6)) {
                let bytes = (bytes as usize).saturating_sub(1).min(log.len());
                // SAFETY: the caller's buffer has that many bytes and one more.
                unsafe {
                    buffer.cast::<u8>().copy_from_nonoverlapping(log.as_ptr(), bytes);
                    buffer.cast::<u8>().add(bytes).write(0);
                }
            }
            return Err(code);
        }
        give(module, handle)
    }

    call_in cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) |state| {
        // SAFETY: the caller's name ends with a zero byte.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let handle = state.handle();
        let context = state.context()?;
        let Some(found) = context.modules.get(&module) else {
            return state.violation("cuModuleGetFunction", "no such module", code::INVALID_HANDLE);
        };
        found.entry(&name).ok_or(code::NOT_FOUND)?;
        context.functions.insert(handle, (module, name));
        give(function, handle)
    }

    call_in cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) |state| {
        let context = state.context()?;
        let found = context.functions.get(&function).and_then(|(module, name)| context.modules.get(module)?.entry(name));
        let Some(entry) = found else {
            return state.violation("cuFuncSetAttribute", "no such function", code::INVALID_HANDLE);
        };
        // The dynamic shared memory that launches may ask for.
        if attribute != 8 || !(0..=MOST_SHARED as i64 - entry.shared_bytes as i64).contains(&value.into()) {
            return Err(code::INVALID_VALUE);
        }
        context.dynamic_shared.insert(function, value as u32);
        Ok(())
    }

    call_in cuModuleUnload(module: usize) |state| {
        let context = state.context()?;
        context.functions.retain(|_, (of, _)| *of != module);
        let functions = &context.functions;
        context.dynamic_shared.retain(|function, _| functions.contains_key(function));
        if context.modules.remove(&module).is_none() {
            return state.violation("cuModuleUnload", "no such module", code::INVALID_HANDLE);
        }
        Ok(())
    }

    call_in cuLaunchKernel(
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: usize,
        arguments: *const *const u8,
        extra: *const *const c_void,
    ) |state| {
        let context = state.context()?;
        let found = context.functions.get(&function).and_then(|(module, name)| context.modules.get(module)?.entry(name));
        let Some(entry) = found else {
            return state.violation("cuLaunchKernel", "no such function", code::INVALID_HANDLE);
        };
        let most = SHARED.saturating_sub(entry.shared_bytes as u32);
        let most = context.dynamic_shared.get(&function).copied().unwrap_or(most);
        let plain = [grid_y, grid_z, block_y, block_z] == [1, 1, 1, 1] && extra.is_null();
        if !plain || shared > most || grid_x == 0 || block_x == 0 {
            return Err(code::INVALID_VALUE);
        }
        let arguments = entry.params.iter().enumerate().map(|(at, param)| {
            // SAFETY: the caller has a pointer to each argument, of the size that the kernel says.
            unsafe { slice::from_raw_parts(*arguments.add(at), param.size) }.to_vec()
        });
        let work = Work::Launch { function, blocks: grid_x, threads: block_x, shared, arguments: arguments.collect() };
        state.queue("cuLaunchKernel", stream, work)
    }

    call_in cuStreamCreate(stream: *mut usize, _flags: c_uint) |state| {
        let handle = state.handle();
        state.context()?.streams.insert(handle, Stream::default());
        give(stream, handle)
    }

    call_in cuStreamDestroy_v2(stream: usize) |state| {
        if stream == 0 || !state.context()?.streams.contains_key(&stream) {
            return state.violation("cuStreamDestroy", "no such stream", code::INVALID_HANDLE);
        }
        // Its work is done before it is destroyed.
        let done = state.finish(stream);
        state.context()?.streams.remove(&stream);
        done
    }

    call_in cuStreamSynchronize(stream: usize) |state| {
        if !state.context()?.streams.contains_key(&stream) {
            return state.violation("cuStreamSynchronize", "no such stream", code::INVALID_HANDLE);
        }
        state.finish(stream)
    }

    call_in cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) |state| {
        let Some(found) = state.context()?.event(event) else {
            return state.violation("cuStreamWaitEvent", "no such event", code::INVALID_HANDLE);
        };
        let record = found.recorded();
        state.queue("cuStreamWaitEvent", stream, Work::Wait { event, record })
    }

    call_in cuEventCreate(event: *mut usize, flags: c_uint) |state| {
        let handle = state.handle();
        state.context()?.events.insert(handle, Event { timed: flags & 2 == 0, ..Event::default() });
        give(event, handle)
    }

    call_in cuEventDestroy_v2(event: usize) |state| {
        let context = state.context()?;
        let Some(found) = context.event(event) else {
            return state.violation("cuEventDestroy", "no such event", code::INVALID_HANDLE);
        };
        // The driver keeps the record until it is reached.
        found.destroyed = true;
        if found.is_over() {
            context.events.remove(&event);
        }
        Ok(())
    }

    call_in cuEventRecord(event: usize, stream: usize) |state| {
        let Some(found) = state.context()?.event(event) else {
            return state.violation("cuEventRecord", "no such event", code::INVALID_HANDLE);
        };
        found.streams.push(stream);
        let record = found.recorded();
        state.queue("cuEventRecord", stream, Work::Record { event, record })
    }

    call_in cuEventSynchronize(event: usize) |state| {
        let Some(found) = state.context()?.event(event) else {
            return state.violation("cuEventSynchronize", "no such event", code::INVALID_HANDLE);
        };
        let record = found.recorded();
        state.reach(event, record)
    }

    call_in cuEventQuery(event: usize) |state| {
        let Some(found) = state.context()?.event(event) else {
            return state.violation("cuEventQuery", "no such event", code::INVALID_HANDLE);
        };
        if found.reached == found.recorded() { Ok(()) } else { Err(code::NOT_READY) }
    }

    call_in cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) |state| {
        let events = &state.context()?.events;
        let (Some(start), Some(end)) = (events.get(&start), events.get(&end)) else {
            return state.violation("cuEventElapsedTime", "no such event", code::INVALID_HANDLE);
        };
        let ready = |event: &Event| event.timed && event.recorded() > 0 && event.reached == event.recorded();
        if !ready(start) || !ready(end) {
            return Err(code::INVALID_HANDLE);
        }
        give(milliseconds, 0.25)
    }
}

fn free(state: &mut State, call: &str, address: usize, pinned: bool) -> Answer {
    match state.context()?.release(address, pinned) {
        Ok(()) => Ok(()),
        Err(code) => state.violation(call, "no such memory", code),
    }
}

/// Fails unless these bytes lie in one allocation.
fn inside(state: &mut State, call: &str, address: usize, bytes: usize) -> Answer {
    if state.context()?.holds(address, bytes) {
        return Ok(());
    }
    state.violation(call, "outside of every allocation", code::INVALID_VALUE)
}
