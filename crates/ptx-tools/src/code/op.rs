//! The operations of instructions.

use crate::fault::Space;

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

/// An operation. `d`, `a`, `b`, `c`, `e` are the fields of [`Instruction`](super::Instruction).
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
    /// Barrier a, count b (or [`SINK`](super::SINK) for all threads), predicate c.
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
