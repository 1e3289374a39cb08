//! Streams, and events on streams.

use std::ffi::c_uint;

use super::{call_in, give};
use crate::answer::code;
use crate::stream::{Event, Stream, Work};

functions! {
    call_in cuStreamCreate(stream: *mut usize, _flags: c_uint) |state| {
        let handle = state.handle();
        state.context()?.streams.insert(handle, Stream::default());
        give(stream, handle)
    }

    call_in cuStreamDestroy_v2(stream: usize) |state| {
        if stream == 0 || !state.context()?.streams.contains_key(&stream) {
            return state.violation("cuStreamDestroy", "no such stream", code::INVALID_HANDLE);
        }
        // The stream's work is done before the stream is destroyed.
        let done = state.finish(stream);
        let context = state.context()?;
        if let Some(graph) = context.streams.remove(&stream).and_then(|stream| stream.captured) {
            context.destroy(graph);
        }
        done
    }

    call_in cuStreamSynchronize(stream: usize) |state| {
        let Some(found) = state.context()?.streams.get(&stream) else {
            return state.violation("cuStreamSynchronize", "no such stream", code::INVALID_HANDLE);
        };
        if found.captured.is_some() {
            return state.violation("cuStreamSynchronize", "the stream is captured", code::CAPTURE_UNSUPPORTED);
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
        // The driver keeps the event until the stream has reached it.
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
