//! The rows of a build side, ordered by their buckets.

use crate::seam::{Global, Shared};
use crate::types::KeyWord;
use core::marker::PhantomData;

/// The most rows of any page, since starts of buckets have 16 bits.
pub const MAX_PAGE_ROWS: u32 = 1 << 15;

/// The count of rows after the last row of a page that may be read. The first rows of a bucket are
/// read without a test of how many rows it has.
pub(super) const PADDING: u32 = 4;

/// The rows of a build side, with all rows of a bucket adjacent.
pub(super) trait Buckets<K: PartialEq>: Copy + Sync {
    /// Returns the index of the first row of a mixed key's bucket, and the count of its rows.
    fn bucket(&self, mixed: K) -> (u32, u32);
    /// Returns the mixed key of a row.
    fn key(&self, at: u32) -> K;
    /// Returns whether a bucket has more than `step` rows, and row `step` of the bucket has the
    /// key. `step` is at most [`PADDING`].
    #[inline(always)]
    fn has_key(&self, (at, rows): (u32, u32), step: u32, mixed: K) -> bool {
        rows > step && self.key(at + step) == mixed
    }
    /// Returns the index in its table of a row.
    fn row(&self, at: u32) -> u32;
}

/// A page in shared memory. It has a word for each bucket, with the bucket's start in the lower
/// half and its count of rows in the upper half. After these words are the keys and the indices of
/// the rows.
#[derive(Clone, Copy)]
pub(super) struct Page<K, S> {
    words: S,
    /// The count of leading bits that all keys of the page share.
    page_bits: u32,
    bucket_bits: u32,
    /// The most rows of the page.
    capacity: u32,
    keys: PhantomData<K>,
}

impl<K: KeyWord, S> Page<K, S> {
    pub fn new(words: S, page_bits: u32, bucket_bits: u32, capacity: u32) -> Self {
        Self { words, page_bits, bucket_bits, capacity, keys: PhantomData }
    }

    /// Returns the count of buckets, which is even. It is also the index of the 32-bit word at
    /// which the keys begin.
    #[inline(always)]
    pub fn buckets(&self) -> u32 {
        1 << self.bucket_bits
    }

    #[inline(always)]
    fn rows_at(&self) -> u32 {
        self.buckets() + (self.capacity + PADDING) * (K::BITS / 32)
    }

    /// Returns the count of all words, which is even.
    pub fn words(&self) -> u32 {
        (self.rows_at() + self.capacity).next_multiple_of(2)
    }

    /// Returns the bucket of a mixed key, from the bits after those that the keys of the page
    /// share.
    #[inline(always)]
    pub fn bucket_of(&self, mixed: K) -> u32 {
        (mixed << self.page_bits).bits_from(K::BITS - 32) >> (32 - self.bucket_bits)
    }
}

impl<K: KeyWord, S: Shared<u32>> Page<K, S> {
    /// Clears the words in which the rows of buckets are counted, for bucket `first` and every
    /// `stride`th bucket after it.
    #[inline(always)]
    pub fn clear(&self, first: u32, stride: u32) {
        let mut bucket = first;
        while bucket < self.buckets() {
            self.words.set(bucket, 0);
            bucket += stride;
        }
    }

    /// Counts a row of this bucket. Returns the count of earlier rows.
    #[inline(always)]
    pub fn count(&self, bucket: u32) -> u32 {
        self.words.fetch_add(bucket, 1)
    }

    /// Returns the count of rows of a bucket that were counted.
    #[inline(always)]
    pub fn counted(&self, bucket: u32) -> u32 {
        self.words.get(bucket)
    }

    /// Sets the start of a bucket whose rows were counted to `start`. Returns its end.
    #[inline(always)]
    pub fn begin(&self, bucket: u32, start: u32) -> u32 {
        let rows = self.counted(bucket);
        self.words.set(bucket, start | rows << 16);
        start + rows
    }

    /// Sets the start of a bucket whose rows were counted to `start`, and its count of rows to 0.
    /// Returns its end.
    #[inline(always)]
    pub fn begin_empty(&self, bucket: u32, start: u32) -> u32 {
        let rows = self.counted(bucket);
        self.words.set(bucket, start);
        start + rows
    }

    /// Adds a row to a bucket after [`Page::begin_empty`]. Returns the row's index in the page.
    #[inline(always)]
    pub fn add(&self, bucket: u32) -> u32 {
        let word = self.words.fetch_add(bucket, 1 << 16);
        (word & 0xffff) + (word >> 16)
    }

    /// Returns the start of a bucket.
    #[inline(always)]
    pub fn start(&self, bucket: u32) -> u32 {
        self.words.get(bucket) & 0xffff
    }

    #[inline(always)]
    fn keys(&self) -> (S::As<K>, u32) {
        (self.words.cast::<K>(), self.buckets() * 32 / K::BITS)
    }

    /// Writes a row.
    #[inline(always)]
    pub fn store(&self, at: u32, mixed: K, row: u32) {
        let (keys, first) = self.keys();
        keys.set(first + at, mixed);
        self.words.set(self.rows_at() + at, row);
    }

    /// Writes an arbitrary key to padding element `i` after `rows` rows.
    #[inline(always)]
    pub fn pad(&self, rows: u32, i: u32) {
        let (keys, first) = self.keys();
        keys.set(first + rows + i, K::default());
    }
}

impl<K: KeyWord, S: Shared<u32>> Buckets<K> for Page<K, S> {
    #[inline(always)]
    fn bucket(&self, mixed: K) -> (u32, u32) {
        let word = self.words.get(self.bucket_of(mixed));
        (word & 0xffff, word >> 16)
    }
    #[inline(always)]
    fn key(&self, at: u32) -> K {
        let (keys, first) = self.keys();
        keys.get(first + at)
    }
    #[inline(always)]
    fn has_key(&self, (at, rows): (u32, u32), step: u32, mixed: K) -> bool {
        // The load of the key depends only on the start of the bucket.
        (self.key(at + step) == mixed) & (rows > step)
    }
    #[inline(always)]
    fn row(&self, at: u32) -> u32 {
        self.words.get(self.rows_at() + at)
    }
}

/// The rows of a build side in memory, as a partition by the upper bits of mixed keys leaves them.
#[derive(Clone, Copy)]
pub(super) struct InMemory<K> {
    pub keys: Global<K>,
    pub rows: Global<u32>,
    /// The starts of the buckets, and the end of the last bucket.
    pub starts: Global<u32>,
    pub bucket_bits: u32,
}

impl<K: KeyWord> Buckets<K> for InMemory<K> {
    #[inline(always)]
    fn bucket(&self, mixed: K) -> (u32, u32) {
        let bucket = mixed.bits_from(K::BITS - self.bucket_bits) as u64;
        let start = self.starts.load_read_only(bucket);
        (start, self.starts.load_read_only(bucket + 1) - start)
    }
    #[inline(always)]
    fn key(&self, at: u32) -> K {
        self.keys.load_read_only(at as u64)
    }
    #[inline(always)]
    fn row(&self, at: u32) -> u32 {
        self.rows.load_read_only(at as u64)
    }
}
