//! Writing out all pairs of a table.

use super::buckets::{MAX_STAGED, Walk};
use super::in_turn::{Output, walk_in_turn};
use crate::page::form::{Layout, with_form};
use crate::primitives::append::{self, WARPS, write_staged};
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Payload, WordOf};

/// The scalar arguments of [`Unpack`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackParams {
    /// The table's layout.
    pub layout: Layout,
    /// The capacity of the output, in pairs.
    pub capacity: u64,
}

kernel! {
    /// Writes the pairs of all buckets to `keys_out` and, if there are values, to `values_out`, up
    /// to the capacity.
    ///
    /// There is one thread per bucket. `count[0]`, 0 at first, becomes the count of pairs. The
    /// pairs are in the order in which blocks reserve their output.
    Unpack<K: KeyWord, V: Payload>, "page_unpack", threads 256, cpu cores,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared staging: u64 = MAX_STAGED;
    { words: Global<u64>, keys_out: Global<K>, values_out: Global<WordOf<V>>, count: Global<u64>, plan: UnpackParams }
}

impl<K: KeyWord, V: Payload> Unpack<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>, staging: B::Shared<u64>) {
        let args = self;
        let words = args.words.cast::<K::PackedWord<V>>();
        let UnpackParams { layout, capacity: outputs } = args.plan;
        let (keys, values) = (staging.cast::<K>(), staging.cast::<WordOf<V>>());
        let first = block.first_thread();
        with_form!(layout.slots, K, V, F => {
            let walk = Walk::<F, K, V>::new(words, &layout);
            let mut buckets = walk.buckets(block);
            append::reserve(block, &mut buckets, (sums, start), args.count, |bucket| bucket.pairs, |bucket| &mut bucket.target);
            block.phase(&mut buckets, |thread, bucket| {
                let mut target = (bucket.target - start.get(0)) as u32;
                for slot in 0..F::SLOTS {
                    if walk.holds(bucket, slot) {
                        keys.set(target, walk.key(first + thread as u64, bucket, slot));
                        target += 1;
                    }
                }
            });
            write_staged(block, &mut buckets, (sums, start), keys, (args.keys_out, outputs));
            if F::VALUES {
                block.sync();
                block.phase(&mut buckets, |_, bucket| {
                    let mut target = (bucket.target - start.get(0)) as u32;
                    for slot in 0..F::SLOTS {
                        if walk.holds(bucket, slot) {
                            values.set(target, walk.value(bucket, slot));
                            target += 1;
                        }
                    }
                });
                write_staged(block, &mut buckets, (sums, start), values, (args.values_out, outputs));
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<u32>, _: B::Shared<u64>, _: B::Shared<u64>) {
        let UnpackParams { layout, capacity } = self.plan;
        let output = Output { keys: self.keys_out, values: self.values_out, capacity, count: self.count };
        with_form!(layout.slots, K, V, F => {
            walk_in_turn::<false, _, _, _, _>(block, &Walk::<F, K, V>::new(self.words.cast(), &layout), output);
        });
    }
}
