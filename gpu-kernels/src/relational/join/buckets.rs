//! The rows of a build side, ordered by bucket.

use crate::seam::{Global, Shared};
use crate::types::KeyWord;
use core::marker::PhantomData;

/// The most rows of any page: starts of buckets have 16 bits.
pub const MAX_PAGE_ROWS: u32 = 1 << 15;

/// The rows of a build side, of which those of one bucket are side by side.
pub(super) trait Buckets<K>: Copy + Sync {
    /// Returns the number of the first row of a mixed key's bucket, and of the row behind its last.
    fn bucket(&self, mixed: K) -> (u32, u32);
    /// Returns the mixed key of a row.
    fn key(&self, at: u32) -> K;
    /// Returns the number of a row in its table.
    fn row(&self, at: u32) -> u32;
}

/// A page in shared memory: the starts of its buckets, two in a word, the keys, and the numbers of
/// the rows.
#[derive(Clone, Copy)]
pub(super) struct Page<K, S> {
    words: S,
    /// The bits of a key that all keys of the page share.
    page_bits: u32,
    bucket_bits: u32,
    /// The most rows.
    capacity: u32,
    keys: PhantomData<K>,
}

impl<K: KeyWord, S> Page<K, S> {
    pub fn new(words: S, page_bits: u32, bucket_bits: u32, capacity: u32) -> Self {
        Self { words, page_bits, bucket_bits, capacity, keys: PhantomData }
    }

    /// Returns the number of words for the starts of buckets, without that behind the last one.
    #[inline(always)]
    pub fn starts_words(&self) -> u32 {
        1 << (self.bucket_bits - 1)
    }

    /// Returns the number of the word that the keys begin at: an even one.
    #[inline(always)]
    fn keys_at(&self) -> u32 {
        self.starts_words() + 2
    }

    #[inline(always)]
    fn rows_at(&self) -> u32 {
        self.keys_at() + self.capacity * (K::BITS / 32)
    }

    /// Returns the number of all words.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn words(&self) -> u32 {
        self.rows_at() + self.capacity
    }

    /// Returns the bucket of a mixed key: bits behind those that the keys of the page share.
    #[inline(always)]
    pub fn bucket_of(&self, mixed: K) -> u32 {
        (mixed << self.page_bits).bits_from(K::BITS - 32) >> (32 - self.bucket_bits)
    }
}

impl<K: KeyWord, S: Shared<u32>> Page<K, S> {
    /// Sets the words from number `first` on, every `stride`th, to 0 in which buckets are counted.
    #[inline(always)]
    pub fn clear(&self, first: u32, stride: u32) {
        let mut word = first;
        while word < self.starts_words() {
            self.words.set(word, 0);
            word += stride;
        }
    }

    /// Counts a row of this bucket; returns how many came before it.
    #[inline(always)]
    pub fn count(&self, bucket: u32) -> u32 {
        self.words.fetch_add(bucket / 2, 1 << (bucket % 2 * 16)) >> (bucket % 2 * 16) & 0xffff
    }

    /// Returns the counts of two neighbouring buckets.
    #[inline(always)]
    pub fn counts(&self, word: u32) -> [u32; 2] {
        let counts = self.words.get(word);
        [counts & 0xffff, counts >> 16]
    }

    /// Replaces the counts of two neighbouring buckets by their starts, the first of which is
    /// given; returns the start of the bucket behind them.
    #[inline(always)]
    pub fn begin(&self, word: u32, start: u32) -> u32 {
        let [first, second] = self.counts(word);
        self.words.set(word, start | (start + first) << 16);
        start + first + second
    }

    /// Sets the end of the last bucket.
    #[inline(always)]
    pub fn end(&self, rows: u32) {
        self.words.set(self.starts_words(), rows);
    }

    /// Moves all starts one bucket up; the first one becomes 0.
    #[inline(always)]
    pub fn shift_starts(&self) {
        let mut before = 0;
        for word in 0..self.starts_words() {
            let [first, second] = self.counts(word);
            self.words.set(word, before | first << 16);
            before = second;
        }
    }

    /// Returns the start of a bucket, or the end of the last one.
    #[inline(always)]
    pub fn start(&self, bucket: u32) -> u32 {
        self.words.get(bucket / 2) >> (bucket % 2 * 16) & 0xffff
    }

    /// Writes a row.
    #[inline(always)]
    pub fn store(&self, at: u32, mixed: K, row: u32) {
        self.words.cast::<K>().set(self.keys_at() * 32 / K::BITS + at, mixed);
        self.words.set(self.rows_at() + at, row);
    }
}

impl<K: KeyWord, S: Shared<u32>> Buckets<K> for Page<K, S> {
    #[inline(always)]
    fn bucket(&self, mixed: K) -> (u32, u32) {
        let bucket = self.bucket_of(mixed);
        (self.start(bucket), self.start(bucket + 1))
    }
    #[inline(always)]
    fn key(&self, at: u32) -> K {
        self.words.cast::<K>().get(self.keys_at() * 32 / K::BITS + at)
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
    /// The starts of the buckets, and the end of the last.
    pub starts: Global<u32>,
    pub bucket_bits: u32,
}

impl<K: KeyWord> Buckets<K> for InMemory<K> {
    #[inline(always)]
    fn bucket(&self, mixed: K) -> (u32, u32) {
        let bucket = mixed.bits_from(K::BITS - self.bucket_bits) as u64;
        (self.starts.load_read_only(bucket), self.starts.load_read_only(bucket + 1))
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
