//! Hash functions h₀ … h₄ that map a key to a slot, with random constants.

use crate::types::KeyWord;

/// The most hash functions that a table may use.
pub const MAX_FUNCTIONS: usize = 5;

/// A divisor below 2^32 with its reciprocal, which gives the exact remainder of any 64-bit number
/// without a division instruction on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Divisor {
    reciprocal: u64,
    divisor: u64,
}

impl Divisor {
    /// Returns the divisor `d`, or 1 if `d` is 0.
    pub const fn new(d: u32) -> Self {
        let divisor = if d == 0 { 1 } else { d as u64 };
        Self { reciprocal: u64::MAX / divisor, divisor }
    }

    /// Returns the divisor.
    pub const fn get(self) -> u32 {
        self.divisor as u32
    }

    /// Returns the exact `x mod d`.
    #[inline(always)]
    pub fn remainder(self, x: u64) -> u64 {
        self.divided(x).1
    }

    /// Returns the exact `x / d` and `x mod d`.
    #[inline(always)]
    pub fn divided(self, x: u64) -> (u64, u64) {
        // By Barrett's method, the estimated quotient is at most 2 too small, since reciprocal >
        // 2^64/d - 2.
        let mut quotient = ((x as u128 * self.reciprocal as u128) >> 64) as u64;
        let mut rest = x - quotient * self.divisor;
        for _ in 0..2 {
            if rest >= self.divisor {
                rest -= self.divisor;
                quotient += 1;
            }
        }
        (quotient, rest)
    }
}

/// The formula of the hash functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Formula {
    /// A bijective mix of the key, scaled to the table by a multiplication.
    Mix = 0,
    /// The form `(a·k + b) mod p mod slots`, computed exactly (Alcantara 2011, §4.3.1.1).
    Linear = 1,
    /// The form `(a·k + b) mod p mod slots`, with `a·k + b` wrapping at the key's width.
    LinearWrapping = 2,
    /// The form `((a ^ k) + b) mod p mod slots`, computed exactly: the XOR form of (Alcantara 2011,
    /// §4.3.1.1).
    Xor = 3,
    /// The form `((a ^ k) + b) mod p mod slots`, with the sum wrapping at the key's width.
    XorWrapping = 4,
}

/// A family of hash functions, each of which maps a key to a slot by two random constants.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Family {
    prime: Divisor,
    slots: Divisor,
    formula: u32,
    /// The count of functions of the family that a table uses.
    count: u32,
}

impl Family {
    /// Returns the family of `formula` onto `slots` slots. A table uses `count` functions of the
    /// family. `prime` is unused by [`Formula::Mix`].
    pub const fn new(formula: Formula, count: u32, slots: u32, prime: u32) -> Self {
        Self { prime: Divisor::new(prime), slots: Divisor::new(slots), formula: formula as u32, count }
    }

    /// Returns the count of functions.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the count of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots.get()
    }

    #[inline(always)]
    fn is_mix(&self) -> bool {
        self.formula == Formula::Mix as u32
    }

    #[inline(always)]
    fn mixed<K: KeyWord>(&self, [a, b]: [u64; 2], key: K) -> u32 {
        ((key.mix(a, b) as u64 * self.slots.get() as u64) >> 32) as u32
    }

    /// Returns the slot of `key` under constants `a` and `b`.
    #[inline(always)]
    pub fn slot<K: KeyWord>(&self, [a, b]: [u64; 2], key: K) -> u32 {
        if self.is_mix() {
            return self.mixed([a, b], key);
        }
        let wrapping = self.formula == Formula::LinearWrapping as u32 || self.formula == Formula::XorWrapping as u32;
        let residue = |x| self.prime.remainder(x);
        let sum = if self.formula <= Formula::LinearWrapping as u32 {
            key.linear(a, b, residue, wrapping)
        } else {
            key.xor(a, b, residue, wrapping)
        };
        self.slots.remainder(self.prime.remainder(sum)) as u32
    }
}

/// The hash functions of one table: a family and the constants of each function.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct HashFunctions {
    /// The random constants (a, b) of each function.
    constants: [[u64; 2]; MAX_FUNCTIONS],
    family: Family,
}

/// The slot of every key under a function whose index is not below the table's count of functions.
pub const NO_SLOT: u32 = u32::MAX;

impl HashFunctions {
    /// No functions, for structs that have a field for functions but do not use it.
    pub const NONE: Self = Self { constants: [[0; 2]; MAX_FUNCTIONS], family: Family::new(Formula::Mix, 0, 1, 0) };

    /// Returns the first `count` functions (1 to 5) onto `slots` slots. `prime` is unused by
    /// [`Formula::Mix`].
    ///
    /// The constants have the range that `formula` needs: below the prime for the exact linear
    /// form, whole words otherwise.
    pub fn new(
        formula: Formula,
        count: u32,
        slots: u32,
        prime: u32,
        key_bits: u32,
        mut random: impl FnMut() -> u64,
    ) -> Self {
        let family = Family::new(formula, count, slots, prime);
        let prime = family.prime;
        let constants = core::array::from_fn(|_| {
            let (a, b) = (random(), random());
            let (a, b) = match (formula, key_bits) {
                // The constant a must not be 0 modulo p, since the function would then send every
                // key to one slot.
                (Formula::Linear, _) => (1 + a % (prime.get() as u64).max(2).wrapping_sub(1), prime.remainder(b)),
                (Formula::LinearWrapping, 32) => ((a | 1) & 0xffff_ffff, b & 0xffff_ffff),
                (Formula::LinearWrapping, _) => (a | 1, b),
                (Formula::Xor, 64) => (a, b & 0xffff_ffff),
                (Formula::Xor | Formula::XorWrapping, 32) => (a & 0xffff_ffff, b & 0xffff_ffff),
                _ => (a, b),
            };
            [a, b]
        });
        Self { constants, family }
    }

    /// Returns the count of functions.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.family.count
    }

    /// Returns the count of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.family.slots()
    }

    /// Returns the key modulo the prime. Keys with the same residue share all their slots under
    /// [`Formula::Linear`].
    #[inline(always)]
    pub fn residue<K: KeyWord>(&self, key: K) -> u64 {
        self.family.prime.remainder(key.to_u64())
    }

    /// Returns the slot of `key` under function `function`, or [`NO_SLOT`] if the table has fewer
    /// functions.
    ///
    /// `function` should be a constant once loops are unrolled, since on the GPU a constant index
    /// keeps the constants out of local memory.
    #[inline(always)]
    pub fn slot<K: KeyWord>(&self, function: usize, key: K) -> u32 {
        if function as u32 >= self.family.count {
            return NO_SLOT;
        }
        self.family.slot(self.constants[function], key)
    }

    /// Returns whether the formula of the functions is [`Formula::Mix`].
    #[inline(always)]
    pub(crate) fn is_mix(&self) -> bool {
        self.family.is_mix()
    }

    /// Returns the slot of `key` under function `function`, whose formula is [`Formula::Mix`].
    #[inline(always)]
    pub(crate) fn mixed<K: KeyWord>(&self, function: usize, key: K) -> u32 {
        self.family.mixed(self.constants[function], key)
    }

    /// Returns the key mixed with the constants of function `function`.
    #[inline(always)]
    pub(crate) fn mixed_key<K: KeyWord>(&self, function: usize, key: K) -> K {
        let [a, b] = self.constants[function];
        key.mixed(a, b)
    }

    /// Calls `visit` with the slots of `key` in the order of the functions until `visit` returns an
    /// answer.
    #[inline(always)]
    pub fn search<K: KeyWord, R>(&self, key: K, mut visit: impl FnMut(u32) -> Option<R>) -> Option<R> {
        // The calls are written out, since LLVM does not unroll a loop with an early exit, and then
        // indexes the constants in local memory.
        macro_rules! visit_each {
            ($($function:literal)*) => {
                $(
                    let slot = self.slot($function, key);
                    if slot == NO_SLOT {
                        return None;
                    }
                    if let Some(answer) = visit(slot) {
                        return Some(answer);
                    }
                )*
            };
        }
        visit_each!(0 1 2 3 4);
        None
    }

    /// Returns the slots of `key` under all functions.
    #[inline(always)]
    pub fn slots_of<K: KeyWord>(&self, key: K) -> [u32; MAX_FUNCTIONS] {
        core::array::from_fn(|function| self.slot(function, key))
    }
}
