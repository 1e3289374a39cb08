//! Finding where each bucket's pairs begin, for pairs that are in the order of their buckets.

use crate::hash::HashFunctions;
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The arguments of [`BucketStarts`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StartsParams {
    /// The hash functions. The first of them maps a key to its bucket.
    pub functions: HashFunctions,
    /// The count of pairs.
    pub pairs: u64,
}

/// The count of keys that a thread reads.
pub const KEYS: usize = 4;

kernel! {
    /// Sets `starts[b]` to the offset of the first pair whose bucket is not below `b`. `starts` has
    /// one word more than there are buckets. A thread compares each of [`KEYS`] keys with the key
    /// before it. There is one comparison more than there are keys.
    BucketStarts<K: KeyWord>, "two_level_starts", threads 256;
    { keys: Global<K>, starts: Global<u32>, plan: StartsParams }
}

impl<K: KeyWord> BucketStarts<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let StartsParams { functions, pairs } = args.plan;
        let first_thread = block.first_thread();
        block.each_thread(|thread| {
            let first = (first_thread + thread as u64) * KEYS as u64;
            if first > pairs {
                return;
            }
            let mut keys = [K::default(); KEYS];
            if first + KEYS as u64 <= pairs {
                keys = args.keys.load_four(first);
            } else {
                for i in 0..KEYS {
                    if first + (i as u64) < pairs {
                        keys[i] = args.keys.load(first + i as u64);
                    }
                }
            }
            // The bucket after the previous key's bucket. All buckets from this one to the key's
            // own begin here.
            let mut next = if first == 0 { 0 } else { functions.slot(0, args.keys.load(first - 1)) + 1 };
            for i in 0..KEYS {
                let index = first + i as u64;
                if index <= pairs {
                    let bucket = if index == pairs { functions.slots() } else { functions.slot(0, keys[i]) };
                    // At most as many steps as buckets.
                    while next <= bucket {
                        args.starts.store(next as u64, index as u32);
                        next += 1;
                    }
                }
            }
        });
    }
}
