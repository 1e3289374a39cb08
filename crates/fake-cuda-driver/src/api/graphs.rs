//! Graphs of captured work.

use std::ffi::c_uint;

use super::{call_in, give};
use crate::answer::code;
use crate::stream::Stream;

functions! {
    call_in cuStreamBeginCapture_v2(stream: usize, _mode: c_uint) |state| {
        match state.context()?.streams.get_mut(&stream) {
            Some(Stream { captured: captured @ None, .. }) if stream != 0 => {
                *captured = Some(Vec::new());
                Ok(())
            }
            _ => state.violation("cuStreamBeginCapture", "no such stream, or a captured one", code::INVALID_HANDLE),
        }
    }

    call_in cuStreamEndCapture(stream: usize, graph: *mut usize) |state| {
        let captured = state.context()?.streams.get_mut(&stream).and_then(|stream| stream.captured.take());
        let Some(captured) = captured else {
            return state.violation("cuStreamEndCapture", "the stream is not captured", code::INVALID_HANDLE);
        };
        let handle = state.handle();
        state.context()?.graphs.insert(handle, captured);
        give(graph, handle)
    }

    call_in cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) |state| {
        let Some(work) = state.context()?.graphs.get(&graph).cloned() else {
            return state.violation("cuGraphInstantiate", "no such graph", code::INVALID_HANDLE);
        };
        let handle = state.handle();
        state.context()?.graphs.insert(handle, work);
        give(executable, handle)
    }

    call_in cuGraphLaunch(executable: usize, stream: usize) |state| {
        let Some(work) = state.context()?.graphs.get(&executable).cloned() else {
            return state.violation("cuGraphLaunch", "no such graph", code::INVALID_HANDLE);
        };
        work.into_iter().try_for_each(|work| state.queue("cuGraphLaunch", stream, work))
    }

    call_in cuGraphDestroy(graph: usize) |state| {
        match state.context()?.graphs.remove(&graph) {
            Some(_) => Ok(()),
            None => state.violation("cuGraphDestroy", "no such graph", code::INVALID_HANDLE),
        }
    }

    call_in cuGraphExecDestroy(executable: usize) |state| {
        match state.context()?.graphs.remove(&executable) {
            Some(_) => Ok(()),
            None => state.violation("cuGraphExecDestroy", "no such graph", code::INVALID_HANDLE),
        }
    }
}
