//! The aggregates in a block's shared memory.

use super::aggregates::{Aggregate, Wanted};
use super::copies::Copies;
use crate::column_values::ColumnParams;
use crate::columns::kind;
use crate::seam::Shared;
use crate::types::Scalar;

/// The most rows that a thread adds at a time.
pub(super) const MAX_ROWS: usize = 4;

/// The arrays of aggregates, by their index in words of their own type: minima, maxima, low and
/// high halves of sums, and counts. Aggregate `i` of a kind is element `i` of its array. Sums of
/// floating-point numbers are words of 64 bits, in the place of both halves.
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
    /// The count of aggregates of each kind, of which the last ones are spare.
    length: u32,
    spare: u32,
}

impl<S> OnChip<S> {
    /// Returns arrays of `length` aggregates of each kind, starting at 32-bit word `first`. Both
    /// are even. The last `spare` aggregates are spare.
    #[inline(always)]
    pub fn new<W: Scalar>(
        words: S,
        column: ColumnParams,
        wanted: Wanted,
        first: u32,
        (length, spare): (u32, u32),
    ) -> Self {
        Self::of_bits(words, (column, W::BITS), wanted, first, (length, spare))
    }

    /// Returns arrays as [`OnChip::new`] does, for values of `bits` bits.
    #[inline(always)]
    fn of_bits(
        words: S,
        (column, bits): (ColumnParams, u32),
        wanted: Wanted,
        first: u32,
        (length, spare): (u32, u32),
    ) -> Self {
        let word = bits / 32;
        let of = |is_wanted: bool| if is_wanted { length } else { 0 };
        let minima = first / word;
        let maxima = minima + of(wanted.minima);
        let low = (maxima + of(wanted.maxima)) * word;
        let (high, counts) = (low + of(wanted.sums), low + 2 * of(wanted.sums));
        let others_wanted = (wanted.counts || wanted.minima || wanted.maxima) as u32;
        let end = counts + of(wanted.counts);
        Self { words, column, wanted, others_wanted, minima, maxima, low, high, counts, end, length, spare }
    }

    /// Returns the arrays of a further column of a [`kind`], which follow these.
    #[inline(always)]
    pub fn next(&self, column: ColumnParams, kind: u32) -> Self
    where
        S: Copy,
    {
        let is = |bit: u32| kind & bit != 0;
        let wanted = Wanted { counts: false, sums: is(kind::SUM), minima: is(kind::MIN), maxima: is(kind::MAX) };
        let bits = if is(kind::IS_WIDE) { 64 } else { 32 };
        Self::of_bits(self.words, (column, bits), wanted, self.end, (self.length, self.spare))
    }

    /// Returns the end of the arrays of further columns, whose aggregates take `words` 32-bit words
    /// a group, after these.
    #[inline(always)]
    pub fn end_after(&self, words: u32) -> u32 {
        self.end + words * self.length
    }

    /// Returns how values are added and compared.
    #[inline(always)]
    pub fn column(&self) -> ColumnParams {
        self.column
    }
}

impl<S: Shared<u32>> OnChip<S> {
    /// Returns the same arrays, with words in registers.
    #[inline(always)]
    pub fn in_registers(self) -> Self {
        Self { others_wanted: crate::seam::opaque(self.others_wanted), ..self }
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
        if self.wanted.sums && column.adds_floats() {
            for i in 0..ROWS {
                let number = at[i] - self.low;
                // Additions to spare sums would take as long as others.
                if self.is_real(number) {
                    words.cast::<u64>().add_float(self.float_sum(number), column.addend(values[i]));
                }
            }
        } else if self.wanted.sums {
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
                    let addend = column.addend(values[i]);
                    let carry = words.fetch_add(at[i], addend as u32).checked_add(addend as u32).is_none();
                    let upper = ((addend >> 32) as u32).wrapping_add(carry as u32);
                    if upper != 0 {
                        words.fetch_add(high + at[i], upper);
                    }
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

    /// Returns whether aggregate `number` is no spare one.
    #[inline(always)]
    fn is_real(&self, number: u32) -> bool {
        number < self.length - self.spare
    }

    /// Returns whether sums of floating-point numbers are wanted.
    #[inline(always)]
    pub fn adds_floats(&self) -> bool {
        self.wanted.sums && self.column.adds_floats()
    }

    /// Returns the same arrays without sums of floating-point numbers.
    #[inline(always)]
    pub fn without_floats(self) -> Self {
        let sums = self.wanted.sums && !self.column.adds_floats();
        Self { wanted: Wanted { sums, ..self.wanted }, ..self }
    }

    /// Adds a floating-point number to sum `number`, unless that is a spare one, and returns
    /// whether it is added. It is not if another thread has just changed the sum.
    #[inline(always)]
    pub fn try_add_float(&self, number: u32, addend: u64) -> bool {
        if !self.is_real(number) {
            return true;
        }
        let (words, at) = (self.words.cast::<u64>(), self.float_sum(number));
        let held = words.load_relaxed(at);
        words.compare_exchange(at, held, self.column.sum(held, addend)) == held
    }

    /// Adds a floating-point number to sum `number`, which is no spare one.
    #[inline(always)]
    pub fn add_float(&self, number: u32, addend: u64) {
        self.words.cast::<u64>().add_float(self.float_sum(number), addend);
    }

    /// Returns the count of rows of aggregate `number`.
    #[inline(always)]
    pub fn count(&self, number: u32) -> u32 {
        self.words.get(self.counts + number)
    }

    /// Returns the sum of aggregate `number`.
    #[inline(always)]
    pub fn sum(&self, number: u32) -> u64 {
        if self.column.adds_floats() {
            return self.words.cast::<u64>().get(self.float_sum(number));
        }
        let [low, high] = [self.low, self.high].map(|half| self.words.get(half + number));
        low as u64 | (high as u64) << 32
    }

    /// Returns the index of a sum of floating-point numbers, in words of 64 bits.
    #[inline(always)]
    fn float_sum(&self, number: u32) -> u32 {
        self.low / 2 + number
    }

    /// Returns aggregate `number`.
    #[inline(always)]
    pub fn aggregate<W: Scalar>(&self, number: u32) -> Aggregate<W> {
        let Wanted { counts, sums, minima, maxima } = self.wanted;
        Aggregate {
            sum: if sums { self.sum(number) } else { 0 },
            count: if counts { self.count(number) } else { 0 },
            minimum: if minima { self.minimum(number) } else { W::default() },
            maximum: if maxima { self.maximum(number) } else { W::default() },
        }
    }

    /// Returns the aggregate of all copies of a slot.
    #[inline(always)]
    pub fn merged<W: Scalar>(&self, copies: Copies, slot: u32) -> Aggregate<W> {
        // Adjacent threads read different banks.
        let mut all = self.aggregate(copies.of(slot));
        for number in 1..copies.count() {
            all = all.with(self.aggregate(copies.of(slot + number)), self.column);
        }
        all
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
