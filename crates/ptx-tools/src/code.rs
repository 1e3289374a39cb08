//! Decoded code: instructions of a fixed shape, whose operands are all slots of a thread's register
//! file.
//!
//! Constants live in slots too ([`Code::constants`]). So the hot loop never asks whether an operand
//! is a register or a constant.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::Space;

/// An index into a thread's register file.
pub(crate) type Slot = u32;

/// The slot that always holds 1: the guard of instructions without one.
pub(crate) const TRUE: Slot = 0;
/// The slot for unwanted results (`_`).
pub(crate) const SINK: Slot = 1;
/// The slot of the carry flag.
pub(crate) const CARRY: Slot = 2;
/// The slot that always holds 0.
pub(crate) const ZERO: Slot = 3;

/// The type an instruction works on. Registers hold values zero-extended to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The number 64 minus the width.
    pub shift: u8,
    pub signed: bool,
    pub float: bool,
}

impl Kind {
    pub const PREDICATE: Kind = Kind::unsigned(1);
    pub const U32: Kind = Kind::unsigned(32);
    pub const U64: Kind = Kind::unsigned(64);

    pub const fn unsigned(bits: u32) -> Kind {
        Kind { shift: (64 - bits) as u8, signed: false, float: false }
    }

    /// Returns the kind of a name without its dot; 128-bit types are no `Kind`.
    pub fn parse(name: &str) -> Option<Kind> {
        if name == "pred" {
            return Some(Kind::PREDICATE);
        }
        let (class, width) = name.split_at_checked(1)?;
        let bits = match (class.as_bytes()[0], width) {
            (b'b' | b'u' | b's', "8") => 8,
            (b'b' | b'u' | b's', "16") => 16,
            (b'b' | b'u' | b's' | b'f', "32") => 32,
            (b'b' | b'u' | b's' | b'f', "64") => 64,
            _ => return None,
        };
        Some(Kind { signed: class == "s", float: class == "f", ..Kind::unsigned(bits) })
    }

    #[inline(always)]
    pub fn bits(self) -> u32 {
        64 - u32::from(self.shift)
    }

    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// Keeps the bits of the type.
    #[inline(always)]
    pub fn cut(self, value: u64) -> u64 {
        value & (u64::MAX >> self.shift)
    }

    /// Returns the value widened to 64 bits by the type's own sign.
    #[inline(always)]
    pub fn widen(self, value: u64) -> u64 {
        let high = value << self.shift;
        if self.signed { ((high as i64) >> self.shift) as u64 } else { high >> self.shift }
    }
}

/// The comparison of `setp` and `set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// A comparison of floats: neither is a NaN.
    Ordered,
    /// A comparison of floats: one is a NaN.
    Unordered,
}

/// The operation by which `setp` joins its comparison with a third predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Xor,
}

/// The operation of an atomic on its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Exchange,
    CompareExchange,
    Min,
    Max,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
}

/// The conversion of a float to an integer (or a whole float).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Neg,
    Abs,
    Min,
    Max,
    Sqrt,
    Reciprocal,
}

/// The operation of the threads that named barrier `a` on its predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierOp {
    Sync,
    Arrive,
    Count,
    All,
    Any,
}

/// The operations of the lanes of a warp together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    Sync,
    Ballot,
    Any,
    All,
    Uniform,
    ShuffleIndex,
    ShuffleXor,
    ShuffleDown,
    ShuffleUp,
    MatchAny,
    MatchAll,
    ReduceAdd,
    ReduceMin,
    ReduceMax,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    Elect,
}

/// An operation. `d`, `a`, `b`, `c`, `e` are the fields of [`Instruction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Nop,
    Move,
    Add,
    Sub,
    /// Add with carry-in, carry-out, or both.
    AddCarry {
        input: bool,
        output: bool,
    },
    SubCarry {
        input: bool,
        output: bool,
    },
    MulLow,
    MulHigh,
    MulWide,
    MadLow,
    MadHigh,
    MadWide,
    MadCarry {
        high: bool,
        input: bool,
        output: bool,
    },
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Not,
    Neg,
    Abs,
    LogicalNot,
    ShiftLeft,
    ShiftRight,
    PopCount,
    LeadingZeros,
    ReverseBits,
    /// `bfe`
    Extract,
    /// `bfi`: a into b at c, e bits.
    Insert,
    /// `bfind`
    HighestBit {
        as_shift: bool,
    },
    /// `prmt`
    Permute,
    FunnelLeft {
        clamp: bool,
    },
    FunnelRight {
        clamp: bool,
    },
    /// `lop3`: e is the table itself, not a slot.
    Logic3,
    Select,
    /// `setp`: d and e receive, c joins.
    Compare {
        how: Comparison,
        join: Join,
        negate: bool,
    },
    /// `set`: all ones, or 1.0 when `to` is a float.
    Mask(Comparison),
    /// A comparison of floats; both accept NaN with `or_nan`.
    FloatCompare {
        how: Comparison,
        or_nan: bool,
        join: Join,
        negate: bool,
    },
    /// Integer to integer: `kind` to `to`; c holds the bits that the register keeps.
    Convert,
    /// Between integers and floats, or floats; with e the value becomes whole.
    FloatConvert(Rounding),
    Float(FloatOp),
    /// d from the list at e of c slots, each as wide as `kind`.
    Pack,
    /// The list at e of c slots from a.
    Unpack,
    /// From space, address a + b.
    Load(Space),
    /// The list at d of c slots.
    LoadList(Space),
    Store(Space),
    StoreList(Space),
    /// Address a + b, operands c and e.
    Atomic(Space, AtomicOp),
    /// Like `Atomic`, d, c and e being the first of two neighbouring slots.
    WideAtomic(Space, AtomicOp),
    /// Branch to instruction d.
    Jump,
    /// Branch to the d-th list's entry a; c entries.
    JumpTable,
    Exit,
    Trap,
    Clock,
    /// d, source a, lane b, clamp c, mask e, predicate d2.
    Warp(WarpOp),
    ActiveMask,
    /// Barrier a, count b (or [`SINK`] for all threads), predicate c.
    Barrier {
        op: BarrierOp,
        negate: bool,
    },
}

impl Op {
    /// Returns whether threads that execute it may go on elsewhere than behind it, or have to wait.
    pub fn is_control(self) -> bool {
        use Op::{ActiveMask, Barrier, Exit, Jump, JumpTable, Trap, Warp};
        matches!(self, Jump | JumpTable | Exit | Trap | Warp(_) | ActiveMask | Barrier { .. })
    }
}

/// An instruction; [`Op`] tells what the fields mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub op: Op,
    pub kind: Kind,
    pub to: Kind,
    /// The value of the guard with which the instruction is skipped.
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

/// Values that differ between threads but never change within one.
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

/// The code of one entry.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instructions: Vec<Instruction>,
    /// A flag for each instruction: whether a launch has executed it.
    pub reached: Vec<AtomicBool>,
    /// The statement that each instruction came from.
    pub statement_of: Vec<u32>,
    /// The line and text of each statement.
    pub statements: Vec<(u32, String)>,
    /// The number of slots of a thread. No instruction names a slot beyond them.
    pub registers: u32,
    /// The slots that always hold the same value.
    pub constants: Vec<(Slot, u64)>,
    /// The slots that may be read before they are written: they hold 0 at the start of a thread.
    pub zeroed: Vec<Slot>,
    /// The slots to be filled at the start of a thread.
    pub specials: Vec<(Slot, Special)>,
    /// The slot lists of vector operands, and targets of branch tables.
    pub lists: Vec<u32>,
    /// The start and end of each static shared array, as addresses.
    pub shared: Vec<(u64, u64)>,
    /// Whether the entry names dynamic shared memory.
    pub has_dynamic: bool,
    /// The bytes of local memory that a thread needs.
    pub local_bytes: u64,
}

impl Code {
    /// Returns whether the instructions and all that they refer to are the same.
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

    /// Returns the statements that can be executed, by their numbers, with whether a launch has
    /// done so.
    pub fn executed(&self) -> BTreeMap<u32, bool> {
        let mut executed = BTreeMap::new();
        for (place, reached) in self.statement_of.iter().zip(&self.reached) {
            *executed.entry(*place).or_default() |= reached.load(Ordering::Relaxed);
        }
        executed
    }
}
