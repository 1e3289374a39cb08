//! Memory: allocations, copies and fills.

use std::ffi::{c_int, c_uint, c_void};
use std::slice;

use super::{call_in, give};
use crate::TOTAL_MEMORY;
use crate::answer::{Answer, code};
use crate::state::State;
use crate::stream::Work;

functions! {
    call_in cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: usize) |state| {
        let context = state.context()?;
        match (attribute, context.holds(address, 1), context.locks(address, 1)) {
            // This is the context of an address.
            (1, true, _) => give(data.cast(), context.handle),
            // This is the type of the memory, which ordinary host memory lacks.
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
            // Page-locked memory is read when the stream reaches the copy.
            let from = from.expose_provenance();
            return state.queue("cuMemcpyHtoD", stream, Work::Copy { from, to, bytes });
        }
        // Memory that is not page-locked has been read when the driver returns.
        // SAFETY: the caller promises that `bytes` bytes can be read at `from`.
        let from = if bytes == 0 { Vec::new() } else { unsafe { slice::from_raw_parts(from, bytes) }.to_vec() };
        state.queue("cuMemcpyHtoD", stream, Work::Upload { from, to })
    }

    call_in cuMemcpyDtoHAsync_v2(to: *mut u8, from: usize, bytes: usize, stream: usize) |state| {
        inside(state, "cuMemcpyDtoH", from, bytes)?;
        if state.context()?.locks(to.addr(), bytes) {
            // Page-locked memory is written when the stream reaches the copy.
            let to = to.expose_provenance();
            return state.queue("cuMemcpyDtoH", stream, Work::Copy { from, to, bytes });
        }
        // Memory that is not page-locked has been written when the driver returns.
        state.finish(stream)?;
        // SAFETY: an allocation has these bytes, and the caller's buffer is as large.
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
