//! The launches that arrange the rows of a join's sides by their keys.

use super::pass::RIGHT;
use super::plan::{HEADERS, JoinPlan};
use super::side_layout::Arrangement;
use crate::primitives::{Pairs, Storage};
use crate::runtime::stream::Batch;
use crate::split::{SplitArrays, or_null, queue_split, queue_starts};
use crate::{Buffer, Result};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::relational::join::{BinStarts, BinStartsParams, FillTable, SECTOR_WORDS, TableParams, header};
use gpu_kernels::seam::Global;
use gpu_kernels::types::KeyWord;

/// A join's plan, inputs and memory.
pub(super) struct Launches<'a, K> {
    pub plan: &'a JoinPlan,
    pub keys: [&'a Buffer<K>; 2],
    /// The values that are written instead of row indices, if rows are split.
    pub values: [Option<&'a Buffer<u32>>; 2],
    pub constants: [u64; 2],
    pub scratch: &'a Buffer<u64>,
    /// The memory of the right side, if it is separate from the scratch.
    pub own: Option<&'a Buffer<u64>>,
}

/// A side of a pass, as the arguments of its kernel.
pub(super) struct Side<K> {
    pub pairs: Pairs<K, u32>,
    pub counts: Option<Global<u32>>,
    pub bin_capacity: u64,
    /// Whether keys and row indices are in separate arrays, whatever their types.
    pub are_apart: bool,
}

impl<'a, K: KeyWord> Launches<'a, K> {
    /// Returns the words of the scratch that begin at index `at`.
    pub(super) fn at<T>(&self, batch: &Batch<'a>, at: u64) -> Global<T> {
        batch.write(self.scratch).offset(at).cast()
    }

    /// Returns the memory of a side.
    fn memory(&self, number: usize) -> &'a Buffer<u64> {
        self.own.filter(|_| number == RIGHT).unwrap_or(self.scratch)
    }

    /// Returns the words of a side that begin at index `at` of its memory.
    fn of_side<T>(&self, batch: &Batch<'a>, number: usize, at: u64) -> Global<T> {
        batch.write(self.memory(number)).offset(at).cast()
    }

    /// Returns the header of a side; the first side's header is also the header of the join.
    pub(super) fn header(&self, batch: &Batch<'a>, side: usize) -> Global<u64> {
        self.at(batch, self.plan.headers_at + (side * header::WORDS) as u64)
    }

    /// Queues setting the headers to 0.
    pub(super) fn clear_headers(&self, batch: &Batch<'a>) -> Result<()> {
        let begin = self.plan.headers_at as usize;
        batch.zero_range(self.scratch, begin..begin + HEADERS as usize)
    }

    /// Queues setting the counts of listed work items and of heavy bins to 0.
    pub(super) fn clear_items(&self, batch: &Batch<'a>) -> Result<()> {
        let at = (self.plan.headers_at + header::ITEMS) as usize;
        const { assert!(header::HEAVY == header::ITEMS + 1) };
        batch.zero_range(self.scratch, at..at + 2)
    }

    /// Queues arranging the rows of the sides.
    pub(super) fn arrange(&self, batch: &Batch<'a>) -> Result<()> {
        let plan = self.plan;
        self.clear_headers(batch)?;
        plan.to_arrange.sides().try_for_each(|side| {
            let layout = &plan.sides[side];
            match layout.arrangement {
                Arrangement::Whole => Ok(()),
                Arrangement::Split => {
                    let counts = layout.counts_at as usize..layout.counts_end as usize;
                    batch.zero_range(self.memory(side), counts)?;
                    (0..layout.levels.len()).try_for_each(|level| self.split(batch, (side, level), None))
                }
                Arrangement::Sorted => self.sort(batch, side),
                Arrangement::Table => self.fill_table(batch, side),
            }
        })
    }

    /// Queues filling a hash table with a side's rows.
    fn fill_table(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let side = &self.plan.sides[number];
        let (begin, [a, b]) = (side.pairs_at as usize, self.constants);
        let end = begin + ((SECTOR_WORDS as usize) << self.plan.page_bits);
        batch.zero_range(self.memory(number), begin..end)?;
        let (keys, words) = (batch.read(self.keys[number]), self.of_side(batch, number, side.pairs_at));
        let header = self.header(batch, 0);
        let plan = TableParams { a, b, rows: side.rows, sector_bits: self.plan.page_bits, padding: 0 };
        // SAFETY: there are `side.rows` keys, and the words of the table, which are 0.
        unsafe { batch.launch(&FillTable { keys, words, header, plan }, side.rows) }
    }

    /// Queues repeating the splits of a side. All rows were counted, so each bin of the last split
    /// can begin where the previous bin ends.
    pub(super) fn split_again(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let side = &self.plan.sides[number];
        let (last, bins) = (side.levels.len() - 1, 1 << self.plan.page_bits);
        let starts = self.of_side(batch, number, side.starts_at);
        let state = self.of_side(batch, number, side.counts_of(last + 1));
        let counts = self.of_side(batch, number, side.counts_of(last));
        // SAFETY: there is a count for each bin, and there are words for the starts and their end,
        // and for the scan's state, which is 0.
        unsafe { queue_starts(batch, bins, counts, starts, state)? };
        // The left side repeats all splits, because the right side's splits have overwritten its
        // intermediate rows.
        let first = if number == RIGHT { last } else { 0 };
        let counts = side.counts_of(first) as usize..side.counts_of(last + 1) as usize;
        batch.zero_range(self.memory(number), counts)?;
        (first..=last).try_for_each(|level| self.split(batch, (number, level), (level == last).then_some(starts)))
    }

    /// Returns the pairs of a side after `splits` splits.
    fn pairs(&self, batch: &Batch<'a>, number: usize, splits: usize) -> Pairs<K, u32> {
        let side = &self.plan.sides[number];
        match splits.checked_sub(1) {
            // If there are no values, the first split generates the row indices.
            None => {
                let values = self.values[number].map(|values| batch.read(values));
                Pairs { keys: batch.read(self.keys[number]), values: or_null(values) }
            }
            Some(level) => {
                let is_own = (side.levels.len() - 1 - level).is_multiple_of(2);
                let to = match is_own {
                    true => self.of_side(batch, number, side.pairs_at),
                    false => self.at(batch, self.plan.between_at),
                };
                Pairs::at(to, side.levels[level].capacity())
            }
        }
    }

    /// Queues a split of a side. Its bins begin at `starts` if these are given.
    fn split(&self, batch: &Batch<'a>, (number, level): (usize, usize), starts: Option<Global<u32>>) -> Result<()> {
        let side = &self.plan.sides[number];
        let arrays = SplitArrays {
            from: self.pairs(batch, number, level),
            to: self.pairs(batch, number, level + 1),
            columns: None,
            counts_in: level.checked_sub(1).map(|before| self.of_side(batch, number, side.counts_of(before))),
            starts,
            counts: self.of_side(batch, number, side.counts_of(level)),
            state: None,
            header: self.header(batch, number),
        };
        // SAFETY: the scratch has the counts of each split, which are 0, and memory for its bins.
        // The memory alternates: a split reads where the previous split wrote.
        unsafe { queue_split(batch, (level, &side.levels[level]), side.rows, self.constants, arrays) }
    }

    /// Queues sorting a side by bin.
    fn sort(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let (plan, side) = (self.plan, &self.plan.sides[number]);
        let numbers = self.at::<u32>(batch, plan.numbers_at);
        let passes = plan.passes::<K>(self.constants, side.rows);
        let to = Storage::Words(self.of_side(batch, number, side.pairs_at));
        let other = Storage::Words(self.at(batch, plan.between_at));
        let sorted = to.pairs(side.rows);
        let values = self.values[number].map_or(numbers, |values| batch.read(values));
        let from = Pairs { keys: batch.read(self.keys[number]), values };
        let starts = BinStarts {
            keys: sorted.keys,
            starts: self.of_side(batch, number, side.starts_at),
            header: self.header(batch, 0),
            plan: BinStartsParams { keys: side.rows, bits: plan.page_bits, most: plan.most_of_bucket(side.rows) },
        };
        let all = (1 << passes.digits()) - 1;
        // SAFETY: the scratch begins with the words of the passes. It has memory for the rows
        // twice, for their indices, and for the starts of all bins and their end.
        unsafe {
            if self.values[number].is_none() {
                let iota = Iota { output: numbers, plan: IotaParams { items: side.rows, first: 0, padding: 0 } };
                batch.launch(&iota, side.rows)?;
            }
            passes.clear(batch, self.scratch)?;
            if side.rows != 0 {
                passes.count(batch, self.scratch, from.keys)?;
                passes.scan(batch, self.scratch)?;
                passes.order(batch, self.scratch, all, (from, false), (&to, &other))?;
            }
            batch.launch(&starts, (1 << plan.page_bits) + 1)
        }
    }

    /// Returns a side as arguments for the kernels. `has_starts` tells whether its last split was
    /// repeated.
    pub(super) fn side(&self, batch: &Batch<'a>, number: usize, has_starts: bool) -> Side<K> {
        let side = &self.plan.sides[number];
        let starts = self.of_side(batch, number, side.starts_at);
        match side.arrangement {
            Arrangement::Whole => {
                Side { pairs: self.pairs(batch, number, 0), counts: None, bin_capacity: 0, are_apart: false }
            }
            Arrangement::Split => {
                let last = side.levels.len() - 1;
                let pairs = self.pairs(batch, number, side.levels.len());
                let (counts, bin_capacity) = match has_starts {
                    true => (starts, 0),
                    false => (self.of_side(batch, number, side.counts_of(last)), side.levels[last].bin_capacity),
                };
                Side { pairs, counts: Some(counts), bin_capacity, are_apart: false }
            }
            Arrangement::Table => Side {
                pairs: Pairs { keys: self.of_side(batch, number, side.pairs_at), values: or_null(None) },
                counts: None,
                bin_capacity: 0,
                are_apart: false,
            },
            Arrangement::Sorted => {
                let pairs = Pairs::at(self.of_side(batch, number, side.pairs_at), side.rows);
                Side { pairs, counts: Some(starts), bin_capacity: 0, are_apart: true }
            }
        }
    }
}
