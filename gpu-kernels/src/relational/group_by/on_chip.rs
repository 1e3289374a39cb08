//! The aggregates in a block's shared memory.

use crate::column_values::ColumnParams;
use crate::seam::Shared;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The most rows that a thread adds at a time.
pub(super) const MAX_ROWS: usize = 4;

/// The count of spare aggregates, one for each lane. Rows without a group are added to them, so
/// that lanes need not diverge.
pub(super) const SPARE: u32 = 32;

/// The aggregates that are computed for each group.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The count of rows.
    pub counts: bool,
    /// The sum of the widened values.
    pub sums: bool,
    /// The least value.
    pub minima: bool,
    /// The greatest value.
    pub maxima: bool,
}

impl Wanted {
    /// Returns the count of 32-bit words of a key and its aggregates.
    #[inline(always)]
    pub const fn slot_words<K: KeyWord, V: Payload>(self) -> u32 {
        let value = <V::Word as Scalar>::BITS / 32;
        K::BITS / 32
            + self.counts as u32
            + self.sums as u32 * 2
            + self.minima as u32 * value
            + self.maxima as u32 * value
    }
}

/// The arrays of aggregates, by their index in words of their own type: minima, maxima, low and
/// high halves of sums, and counts. Aggregate `i` of a kind is element `i` of its array.
///
/// Minima are stored as the complements of the least ordered words, so that all aggregates are 0 at
/// first.
#[derive(Clone, Copy)]
pub(super) struct OnChip<S> {
    words: S,
    column: ColumnParams,
    wanted: Wanted,
    /// Whether other aggregates than sums are wanted, as one word that replaces three tests.
    others_wanted: u32,
    minima: u32,
    maxima: u32,
    /// The index of the lower halves of sums. It is defined even if there are no sums.
    pub low: u32,
    high: u32,
    counts: u32,
    /// The end of all arrays.
    pub end: u32,
}

impl<S> OnChip<S> {
    /// Returns arrays of `length` aggregates of each kind, starting at 32-bit word `first`. Both
    /// are even.
    #[inline(always)]
    pub fn new<W: Scalar>(words: S, column: ColumnParams, wanted: Wanted, first: u32, length: u32) -> Self {
        let word = W::BITS / 32;
        let of = |is_wanted: bool| if is_wanted { length } else { 0 };
        let minima = first / word;
        let maxima = minima + of(wanted.minima);
        let low = (maxima + of(wanted.maxima)) * word;
        let (high, counts) = (low + of(wanted.sums), low + 2 * of(wanted.sums));
        let others_wanted = (wanted.counts || wanted.minima || wanted.maxima) as u32;
        let end = counts + of(wanted.counts);
        Self { words, column, wanted, others_wanted, minima, maxima, low, high, counts, end }
    }
}

impl<S: Shared<u32>> OnChip<S> {
    /// Returns the same arrays, with words in registers.
    #[inline(always)]
    pub fn in_registers(self) -> Self {
        Self { others_wanted: crate::seam::opaque(self.others_wanted), ..self }
    }

    /// Returns whether only sums are wanted.
    #[inline(always)]
    pub fn adds_sums_alone(&self) -> bool {
        self.wanted.sums && self.others_wanted == 0
    }

    /// Returns the same arrays, so that the compiler knows that only sums are wanted.
    #[inline(always)]
    pub fn of_sums(self) -> Self {
        let wanted = Wanted { counts: false, sums: true, minima: false, maxima: false };
        Self { wanted, others_wanted: 0, ..self }
    }

    /// Adds the first `ROWS` values. `at` has the sums of `low` and the indices of their
    /// aggregates.
    ///
    /// A sum is two words. The low word is added to atomically, and the old word tells whether
    /// there is a carry. Atomics of 64 bits in shared memory are loops on a GPU.
    #[inline(always)]
    pub fn add<const ROWS: usize, W: Scalar>(&self, at: [u32; MAX_ROWS], values: [W; MAX_ROWS]) {
        let Self { words, column, .. } = *self;
        if self.wanted.sums {
            let high = self.high - self.low;
            let add_low = |i: usize| words.fetch_add(at[i], values[i].bits_from(0));
            let carries = |i: usize, held: u32| held.checked_add(values[i].bits_from(0)).is_none();
            let add_high = |i: usize, held: u32| {
                let upper = (column.widened(values[i]) >> 32) as u32;
                let upper = upper.wrapping_add(carries(i, held) as u32);
                if upper != 0 {
                    words.fetch_add(high + at[i], upper);
                }
            };
            if W::BITS == 64 {
                for i in 0..ROWS {
                    add_high(i, add_low(i));
                }
            } else {
                // No addition waits for the result of an earlier one.
                let mut held = [0; MAX_ROWS];
                for i in 0..ROWS {
                    held[i] = add_low(i);
                }
                if column.sign != 0 {
                    for i in 0..ROWS {
                        add_high(i, held[i]);
                    }
                } else {
                    for i in 0..ROWS {
                        if carries(i, held[i]) {
                            words.fetch_add(high + at[i], 1);
                        }
                    }
                }
            }
        }
        if self.others_wanted == 0 {
            return;
        }
        if self.wanted.counts {
            for i in 0..ROWS {
                words.fetch_add(self.counts - self.low + at[i], 1);
            }
        }
        let raise = |first: u32, at: u32, word: W| {
            let (words, at) = (words.cast::<W>(), first + at - self.low);
            // Few rows change an extreme value.
            if words.load_relaxed(at) < word {
                words.fetch_max(at, word);
            }
        };
        if self.wanted.minima {
            for i in 0..ROWS {
                raise(self.minima, at[i], column.min_rank(values[i]));
            }
        }
        if self.wanted.maxima {
            for i in 0..ROWS {
                raise(self.maxima, at[i], column.max_rank(values[i]));
            }
        }
    }

    /// Adds a value to aggregate `number`, on a CPU core.
    #[inline(always)]
    pub fn add_in_turn<V: Payload>(&self, number: u32, value: WordOf<V>) {
        if V::VALUE_BITS != 0 && self.wanted.sums {
            let sum = self.sum(number).wrapping_add(self.column.widened(value));
            self.words.set(self.low + number, sum as u32);
            self.words.set(self.high + number, (sum >> 32) as u32);
        }
        let wanted = Wanted { sums: false, ..self.wanted };
        Self { wanted, ..*self }.add::<1, WordOf<V>>([self.low + number; MAX_ROWS], [value; MAX_ROWS]);
    }

    /// Returns the count of rows of aggregate `number`.
    #[inline(always)]
    pub fn count(&self, number: u32) -> u32 {
        self.words.get(self.counts + number)
    }

    /// Returns the sum of aggregate `number`.
    #[inline(always)]
    pub fn sum(&self, number: u32) -> u64 {
        let [low, high] = [self.low, self.high].map(|half| self.words.get(half + number));
        low as u64 | (high as u64) << 32
    }

    /// Returns the rank of the least value of aggregate `number`.
    #[inline(always)]
    pub fn minimum<W: Scalar>(&self, number: u32) -> W {
        self.words.cast::<W>().get(self.minima + number)
    }

    /// Returns the rank of the greatest value of aggregate `number`.
    #[inline(always)]
    pub fn maximum<W: Scalar>(&self, number: u32) -> W {
        self.words.cast::<W>().get(self.maxima + number)
    }
}
