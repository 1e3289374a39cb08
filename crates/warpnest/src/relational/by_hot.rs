//! Few groups, and heavy hitters: rows of the most frequent keys are aggregated on chip in one pass
//! over the input, whatever their order. The others are left for another way.

use super::aggregates::Aggregates;
use super::sample::Sampled;
use crate::runtime::stream::Batch;
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::hot::tile;
use gpu_kernels::relational::sample::header;
use gpu_kernels::relational::{HotGroups, HotGroupsParams, HotParams, HotPass};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar, WordOf};

/// The number of blocks that share a GPU's rows: three for each multiprocessor of the largest.
const BLOCKS: u64 = 3 * 132;
/// The number of blocks for each core of a CPU.
const BLOCKS_A_CORE: u64 = 4;

/// What the hot pass found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HotFound {
    /// The number of groups of hot keys, also of those that the outputs have no capacity for.
    pub groups: u64,
    /// The number of rows whose key is not hot.
    pub missed: u64,
}

impl<K, W: Scalar> Aggregates<'_, K, W> {
    /// Returns the number of 32-bit words that the aggregates of a group take on chip.
    pub(super) fn words(&self) -> u32 {
        let word = W::BITS / 32;
        let words = |is_wanted: bool, words: u32| if is_wanted { words } else { 0 };
        words(self.counts.is_some(), 1)
            + words(self.sums.is_some(), 2)
            + words(self.minima.is_some(), word)
            + words(self.maxima.is_some(), word)
    }
}

/// Aggregates the rows of the hot keys of a sample of these `keys`, and writes their groups to the
/// front of `out`, in any order. The rows of all other keys, none of which is among those groups,
/// are copied to the front of the buffers `missed`, in any order; waits for the numbers of both.
///
/// `out` wants what it wanted when the sample was taken. The missed buffers are as long as the
/// input, so nothing is ever lost; without `values`, that of values is left as it is.
///
/// One pass reads all rows once. A hot row costs a lookup and an atomic addition for each aggregate
/// in a block's own memory.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(crate) fn hot_pass<K: KeyWord, V: Payload>(
    stream: &Stream,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    sampled: Sampled<'_, K>,
    out: &Aggregates<'_, K, WordOf<V>>,
    missed: (&Buffer<K>, &Buffer<WordOf<V>>),
) -> Result<HotFound> {
    let Sampled { scratch, layout, table, all_rows: rows, .. } = sampled;
    crate::error::same_length(("the sampled keys", rows as usize), ("the keys", keys.len()))?;
    crate::error::same_length(("the keys", keys.len()), ("the missed keys", missed.0.len()))?;
    if let Some(values) = values {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        crate::error::same_length(("the keys", keys.len()), ("the missed values", missed.1.len()))?;
    }
    if rows == 0 {
        return Ok(HotFound { groups: 0, missed: 0 });
    }
    let capacity = out.lengths().min().unwrap_or(0) as u64;
    let words = scratch.reserve(layout.words)?;
    let tiles = rows.div_ceil(tile::<K, V>());
    let blocks = stream.cores().map_or(BLOCKS, |cores| cores as u64 * BLOCKS_A_CORE).min(tiles);
    stream.batch(|batch| {
        let header = batch.write(words);
        let part = |is_wanted: bool, at: u64| {
            // SAFETY: the kernels read and write what is not null.
            if is_wanted { header.offset(at) } else { unsafe { Global::null() } }
        };
        let sums = part(out.sums.is_some(), layout.sums);
        let counts = part(out.counts.is_some(), layout.counts).cast();
        let minima = part(out.minima.is_some(), layout.minima).cast();
        let maxima = part(out.maxima.is_some(), layout.maxima).cast();
        let hot_keys = header.offset(layout.table).cast();
        // SAFETY: the documentation of both kernels allows null for what is not wanted. The scratch
        // has the layout's words; its aggregates are 0, since they were when the sample was taken.
        // Inputs and missed buffers have as many elements as there are rows, outputs those of the
        // capacity. The table is that of the sample of these rows.
        unsafe {
            let pass = HotPass::<K, V> {
                keys: batch.read(keys),
                values: batch.read_or_null(values),
                table: hot_keys,
                sums,
                counts,
                minima,
                maxima,
                missed_keys: batch.write(missed.0),
                missed_values: batch.write_or_null(values.map(|_| missed.1)),
                header,
                plan: HotParams { table, column: out.column, rows },
            };
            let groups = HotGroups::<K, V> {
                table: hot_keys,
                sums,
                counts,
                minima,
                maxima,
                keys_out: batch.write(out.keys),
                sums_out: batch.write_or_null(out.sums),
                counts_out: batch.write_or_null(out.counts),
                minima_out: batch.write_or_null(out.minima),
                maxima_out: batch.write_or_null(out.maxima),
                header,
                plan: HotGroupsParams { table, column: out.column, capacity },
            };
            launch(batch, &pass, blocks, &groups)
        }
    })?;
    let found = words.download_front(stream, header::WORDS)?;
    Ok(HotFound { groups: found[header::GROUPS as usize], missed: found[header::MISSED as usize] })
}

/// Queues both kernels.
///
/// # Safety
/// As their documentation says, of arrays that the batch gave.
unsafe fn launch<K: KeyWord, V: Payload>(
    batch: &Batch<'_>,
    pass: &HotPass<K, V>,
    blocks: u64,
    groups: &HotGroups<K, V>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        batch.launch_blocks(pass, blocks)?;
        batch.launch(groups, groups.plan.table.slots as u64)
    }
}

impl<K, W> Aggregates<'_, K, W> {
    /// Returns the lengths of all buffers.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let others = [
            self.counts.map(|counts| counts.len()),
            self.sums.map(|sums| sums.len()),
            self.minima.map(|minima| minima.len()),
            self.maxima.map(|maxima| maxima.len()),
        ];
        others.into_iter().flatten().chain([self.keys.len()])
    }
}
