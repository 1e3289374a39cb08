//! Streams and events. Work is done in order, either at once or when a call waits for it.

use std::collections::VecDeque;

/// One operation on a stream.
#[derive(Clone)]
pub(crate) enum Work {
    /// A copy from the host's ordinary memory, whose bytes have been read already.
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
    /// The end of the event's record with the index `record`, counted from 1.
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
    /// The graph into which the stream is captured, if it is.
    pub captured: Option<usize>,
}

/// A graph, whether it can be launched or not.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub work: Vec<Work>,
    /// The objects that the graph keeps.
    pub objects: Vec<usize>,
}

/// An object of the program, which graphs keep.
pub(crate) struct Object {
    pub value: usize,
    pub drop: unsafe extern "C" fn(usize),
    pub references: usize,
}

/// An event, with the stream of each of its records and the index of the last record that was
/// reached.
#[derive(Default)]
pub(crate) struct Event {
    pub streams: Vec<usize>,
    pub reached: u64,
    pub timed: bool,
    /// Whether calls may no longer use the event. Streams may still have to reach it.
    pub destroyed: bool,
}

impl Event {
    /// Returns the count of records of the event.
    pub fn recorded(&self) -> u64 {
        self.streams.len() as u64
    }

    /// Returns whether nothing needs the event any more.
    pub fn is_over(&self) -> bool {
        self.destroyed && self.reached == self.recorded()
    }
}
