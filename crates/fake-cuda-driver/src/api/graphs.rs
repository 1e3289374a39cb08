//! Graphs of captured work.

use std::ffi::{c_uint, c_void};

use super::{call_in, give};
use crate::answer::code;
use crate::stream::{Graph, Object, Stream};

functions! {
    call_in cuStreamBeginCapture_v2(stream: usize, _mode: c_uint) |state| {
        let handle = state.handle();
        let context = state.context()?;
        match context.streams.get_mut(&stream) {
            Some(Stream { captured: captured @ None, .. }) if stream != 0 => {
                *captured = Some(handle);
                context.graphs.insert(handle, Graph::default());
                Ok(())
            }
            _ => state.violation("cuStreamBeginCapture", "no such stream, or a captured one", code::INVALID_HANDLE),
        }
    }

    call_in cuStreamEndCapture(stream: usize, graph: *mut usize) |state| {
        match state.context()?.streams.get_mut(&stream).and_then(|stream| stream.captured.take()) {
            Some(captured) => give(graph, captured),
            None => state.violation("cuStreamEndCapture", "the stream is not captured", code::INVALID_HANDLE),
        }
    }

    call_in cuStreamGetCaptureInfo_v2(
        stream: usize, status: *mut c_uint, id: *mut u64, graph: *mut usize, _nodes: *mut *const c_void, count: *mut usize,
    ) |state| {
        let Some(found) = state.context()?.streams.get(&stream) else {
            return state.violation("cuStreamGetCaptureInfo", "no such stream", code::INVALID_HANDLE);
        };
        let captured = found.captured.unwrap_or_default();
        give(status, (captured != 0) as c_uint)?;
        give(id, captured as u64)?;
        give(count, 0)?;
        give(graph, captured)
    }

    call_in cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) |_state| {
        // Every call may be made beside a capture here, so the mode has no effect.
        give(mode, 0)
    }

    call_in cuUserObjectCreate(
        object: *mut usize, value: usize, drop: unsafe extern "C" fn(usize), references: c_uint, _flags: c_uint,
    ) |state| {
        let handle = state.handle();
        state.context()?.objects.insert(handle, Object { value, drop, references: references as usize });
        give(object, handle)
    }

    call_in cuUserObjectRelease(object: usize, _references: c_uint) |state| {
        state.context()?.release_object(object);
        Ok(())
    }

    call_in cuGraphRetainUserObject(graph: usize, object: usize, _references: c_uint, flags: c_uint) |state| {
        match state.context()?.graphs.get_mut(&graph) {
            Some(graph) => {
                graph.objects.push(object);
                // The reference of the program becomes the graph's.
                if flags == 1 { Ok(()) } else { Err(code::INVALID_VALUE) }
            }
            None => state.violation("cuGraphRetainUserObject", "no such graph", code::INVALID_HANDLE),
        }
    }

    call_in cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) |state| {
        let handle = state.handle();
        let context = state.context()?;
        let Some(copy) = context.graphs.get(&graph).cloned() else {
            return state.violation("cuGraphInstantiate", "no such graph", code::INVALID_HANDLE);
        };
        for object in &copy.objects {
            context.objects.get_mut(object).ok_or(code::INVALID_HANDLE)?.references += 1;
        }
        context.graphs.insert(handle, copy);
        give(executable, handle)
    }

    call_in cuGraphLaunch(executable: usize, stream: usize) |state| {
        let Some(graph) = state.context()?.graphs.get(&executable).cloned() else {
            return state.violation("cuGraphLaunch", "no such graph", code::INVALID_HANDLE);
        };
        graph.work.into_iter().try_for_each(|work| state.queue("cuGraphLaunch", stream, work))
    }

    call_in cuGraphDestroy(graph: usize) |state| {
        match state.context()?.destroy(graph) {
            true => Ok(()),
            false => state.violation("cuGraphDestroy", "no such graph", code::INVALID_HANDLE),
        }
    }

    call_in cuGraphExecDestroy(executable: usize) |state| {
        match state.context()?.destroy(executable) {
            true => Ok(()),
            false => state.violation("cuGraphExecDestroy", "no such graph", code::INVALID_HANDLE),
        }
    }
}
