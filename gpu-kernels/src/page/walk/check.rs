//! Checking the tags of a table from a file, before other code relies on them.

use super::buckets::{Bucket, Walk};
use crate::page::form::{Form, Layout, with_form};
use crate::seam::{Block, Global, Tile, Work, vectorized};
use crate::types::{KeyWord, Payload, Scalar};

/// The scalar arguments of [`CheckTags`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CheckParams {
    /// The table's layout.
    pub layout: Layout,
}

kernel! {
    /// Counts the pairs of all buckets, and the tags that no insertion can make because they name a
    /// candidate that does not exist. There is one thread per bucket.
    ///
    /// `counts[0]` becomes the count of pairs, and `counts[1]` the count of wrong tags. Both are 0
    /// at first.
    CheckTags<K: KeyWord, V: Payload>, "page_check_tags", threads 256, cpu cores;
    { words: Global<<K as KeyWord>::PackedWord<V>>, counts: Global<u64>, plan: CheckParams }
}

impl<K: KeyWord, V: Payload> CheckTags<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let layout = args.plan.layout;
        with_form!(layout.slots, K, V, F => {
            let walk = Walk::<F, K, V>::new(args.words, &layout);
            let mut buckets = walk.buckets(block);
            block.tiles_of(&mut buckets, |warp, buckets| {
                // The pairs of 32 buckets are fewer than 2^16, so each count fits in 16 bits.
                let counts_of = |bucket: &Bucket<K::PackedWord<V>>| bucket.pairs | wrong_tags(&walk, bucket) << 16;
                warp.exclusive_sum(buckets, |_, bucket| counts_of(bucket), |lane, _, _, total| {
                    if lane == 0 {
                        add(args.counts, [(total & 0xffff) as u64, (total >> 16) as u64]);
                    }
                });
            });
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let layout = self.plan.layout;
        let first = block.first_thread();
        let end = (first + block.threads() as u64).min(layout.buckets() as u64);
        with_form!(layout.slots, K, V, F => {
            let walk = Walk::<F, K, V>::new(self.words, &layout);
            add(self.counts, vectorized(CheckBuckets { walk: &walk, first, end }));
        });
    }
}

/// The work of one thread that checks some buckets.
struct CheckBuckets<'w, 'l, F, K: KeyWord, V: Payload> {
    walk: &'w Walk<'l, F, K, V>,
    first: u64,
    end: u64,
}

impl<F: Form, K: KeyWord, V: Payload> Work for CheckBuckets<'_, '_, F, K, V> {
    type Output = [u64; 2];
    #[inline(always)]
    fn run(self) -> [u64; 2] {
        let mut counts = [0; 2];
        for number in self.first..self.end {
            let bucket = self.walk.take(number);
            counts[0] += bucket.pairs as u64;
            counts[1] += wrong_tags(self.walk, &bucket) as u64;
        }
        counts
    }
}

/// Adds to the counts of all blocks.
#[inline(always)]
fn add(all: Global<u64>, [pairs, wrong]: [u64; 2]) {
    if pairs != 0 {
        all.atomic(0).fetch_add(pairs);
    }
    if wrong != 0 {
        all.atomic(1).fetch_add(wrong);
    }
}

/// Returns the count of tags of a bucket that are larger than any tag that an insertion can make.
#[inline(always)]
fn wrong_tags<F: Form, K: KeyWord, V: Payload>(walk: &Walk<'_, F, K, V>, bucket: &Bucket<K::PackedWord<V>>) -> u32 {
    // This is the tag of the largest remainder in the last candidate.
    let most: K::PackedWord<V> = Scalar::from_u64(walk.layout.remainders * walk.layout.candidates as u64);
    let mut wrong = 0;
    for slot in 0..F::SLOTS {
        wrong += (walk.tag(bucket, slot) > most) as u32;
    }
    wrong
}
