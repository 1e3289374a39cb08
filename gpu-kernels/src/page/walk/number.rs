//! Giving ids to the keys of a table, which turns a page table into a compacting table.

use super::buckets::{STAGED, Walk};
use super::in_turn::{Output, walk_in_turn};
use crate::page::form::{Layout, with_form};
use crate::primitives::append::{self, WARPS, write_staged};
use crate::seam::{Block, Global, Shared};
use crate::table::rank::rank;
use crate::types::KeyWord;

/// The scalar arguments of [`Number`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NumberParams {
    /// The layout of a table with values of 32 bits.
    pub layout: Layout,
    /// The capacity of the output, in keys.
    pub capacity: u64,
}

/// The scalar arguments of [`FlagValues`] and [`RankValues`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ValuesParams {
    /// The layout of a table with values of 32 bits.
    pub layout: Layout,
}

kernel! {
    /// Gives every key an id, in the order in which blocks reserve ranges of ids. There is one
    /// thread per bucket.
    ///
    /// The id becomes the key's value, and `keys_out[id]` becomes the key, up to the capacity.
    /// `count[0]`, 0 at first, becomes the count of keys.
    Number<K: KeyWord>, "page_number", threads 256, cpu cores,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared keys: u64 = STAGED;
    { words: Global<u64>, keys_out: Global<K>, count: Global<u64>, plan: NumberParams }
}

impl<K: KeyWord> Number<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>, keys: B::Shared<u64>) {
        let args = self;
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

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<u32>, _: B::Shared<u64>, _: B::Shared<u64>) {
        let NumberParams { layout, capacity } = self.plan;
        let output = Output { keys: self.keys_out, values: self.words.cast(), capacity, count: self.count };
        with_form!(layout.slots, K, u32, F => {
            walk_in_turn::<true, _, _, _, _>(block, &Walk::<F, K, u32>::new(self.words.cast(), &layout), output);
        });
    }
}

kernel! {
    /// Sets bit `value mod 32` of `bits[value / 32]` for the value of every pair. There is one
    /// thread per bucket.
    ///
    /// All bits are 0 at first. No two values are equal.
    FlagValues<K: KeyWord>, "page_mark_values", threads 256;
    { words: Global<K>, bits: Global<u32>, plan: ValuesParams }
}

impl<K: KeyWord> FlagValues<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
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
    /// Replaces every value by the count of smaller values whose bit in `bits` is set. There is one
    /// thread per bucket.
    ///
    /// `before[i]` is the count of set bits in the words before `bits[i]`.
    RankValues<K: KeyWord>, "page_rank_values", threads 256;
    { words: Global<K>, bits: Global<u32>, before: Global<u32>, plan: ValuesParams }
}

impl<K: KeyWord> RankValues<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
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
