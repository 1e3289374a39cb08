//! Execution of the work on streams.

use crate::IN_KERNEL;
use crate::answer::{Answer, code};
use crate::state::State;
use crate::stream::Work;

impl State {
    /// Queues work on a stream of the current context.
    pub fn queue(&mut self, call: &str, stream: usize, work: Work) -> Answer {
        let deferred = self.deferred;
        let context = self.working(call)?;
        let Some(found) = context.streams.get_mut(&stream) else {
            return self.violation(call, "no such stream", code::INVALID_HANDLE);
        };
        if let Some(graph) = found.captured {
            if !matches!(work, Work::Copy { .. } | Work::Fill { .. } | Work::Launch { .. }) {
                return self.violation(call, "the stream is captured", code::CAPTURE_UNSUPPORTED);
            }
            context.graphs.entry(graph).or_default().work.push(work);
            return Ok(());
        }
        found.work.push_back(work);
        if deferred { Ok(()) } else { self.finish(stream) }
    }

    /// Does all the work of a stream.
    pub fn finish(&mut self, stream: usize) -> Answer {
        while let Some(work) = self.context()?.streams.get_mut(&stream).and_then(|stream| stream.work.pop_front()) {
            self.step(work)?;
        }
        Ok(())
    }

    /// Does the work of streams until they reach a record of an event.
    pub fn reach(&mut self, event: usize, record: u64) -> Answer {
        loop {
            let context = self.context()?;
            // An event is removed only after it was reached.
            let Some(found) = context.events.get(&event) else { return Ok(()) };
            if found.reached >= record {
                return Ok(());
            }
            let stream = found.streams[record as usize - 1];
            let Some(work) = context.streams.get_mut(&stream).and_then(|stream| stream.work.pop_front()) else {
                return Err(code::INVALID_HANDLE);
            };
            self.step(work)?;
        }
    }

    /// Does one operation. If the operation fails, the context is lost.
    fn step(&mut self, work: Work) -> Answer {
        let done = match work {
            Work::Launch { .. } => self.faults(IN_KERNEL).and_then(|()| self.perform(work)),
            Work::Wait { event, record } => self.reach(event, record),
            _ => self.perform(work),
        };
        if let (Err(code), Ok(context)) = (done, self.context()) {
            context.lost = code;
        }
        done
    }

    fn perform(&mut self, work: Work) -> Answer {
        let context = self.context()?;
        let pointer = |address: usize| std::ptr::with_exposed_provenance_mut::<u8>(address);
        let inside = |held: bool| if held { Ok(()) } else { Err(code::ILLEGAL_ADDRESS) };
        match work {
            Work::Upload { from, to } => {
                inside(context.holds(to, from.len()))?;
                // SAFETY: an allocation has these bytes.
                unsafe { pointer(to).copy_from_nonoverlapping(from.as_ptr(), from.len()) };
            }
            Work::Copy { from, to, bytes } => {
                // Each range may be page-locked memory, which must not have been freed meanwhile.
                let is_there = |address| context.holds(address, bytes) || context.locks(address, bytes);
                inside(is_there(from) && is_there(to))?;
                // SAFETY: allocations contain both ranges.
                unsafe { pointer(to).copy_from(pointer(from), bytes) };
            }
            Work::Fill { at, byte, bytes } => {
                inside(context.holds(at, bytes))?;
                // SAFETY: an allocation has these bytes.
                unsafe { pointer(at).write_bytes(byte, bytes) };
            }
            Work::Launch { function, blocks, threads, shared, arguments } => {
                let done = context.run(function, [blocks, threads, shared], &arguments);
                let faults = std::mem::take(&mut context.faults);
                self.violations.extend(faults.iter().map(|fault| format!("a kernel: {fault}")));
                return done;
            }
            Work::Record { event, record } => {
                if let Some(found) = context.events.get_mut(&event) {
                    found.reached = found.reached.max(record);
                    if found.is_over() {
                        context.events.remove(&event);
                    }
                }
            }
            Work::Wait { .. } => {}
        }
        Ok(())
    }
}
