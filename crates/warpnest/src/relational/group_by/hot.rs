//! The hot pass, for few groups and for heavy hitters: aggregates the rows of the most frequent
//! keys on chip in one pass over the input. The other rows are left for another method.

use super::listed::List;
use super::outputs::{ChipInput, Computed, OwnArrays};
use super::sample::{SMALL_BLOCKS, Sampled};
use crate::primitives::Scratch;
use crate::relational::columns::WordsRef;
use crate::runtime::machine::PerMachine;
use crate::runtime::stream::Batch;
use crate::split::{Regions, or_null};
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::group_by::hot::{region, tile};
use gpu_kernels::relational::group_by::sample::header;
use gpu_kernels::relational::group_by::{
    BuildHot, BuildHotParams, HotGroups, HotGroupsParams, HotParams, HotPass, HotPassLarge, HotPassParts,
};
use gpu_kernels::types::{KeyWord, Row};

/// If the share of missed rows is below this, appending them takes few atomic operations, because a
/// warp has about one missed row.
const FEW_MISSED: f64 = 1e-3;
/// The blocks per core of a CPU, in general and for a small table. A small table needs more,
/// because other cores do not wake up for few threads with little memory.
const BLOCKS_A_CORE: u64 = 4;
const SMALL_BLOCKS_A_CORE: u64 = 16;
/// The most slots of a small table.
const SMALL_SLOTS: u32 = 512;

/// The launch configuration of the hot pass, which decides where missed rows are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct HotShape {
    blocks: u64,
    /// The count of rows of each block's region; `None` if all missed rows are contiguous.
    region: Option<u64>,
    rows: u64,
}

impl HotShape {
    pub(super) fn new<K: KeyWord, V: Row>(stream: &Stream, sampled: &Sampled<'_, K>) -> Self {
        let threads =
            if sampled.is_large { HotPassLarge::<K, V, false>::ENTRY } else { HotPass::<K, V, false>::ENTRY }.threads;
        let rows = sampled.all_rows;
        let each = PerMachine {
            gpu: if sampled.is_large { 1 } else { SMALL_BLOCKS as u64 },
            core: if sampled.table.slots <= SMALL_SLOTS { SMALL_BLOCKS_A_CORE } else { BLOCKS_A_CORE },
        };
        // Blocks that read the same tiles have the parts of the table.
        let part_bits = sampled.table.part_bits;
        let tiles = rows.div_ceil(tile::<K, V>(threads)).max(1);
        let blocks = (stream.machine().blocks(each) >> part_bits).min(tiles).max(1) << part_bits;
        // A table has parts only if it has nearly all keys.
        let is_few = sampled.missed_share < FEW_MISSED || part_bits != 0;
        Self { blocks, region: (!is_few).then(|| region::<K, V>(rows, blocks as u32, threads)), rows }
    }

    /// Returns the count of rows for which the buffers of missed rows need memory: all rows may be
    /// missed.
    pub(super) fn missed_rows(&self) -> u64 {
        self.region.map_or(self.rows, |region| self.blocks * region)
    }

    /// Returns the count of regions.
    pub(super) fn regions(&self) -> u64 {
        if self.region.is_some() { self.blocks } else { 0 }
    }
}

/// The memory to which the rows of keys that are not hot are copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed<'m, K> {
    /// The keys, of which there are [`HotShape::missed_rows`].
    pub keys: &'m Buffer<K>,
    /// The values of each column, equally many.
    pub columns: &'m [WordsRef<'m>],
    /// The count of rows of each region.
    pub counts: &'m Buffer<u32>,
}

impl<K> Missed<'_, K> {
    /// Fails unless all arrays have the lengths that the hot pass needs.
    fn check(&self, input: &ChipInput<'_, K>, rows: usize, regions: usize) -> Result<()> {
        crate::error::same_length(("the missed rows", rows), ("the missed keys", self.keys.len()))?;
        crate::error::same_length(("the regions", regions), ("their counts", self.counts.len()))?;
        for values in input.columns.iter().filter_map(|column| column.words) {
            crate::error::same_length(("the keys", input.keys.len()), ("the values", values.len()))?;
        }
        for values in self.columns {
            crate::error::same_length(("the missed rows", rows), ("the missed values", values.len()))?;
        }
        Ok(())
    }
}

/// The findings of the hot pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HotFound {
    /// The count of groups of hot keys, including groups for which the outputs have no capacity.
    pub groups: u64,
    /// The count of rows whose key is not hot.
    pub missed: u64,
    /// The regions of the missed rows; `None` if they are contiguous.
    pub regions: Option<Regions>,
}

/// Queues the hot pass, as the kernel for its table and for its missed rows.
///
/// # Safety
/// As for the kernel.
unsafe fn launch<K: KeyWord, V: Row>(
    batch: &Batch<'_>,
    pass: HotPass<K, V, false>,
    (is_large, has_parts, HotShape { blocks, region, .. }): (bool, bool, HotShape),
) -> Result<()> {
    let few = pass.variant::<true>();
    // SAFETY: the caller guarantees it.
    unsafe {
        match (is_large, region.is_none()) {
            _ if has_parts => batch.launch_blocks(&HotPassParts::from(few), blocks),
            (false, false) => batch.launch_blocks(&pass, blocks),
            (false, true) => batch.launch_blocks(&few, blocks),
            (true, false) => batch.launch_blocks(&HotPassLarge::from(pass), blocks),
            (true, true) => batch.launch_blocks(&HotPassLarge::from(few), blocks),
        }
    }
}

/// Aggregates the rows of the hot keys of a sample of `keys`, and writes their groups to the front
/// of `out`, in any order. The rows of all other keys are copied to `missed`, in any order. Waits
/// for the counts of both, and returns them with the scratch of the sample, which is free then.
///
/// `out` must have the same outputs as when the sample was taken, and `shape` must belong to the
/// sample. There is memory for all rows to be missed, so no row is lost.
///
/// One pass reads all rows once. A row with a hot key costs a lookup in a block's shared memory,
/// and an atomic addition there for each aggregate.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(super) fn hot_pass<'s, K: KeyWord, V: Row>(
    stream: &Stream,
    input: ChipInput<'_, K>,
    (sampled, shape): (Sampled<'s, K>, HotShape),
    out: &Computed<K>,
    missed: Missed<'_, K>,
) -> Result<(HotFound, &'s mut Scratch)> {
    let Sampled { scratch, layout, table, is_large, all_rows: rows, rows: drawn, hot, .. } = sampled;
    let (keys, blocks, missed_rows) = (input.keys, shape.blocks, shape.missed_rows() as usize);
    crate::error::same_length(("the sampled keys", rows as usize), ("the keys", keys.len()))?;
    missed.check(&input, missed_rows, shape.regions() as usize)?;
    if rows == 0 {
        return Ok((HotFound { groups: 0, missed: 0, regions: None }, scratch));
    }
    let capacity = out.capacity();
    let words = scratch.reserve(layout.words)?;
    stream.batch(|batch| {
        let header = batch.write(words);
        let (slots, groups) = (layout.aggregates.arrays(header), out.arrays(batch));
        let OwnArrays { sums, counts, minima, maxima } = slots.own::<V>();
        let own_groups = groups.own::<V>();
        let columns = header.offset(layout.columns);
        let missed_columns: Vec<_> = missed.columns.iter().map(|words| words.write(batch)).collect();
        let hot_keys = header.offset(layout.table).cast();
        let list = header.offset(layout.list).cast();
        let places = or_null((table.is_placed != 0).then(|| header.offset(layout.places).cast()));
        // SAFETY: the documentation of the kernels allows null for arrays that are not wanted. The
        // scratch has the layout's words. Its aggregates are still 0, as they were when the sample
        // was taken. The list comes from the sample of these rows, and there is at least one row.
        // Inputs have as many elements as there are rows, missed buffers as many as the shape says,
        // and outputs as many as the capacity.
        unsafe {
            if V::IS_LIST {
                let moved = input.moved(batch, out, &missed_columns);
                List::new(moved, [Some(slots), Some(groups)]).queue(batch, columns)?;
            }
            let plan = BuildHotParams { table, hot: hot as u32, drawn: drawn as u32 };
            let draws = header.offset(layout.draws).cast();
            let (keys, upper) = keys.read(batch);
            let build = BuildHot { keys, upper, list, draws, table_out: hot_keys, places_out: places, plan };
            let pass = HotPass::<K, V, false> {
                keys,
                upper,
                values: input.values::<V>(batch),
                table: hot_keys,
                places,
                sums,
                counts,
                minima,
                maxima,
                missed_keys: batch.write(missed.keys),
                missed_values: or_null(missed_columns.first().filter(|_| V::VALUE_BITS != 0).copied()).cast(),
                missed_counts: batch.write_or_null(shape.region.map(|_| missed.counts)),
                columns,
                header,
                plan: HotParams {
                    table,
                    column: out.params(),
                    rows,
                    listed_words: out.shape().listed_words::<V>(),
                    padding: 0,
                },
            };
            let groups = HotGroups::<K, V> {
                table: hot_keys,
                sums,
                counts,
                minima,
                maxima,
                keys_out: batch.write(&out.keys),
                sums_out: own_groups.sums,
                counts_out: own_groups.counts,
                minima_out: own_groups.minima,
                maxima_out: own_groups.maxima,
                columns,
                header,
                plan: HotGroupsParams { table, column: out.params(), capacity },
            };
            batch.launch_blocks(&build, 1 << table.part_bits)?;
            launch(batch, pass, (is_large, table.part_bits != 0, shape))?;
            batch.launch(&groups, table.all_slots() as u64)
        }
    })?;
    let found = words.download_front(stream, header::WORDS)?;
    let [groups, missed, most] = [header::GROUPS, header::MISSED, header::MOST_MISSED].map(|word| found[word as usize]);
    let regions = shape.region.map(|capacity| Regions { number: blocks, capacity, most });
    Ok((HotFound { groups, missed, regions }, scratch))
}
