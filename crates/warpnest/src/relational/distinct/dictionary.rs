//! Dictionary encoding on the cores of a CPU. Each core encodes a chunk of the rows with a
//! dictionary of its own, and then all keys are added to the first chunk's dictionary. If there are
//! many keys, `by_parts` divides the rows by their keys.

use super::by_parts::by_parts;
use super::parts::Encoded;
use crate::primitives::Scratch;
use crate::relational::group_by::on_cores::Sample;
use crate::{Buffer, Key, Result, Stream};
use gpu_kernels::relational::distinct::{
    CHUNK_WORDS, Encode, EncodeParams, Hash, MergeChunks, TRANSLATED, Translate, TranslateParams, most_bits,
};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The fewest rows of a chunk, and the most chunks per core. With several chunks per core, a core
/// that wakes up late can process fewer.
const MIN_CHUNK_ROWS: u64 = 1 << 15;
const CHUNKS_A_CORE: u64 = 4;
/// The fewest rows for more than one chunk. Fewer rows are encoded before another core has woken
/// up.
const MIN_SHARED_ROWS: u64 = 1 << 17;
/// The fewest rows that are divided if there are many keys.
const MIN_DIVIDED_ROWS: u64 = 1 << 15;
/// If more of a sample's rows have a key that occurs once, a dictionary of all keys does not fit
/// into a core's private caches. This share corresponds to about 6,000 keys in the largest sample.
const SELDOM: f64 = 0.25;

/// Encodes the rows `keys` on `cores` cores; returns the count of distinct keys. The keys are
/// `in_order` of appearance, or else in any order.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
pub(super) fn encode<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    encoded: Encoded<'_, K>,
    (cores, in_order): (usize, bool),
    seed: u64,
) -> Result<usize> {
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    let hash = Hash { a: random.next_u64(), b: random.next_u64(), skipped: 0, padding: 0 };
    let (rows, cores) = (keys.len() as u64, cores.max(1));
    let most_chunks = if rows < MIN_SHARED_ROWS { 1 } else { CHUNKS_A_CORE * cores as u64 };
    let chunks = (rows / MIN_CHUNK_ROWS).clamp(1, most_chunks);
    if rows >= MIN_DIVIDED_ROWS {
        let sample = keys.words().with_elements(stream, |keys| Sample::of(keys, [hash.a, hash.b], &mut random))?;
        // One core merges the keys of all chunks. If that takes too long, dividing the rows on all
        // cores is faster.
        let merged = sample.keys() * (chunks - 1) as f64 * cores as f64;
        if sample.once_share() > SELDOM || merged > rows as f64 {
            return by_parts(stream, scratch, keys, encoded, (cores, in_order), hash);
        }
    }
    by_chunks(stream, scratch, keys, encoded, chunks, hash)
}

/// Encodes each chunk of the rows with its own dictionary. Ids are in the order of first
/// appearance.
fn by_chunks<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    Encoded { keys: keys_out, counts, ids }: Encoded<'_, K>,
    chunks: u64,
    hash: Hash,
) -> Result<usize> {
    let rows = keys.len() as u64;
    let chunk_rows = rows.div_ceil(chunks).max(1).next_multiple_of(TRANSLATED);
    let chunks = rows.div_ceil(chunk_rows).max(1);
    let plan = EncodeParams { hash, rows, chunk_rows, first_bits: most_bits(rows), other_bits: most_bits(chunk_rows) };
    let slots = scratch.lend::<u32>(plan.slots(chunks) as usize)?;
    let state = scratch.lend::<u32>((CHUNK_WORDS * chunks) as usize)?;
    let numbers = (chunks > 1 && ids.is_some()).then(|| scratch.lend::<u32>(rows as usize)).transpose()?;
    stream.batch(|batch| {
        let (keys_out, slots, state) = (batch.write(keys_out.words()), batch.write(&slots), batch.write(&state));
        // SAFETY: the kernels' documentation allows null for `counts`, `ids` and `numbers`.
        let [counts, ids, numbers] = [counts, ids, numbers.as_ref()].map(|words| unsafe { batch.write_or_null(words) });
        let encode = Encode::<K::Word> { keys: batch.read(keys.words()), ids, keys_out, counts, slots, state, plan };
        // SAFETY: all arrays have an element for each row, there are as many slots as the plan
        // says, and there is state for each chunk.
        unsafe { batch.launch_blocks(&encode, chunks)? };
        if chunks == 1 {
            return Ok(());
        }
        let merge = MergeChunks::<K::Word> { keys_out, counts, numbers, slots, state, chunks, plan };
        // SAFETY: as above, and the chunks have been encoded.
        unsafe { batch.launch_blocks(&merge, 1)? };
        if numbers.is_null() {
            return Ok(());
        }
        let translate = Translate { ids, numbers, plan: TranslateParams { rows, chunk_rows } };
        // SAFETY: the ids of a chunk's keys begin at the index of its first row, and the chunk's
        // own ids are less than the count of its keys.
        unsafe { batch.launch_blocks(&translate, (rows - chunk_rows).div_ceil(TRANSLATED)) }
    })?;
    let length = state.download_at(stream, 0)?;
    scratch.give_back(slots);
    scratch.give_back(state);
    numbers.into_iter().for_each(|numbers| scratch.give_back(numbers));
    Ok(length as usize)
}
