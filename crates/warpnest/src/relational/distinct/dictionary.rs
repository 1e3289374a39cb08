//! Dictionary encoding on the cores of a CPU: each core encodes a chunk of the rows by a dictionary
//! of its own, and the keys of the other chunks are then added to those of the first.

use super::sorted_rows::{Encoded, number_sorted};
use crate::{Buffer, BuildError, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::page::{
    BUCKET_WORDS, Encode, EncodeParams, Layout, MAX_EXCESS, MIN_BUCKETS, PROGRESS_WORDS, TRANSLATED, Translate,
    TranslateParams, dictionary_layout,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Scalar};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The fewest rows of a chunk: fewer are encoded before another core has woken up.
const MIN_CHUNK_ROWS: u64 = 1 << 13;
/// The number of keys of the first dictionary.
const FIRST_KEYS: u64 = 1 << 9;
/// The most that a dictionary grows by at once.
const MAX_GROWTH: u64 = 4;
/// The number of slots for eight keys of a full dictionary.
const SLOTS_FOR_EIGHT: u64 = 16;
/// The rows for each one in a sample.
const SAMPLED_ONE_IN: usize = 64;
/// The share of rows whose key comes once in a sample above which one core encodes all rows. Each
/// chunk then has most of these keys, and finding them twice and adding them up takes longer than
/// two cores save.
const SELDOM: f64 = 1.0 / 16.0;
/// The same share above which rows are sorted, if their ids may have any order: about that of two
/// rows a key.
const SORTED: f64 = 0.975;
/// The fewest rows that are sorted: a dictionary of fewer is in the cache for the most part.
const SORTED_ROWS: u64 = 1 << 18;
/// The slots of a bucket in the form that has the fewest.
const MIN_SLOTS: u64 = 4;
/// The number of constants that are tried before a build fails.
const ATTEMPTS: u32 = 25;

/// The words of a dictionary's buckets.
type Packed<K> = <<K as Value>::Word as KeyWord>::PackedWord<u32>;

/// Encodes the rows `keys` on `cores` cores; returns the number of different keys. These are
/// `in_order` of appearance, or else in any order.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::Driver`]; [`Error::BuildFailed`] after many constants under
/// which some key found all of its slots taken.
pub(super) fn encode<K: Key>(
    stream: &Stream,
    device: &Device,
    keys: &Buffer<K>,
    encoded: Encoded<'_, K>,
    (cores, in_order): (usize, bool),
    seed: u64,
) -> Result<usize> {
    let rows = keys.len() as u64;
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    let mut chunks = (rows / MIN_CHUNK_ROWS).clamp(1, cores.max(1) as u64);
    if chunks > 1 || (!in_order && rows >= SORTED_ROWS) {
        let once = keys.words().with_elements(stream, |keys| once_in_sample(keys, &mut random))?;
        if !in_order && rows >= SORTED_ROWS && once > SORTED {
            return number_sorted(stream, device, keys, encoded, cores);
        }
        if once > SELDOM {
            chunks = 1;
        }
    }
    let chunk_rows = rows.div_ceil(chunks).max(1);
    let mut encoder = Encoder { stream, device, random, encoded, dictionaries: None, attempts: 0 };
    let mut progress = vec![Progress::default(); rows.div_ceil(chunk_rows).max(1) as usize];
    encoder.run(&Source::Rows(keys), rows, chunk_rows, &mut progress)?;
    let mut length = progress[0].length;
    if progress.len() > 1 {
        // The numbers of the other chunks' keys among those of all chunks.
        let numbers = Buffer::uninitialized(device, chunk_rows as usize)?;
        for (number, chunk) in progress.iter().enumerate().skip(1) {
            let first = number as u64 * chunk_rows;
            let mut added = [Progress { length, ..Progress::default() }];
            encoder.run(&Source::Chunk { first, numbers: &numbers }, chunk.length, chunk.length, &mut added)?;
            length = added[0].length;
            encoder.translate(first, chunk_rows.min(rows - first), &numbers)?;
        }
    }
    Ok(length as usize)
}

/// Returns whether most keys differ, so that sorting the rows takes less time than a dictionary.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn is_sorting_faster<K: Key>(stream: &Stream, keys: &Buffer<K>, seed: u64) -> Result<bool> {
    if (keys.len() as u64) < SORTED_ROWS {
        return Ok(false);
    }
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    Ok(keys.words().with_elements(stream, |keys| once_in_sample(keys, &mut random))? > SORTED)
}

/// Returns the share of the rows of a sample whose key comes once in it.
///
/// As large a share of the other rows have a key that is not in the sample (Good 1953, *The
/// population frequencies of species and the estimation of population parameters*).
fn once_in_sample<W: Ord + Copy>(keys: &[W], random: &mut impl Rng) -> f64 {
    let rows = keys.chunks_exact(SAMPLED_ONE_IN).map(|rows| rows[random.next_u64() as usize % SAMPLED_ONE_IN]);
    let mut sample: Vec<W> = rows.collect();
    sample.sort_unstable();
    let once = sample.chunk_by(|one, other| one == other).filter(|equal| equal.len() == 1).count();
    once as f64 / sample.len().max(1) as f64
}

/// The rows that are encoded.
enum Source<'b, K> {
    /// The rows of the input.
    Rows(&'b Buffer<K>),
    /// The keys of a chunk, weighted by their counts, all of which begin at row `first`.
    Chunk { first: u64, numbers: &'b Buffer<u32> },
}

/// The progress of a chunk.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The number of rows that have ids.
    rows: u64,
    /// The number of keys found.
    length: u64,
    /// Whether a key found all of its slots taken.
    failed: bool,
}

/// A dictionary for each chunk.
struct Dictionaries {
    words: Buffer<u64>,
    layout: Layout,
    /// The number of keys at which one is full.
    limit: u64,
}

struct Encoder<'b, K> {
    stream: &'b Stream,
    device: &'b Device,
    random: Xoshiro256StarStar,
    encoded: Encoded<'b, K>,
    dictionaries: Option<Dictionaries>,
    /// The number of constants under which a key found no slot.
    attempts: u32,
}

impl<K: Key> Encoder<'_, K> {
    /// Encodes all rows, with larger dictionaries as they are needed. Dictionaries that are there
    /// have the keys that `progress` counts.
    fn run(&mut self, source: &Source<'_, K>, rows: u64, chunk_rows: u64, progress: &mut [Progress]) -> Result<()> {
        let rows_of = |chunk: usize| chunk_rows.min(rows - chunk as u64 * chunk_rows);
        loop {
            let failed = progress.iter().any(|chunk| chunk.failed);
            let left = progress.iter().enumerate().filter(|(number, chunk)| chunk.rows < rows_of(*number));
            if left.clone().next().is_none() && !failed {
                return Ok(());
            }
            let limit = self.dictionaries.as_ref().map_or(0, |dictionaries| dictionaries.limit);
            let full = failed || left.clone().any(|(_, chunk): (usize, &Progress)| chunk.length >= limit);
            if full {
                // As many keys as if new ones went on to come at the same rate, which is the most.
                let expected = |(number, chunk): (usize, &Progress)| {
                    let rate = chunk.length as f64 / chunk.rows.max(1) as f64;
                    let all = (rows_of(number) as f64 * rate) as u64;
                    let most = chunk.length + rows_of(number) - chunk.rows;
                    most.min(all.clamp(2 * limit, MAX_GROWTH * limit).max(FIRST_KEYS))
                };
                let keys = left.map(expected).max().unwrap_or(0);
                self.make_dictionaries(progress.len() as u64, keys.max(limit), failed)?;
            }
            self.launch(source, rows, chunk_rows, full, progress)?;
        }
    }

    /// Replaces the dictionaries by empty ones, for so many keys in each of `chunks` chunks.
    fn make_dictionaries(&mut self, chunks: u64, keys: u64, failed: bool) -> Result<()> {
        self.attempts += failed as u32;
        if self.attempts == ATTEMPTS {
            let load = 8.0 / SLOTS_FOR_EIGHT as f64;
            return Err(Error::BuildFailed(BuildError::Page { pairs: keys, load, attempts: ATTEMPTS }));
        }
        // The old memory is freed first: both together may be more than there is.
        self.dictionaries = None;
        let slots = (keys + MAX_EXCESS as u64) * SLOTS_FOR_EIGHT / 8;
        let buckets = slots.div_ceil(MIN_SLOTS).next_multiple_of(2).max(MIN_BUCKETS as u64);
        let (a, b) = (self.random.next_u64(), self.random.next_u64());
        let layout = dictionary_layout::<K::Word>(a, b, buckets as u32);
        let words = chunks * buckets * BUCKET_WORDS as u64 * <Packed<K> as Scalar>::BITS as u64 / 64;
        // An engine of cores allocates zeros.
        debug_assert!(self.device.engine().allocates_zeros());
        let words = Buffer::uninitialized(self.device, words as usize)?;
        self.dictionaries = Some(Dictionaries { words, layout, limit: keys });
        Ok(())
    }

    /// Encodes rows until they end or dictionaries are full.
    fn launch(
        &self,
        source: &Source<'_, K>,
        rows: u64,
        chunk_rows: u64,
        restore: bool,
        progress: &mut [Progress],
    ) -> Result<()> {
        let Some(Dictionaries { words, layout, limit }) = &self.dictionaries else { return Ok(()) };
        let Encoded { keys: keys_out, counts, ids, .. } = self.encoded;
        let state: Vec<u64> = progress.iter().flat_map(|chunk| [chunk.rows, chunk.length, 0]).collect();
        let state = Buffer::from_slice(self.device, &state)?;
        self.stream.batch(|batch| {
            let (keys_out, counts) = (batch.write(keys_out.words()), batch.write(counts));
            let (keys, weights, ids) = match source {
                // SAFETY: the kernel's documentation allows no weights.
                Source::Rows(keys) => (batch.read(keys.words()), unsafe { Global::null() }, batch.write(ids)),
                Source::Chunk { first, numbers } => {
                    (keys_out.offset(*first), counts.offset(*first), batch.write(*numbers))
                }
            };
            let (words, plan) = (
                batch.write(words),
                EncodeParams { layout: *layout, rows, chunk_rows, limit: *limit, restore: restore as u64 },
            );
            let encode =
                Encode::<K::Word> { keys, weights, ids, keys_out, counts, words, progress: batch.write(&state), plan };
            // SAFETY: all arrays are as long as the rows, or as the chunk that is added; those of a
            // chunk are behind the keys that it is added to, or where the next of these goes. The
            // dictionaries have the words of their layout, and slots for more keys than the limit.
            unsafe { batch.launch_blocks(&encode, progress.len() as u64) }
        })?;
        let state = state.download(self.stream)?;
        for (chunk, words) in progress.iter_mut().zip(state.chunks_exact(PROGRESS_WORDS as usize)) {
            *chunk = Progress { rows: words[0], length: words[1], failed: words[2] != 0 };
        }
        Ok(())
    }

    /// Replaces the ids of the rows from `first` on, which are those of their chunk.
    fn translate(&self, first: u64, rows: u64, numbers: &Buffer<u32>) -> Result<()> {
        self.stream.batch(|batch| {
            let ids = batch.write(self.encoded.ids).offset(first);
            let translate = Translate { ids, translation: batch.read(numbers), plan: TranslateParams { rows } };
            // SAFETY: there is a word for each key of the chunk, and ids are below their number.
            unsafe { batch.launch_blocks(&translate, rows.div_ceil(TRANSLATED)) }
        })
    }
}
