//! Numbering the keys of a table: what makes a compacting table of a page table.

use super::Layout;
use super::form::with_form;
use super::walk::{STAGED, Walk};
use crate::layered::compacting::rank;
use crate::primitives::append::{self, WARPS, write_staged};
use crate::seam::{Global, Shared};
use crate::types::Key;

/// What is to be numbered.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NumberParams {
    /// The layout of a table with values of 32 bits.
    pub layout: Layout,
    /// The number of keys that there is room for.
    pub capacity: u64,
}

/// Whose values are looked at.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ValuesParams {
    /// The layout of a table with values of 32 bits.
    pub layout: Layout,
}

kernel! {
    /// Gives every key a number, its id, in the order in which blocks come: that becomes its value, and the key becomes `keys_out[id]`,
    /// as long as there is room. `count[0]`, 0 at first, becomes their number. One thread a bucket.
    Number<K: Key>, "page_number", threads 256,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared keys: u64 = STAGED;
    { words: Global<u64>, keys_out: Global<K>, count: Global<u64>, plan: NumberParams }
    |args, block| {
        let words = args.words.cast::<K::PackedWord<u32>>();
        let layout = args.plan.layout;
        let staged = keys.cast::<K>();
        let first = block.first_thread();
        with_form!(layout.slots, K, u32, F => {
            let walk = Walk::<F, K, u32>::new(words, &layout);
            let mut buckets = walk.buckets(block);
            append::reserve(block, &mut buckets, (sums, start), args.count, |bucket| bucket.pairs, |bucket| &mut bucket.target);
            block.phase(&mut buckets, |thread, bucket| {
                let (number, mut id) = (first + thread as u64, bucket.target);
                for slot in 0..F::SLOTS {
                    if walk.holds(bucket, slot) {
                        staged.set((id - start.get(0)) as u32, walk.key(number, bucket, slot));
                        walk.set_value(bucket, slot, id as u32);
                        id += 1;
                    }
                }
                if bucket.pairs != 0 {
                    walk.put(number, bucket);
                }
            });
            write_staged(block, &mut buckets, (sums, start), staged, (args.keys_out, args.plan.capacity));
        });
    }
}

kernel! {
    /// Sets bit `value mod 32` of `bits[value / 32]` for the value of every pair; all bits are 0 at first, and no two values are equal. One
    /// thread a bucket.
    FlagValues<K: Key>, "page_mark_values", threads 256;
    { words: Global<K>, bits: Global<u32>, plan: ValuesParams }
    |args, block| {
        let words = args.words.cast::<K::PackedWord<u32>>();
        let layout = args.plan.layout;
        with_form!(layout.slots, K, u32, F => {
            let walk = Walk::<F, K, u32>::new(words, &layout);
            let mut buckets = walk.buckets(block);
            block.each(&mut buckets, |_, bucket| {
                for slot in 0..F::SLOTS {
                    if walk.holds(bucket, slot) {
                        let value = walk.value(bucket, slot);
                        args.bits.atomic((value / 32) as u64).fetch_add(1 << (value % 32));
                    }
                }
            });
        });
    }
}

kernel! {
    /// Every value becomes the number of smaller ones among those that are marked in `bits`; `before[i]` is how many are marked in the words
    /// before `bits[i]`. One thread a bucket.
    RankValues<K: Key>, "page_rank_values", threads 256;
    { words: Global<K>, bits: Global<u32>, before: Global<u32>, plan: ValuesParams }
    |args, block| {
        let words = args.words.cast::<K::PackedWord<u32>>();
        let layout = args.plan.layout;
        let first = block.first_thread();
        with_form!(layout.slots, K, u32, F => {
            let walk = Walk::<F, K, u32>::new(words, &layout);
            let mut buckets = walk.buckets(block);
            block.each(&mut buckets, |thread, bucket| {
                for slot in 0..F::SLOTS {
                    if walk.holds(bucket, slot) {
                        let value = walk.value(bucket, slot);
                        walk.set_value(bucket, slot, rank(value, args.bits, args.before));
                    }
                }
                if bucket.pairs != 0 {
                    walk.put(first + thread as u64, bucket);
                }
            });
        });
    }
}
