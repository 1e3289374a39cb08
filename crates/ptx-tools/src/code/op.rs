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
    /// True if neither float is a NaN.
    Ordered,
    /// True if either float is a NaN.
    Unordered,
}

/// The operation by which `setp` joins its comparison with a third predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Xor,
}

/// The operation that an atomic instruction does on its memory.
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

/// The rounding of a float to a whole number.
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

/// The operation of barrier `a` on the predicates of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierOp {
    Sync,
    Arrive,
    Count,
    All,
    Any,
}

/// An operation that the lanes of a warp do together.
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

/// An operation. Comments use `d`, `a`, `b`, `c`, `e` for the fields of
/// [`Instruction`](super::Instruction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Nop,
    Move,
    Add,
    Sub,
    /// Adds with carry-in, carry-out, or both.
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
    /// `bfi`: inserts the low e bits of a into b at bit c.
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
    /// `lop3`: e is the truth table itself, not a slot.
    Logic3,
    Select,
    /// `setp`: writes the result to d and its negation to e, both joined with c.
    Compare {
        how: Comparison,
        join: Join,
        negate: bool,
    },
    /// `set`: writes all ones for true, or 1.0 if `to` is a float.
    Mask(Comparison),
    /// Compares floats. With `or_nan`, a NaN operand makes the result true.
    FloatCompare {
        how: Comparison,
        or_nan: bool,
        join: Join,
        negate: bool,
    },
    /// Converts an integer of type `kind` to type `to`. c holds the mask of the register.
    Convert,
    /// Converts between integers and floats, or between floats. If e is not 0, rounds to a whole
    /// number.
    FloatConvert(Rounding),
    Float(FloatOp),
    /// Concatenates in d c slots, each as wide as `kind`, of the list at e.
    Pack,
    /// Splits a into the c slots of the list at e.
    Unpack,
    /// Loads from address a + b of the space.
    Load(Space),
    /// Loads into the c slots of the list at d.
    LoadList(Space),
    Store(Space),
    StoreList(Space),
    /// Does an atomic operation at address a + b with the operands c and e.
    Atomic(Space, AtomicOp),
    /// Like `Atomic`, except that d, c and e are each the first of two adjacent slots.
    WideAtomic(Space, AtomicOp),
    /// Branches to instruction d.
    Jump,
    /// Branches to item a of the list at d, which has c items.
    JumpTable,
    Exit,
    Trap,
    Clock,
    /// Does a warp operation with result d, source a, lane b, clamp c and mask e; the predicate
    /// goes to d2.
    Warp(WarpOp),
    ActiveMask,
    /// Does an operation on barrier a for count b (or [`SINK`](super::SINK) for all threads) with
    /// predicate c.
    Barrier {
        op: BarrierOp,
        negate: bool,
    },
}

impl Op {
    /// Returns whether a thread may continue elsewhere than at the next instruction, or may have to
    /// wait.
    pub fn is_control(self) -> bool {
        use Op::{ActiveMask, Barrier, Exit, Jump, JumpTable, Trap, Warp};
        matches!(self, Jump | JumpTable | Exit | Trap | Warp(_) | ActiveMask | Barrier { .. })
    }
}
