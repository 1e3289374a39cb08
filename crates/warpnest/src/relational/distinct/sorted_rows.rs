//! Ids for rows on the cores of a CPU where most keys differ: the rows are sorted by their keys,
//! which takes less time than a dictionary that fits no cache.

use crate::primitives::{Scratch, iota, sort_pairs};
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::layered::compacting::{CountRuns, NumberRuns, RunsParams};

/// The fewest rows of a chunk: fewer are done before another core has woken up.
const MIN_CHUNK_ROWS: u64 = 1 << 15;

/// The arrays that rows are encoded to, each as long as the rows.
#[derive(Clone, Copy)]
pub(super) struct Encoded<'b, K> {
    /// The different keys.
    pub keys: &'b Buffer<K>,
    /// The number of rows of each key.
    pub counts: &'b Buffer<u32>,
    /// The id of each row's key.
    pub ids: &'b Buffer<u32>,
}

/// Gives the rows `keys` ids in the order of their keys, on `cores` cores; returns the number of
/// different keys. There is a row.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
pub(super) fn number_sorted<K: Key>(
    stream: &Stream,
    device: &Device,
    keys: &Buffer<K>,
    encoded: Encoded<'_, K>,
    cores: usize,
) -> Result<usize> {
    let rows = keys.len() as u64;
    let mut sorted = Buffer::<K::Word>::uninitialized(device, keys.len())?;
    let mut numbers = Buffer::uninitialized(device, keys.len())?;
    sorted.copy_from(stream, keys.words())?;
    iota(stream, &mut numbers)?;
    sort_pairs(stream, &mut Scratch::new(device), &mut sorted, &mut numbers)?;

    let chunks = (rows / MIN_CHUNK_ROWS).clamp(1, cores.max(1) as u64);
    let plan = RunsParams { rows, chunk_rows: rows.div_ceil(chunks) };
    let found = Buffer::uninitialized(device, chunks as usize)?;
    stream.batch(|batch| {
        let count = CountRuns { keys: batch.read(&sorted), found: batch.write(&found), plan };
        // SAFETY: there are that many keys, in order, and a word for each chunk.
        unsafe { batch.launch_blocks(&count, chunks) }
    })?;
    // The first id of each chunk.
    let (mut length, mut ids) = (0, found.download(stream)?);
    for id in &mut ids {
        length += std::mem::replace(id, length);
    }
    let found = Buffer::from_slice(device, &ids)?;
    stream.batch(|batch| {
        let number = NumberRuns {
            keys: batch.read(&sorted),
            rows: batch.read(&numbers),
            found: batch.read(&found),
            ids: batch.write(encoded.ids),
            keys_out: batch.write(encoded.keys.words()),
            counts: batch.write(encoded.counts),
            plan,
        };
        // SAFETY: the keys are in order, and with each is the number of its row. All outputs are as
        // long as the rows, and no chunk writes what another one does.
        unsafe { batch.launch_blocks(&number, chunks) }
    })?;
    Ok(length as usize)
}
