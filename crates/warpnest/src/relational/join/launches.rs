//! The launches of a join.

use super::plan::{Arrangement, JoinPlan, Pass, SideLayout};
use crate::primitives::{Pairs, Storage};
use crate::relational::splits::{SplitArrays, or_null, queue_split};
use crate::runtime::stream::Batch;
use crate::{Buffer, Result};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::relational::join::{
    BinStarts, BinStartsParams, JoinDirect, JoinDirectParams, JoinPages, JoinPagesParams, ROUND_ROWS, header,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::KeyWord;

/// The buffers that row numbers are written to: those of the left side, and of the right one if
/// they are wanted; none if pairs are only counted.
pub(super) type Outputs<'o> = Option<[Option<&'o Buffer<u32>>; 2]>;

/// A join, and what it works in.
pub(super) struct Launches<'a, K> {
    pub plan: &'a JoinPlan,
    pub keys: [&'a Buffer<K>; 2],
    pub constants: [u64; 2],
    pub scratch: &'a Buffer<u64>,
}

/// A side of a pass as its kernel takes it.
struct Side<K> {
    pairs: Pairs<K, u32>,
    counts: Option<Global<u32>>,
    bin_capacity: u64,
}

impl<'a, K: KeyWord> Launches<'a, K> {
    /// Returns the words of the scratch from number `at` on.
    fn at<T>(&self, batch: &Batch<'a>, at: u64) -> Global<T> {
        batch.write(self.scratch).offset(at).cast()
    }

    fn header(&self, batch: &Batch<'a>) -> Global<u64> {
        self.at(batch, self.plan.header_at)
    }

    /// Queues setting the header to 0.
    pub fn clear_header(&self, batch: &Batch<'a>) -> Result<()> {
        let begin = self.plan.header_at as usize;
        batch.zero_range(self.scratch, begin..begin + header::WORDS)
    }

    /// Queues bringing the rows together.
    pub fn arrange(&self, batch: &Batch<'a>, passes: &[Pass]) -> Result<()> {
        let plan = self.plan;
        batch.writes(self.scratch);
        batch.zero_range(self.scratch, plan.header_at as usize..plan.zeros_end as usize)?;
        match plan.arrangement {
            Arrangement::Whole => Ok(()),
            Arrangement::Direct => passes.iter().try_for_each(|pass| self.sort(batch, pass.build)),
            Arrangement::Split => (0..2).try_for_each(|side| self.split(batch, side)),
            Arrangement::Sorted => (0..2).try_for_each(|side| self.sort(batch, side)),
        }
    }

    /// Returns the offset of the counts of the bins of a side's level, in 64-bit words.
    fn counts_at(side: &SideLayout, level: usize) -> u64 {
        side.counts_at + side.levels[..level].iter().map(|level| level.counts_words()).sum::<u64>()
    }

    /// Queues the splits of a side.
    fn split(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let side = &self.plan.sides[number];
        // The numbers of the rows are made by the first split.
        let mut from = Pairs::<K, u32> { keys: batch.read(self.keys[number]), values: or_null(None) };
        for (number, level) in side.levels.iter().enumerate() {
            let is_last = (side.levels.len() - 1 - number) % 2 == 0;
            let to =
                Pairs::at(self.at(batch, if is_last { side.pairs_at } else { self.plan.between_at }), level.capacity());
            let arrays = SplitArrays {
                from,
                to,
                counts_in: number.checked_sub(1).map(|before| self.at(batch, Self::counts_at(side, before))),
                starts: None,
                counts: self.at(batch, Self::counts_at(side, number)),
                header: self.header(batch),
            };
            // SAFETY: the scratch has the counts of each split, which are 0, and bins at their
            // offsets, in turn: a split reads where the one before it wrote.
            unsafe { queue_split(batch, (number, level), side.rows, self.constants, arrays)? };
            from = to;
        }
        Ok(())
    }

    /// Queues sorting a side by bin.
    fn sort(&self, batch: &Batch<'a>, number: usize) -> Result<()> {
        let (plan, side) = (self.plan, &self.plan.sides[number]);
        let numbers = self.at::<u32>(batch, plan.numbers_at);
        let passes = plan.passes::<K>(self.constants, side.rows);
        let [to, other] = [side.pairs_at, plan.between_at].map(|at| Storage::Words(self.at(batch, at)));
        let sorted = to.pairs(side.rows);
        let from = Pairs { keys: batch.read(self.keys[number]), values: numbers };
        let starts = BinStarts {
            keys: sorted.keys,
            starts: self.at(batch, side.counts_at),
            plan: BinStartsParams { keys: side.rows, bits: plan.page_bits, padding: 0 },
        };
        let all = (1 << passes.digits()) - 1;
        // SAFETY: the scratch begins with the words of the passes, and has memory for the rows
        // twice, for their numbers, and for the starts of all bins and their end.
        unsafe {
            let iota = Iota { output: numbers, plan: IotaParams { items: side.rows, first: 0, padding: 0 } };
            batch.launch(&iota, side.rows)?;
            passes.clear(batch, self.scratch)?;
            if side.rows != 0 {
                passes.count(batch, self.scratch, from.keys)?;
                passes.scan(batch, self.scratch)?;
                passes.order(batch, self.scratch, all, (from, false), (&to, &other))?;
            }
            batch.launch(&starts, (1 << plan.page_bits) + 1)
        }
    }

    fn side(&self, batch: &Batch<'a>, number: usize) -> Side<K> {
        let side = &self.plan.sides[number];
        match self.plan.arrangement {
            Arrangement::Whole | Arrangement::Direct => Side {
                pairs: Pairs { keys: batch.read(self.keys[number]), values: or_null(None) },
                counts: None,
                bin_capacity: 0,
            },
            Arrangement::Split => {
                let last = side.levels.len() - 1;
                Side {
                    pairs: Pairs::at(self.at(batch, side.pairs_at), side.levels[last].capacity()),
                    counts: Some(self.at(batch, Self::counts_at(side, last))),
                    bin_capacity: side.levels[last].bin_capacity,
                }
            }
            Arrangement::Sorted => Side {
                pairs: Pairs::at(self.at(batch, side.pairs_at), side.rows),
                counts: Some(self.at(batch, side.counts_at)),
                bin_capacity: 0,
            },
        }
    }

    /// Queues a pass over all bins, or over as many listed items.
    pub fn pass(&self, batch: &Batch<'a>, pass: Pass, outputs: Outputs<'a>, listed: Option<u64>) -> Result<()> {
        let plan = self.plan;
        let [a, b] = self.constants;
        let out = |side: usize| or_null(outputs.and_then(|outputs| outputs[side]).map(|buffer| batch.write(buffer)));
        let (build_out, probe_out) = (out(pass.build), out(pass.probe()));
        let lengths = outputs.into_iter().flatten().flatten().map(|buffer| buffer.len() as u64);
        let capacity = lengths.min().unwrap_or(0);
        let (build, probe) = (self.side(batch, pass.build), self.side(batch, pass.probe()));
        let header = self.header(batch);
        if plan.arrangement == Arrangement::Direct {
            let side = &plan.sides[pass.build];
            let sorted = Pairs::<K, u32>::at(self.at(batch, side.pairs_at), side.rows);
            let probes = plan.sides[pass.probe()].rows;
            let direct = JoinDirect {
                build_keys: sorted.keys,
                build_rows: sorted.values,
                starts: self.at(batch, side.counts_at),
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
                },
            };
            // SAFETY: the build side is sorted by bucket, there are as many probe rows, and the
            // outputs have the capacity.
            return unsafe { batch.launch_blocks(&direct, probes.div_ceil(ROUND_ROWS as u64)) };
        }
        let (rounds, blocks) = plan.blocks(pass);
        let pages = JoinPages::<K, false> {
            build_keys: build.pairs.keys,
            build_rows: build.pairs.values,
            build_counts: or_null(build.counts),
            probe_keys: probe.pairs.keys,
            probe_rows: probe.pairs.values,
            probe_counts: or_null(probe.counts),
            items: self.at(batch, plan.items_at),
            build_out,
            probe_out,
            header,
            plan: JoinPagesParams {
                a,
                b,
                build: plan.sides[pass.build].rows,
                probe: plan.sides[pass.probe()].rows,
                build_capacity: build.bin_capacity,
                probe_capacity: probe.bin_capacity,
                capacity,
                emit: pass.emit.0,
                page_bits: plan.page_bits,
                page_rows: plan.page_rows,
                bucket_bits: plan.bucket_bits,
                rounds,
                padding: 0,
            },
        };
        // SAFETY: both sides are arranged as the plan says, there is an item for each further block
        // of the list, and the outputs have the capacity.
        unsafe {
            match listed {
                None => batch.launch_blocks(&pages, blocks),
                Some(items) => batch.launch_blocks(&pages.variant::<true>(), items),
            }
        }
    }
}
