//! The launches of a join.

use super::columns::Outputs;
use super::joined::JoinMethod;
use super::plan::{Arrangement, Bins, HEADERS, JoinPlan, Pass, RIGHT};
use crate::primitives::{Pairs, Storage};
use crate::runtime::stream::Batch;
use crate::split::{SplitArrays, or_null, queue_split, queue_starts};
use crate::{Buffer, Result};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::relational::join::{
    BinStarts, BinStartsParams, DISTINCT_ROWS, FillTable, JoinDirect, JoinDirectParams, JoinDistinct,
    JoinDistinctParams, JoinOnChip, JoinOnChipParams, JoinPages, JoinPagesParams, JoinTable, JoinTableParams,
    SECTOR_WORDS, TableParams, header,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, inverse_multiplier};

/// A join, and what it works in.
pub(super) struct Launches<'a, K> {
    pub plan: &'a JoinPlan,
    pub keys: [&'a Buffer<K>; 2],
    /// The values of rows that are split, in place of their numbers.
    pub values: [Option<&'a Buffer<u32>>; 2],
    pub constants: [u64; 2],
    pub scratch: &'a Buffer<u64>,
    /// The memory of a right side that has its own.
    pub own: Option<&'a Buffer<u64>>,
}

/// A side of a pass as its kernel takes it.
struct Side<K> {
    pairs: Pairs<K, u32>,
    counts: Option<Global<u32>>,
    bin_capacity: u64,
    /// Whether keys and numbers are stored apart whatever their types.
    are_apart: bool,
}

impl<'a, K: KeyWord> Launches<'a, K> {
    /// Returns the words of the scratch from number `at` on.
    fn at<T>(&self, batch: &Batch<'a>, at: u64) -> Global<T> {
        batch.write(self.scratch).offset(at).cast()
    }

    /// Returns the memory of a side.
    fn memory(&self, number: usize) -> &'a Buffer<u64> {
        self.own.filter(|_| number == RIGHT).unwrap_or(self.scratch)
    }

    /// Returns the words of a side from number `at` of its memory on.
    fn of_side<T>(&self, batch: &Batch<'a>, number: usize, at: u64) -> Global<T> {
        batch.write(self.memory(number)).offset(at).cast()
    }

    /// Returns the header of a side; the first one is also the join's.
    fn header(&self, batch: &Batch<'a>, side: usize) -> Global<u64> {
        self.at(batch, self.plan.headers_at + (side * header::WORDS) as u64)
    }

    /// Queues setting the headers to 0.
    pub fn clear_headers(&self, batch: &Batch<'a>) -> Result<()> {
        let begin = self.plan.headers_at as usize;
        batch.zero_range(self.scratch, begin..begin + HEADERS as usize)
    }

    /// Queues setting the numbers of listed work items and of heavy bins to 0.
    pub fn clear_items(&self, batch: &Batch<'a>) -> Result<()> {
        let at = (self.plan.headers_at + header::ITEMS) as usize;
        const { assert!(header::HEAVY == header::ITEMS + 1) };
        batch.zero_range(self.scratch, at..at + 2)
    }

    /// Queues bringing the rows together.
    pub fn arrange(&self, batch: &Batch<'a>) -> Result<()> {
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

    /// Queues filling a table with a side's rows.
    fn fill_table(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let side = &self.plan.sides[number];
        let (begin, [a, b]) = (side.pairs_at as usize, self.constants);
        let end = begin + ((SECTOR_WORDS as usize) << self.plan.page_bits);
        batch.zero_range(self.memory(number), begin..end)?;
        let (keys, words) = (batch.read(self.keys[number]), self.of_side(batch, number, side.pairs_at));
        let header = self.header(batch, 0);
        let plan = TableParams { a, b, rows: side.rows, sector_bits: self.plan.page_bits, padding: 0 };
        // SAFETY: there are as many keys, and the table's words, which are 0.
        unsafe { batch.launch(&FillTable { keys, words, header, plan }, side.rows) }
    }

    /// Queues the splits of a side anew: all rows were counted, so each bin of the last one can
    /// begin where the one before it ends.
    pub fn split_again(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let side = &self.plan.sides[number];
        let (last, bins) = (side.levels.len() - 1, 1 << self.plan.page_bits);
        let starts = self.of_side(batch, number, side.starts_at);
        let state = self.of_side(batch, number, side.counts_of(last + 1));
        let counts = self.of_side(batch, number, side.counts_of(last));
        // SAFETY: there is a count for each bin, and the words for the starts, their end, and what
        // the scan publishes, which are 0.
        unsafe { queue_starts(batch, bins, counts, starts, state)? };
        // The splits of the right side have taken the memory of the left one's, but for the last.
        let first = if number == RIGHT { last } else { 0 };
        let counts = side.counts_of(first) as usize..side.counts_of(last + 1) as usize;
        batch.zero_range(self.memory(number), counts)?;
        (first..=last).try_for_each(|level| self.split(batch, (number, level), (level == last).then_some(starts)))
    }

    /// Returns the pairs of a side after so many splits.
    fn pairs(&self, batch: &Batch<'a>, number: usize, splits: usize) -> Pairs<K, u32> {
        let side = &self.plan.sides[number];
        match splits.checked_sub(1) {
            // The numbers of the rows are made by the first split.
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

    /// Queues a split of a side, to bins that begin at `starts` if these are given.
    fn split(&self, batch: &Batch<'a>, (number, level): (usize, usize), starts: Option<Global<u32>>) -> Result<()> {
        let side = &self.plan.sides[number];
        let arrays = SplitArrays {
            from: self.pairs(batch, number, level),
            to: self.pairs(batch, number, level + 1),
            counts_in: level.checked_sub(1).map(|before| self.of_side(batch, number, side.counts_of(before))),
            starts,
            counts: self.of_side(batch, number, side.counts_of(level)),
            state: None,
            header: self.header(batch, number),
        };
        // SAFETY: the scratch has the counts of each split, which are 0, and bins at their offsets,
        // in turn: a split reads where the one before it wrote.
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
        // SAFETY: the scratch begins with the words of the passes, and has memory for the rows
        // twice, for their numbers, and for the starts of all bins and their end.
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

    /// Returns a side for the kernels. `has_starts` says that its last split was made again.
    fn side(&self, batch: &Batch<'a>, number: usize, has_starts: bool) -> Side<K> {
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

    /// Returns the numbers of different keys of heavy bins, and the keys.
    fn distinct(&self, batch: &Batch<'a>) -> (Global<u32>, Global<K>) {
        let at = self.plan.between_at;
        (self.at(batch, at), self.at(batch, at + self.plan.distinct_counts_words()))
    }

    /// Queues finding the different keys of the heavy bins of a pass's build side.
    pub fn find_distinct(&self, batch: &Batch<'a>, pass: Pass, have_starts: [bool; 2]) -> Result<()> {
        let plan = self.plan;
        let (side, layout) = (self.side(batch, pass.build, have_starts[pass.build]), &plan.sides[pass.build]);
        let positions = match layout.levels.last() {
            Some(last) if side.bin_capacity != 0 => last.capacity(),
            _ => layout.rows,
        };
        let at = plan.between_at as usize;
        batch.zero_range(self.scratch, at..at + plan.distinct_counts_words() as usize)?;
        let (distinct, keys_out) = self.distinct(batch);
        let distinct = JoinDistinct {
            keys: side.pairs.keys,
            rows: side.pairs.values,
            counts: or_null(side.counts),
            distinct,
            keys_out,
            plan: JoinDistinctParams {
                rows: positions,
                bin_capacity: side.bin_capacity,
                page_bits: plan.page_bits,
                light_rows: plan.light_rows,
                apart: side.are_apart as u32,
                padding: 0,
            },
        };
        // SAFETY: the side is arranged as the plan says. There is a count for each bin, which is 0,
        // and memory for a key at each position of a row.
        unsafe { batch.launch_blocks(&distinct, positions.div_ceil(DISTINCT_ROWS)) }
    }

    /// Queues a pass over all bins, or over as many listed items. `have_starts` says for each side
    /// whether its last split was made again.
    pub fn pass(
        &self,
        batch: &Batch<'a>,
        pass: Pass,
        have_starts: [bool; 2],
        outputs: Option<Outputs<'a, K>>,
        listed: Option<u64>,
    ) -> Result<()> {
        let plan = self.plan;
        let [a, b] = self.constants;
        let out = |side: usize| or_null(outputs.and_then(|outputs| outputs.sides[side]).map(|out| batch.write(out)));
        let (build_out, probe_out) = (out(pass.build), out(pass.probe()));
        let capacity = outputs.map_or(0, |outputs| outputs.capacity());
        let side = |number: usize| self.side(batch, number, have_starts[number]);
        let (build, probe) = (side(pass.build), side(pass.probe()));
        let header = self.header(batch, 0);
        if plan.method == JoinMethod::Direct {
            let (block_rows, blocks) = plan.direct_blocks(pass);
            let probes = plan.sides[pass.probe()].rows;
            if plan.sides[pass.build].arrangement == Arrangement::Table {
                let table = JoinTable {
                    words: build.pairs.keys.cast(),
                    probe_keys: probe.pairs.keys,
                    build_out,
                    probe_out,
                    header,
                    plan: JoinTableParams {
                        a,
                        b,
                        probe: probes,
                        capacity,
                        emit: pass.emit.0,
                        sector_bits: plan.page_bits,
                        block_rows,
                        padding: 0,
                    },
                };
                // SAFETY: the table has the build rows, there are as many probe rows, and the
                // outputs have the capacity.
                return unsafe { batch.launch_blocks(&table, blocks) };
            }
            let direct = JoinDirect {
                build_keys: build.pairs.keys,
                build_rows: build.pairs.values,
                starts: or_null(build.counts),
                probe_keys: probe.pairs.keys,
                build_out,
                probe_out,
                header,
                plan: JoinDirectParams {
                    a,
                    b,
                    probe: probes,
                    capacity,
                    emit: pass.emit.0,
                    bucket_bits: plan.page_bits,
                    block_rows,
                    padding: 0,
                },
            };
            // SAFETY: the build side is sorted by bucket, there are as many probe rows, and the
            // outputs have the capacity.
            return unsafe { batch.launch_blocks(&direct, blocks) };
        }
        let probes = plan.sides[pass.probe()].rows;
        if plan.method == JoinMethod::OnChip {
            let (round_rows, blocks) = plan.on_chip_blocks(pass);
            let on_chip = JoinOnChip {
                build_keys: build.pairs.keys,
                probe_keys: probe.pairs.keys,
                build_out,
                probe_out,
                header,
                plan: JoinOnChipParams {
                    a,
                    b,
                    build: plan.sides[pass.build].rows,
                    probe: probes,
                    capacity,
                    emit: pass.emit.0,
                    page_rows: plan.page_rows,
                    bucket_bits: plan.bucket_bits,
                    round_rows,
                },
            };
            // SAFETY: there are as many rows on each side, a page has memory for all build rows,
            // and the outputs have the capacity.
            return unsafe { batch.launch_blocks(&on_chip, blocks) };
        }
        let distinct = pass.is_of_distinct_keys().then(|| self.distinct(batch));
        let (build_keys, build_rows) =
            distinct.map_or((build.pairs.keys, build.pairs.values), |(_, keys)| (keys, keys.cast()));
        let is_heavy = pass.bins == Bins::Heavy;
        let pages = JoinPages::<K, false> {
            build_keys,
            build_rows,
            build_counts: or_null(build.counts),
            distinct: or_null(distinct.map(|(counts, _)| counts)),
            probe_keys: probe.pairs.keys,
            probe_rows: probe.pairs.values,
            probe_counts: or_null(probe.counts),
            items: self.at(batch, plan.items_at),
            build_out,
            probe_out,
            keys_out: or_null(outputs.and_then(|outputs| outputs.keys).map(|out| batch.write(out))),
            header,
            plan: JoinPagesParams {
                a,
                inverse_of_b: inverse_multiplier(b),
                build_capacity: build.bin_capacity,
                probe_capacity: probe.bin_capacity,
                capacity,
                emit: pass.emit.0,
                page_bits: plan.page_bits,
                page_rows: plan.page_rows,
                bucket_bits: plan.bucket_bits,
                item_rows: plan.item_rows(pass),
                build_apart: (build.are_apart || distinct.is_some()) as u32,
                probe_apart: probe.are_apart as u32,
                light_rows: if is_heavy || pass.emit.needs_all() { plan.light_rows } else { u32::MAX },
                heavy: is_heavy as u32,
                padding: 0,
            },
        };
        // SAFETY: both sides are arranged as the plan says, there is an item for each further block
        // of the list, and the outputs have the capacity.
        unsafe {
            match listed {
                None => batch.launch_blocks(&pages, 1 << plan.page_bits),
                Some(items) => batch.launch_blocks(&pages.variant::<true>(), items),
            }
        }
    }
}
