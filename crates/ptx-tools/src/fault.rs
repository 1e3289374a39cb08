//! The faults of a launch.

use std::fmt;

/// A memory space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of the device, here of the host: real addresses.
    Global,
    /// Memory of a block.
    Shared,
    /// A kernel's parameters.
    Param,
    /// Memory of a thread.
    Local,
    /// Any of these spaces, told apart by the address.
    Generic,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Param => "param",
            Space::Local => "local",
            Space::Generic => "generic",
        })
    }
}

/// The location of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The kernel.
    pub entry: String,
    /// The block of the grid.
    pub block: u32,
    /// The thread of the block.
    pub thread: u32,
    /// The line in the PTX, counted from 1.
    pub line: u32,
    /// The statement there.
    pub instruction: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { entry, block, thread, line, instruction } = self;
        write!(f, "{entry}, block {block}, thread {thread}, line {line}: {instruction}")
    }
}

/// The reason why a launch ended early. Memory then holds what the threads had written so far.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The module has no such entry.
    #[error("no entry `{entry}` in the module")]
    MissingEntry {
        /// The name asked for.
        entry: String,
    },
    /// More or fewer arguments than parameters.
    #[error("{entry} takes {expected} arguments, {given} were given")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// The number of its parameters.
        expected: usize,
        /// The number of arguments given.
        given: usize,
    },
    /// An argument is larger or smaller than its parameter.
    #[error("{entry}: argument {index} has {given} bytes, the parameter {expected}")]
    ArgumentSize {
        /// The kernel.
        entry: String,
        /// The index of the argument, from 0.
        index: usize,
        /// The parameter's bytes.
        expected: usize,
        /// The argument's bytes.
        given: usize,
    },
    /// A launch with no threads, or more than 1024 in a block.
    #[error("{entry}: blocks of {threads} threads cannot be launched")]
    BlockSize {
        /// The kernel.
        entry: String,
        /// The threads of a block.
        threads: u32,
    },
    /// The entry holds something that the interpreter does not know. Launches report it, wherever
    /// in the entry it is.
    #[error("{entry}, line {line}: unknown instruction ({reason}): {instruction}")]
    UnknownInstruction {
        /// The kernel.
        entry: String,
        /// The line in the PTX, counted from 1.
        line: u32,
        /// The statement there.
        instruction: String,
        /// The reason why it is not known.
        reason: String,
    },
    /// An access outside of every region, array or parameter, or a store to read-only memory.
    #[error("out of bounds: {bytes} bytes at {space} address {address:#x} ({at})")]
    OutOfBounds {
        /// The location of the access.
        at: Box<Location>,
        /// The memory space.
        space: Space,
        /// The address of the access.
        address: u64,
        /// The bytes of the access.
        bytes: u32,
    },
    /// An address that is no multiple of the access's size.
    #[error("misaligned: {bytes} bytes at {space} address {address:#x} ({at})")]
    Misaligned {
        /// The location of the access.
        at: Box<Location>,
        /// The memory space.
        space: Space,
        /// The address of the access.
        address: u64,
        /// The bytes of the access.
        bytes: u32,
    },
    /// A `trap`: a failed assertion or bounds check.
    #[error("trap ({at})")]
    Trap {
        /// The location of the trap.
        at: Box<Location>,
    },
    /// Threads of one block wait for the same barrier at different instructions.
    #[error("divergent barrier ({at}); others wait at line {other_line}: {other}")]
    DivergentBarrier {
        /// The thread that came last.
        at: Box<Location>,
        /// The line where the others are.
        other_line: u32,
        /// The instruction where the others are.
        other: String,
    },
    /// A barrier number or thread count that no block can have.
    #[error("bad barrier number or thread count ({at})")]
    BadBarrier {
        /// The location of the barrier instruction.
        at: Box<Location>,
    },
    /// A lane executed a warp operation whose mask leaves it out.
    #[error("the lane is not in its own mask {mask:#010x} ({at})")]
    NotInMask {
        /// The location of the warp operation.
        at: Box<Location>,
        /// The mask.
        mask: u32,
    },
    /// No thread can go on, and some are not done. `at` is one of them.
    #[error("deadlock: {waiting} threads wait for ever, one of them at ({at})")]
    Deadlock {
        /// A thread that waits.
        at: Box<Location>,
        /// The number of threads that wait.
        waiting: usize,
    },
    /// More instructions were executed than the launch allows: an endless loop, or a bound set too
    /// low.
    #[error("more than {limit} instructions ({at})")]
    StepLimit {
        /// The thread that was running.
        at: Box<Location>,
        /// The bound.
        limit: u64,
    },
}
