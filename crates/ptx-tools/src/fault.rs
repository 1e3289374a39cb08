//! The faults of a launch.

use std::fmt;

/// A memory space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory. In the interpreter it is host memory, at its real addresses.
    Global,
    /// Shared memory of a block.
    Shared,
    /// A kernel's parameters.
    Param,
    /// Local memory of a thread.
    Local,
    /// Any of the other spaces, distinguished by the address.
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
    /// The kernel's name.
    pub entry: String,
    /// The index of the block in the grid.
    pub block: u32,
    /// The index of the thread in the block.
    pub thread: u32,
    /// The line in the PTX, counted from 1.
    pub line: u32,
    /// The statement at the fault.
    pub instruction: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { entry, block, thread, line, instruction } = self;
        write!(f, "{entry}, block {block}, thread {thread}, line {line}: {instruction}")
    }
}

/// The reason why a launch ended early. Memory then contains what the threads have written until
/// the fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The module has no entry point of this name.
    #[error("no entry `{entry}` in the module")]
    MissingEntry {
        /// The name that the launch requested.
        entry: String,
    },
    /// The count of arguments differs from the count of parameters.
    #[error("{entry} takes {expected} arguments, {given} were given")]
    ArgumentCount {
        /// The kernel's name.
        entry: String,
        /// The count of the kernel's parameters.
        expected: usize,
        /// The count of the launch's arguments.
        given: usize,
    },
    /// An argument is larger or smaller than its parameter.
    #[error("{entry}: argument {index} has {given} bytes, the parameter {expected}")]
    ArgumentSize {
        /// The kernel's name.
        entry: String,
        /// The index of the argument, from 0.
        index: usize,
        /// The parameter's size in bytes.
        expected: usize,
        /// The argument's size in bytes.
        given: usize,
    },
    /// A block has no threads, or more threads than the kernel allows (at most 1024).
    #[error("{entry}: blocks of {threads} threads cannot be launched")]
    BlockSize {
        /// The kernel's name.
        entry: String,
        /// The count of threads of a block.
        threads: u32,
    },
    /// The entry point has an instruction that the interpreter does not know. Every launch reports
    /// it, even if it would not be executed.
    #[error("{entry}, line {line}: unknown instruction ({reason}): {instruction}")]
    UnknownInstruction {
        /// The kernel's name.
        entry: String,
        /// The line in the PTX, counted from 1.
        line: u32,
        /// The statement that is not known.
        instruction: String,
        /// The reason why the statement is not known.
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
    /// The address is not a multiple of the access's size.
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
    /// A `trap` was executed: an assertion or bounds check failed.
    #[error("trap ({at})")]
    Trap {
        /// The location of the trap.
        at: Box<Location>,
    },
    /// Threads of one block wait for the same barrier at different instructions.
    #[error("divergent barrier ({at}); others wait at line {other_line}: {other}")]
    DivergentBarrier {
        /// The thread that arrived last.
        at: Box<Location>,
        /// The line at which the other threads wait.
        other_line: u32,
        /// The instruction at which the other threads wait.
        other: String,
    },
    /// A barrier index or thread count is not possible for a block.
    #[error("bad barrier number or thread count ({at})")]
    BadBarrier {
        /// The location of the barrier instruction.
        at: Box<Location>,
    },
    /// A lane executed a warp operation whose mask does not include the lane.
    #[error("the lane is not in its own mask {mask:#010x} ({at})")]
    NotInMask {
        /// The location of the warp operation.
        at: Box<Location>,
        /// The operation's mask.
        mask: u32,
    },
    /// No thread can continue, although some have not ended. `at` is one of these threads.
    #[error("deadlock: {waiting} threads wait for ever, one of them at ({at})")]
    Deadlock {
        /// A thread that waits.
        at: Box<Location>,
        /// The count of threads that wait.
        waiting: usize,
    },
    /// The launch executed more instructions than its limit allows. It has an endless loop, or the
    /// limit is too low.
    #[error("more than {limit} instructions ({at})")]
    StepLimit {
        /// The thread that was running.
        at: Box<Location>,
        /// The limit on executed instructions.
        limit: u64,
    },
}
