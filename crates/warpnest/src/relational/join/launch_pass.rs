//! The launches of a pass over both sides of a join, after their rows were arranged.

use super::columns::Outputs;
use super::joined::JoinMethod;
use super::launches::{Launches, Side};
use super::pass::{Bins, Pass};
use super::side_layout::Arrangement;
use crate::runtime::stream::Batch;
use crate::split::or_null;
use crate::{Buffer, Result};
use gpu_kernels::relational::join::{
    DISTINCT_ROWS, JoinDirect, JoinDirectParams, JoinDistinct, JoinDistinctParams, JoinOnChip, JoinOnChipParams,
    JoinPages, JoinPagesParams, JoinTable, JoinTableParams,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, inverse_multiplier};

/// The arguments for the kernel of a pass.
struct Arguments<'a, K> {
    pass: Pass,
    build: Side<K>,
    probe: Side<K>,
    /// The count of probe rows.
    probes: u64,
    build_out: Global<u32>,
    probe_out: Global<u32>,
    keys_out: Option<&'a Buffer<K>>,
    /// The count of rows for which the outputs have capacity.
    capacity: u64,
    header: Global<u64>,
}

impl<'a, K: KeyWord> Launches<'a, K> {
    /// Returns the counts of distinct keys of heavy bins, and these keys.
    fn distinct(&self, batch: &Batch<'a>) -> (Global<u32>, Global<K>) {
        let at = self.plan.between_at;
        (self.at(batch, at), self.at(batch, at + self.plan.distinct_counts_words()))
    }

    /// Queues finding the distinct keys of the heavy bins of a pass's build side.
    pub(super) fn find_distinct(&self, batch: &Batch<'a>, pass: Pass, have_starts: [bool; 2]) -> Result<()> {
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
        // and memory for a key at each row position.
        unsafe { batch.launch_blocks(&distinct, positions.div_ceil(DISTINCT_ROWS)) }
    }

    /// Queues a pass over all bins, or over the `listed` work items. `have_starts` tells for each
    /// side whether its last split was repeated.
    pub(super) fn pass(
        &self,
        batch: &Batch<'a>,
        pass: Pass,
        have_starts: [bool; 2],
        outputs: Option<Outputs<'a, K>>,
        listed: Option<u64>,
    ) -> Result<()> {
        let plan = self.plan;
        let out = |side: usize| or_null(outputs.and_then(|outputs| outputs.sides[side]).map(|out| batch.write(out)));
        let arguments = Arguments {
            pass,
            build_out: out(pass.build),
            probe_out: out(pass.probe()),
            build: self.side(batch, pass.build, have_starts[pass.build]),
            probe: self.side(batch, pass.probe(), have_starts[pass.probe()]),
            probes: plan.sides[pass.probe()].rows,
            keys_out: outputs.and_then(|outputs| outputs.keys),
            capacity: outputs.map_or(0, |outputs| outputs.capacity()),
            header: self.header(batch, 0),
        };
        match plan.method {
            JoinMethod::Direct if plan.sides[pass.build].arrangement == Arrangement::Table => {
                self.look_up_in_table(batch, arguments)
            }
            JoinMethod::Direct => self.look_up_in_buckets(batch, arguments),
            JoinMethod::OnChip => self.meet_on_chip(batch, arguments),
            _ => self.meet_in_pages(batch, arguments, listed),
        }
    }

    /// Queues looking up probe rows in a hash table of the build rows.
    fn look_up_in_table(&self, batch: &Batch<'a>, arguments: Arguments<'a, K>) -> Result<()> {
        let Arguments { pass, build, probe, probes, build_out, probe_out, capacity, header, .. } = arguments;
        let (plan, [a, b]) = (self.plan, self.constants);
        let (block_rows, blocks) = plan.direct_blocks(pass);
        let (emit, sector_bits) = (pass.emit.0, plan.page_bits);
        let table = JoinTable {
            words: build.pairs.keys.cast(),
            probe_keys: probe.pairs.keys,
            build_out,
            probe_out,
            header,
            plan: JoinTableParams { a, b, probe: probes, capacity, emit, sector_bits, block_rows, padding: 0 },
        };
        // SAFETY: the table contains the build rows, there are `probes` probe rows, and the outputs
        // have the given capacity.
        unsafe { batch.launch_blocks(&table, blocks) }
    }

    /// Queues looking up probe rows among build rows that are sorted by bucket.
    fn look_up_in_buckets(&self, batch: &Batch<'a>, arguments: Arguments<'a, K>) -> Result<()> {
        let Arguments { pass, build, probe, probes, build_out, probe_out, capacity, header, .. } = arguments;
        let (plan, [a, b]) = (self.plan, self.constants);
        let (block_rows, blocks) = plan.direct_blocks(pass);
        let (emit, bucket_bits) = (pass.emit.0, plan.page_bits);
        let direct = JoinDirect {
            build_keys: build.pairs.keys,
            build_rows: build.pairs.values,
            starts: or_null(build.counts),
            probe_keys: probe.pairs.keys,
            build_out,
            probe_out,
            header,
            plan: JoinDirectParams { a, b, probe: probes, capacity, emit, bucket_bits, block_rows, padding: 0 },
        };
        // SAFETY: the build side is sorted by bucket, there are `probes` probe rows, and the
        // outputs have the given capacity.
        unsafe { batch.launch_blocks(&direct, blocks) }
    }

    /// Queues blocks each of which loads all build rows into its page, and joins a part of the
    /// probe rows.
    fn meet_on_chip(&self, batch: &Batch<'a>, arguments: Arguments<'a, K>) -> Result<()> {
        let Arguments { pass, build, probe, probes, build_out, probe_out, capacity, header, .. } = arguments;
        let (plan, [a, b]) = (self.plan, self.constants);
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
        // SAFETY: both sides have as many rows as the plan says, a page has memory for all build
        // rows, and the outputs have the given capacity.
        unsafe { batch.launch_blocks(&on_chip, blocks) }
    }

    /// Queues a block for each bin, or for each listed work item. The block fills pages with build
    /// rows.
    fn meet_in_pages(&self, batch: &Batch<'a>, arguments: Arguments<'a, K>, listed: Option<u64>) -> Result<()> {
        let Arguments { pass, build, probe, build_out, probe_out, keys_out, capacity, header, .. } = arguments;
        let (plan, [a, b]) = (self.plan, self.constants);
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
            keys_out: or_null(keys_out.map(|out| batch.write(out))),
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
        // SAFETY: both sides are arranged as the plan says, and the outputs have the given
        // capacity. If `listed`, the list has an item for each block.
        unsafe {
            match listed {
                None => batch.launch_blocks(&pages, 1 << plan.page_bits),
                Some(items) => batch.launch_blocks(&pages.variant::<true>(), items),
            }
        }
    }
}
