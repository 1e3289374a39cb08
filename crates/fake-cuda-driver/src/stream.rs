//! Streams and events: work in order, done at once or put off until it is waited for.

use std::collections::VecDeque;

/// One item of a stream's work.
pub(crate) enum Work {
    /// Writes bytes of the host's ordinary memory.
    Upload {
        from: Vec<u8>,
        to: usize,
    },
    Copy {
        from: usize,
        to: usize,
        bytes: usize,
    },
    Fill {
        at: usize,
        byte: u8,
        bytes: usize,
    },
    Launch {
        function: usize,
        blocks: u32,
        threads: u32,
        /// The bytes of dynamic shared memory.
        shared: u32,
        arguments: Vec<Vec<u8>>,
    },
    /// Record number `record` of the event.
    Record {
        event: usize,
        record: u64,
    },
    Wait {
        event: usize,
        record: u64,
    },
}

#[derive(Default)]
pub(crate) struct Stream {
    pub work: VecDeque<Work>,
}

/// An event: the stream of each of its records, and which of these records was reached last.
#[derive(Default)]
pub(crate) struct Event {
    pub streams: Vec<usize>,
    pub reached: u64,
    pub timed: bool,
    /// Whether nobody may name it any more; streams may still have to reach it.
    pub destroyed: bool,
}

impl Event {
    /// Returns the number of records.
    pub fn recorded(&self) -> u64 {
        self.streams.len() as u64
    }

    /// Returns whether nothing needs the event any more.
    pub fn is_over(&self) -> bool {
        self.destroyed && self.reached == self.recorded()
    }
}
