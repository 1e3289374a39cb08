//! Chunks of rows, each encoded by a core, and the merge of their dictionaries.

use super::table::{Dictionary, FIRST_BITS, Hash, Rows};
use crate::seam::{Block, Global, vectorized};
use crate::types::KeyWord;

/// The scalar arguments of [`Encode`] and [`MergeChunks`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EncodeParams {
    /// The hash function of all dictionaries.
    pub hash: Hash,
    /// The count of rows of all chunks.
    pub rows: u64,
    /// The count of rows of a chunk. The last chunk may have fewer.
    pub chunk_rows: u64,
    /// The memory for the first chunk's dictionary: the binary logarithm of its most slots, which
    /// is the [`most_bits`](super::most_bits) of all rows.
    pub first_bits: u32,
    /// The memory for the dictionary of each other chunk: the binary logarithm of its most slots,
    /// which is the [`most_bits`](super::most_bits) of a chunk's rows.
    pub other_bits: u32,
}

/// The count of words for each chunk in `state`: the count of keys of its dictionary, and the
/// binary logarithm of its count of slots.
pub const CHUNK_WORDS: u64 = 2;

impl EncodeParams {
    /// Returns the count of slots of the dictionaries of `chunks` chunks.
    pub fn slots(&self, chunks: u64) -> u64 {
        (1 << self.first_bits) + ((chunks - 1) << self.other_bits)
    }

    /// Returns the count of rows of a chunk.
    #[inline(always)]
    fn rows_of(&self, chunk: u64) -> u64 {
        self.chunk_rows.min(self.rows - chunk * self.chunk_rows)
    }
}

cores_kernel! {
    /// Encodes each chunk of rows with its own dictionary, with a block for each chunk.
    ///
    /// The arrays of chunk `c` begin at the index of its first row. `ids[row]` becomes the id of
    /// the row's key among the keys of the chunk, and `counts` the count of rows of each key.
    /// Either may be null. `slots` may have any contents before.
    Encode<K: KeyWord>, "dictionary_encode", threads 16384;
    {
        keys: Global<K>, ids: Global<u32>, keys_out: Global<K>, counts: Global<u32>, slots: Global<u32>,
        state: Global<u32>, plan: EncodeParams,
    }
}

impl<K: KeyWord> Encode<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { keys, ids, keys_out, counts, slots, state, plan } = self;
        let chunk = block.index() as u64;
        let first = chunk * plan.chunk_rows;
        let (begin, most_bits) = match chunk {
            0 => (0, plan.first_bits),
            _ => ((1 << plan.first_bits) + ((chunk - 1) << plan.other_bits), plan.other_bits),
        };
        let dictionary =
            Dictionary::new(slots.offset(begin), keys_out.offset(first), plan.hash, (FIRST_BITS, most_bits));
        let encoded = encode(Rows {
            dictionary,
            keys: keys.offset(first),
            // SAFETY: the pointer is tested before it is read.
            weights: unsafe { Global::null() },
            ids: offset_if_any(ids, first),
            counts: offset_if_any(counts, first),
            rows: plan.rows_of(chunk),
        });
        state.store(CHUNK_WORDS * chunk, encoded.length);
        state.store(CHUNK_WORDS * chunk + 1, encoded.bits);
    }
}

/// The rows of [`encode`].
pub(super) type AllOfRows<K> = Rows<true, true, true, K>;

/// Encodes rows, and writes ids and counts unless these arrays are null. Each row has weight 1 if
/// `weights` is null.
#[inline(always)]
pub(super) fn encode<K: KeyWord>(rows: AllOfRows<K>) -> Dictionary<K> {
    match (rows.ids.is_null(), rows.counts.is_null(), rows.weights.is_null()) {
        (false, true, _) => vectorized(rows.of_these::<true, false, false>()),
        (true, true, _) => vectorized(rows.of_these::<false, false, false>()),
        (false, false, true) => vectorized(rows.of_these::<true, true, false>()),
        (true, false, true) => vectorized(rows.of_these::<false, true, false>()),
        (false, false, false) => vectorized(rows),
        (true, false, false) => vectorized(rows.of_these::<false, true, true>()),
    }
}

impl<K: KeyWord> AllOfRows<K> {
    #[inline(always)]
    fn of_these<const IDS: bool, const COUNTS: bool, const WEIGHTED: bool>(self) -> Rows<IDS, COUNTS, WEIGHTED, K> {
        let Rows { dictionary, keys, weights, ids, counts, rows } = self;
        Rows { dictionary, keys, weights, ids, counts, rows }
    }
}

#[inline(always)]
pub(super) fn offset_if_any(words: Global<u32>, first: u64) -> Global<u32> {
    if words.is_null() { words } else { words.offset(first) }
}

cores_kernel! {
    /// Adds the keys of the other chunks, and their counts unless these are null, to the dictionary
    /// of the first chunk. All arrays are as [`Encode`] left them. `numbers[row]` becomes the id,
    /// among the keys of all chunks, of the key at `keys_out[row]`. It may be null. The launch has
    /// one block.
    MergeChunks<K: KeyWord>, "dictionary_merge_chunks", threads 16384;
    {
        keys_out: Global<K>, counts: Global<u32>, numbers: Global<u32>, slots: Global<u32>,
        state: Global<u32>, chunks: u64, plan: EncodeParams,
    }
}

impl<K: KeyWord> MergeChunks<K> {
    /// Does the work of the block.
    #[inline(always)]
    pub fn run<B: Block>(self, _block: &mut B) {
        let Self { keys_out, counts, numbers, slots, state, chunks, plan } = self;
        let mut dictionary = Dictionary {
            slots,
            keys: keys_out,
            hash: plan.hash,
            bits: state.load(1),
            most_bits: plan.first_bits,
            length: state.load(0),
        };
        for chunk in 1..chunks {
            let first = chunk * plan.chunk_rows;
            dictionary = encode(Rows {
                dictionary,
                keys: keys_out.offset(first),
                weights: offset_if_any(counts, first),
                ids: offset_if_any(numbers, first),
                counts,
                rows: state.load(CHUNK_WORDS * chunk) as u64,
            });
        }
        state.store(0, dictionary.length);
    }
}

/// The scalar arguments of [`Translate`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TranslateParams {
    /// The count of rows.
    pub rows: u64,
    /// The count of rows of a chunk, a multiple of [`TRANSLATED`].
    pub chunk_rows: u64,
}

cores_kernel! {
    /// Replaces the ids in all chunks except the first by ids among the keys of all chunks, the
    /// `numbers` of [`MergeChunks`]. A block translates [`TRANSLATED`] rows; the first block begins
    /// with the second chunk.
    Translate<>, "dictionary_translate", threads 16384;
    { ids: Global<u32>, numbers: Global<u32>, plan: TranslateParams }
}

/// The count of rows of a block of [`Translate`].
pub const TRANSLATED: u64 = 1 << 14;

impl Translate {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { ids, numbers, plan: TranslateParams { rows, chunk_rows } } = self;
        let first = chunk_rows + block.index() as u64 * TRANSLATED;
        let numbers = numbers.offset(first - first % chunk_rows);
        for row in first..rows.min(first + TRANSLATED) {
            ids.store(row, numbers.load(ids.load(row) as u64));
        }
    }
}
