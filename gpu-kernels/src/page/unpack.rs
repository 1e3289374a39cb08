//! Writing out all pairs of a table.

use super::Layout;
use super::form::with_form;
use super::walk::{MOST_STAGED, Walk};
use crate::places::{self, WARPS, write_staged};
use crate::seam::{Global, Shared};
use crate::types::{Key, Payload, WordOf};

/// What is to be written out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackPlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of pairs that there is room for.
    pub room: u64,
}

kernel! {
    /// Writes the pairs of all buckets, one thread a bucket, to `keys_out` and, if there are any, `values_out`, as long as there is room;
    /// `count[0]`, 0 at first, becomes their number. Their order is that in which blocks come.
    Unpack<K: Key, V: Payload>, "page_unpack", threads 256,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared room: u64 = MOST_STAGED;
    { words: Global<u64>, keys_out: Global<K>, values_out: Global<WordOf<V>>, count: Global<u64>, plan: UnpackPlan }
    |args, block| {
        let words = args.words.cast::<K::Joint<V>>();
        let UnpackPlan { layout, room: outputs } = args.plan;
        let (keys, values) = (room.cast::<K>(), room.cast::<WordOf<V>>());
        let first = block.first_thread();
        with_form!(layout.slots, K, V, F => {
            let walk = Walk::<F, K, V>::new(words, &layout);
            let mut buckets = walk.buckets(block);
            places::give(block, &mut buckets, (sums, start), args.count, |bucket| bucket.pairs, |bucket| &mut bucket.place);
            block.phase(&mut buckets, |thread, bucket| {
                let mut place = (bucket.place - start.get(0)) as u32;
                for slot in 0..F::SLOTS {
                    if walk.holds(bucket, slot) {
                        keys.set(place, walk.key(first + thread as u64, bucket, slot));
                        place += 1;
                    }
                }
            });
            write_staged(block, &mut buckets, (sums, start), keys, (args.keys_out, outputs));
            if F::VALUES {
                block.sync();
                block.phase(&mut buckets, |_, bucket| {
                    let mut place = (bucket.place - start.get(0)) as u32;
                    for slot in 0..F::SLOTS {
                        if walk.holds(bucket, slot) {
                            values.set(place, walk.value(bucket, slot));
                            place += 1;
                        }
                    }
                });
                write_staged(block, &mut buckets, (sums, start), values, (args.values_out, outputs));
            }
        });
    }
}
