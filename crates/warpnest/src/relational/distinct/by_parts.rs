//! Dictionary encoding of rows that are divided into parts by the hashes of their keys, on the
//! cores of a CPU: the dictionary of a part stays in a core's nearer cache.

use super::dictionary::{Encoded, MIN_CHUNK_ROWS};
use crate::primitives::Scratch;
use crate::{Buffer, Key, Result, Stream};
use gpu_kernels::relational::dictionary::{CountParts, DivideParams, DivideRows, EncodeParts, EncodePartsParams, Hash};

/// The rows of a part, on average, as a power of two.
const PART_BITS: u32 = 12;
/// The number of parts as a power of two: enough to share out among cores, and so few that a core
/// has a line of each in its nearest cache.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 11;

/// Encodes the rows `keys` on `cores` cores; returns the number of different keys, which are in any
/// order.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
pub(super) fn by_parts<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    Encoded { keys: keys_out, counts, ids }: Encoded<'_, K>,
    cores: usize,
    hash: Hash,
) -> Result<usize> {
    let rows = keys.len() as u64;
    let bits = rows.max(1).ilog2().saturating_sub(PART_BITS).clamp(MIN_BITS, MAX_BITS);
    let hash = Hash { skipped: bits, ..hash };
    let chunks = (rows / MIN_CHUNK_ROWS).clamp(1, cores.max(1) as u64);
    let plan = DivideParams { hash, rows, chunk_rows: rows.div_ceil(chunks) };
    let parts = plan.parts();
    let in_parts = scratch.lend::<K>(keys.len())?;
    let rows_of = ids.map(|_| scratch.lend::<u32>(keys.len())).transpose()?;
    let mut begins = scratch.lend::<u32>((chunks * parts) as usize)?;
    stream.batch(|batch| {
        let count = CountParts::<K::Word> { keys: batch.read(keys.words()), counts: batch.write(&begins), plan };
        // SAFETY: there is a word for each part of each chunk.
        unsafe { batch.launch_blocks(&count, chunks) }
    })?;
    let (of_chunks, of_parts) = starts(&begins.download(stream)?, parts as usize);
    begins.upload(stream, &of_chunks)?;
    let largest = of_parts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
    let encoding = EncodePartsParams { hash, largest: largest as u64 };
    let mut part_starts = scratch.lend::<u32>(of_parts.len())?;
    part_starts.upload(stream, &of_parts)?;
    let mut progress = scratch.lend::<u32>(2)?;
    progress.upload(stream, &[0, 0])?;
    let memory = scratch.lend::<u32>(cores.max(1) * encoding.block_words() as usize)?;
    stream.batch(|batch| {
        let in_parts = batch.write(in_parts.words());
        // SAFETY: the kernels' documentation allows no rows, no counts and no ids.
        let [rows_of, counts, ids] = [rows_of.as_ref(), counts, ids].map(|words| unsafe { batch.write_or_null(words) });
        let divide = DivideRows::<K::Word> {
            keys: batch.read(keys.words()),
            starts: batch.write(&begins),
            keys_out: in_parts,
            rows_out: rows_of,
            plan,
        };
        let encode = EncodeParts::<K::Word> {
            keys: in_parts,
            rows: rows_of,
            starts: batch.read(&part_starts),
            parts,
            keys_out: batch.write(keys_out.words()),
            ids,
            counts,
            memory: batch.write(&memory),
            progress: batch.write(&progress),
            plan: encoding,
        };
        // SAFETY: all arrays are as long as the rows. The rows of each chunk that are in a part
        // begin where those of the chunks before end, and there is memory for each block.
        unsafe {
            batch.launch_blocks(&divide, chunks)?;
            batch.launch_blocks(&encode, cores.max(1) as u64)
        }
    })?;
    let length = progress.download_at(stream, 1)?;
    scratch.give_back(in_parts);
    for words in [Some(begins), rows_of, Some(part_starts), Some(progress), Some(memory)].into_iter().flatten() {
        scratch.give_back(words);
    }
    Ok(length as usize)
}

/// Returns where the rows of each chunk begin in each of `parts` parts, by the number of these
/// rows, and where the parts begin. The last number is that of all rows.
fn starts(counts: &[u32], parts: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut of_chunks, mut of_parts, mut before) = (counts.to_vec(), Vec::with_capacity(parts + 1), 0);
    for part in 0..parts {
        of_parts.push(before);
        for begin in of_chunks.iter_mut().skip(part).step_by(parts) {
            before += std::mem::replace(begin, before);
        }
    }
    of_parts.push(before);
    (of_chunks, of_parts)
}
