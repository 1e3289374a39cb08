//! Reading all pairs of a table, one thread per bucket.

use crate::page::form::{BUCKET_WORDS, Form, Homes, Layout};
use crate::primitives::append::THREADS;
use crate::seam::{Block, Global, Word};
use crate::types::{KeyWord, Payload, Scalar, WordOf};
use core::marker::PhantomData;

/// The buckets of a table.
pub struct Walk<'l, F, K: KeyWord, V: Payload> {
    words: Global<K::PackedWord<V>>,
    pub(in crate::page) layout: &'l Layout,
    pub(in crate::page) homes: Homes,
    types: PhantomData<fn() -> F>,
}

/// A bucket whose words a thread holds in registers.
pub struct Bucket<W> {
    words: [W; BUCKET_WORDS as usize],
    /// The count of its pairs.
    pub pairs: u32,
    /// The output offset of its first pair, once offsets are reserved.
    pub target: u64,
    /// The index of the bucket in its page.
    pub(in crate::page) in_page: u32,
}

/// The count of 64-bit words in which the threads of a block stage the keys or the values of
/// buckets with values. Such a bucket has four keys of 64 bits, or at most six of 32.
pub const STAGED: usize = 4 * THREADS;
/// The count of staging words for buckets of any form. Buckets of keys alone have at most 24 keys
/// of 32 bits.
pub const MAX_STAGED: usize = 12 * THREADS;

impl<'l, F: Form, K: KeyWord, V: Payload> Walk<'l, F, K, V> {
    #[inline(always)]
    pub fn new(words: Global<K::PackedWord<V>>, layout: &'l Layout) -> Self {
        Self { words, layout, homes: layout.homes::<K>(), types: PhantomData }
    }

    /// Returns the block's buckets, one for each thread. Threads beyond the last bucket get an
    /// empty bucket.
    #[inline(always)]
    pub fn buckets<B: Block>(&self, block: &mut B) -> B::Local<Bucket<K::PackedWord<V>>> {
        let first = block.first_thread();
        block.local(|thread| self.take(first + thread as u64))
    }

    #[inline(always)]
    pub(in crate::page) fn take(&self, number: u64) -> Bucket<K::PackedWord<V>> {
        // Indices of buckets have 32 bits here, since a 32-bit division is several times as fast as
        // a 64-bit division.
        let in_page = number as u32 % self.layout.page_buckets;
        let mut bucket = Bucket { words: Default::default(), pairs: 0, target: 0, in_page };
        if number < self.layout.buckets() as u64 {
            // Whole sectors are loaded in one access.
            for half in 0..2 {
                let four = self.words.load_four_streaming(number * BUCKET_WORDS as u64 + 4 * half as u64);
                for word in 0..4 {
                    bucket.words[4 * half + word] = four[word];
                }
            }
            for slot in 0..F::SLOTS {
                bucket.pairs += (self.tag(&bucket, slot) != Scalar::from_u64(0)) as u32;
            }
        }
        bucket
    }

    /// Writes a bucket back.
    #[inline(always)]
    pub fn put(&self, number: u64, bucket: &Bucket<K::PackedWord<V>>) {
        for half in 0..2 {
            let mut four = [<K::PackedWord<V>>::default(); 4];
            for word in 0..4 {
                four[word] = bucket.words[4 * half + word];
            }
            self.words.store_four_streaming(number * BUCKET_WORDS as u64 + 4 * half as u64, four);
        }
    }

    /// Returns the tag in a slot, or 0 if the slot is empty.
    #[inline(always)]
    pub(in crate::page) fn tag(&self, bucket: &Bucket<K::PackedWord<V>>, slot: u32) -> K::PackedWord<V> {
        let bits = F::tag_bits::<K::PackedWord<V>>();
        let mask = (<K::PackedWord<V>>::from_u64(1) << bits).minus(Scalar::from_u64(1));
        bucket.words[(slot / F::TAGS) as usize] >> (slot % F::TAGS * bits) & mask
    }

    /// Returns whether the slot holds a pair.
    #[inline(always)]
    pub fn holds(&self, bucket: &Bucket<K::PackedWord<V>>, slot: u32) -> bool {
        self.tag(bucket, slot) != Scalar::from_u64(0)
    }

    /// Returns the key in a slot that holds a pair.
    #[inline(always)]
    pub fn key(&self, number: u64, bucket: &Bucket<K::PackedWord<V>>, slot: u32) -> K {
        let (remainder, candidate) = self.layout.untag(self.tag(bucket, slot));
        let in_page = bucket.in_page;
        let home = number as u32 - in_page + self.layout.home_of(in_page, remainder, candidate);
        let mixed: K = self.layout.mixed_in::<K, K::PackedWord<V>>(&self.homes, home, remainder.to_u64());
        mixed.unmixed(self.layout.a, self.layout.b)
    }

    /// Returns the value in a slot that holds a pair.
    #[inline(always)]
    pub fn value(&self, bucket: &Bucket<K::PackedWord<V>>, slot: u32) -> WordOf<V> {
        Scalar::from_u64(bucket.words[(F::TAG_WORDS + slot) as usize].to_u64())
    }

    /// Replaces the value of the pair in a slot.
    #[inline(always)]
    pub fn set_value(&self, bucket: &mut Bucket<K::PackedWord<V>>, slot: u32, value: WordOf<V>) {
        bucket.words[(F::TAG_WORDS + slot) as usize] = Scalar::from_u64(value.to_u64());
    }
}
