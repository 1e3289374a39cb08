//! Walking over all pairs of a table, a thread a bucket.

use super::form::Form;
use super::{BUCKET_WORDS, Layout};
use crate::places;
use crate::seam::{Block, Global, Shared, Word};
use crate::types::{Key, Payload, Scalar};
use core::marker::PhantomData;

/// Reads the buckets of a table.
pub struct Walk<'l, F, K: Key, V: Payload> {
    words: Global<K::Joint<V>>,
    layout: &'l Layout,
    types: PhantomData<fn() -> F>,
}

/// A pair that was met.
pub struct Met<K> {
    pub key: K,
    /// Its number, if places were given.
    pub place: u64,
    /// The number of the word of its value, if it has one.
    pub value_at: u64,
}

/// What a thread knows of its bucket.
struct Bucket {
    pairs: u32,
    place: u64,
}

impl<'l, F: Form, K: Key, V: Payload> Walk<'l, F, K, V> {
    #[inline(always)]
    pub fn new(words: Global<K::Joint<V>>, layout: &'l Layout) -> Self {
        Self { words, layout, types: PhantomData }
    }

    #[inline(always)]
    fn tag(&self, bucket: u64, slot: u32) -> K::Joint<V> {
        let bits = F::tag_bits::<K::Joint<V>>();
        let mask = (<K::Joint<V>>::from_u64(1) << bits).minus(Scalar::from_u64(1));
        let word = self.words.load_read_only(bucket * BUCKET_WORDS as u64 + (slot / F::TAGS) as u64);
        word >> (slot % F::TAGS * bits) & mask
    }

    /// How many pairs the bucket has, or none if there is no such bucket.
    #[inline(always)]
    fn pairs(&self, bucket: u64) -> u32 {
        let mut pairs = 0;
        if bucket < self.layout.buckets() as u64 {
            for slot in 0..F::SLOTS {
                pairs += (self.tag(bucket, slot) != Scalar::from_u64(0)) as u32;
            }
        }
        pairs
    }

    /// Shows the pairs of the bucket, which have numbers from `place` on.
    #[inline(always)]
    fn meet(&self, bucket: u64, mut place: u64, visit: impl Fn(Met<K>)) {
        for slot in 0..F::SLOTS {
            let tag = self.tag(bucket, slot);
            if tag == Scalar::from_u64(0) {
                continue;
            }
            let (remainder, number) = self.layout.untag(tag);
            let in_page = (bucket % self.layout.page_buckets as u64) as u32;
            let home = bucket as u32 - in_page + self.layout.home_of(in_page, remainder, number);
            let mixed: K = self.layout.mixed_of::<K, K::Joint<V>>(home, remainder.to_u64());
            let value_at = bucket * BUCKET_WORDS as u64 + (F::TAG_WORDS + slot) as u64;
            visit(Met { key: mixed.unmixed(self.layout.a, self.layout.b), place, value_at });
            place += 1;
        }
    }

    /// Shows the pairs of the block's buckets. They are numbered in the order in which blocks come if there is a `count`, 0 before the
    /// launch, which becomes the number of all pairs.
    #[inline(always)]
    pub fn visit<B: Block>(
        &self,
        block: &mut B,
        memory: (impl Shared<u32>, impl Shared<u64>),
        count: Global<u64>,
        visit: impl Fn(Met<K>) + Sync,
    ) {
        let first = block.first_thread();
        let mut buckets = block.local(|thread| Bucket { pairs: self.pairs(first + thread as u64), place: 0 });
        if !count.is_null() {
            places::give(block, &mut buckets, memory, count, |bucket| bucket.pairs, |bucket| &mut bucket.place);
        }
        block.each(&mut buckets, |thread, bucket| {
            if bucket.pairs != 0 {
                self.meet(first + thread as u64, bucket.place, &visit);
            }
        });
    }
}
