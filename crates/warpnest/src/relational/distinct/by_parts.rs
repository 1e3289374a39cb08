//! Dictionary encoding on the cores of a CPU, for many distinct keys. The rows are divided into
//! parts by the hashes of their keys, so that a part's dictionary fits into a core's private
//! caches.

use super::parts::Encoded;
use crate::primitives::Scratch;
use crate::{Buffer, Key, Result, Stream};
use gpu_kernels::relational::distinct::{
    CountParts, DivideKeys, DivideParams, EncodeParts, EncodePartsParams, GatherIds, Hash, OrderKeys, OrderKeysParams,
    PROGRESS_WORDS,
};
use gpu_kernels::seam::Global;

/// The base-2 logarithm of the average count of rows of a part.
const PART_BITS: u32 = 12;
/// The bounds of the base-2 logarithm of the count of parts. There are enough parts for all cores,
/// but so few that a core's first-level cache has a line of each.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 11;

/// The fewest rows of a chunk, and the most chunks per core. With several chunks per core, a core
/// that wakes up late can process fewer.
const MIN_CHUNK_ROWS: u64 = 1 << 13;
const CHUNKS_A_CORE: u64 = 4;

/// The most words of scratch for each row, unless a single core needs more.
const WORDS_A_ROW: u64 = 8;

/// Encodes the rows `keys` on `cores` cores; returns the count of distinct keys. The keys are
/// `in_order` of appearance, or else in any order.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
pub(super) fn by_parts<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    Encoded { keys: keys_out, counts, ids }: Encoded<'_, K>,
    (cores, in_order): (usize, bool),
    hash: Hash,
) -> Result<usize> {
    let rows = keys.len() as u64;
    let bits = rows.max(1).ilog2().saturating_sub(PART_BITS).clamp(MIN_BITS, MAX_BITS);
    let hash = Hash { skipped: bits, ..hash };
    let chunks = (rows / MIN_CHUNK_ROWS).clamp(1, CHUNKS_A_CORE * cores.max(1) as u64);
    let plan = DivideParams { hash, rows, chunk_rows: rows.div_ceil(chunks) };
    let parts = plan.parts();
    let mut begins = scratch.lend::<u32>((chunks * parts) as usize)?;
    stream.batch(|batch| {
        let count = CountParts::<K::Word> { keys: batch.read(keys.words()), counts: batch.write(&begins), plan };
        // SAFETY: there is a word for each part of each chunk.
        unsafe { batch.launch_blocks(&count, chunks) }
    })?;
    let (of_chunks, of_parts) = starts(&begins.download(stream)?, parts as usize);
    let largest = of_parts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
    let encoding = EncodePartsParams { hash, largest: largest as u64 };
    begins.upload(stream, &of_chunks)?;
    let mut lent = |words: &[u32]| -> Result<Buffer<u32>> {
        let mut lent = scratch.lend(words.len())?;
        lent.upload(stream, words)?;
        Ok(lent)
    };
    let (again, part_starts) = (lent(&of_chunks)?, lent(&of_parts)?);
    let progress = lent(&[0; PROGRESS_WORDS as usize])?;
    // A key with many rows makes its part large. Then the memory is enough for fewer cores.
    let blocks = (WORDS_A_ROW * rows / encoding.block_words()).clamp(1, cores.max(1) as u64);
    let memory = scratch.lend::<u32>((blocks * encoding.block_words()) as usize)?;
    let in_parts = scratch.lend::<K>(keys.len())?;
    // Ids are needed to put keys in order.
    let mut lend = |is_needed: bool| is_needed.then(|| scratch.lend::<u32>(keys.len())).transpose();
    let (own_ids, ids_in_parts) = (lend(in_order && ids.is_none())?, lend(in_order || ids.is_some())?);
    let (ordered, any_counts) = (lend(in_order)?, lend(in_order && counts.is_some())?);
    let ids = ids.or(own_ids.as_ref());
    stream.batch(|batch| {
        let (keys, keys_out) = (batch.read(keys.words()), batch.write(keys_out.words()));
        let (in_parts, progress) = (batch.write(in_parts.words()), batch.write(&progress));
        let counts_of_parts = any_counts.as_ref().or(counts);
        let words = [ids, ids_in_parts.as_ref(), ordered.as_ref(), counts_of_parts, counts];
        // SAFETY: the kernels' documentation allows null for ids, keys and counts.
        let ([ids, ids_in_parts, ordered, counts_of_parts, counts], no_keys) =
            unsafe { (words.map(|words| batch.write_or_null(words)), Global::null()) };
        let divide = DivideKeys::<K::Word> { keys, starts: batch.write(&begins), keys_out: in_parts, plan };
        let encode = EncodeParts::<K::Word> {
            keys: in_parts,
            starts: batch.read(&part_starts),
            parts,
            keys_out: if in_order { no_keys } else { keys_out },
            ids: ids_in_parts,
            counts: counts_of_parts,
            memory: batch.write(&memory),
            progress,
            plan: encoding,
        };
        // SAFETY: all arrays have an element for each row. In each part, the rows of a chunk begin
        // where the rows of the previous chunks end. There is memory for each block.
        unsafe {
            batch.launch_blocks(&divide, chunks)?;
            batch.launch_blocks(&encode, blocks)?;
        }
        if !ids.is_null() {
            let starts = batch.write(&again);
            let gather = GatherIds::<K::Word> { keys, starts, in_parts: ids_in_parts, ids, plan };
            // SAFETY: as above, and the rows of the parts have been encoded.
            unsafe { batch.launch_blocks(&gather, chunks)? };
        }
        if in_order {
            let plan = OrderKeysParams { rows };
            let order = OrderKeys::<K::Word> {
                keys,
                ids,
                ordered,
                counts: counts_of_parts,
                keys_out,
                counts_out: counts,
                progress,
                plan,
            };
            // SAFETY: as above, and each row has its id.
            unsafe { batch.launch_blocks(&order, 1)? };
        }
        Ok(())
    })?;
    let length = progress.download_at(stream, 1)?;
    scratch.give_back(in_parts);
    let lent = [own_ids, ids_in_parts, ordered, any_counts].into_iter().flatten();
    lent.chain([begins, again, part_starts, progress, memory]).for_each(|words| scratch.give_back(words));
    Ok(length as usize)
}

/// Returns the offset of each chunk's rows in each of `parts` parts, and the offsets of the parts.
/// The last offset is the count of all rows.
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
