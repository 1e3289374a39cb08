//! Decoded code: instructions of a fixed shape, whose operands are all slots of a thread's register
//! file.
//!
//! Constants are kept in slots too ([`Code::constants`]). So the hot loop never has to check
//! whether an operand is a register or a constant.

mod kind;
mod op;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use kind::Kind;
pub(crate) use op::{AtomicOp, BarrierOp, Comparison, FloatOp, Join, Op, Rounding, WarpOp};

/// An index into a thread's register file.
pub(crate) type Slot = u32;

/// The slot that always holds 1. It is the guard of instructions without a guard.
pub(crate) const TRUE: Slot = 0;
/// The slot for unwanted results (`_`).
pub(crate) const SINK: Slot = 1;
/// The slot of the carry flag.
pub(crate) const CARRY: Slot = 2;
/// The slot that always holds 0.
pub(crate) const ZERO: Slot = 3;

/// A decoded instruction. [`Op`] says what its fields mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub op: Op,
    pub kind: Kind,
    pub to: Kind,
    /// The value of the guard for which the instruction is skipped.
    pub skip_if: bool,
    pub guard: Slot,
    pub d: Slot,
    pub d2: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
    pub e: Slot,
}

impl Default for Instruction {
    fn default() -> Self {
        Instruction {
            op: Op::Nop,
            kind: Kind::U32,
            to: Kind::U32,
            skip_if: false,
            guard: TRUE,
            d: SINK,
            d2: SINK,
            a: ZERO,
            b: ZERO,
            c: ZERO,
            e: ZERO,
        }
    }
}

/// Values that differ between threads but do not change during a thread's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread,
    Threads,
    Block,
    Blocks,
    Lane,
    Warp,
    Warps,
    MaskEqual,
    MaskLess,
    MaskLessEqual,
    MaskGreater,
    MaskGreaterEqual,
    DynamicShared,
}

/// The decoded code of one entry point.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instructions: Vec<Instruction>,
    /// One flag per instruction, which says whether a launch has executed it.
    pub reached: Vec<AtomicBool>,
    /// The index of each instruction's statement.
    pub statement_of: Vec<u32>,
    /// The line and text of each statement.
    pub statements: Vec<(u32, String)>,
    /// The count of slots of a thread. Every slot that an instruction names is below this count.
    pub registers: u32,
    /// The slots that always hold the same value.
    pub constants: Vec<(Slot, u64)>,
    /// The slots that may be read before they are written. They hold 0 at the start of a thread.
    pub zeroed: Vec<Slot>,
    /// The slots that are filled at the start of a thread.
    pub specials: Vec<(Slot, Special)>,
    /// The slot lists of vector operands, and the targets of branch tables.
    pub lists: Vec<u32>,
    /// The start and end of each static shared array, as addresses.
    pub shared: Vec<(u64, u64)>,
    /// Whether the entry point uses dynamic shared memory.
    pub has_dynamic: bool,
    /// The bytes of local memory that a thread needs.
    pub local_bytes: u64,
}

impl Code {
    /// Returns whether the instructions and all data that they refer to are equal.
    pub fn is_same(&self, other: &Code) -> bool {
        self.instructions == other.instructions
            && self.registers == other.registers
            && self.constants == other.constants
            && self.zeroed == other.zeroed
            && self.specials == other.specials
            && self.lists == other.lists
            && self.shared == other.shared
            && self.has_dynamic == other.has_dynamic
            && self.local_bytes == other.local_bytes
    }

    /// Returns the indices of the statements that have instructions, each with whether a launch has
    /// executed it.
    pub fn executed(&self) -> BTreeMap<u32, bool> {
        let mut executed = BTreeMap::new();
        for (place, reached) in self.statement_of.iter().zip(&self.reached) {
            *executed.entry(*place).or_default() |= reached.load(Ordering::Relaxed);
        }
        executed
    }
}
