//! Dictionary encoding by one thread: the different keys of some rows, in the order in which they
//! appear, with the id of each row's key and the number of rows of each key.
//!
//! The dictionary is a page that is never shared, so that a key gets its id where it is inserted:
//! there is no second lookup, and no pass over the slots. It begins small and is replaced by a
//! larger one when it is full, so that the keys of a skewed input stay in the cache.

use super::Layout;
use super::form::{BUCKET_WORDS, Form, Four};
use super::pairs::{AT_ONCE, Pairs};
use super::table::{MAX_NEAR_BUCKETS, equal_tags, near, value_at};
use crate::seam::{Block, Global, Word, Work, vectorized};
use crate::types::{KeyWord, Nothing, Scalar};

/// The keys by which a dictionary may exceed its limit: those of the rows that are processed
/// together.
pub const MAX_EXCESS: u32 = 2 * AT_ONCE as u32;

/// The most buckets that a key of a dictionary may be in. No key is evicted, so there are so many
/// that a dictionary with free slots hardly ever has none for a key.
const MAX_CANDIDATES: u64 = 32;

/// Returns the layout of a dictionary of `buckets` buckets, an even number of at least
/// [`MIN_BUCKETS`](super::MIN_BUCKETS). They have the form whose tags number the most candidates.
pub fn dictionary_layout<K: KeyWord>(a: u64, b: u64, buckets: u32) -> Layout {
    let layout = Layout::new::<K, u32>(a, b, 0, buckets);
    let tags = (1 << Four::tag_bits::<K::PackedWord<u32>>()) - 1;
    Layout { slots: Four::SLOTS, candidates: (tags / layout.remainders).min(MAX_CANDIDATES) as u32, ..layout }
}

/// The scalar arguments of [`Encode`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EncodeParams {
    /// The layout of each dictionary, of one page.
    pub layout: Layout,
    /// The number of rows of all chunks.
    pub rows: u64,
    /// The number of rows of a chunk; the last one may have fewer.
    pub chunk_rows: u64,
    /// The number of keys at which a dictionary is full. It is less than its slots by at least
    /// [`MAX_EXCESS`].
    pub limit: u64,
    /// The flag of new dictionaries, which are all zeros: 1 if the keys found so far must be
    /// inserted first.
    pub restore: u64,
}

/// The words of a chunk's progress: the number of rows done, the number of keys found, and 1 if a
/// key found all of its candidates full, so that other constants are needed.
pub const PROGRESS_WORDS: u64 = 3;

cores_kernel! {
    /// Encodes each chunk of rows by a dictionary of its own, with a block for each chunk, until
    /// the rows end or the dictionary is full.
    ///
    /// The arrays of chunk `c` begin at its first row, and its dictionary at the words of `c`
    /// layouts. Its progress, [`PROGRESS_WORDS`] words, is brought up to date.
    ///
    /// `ids[row]` becomes the number of the row's key among those of the chunk, and `counts` the
    /// sums of the `weights` of each key's rows. Each row weighs 1 if `weights` is null. Keys and
    /// weights may follow the chunk's own output in one array.
    Encode<K: KeyWord>, "page_encode", threads 16384;
    {
        keys: Global<K>, weights: Global<u32>, ids: Global<u32>, keys_out: Global<K>, counts: Global<u32>,
        words: Global<u64>, progress: Global<u64>, plan: EncodeParams,
    }
}

impl<K: KeyWord> Encode<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let EncodeParams { layout, rows, chunk_rows, limit, restore } = self.plan;
        let chunk = block.index() as u64;
        let first = chunk * chunk_rows;
        let progress = self.progress.offset(PROGRESS_WORDS * chunk);
        let words = self.words.cast::<K::PackedWord<u32>>();
        let words = words.offset(chunk * layout.buckets() as u64 * BUCKET_WORDS as u64);
        let (row, end) = (progress.load(0), chunk_rows.min(rows - first));
        let length = progress.load(1) as u32;
        let (keys, ids) = (self.keys.offset(first), self.ids.offset(first));
        let (keys_out, counts) = (self.keys_out.offset(first), self.counts.offset(first));
        let dictionary = Dictionary { words, layout, keys: keys_out };
        let (limit, restore) = (limit as u32, restore != 0);
        let weights = self.weights;
        let (row, length, whole) = if weights.is_null() {
            vectorized(Rows::<false, K> { dictionary, keys, weights, ids, counts, row, end, length, limit, restore })
        } else {
            let weights = weights.offset(first);
            vectorized(Rows::<true, K> { dictionary, keys, weights, ids, counts, row, end, length, limit, restore })
        };
        progress.store(0, row);
        progress.store(1, length as u64);
        progress.store(2, !whole as u64);
    }
}

/// A page whose values are ids, and the keys with these ids.
#[derive(Clone, Copy)]
struct Dictionary<K: KeyWord> {
    words: Global<K::PackedWord<u32>>,
    layout: Layout,
    keys: Global<K>,
}

/// A group of rows, with what can be computed for all of them at once.
#[derive(Clone, Copy, Default)]
struct Prepared<W> {
    homes: [u32; AT_ONCE],
    /// The tags that the keys have at home, and those that they have beside it.
    tags: [[W; AT_ONCE]; 2],
}

impl<K: KeyWord> Dictionary<K> {
    /// Computes where the keys from `first` on belong, and prefetches these buckets. What is beyond
    /// `end` is unspecified.
    #[inline(always)]
    fn prepare(&self, keys: Global<K>, first: u64, end: u64, prepared: &mut Prepared<K::PackedWord<u32>>) {
        let here = end.saturating_sub(first).min(AT_ONCE as u64) as u32;
        // SAFETY: keys alone have no values, so nothing is read there.
        let pairs = Pairs::<true, K, Nothing>::new(keys, unsafe { Global::null() });
        let (keys, _) = pairs.load_many(first, here, true);
        let layout = self.layout;
        for i in 0..AT_ONCE {
            let mixed = keys[i].mixed(layout.a, layout.b);
            prepared.homes[i] = mixed.scaled(layout.page_buckets);
            let remainder = layout.remainder(mixed);
            (prepared.tags[0][i], prepared.tags[1][i]) = (layout.tag(remainder, 0), layout.tag(remainder, 1));
        }
        if layout.page_buckets > MAX_NEAR_BUCKETS {
            for home in prepared.homes {
                let home = home as u64 * BUCKET_WORDS as u64;
                self.words.prefetch(home);
                // Two buckets of wide words are two lines.
                if <K::PackedWord<u32> as Scalar>::BITS > 32 {
                    self.words.prefetch(home ^ BUCKET_WORDS as u64);
                }
            }
        }
    }

    /// Inserts a key that is neither at home nor beside it, with this id. Returns the word of the
    /// key's value, which is another id if the key is elsewhere; `None` if its candidates are full.
    #[inline(always)]
    fn insert(&self, home: u32, tags: [K::PackedWord<u32>; 2], id: u32) -> Option<u64> {
        let first = home as u64 * BUCKET_WORDS as u64;
        let empty: K::PackedWord<u32> = Scalar::from_u64(0);
        // The slots of home come first.
        let free = near::<Four, _>(self.words, first, [empty, empty], true);
        if free == 0 {
            return insert_far(*self, home, tags[0], id);
        }
        let tag = if free as u32 != 0 { tags[0] } else { tags[1] };
        Some(self.put(first, free, tag, id))
    }

    /// Puts a pair into the slot of the lowest bit of `free`, as [`near`] reports it for the bucket
    /// from word `first` on; returns the number of the value's word.
    #[inline(always)]
    fn put(&self, first: u64, free: u64, tag: K::PackedWord<u32>, id: u32) -> u64 {
        let value_at = value_at::<Four>(first, free);
        // The form has a word for each tag.
        self.words.store(value_at - Four::TAG_WORDS as u64, tag);
        self.words.store(value_at, Scalar::from_u64(id as u64));
        value_at
    }
}

/// Inserts a key as [`Dictionary::insert`] does, if home and the bucket beside it are full. It is a
/// function of its own, so that keys that do not need it are not slowed down.
#[cold]
#[inline(never)]
fn insert_far<K: KeyWord>(dictionary: Dictionary<K>, home: u32, tag: K::PackedWord<u32>, id: u32) -> Option<u64> {
    let Dictionary { words, layout, .. } = dictionary;
    let remainder = tag.minus(Scalar::from_u64(1));
    for number in 2..layout.candidates {
        let first = layout.candidate(home, remainder, number) as u64 * BUCKET_WORDS as u64;
        let tag = layout.tag(remainder, number);
        let equal = equal_tags::<Four, _>(words, first, tag);
        if equal != 0 {
            return Some(value_at::<Four>(first, equal as u64));
        }
        let free = equal_tags::<Four, _>(words, first, Scalar::from_u64(0));
        if free != 0 {
            return Some(dictionary.put(first, free as u64, tag, id));
        }
    }
    None
}

/// The rows of a chunk from number `row` to `end`, and its dictionary of `length` keys.
///
/// The output is the first row that is left, the number of keys, and whether each key found a slot.
struct Rows<const WEIGHTED: bool, K: KeyWord> {
    dictionary: Dictionary<K>,
    keys: Global<K>,
    weights: Global<u32>,
    ids: Global<u32>,
    counts: Global<u32>,
    row: u64,
    end: u64,
    length: u32,
    limit: u32,
    restore: bool,
}

impl<const WEIGHTED: bool, K: KeyWord> Work for Rows<WEIGHTED, K> {
    type Output = (u64, u32, bool);

    #[inline(always)]
    fn run(self) -> (u64, u32, bool) {
        let (mut even, mut odd) = (Prepared::default(), Prepared::default());
        let (mut row, mut length, step) = (self.row, self.length, AT_ONCE as u64);
        if self.restore && !self.restored(&mut even) {
            return (row, length, false);
        }
        self.dictionary.prepare(self.keys, row, self.end, &mut even);
        // While some rows get their ids, the buckets of the next ones are being fetched.
        while row < self.end && length < self.limit {
            self.dictionary.prepare(self.keys, row + step, self.end, &mut odd);
            let done = self.encode(row, &even, &mut length);
            if done < AT_ONCE {
                let row = row + done as u64;
                return (row, length, row == self.end);
            }
            self.dictionary.prepare(self.keys, row + 2 * step, self.end, &mut even);
            let done = self.encode(row + step, &odd, &mut length);
            if done < AT_ONCE {
                let row = row + step + done as u64;
                return (row, length, row == self.end);
            }
            row += 2 * step;
        }
        (row.min(self.end), length, true)
    }
}

impl<const WEIGHTED: bool, K: KeyWord> Rows<WEIGHTED, K> {
    /// Inserts the keys that were found earlier; returns whether each got a slot.
    #[inline(always)]
    fn restored(&self, prepared: &mut Prepared<K::PackedWord<u32>>) -> bool {
        let (dictionary, mut first) = (&self.dictionary, 0);
        while first < self.length {
            dictionary.prepare(dictionary.keys, first as u64, self.length as u64, prepared);
            for i in 0..AT_ONCE.min((self.length - first) as usize) {
                let tags = [prepared.tags[0][i], prepared.tags[1][i]];
                if dictionary.insert(prepared.homes[i], tags, first + i as u32).is_none() {
                    return false;
                }
            }
            first += AT_ONCE as u32;
        }
        true
    }

    /// Gives ids to the group of rows from number `first` on; returns how many got one. They are
    /// fewer than [`AT_ONCE`] where the rows end, or if the next one's key found no slot.
    #[inline(always)]
    fn encode(&self, first: u64, prepared: &Prepared<K::PackedWord<u32>>, length: &mut u32) -> usize {
        let Self { dictionary, keys, weights, ids, counts, .. } = self;
        let words = dictionary.words;
        let here = AT_ONCE.min(self.end.saturating_sub(first) as usize);
        for i in 0..here {
            let row = first + i as u64;
            let (home, tags) = (prepared.homes[i], [prepared.tags[0][i], prepared.tags[1][i]]);
            let home_at = home as u64 * BUCKET_WORDS as u64;
            let weight = if WEIGHTED { weights.load(row) } else { 1 };
            let equal = near::<Four, _>(words, home_at, tags, true);
            let at = if equal != 0 {
                value_at::<Four>(home_at, equal)
            } else {
                match dictionary.insert(home, tags, *length) {
                    Some(at) => at,
                    None => return i,
                }
            };
            let id = words.load(at).to_u64() as u32;
            if equal == 0 && id == *length {
                // The key may be stored where it is read, and the weight too.
                dictionary.keys.store(id as u64, keys.load(row));
                counts.store(id as u64, weight);
                *length += 1;
            } else {
                counts.store(id as u64, counts.load(id as u64) + weight);
            }
            ids.store(row, id);
        }
        here
    }
}

/// The scalar arguments of [`Translate`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TranslateParams {
    /// The number of rows.
    pub rows: u64,
}

cores_kernel! {
    /// Replaces each of `ids` by the word of `translation` with that number. A block does
    /// [`TRANSLATED`] rows.
    Translate<>, "page_translate", threads 16384;
    { ids: Global<u32>, translation: Global<u32>, plan: TranslateParams }
}

/// The rows of a block of [`Translate`].
pub const TRANSLATED: u64 = 1 << 14;

impl Translate {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { ids, translation, plan } = self;
        let first = block.index() as u64 * TRANSLATED;
        for row in first..plan.rows.min(first + TRANSLATED) {
            ids.store(row, translation.load_read_only(ids.load(row) as u64));
        }
    }
}
