//! Numbering the keys of a table: what makes a compacting table of a page table.

use super::Layout;
use super::form::with_form;
use super::walk::Walk;
use crate::places::WARPS;
use crate::seam::Global;
use crate::types::{Key, Scalar};

/// What is to be numbered.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NumberPlan {
    /// The layout of a table with values of 32 bits.
    pub layout: Layout,
}

kernel! {
    /// Gives every key a number, its id: that becomes its value, and the key becomes `keys_out[id]`, which has room for all. One
    /// thread a bucket.
    ///
    /// The id is `ids[value]`; or, if that is null, keys are numbered in the order in which blocks come, and `count[0]`, 0 at first,
    /// becomes their number. One of the two is null. But if `marks` is not null, `marks[value]` becomes 1 for every key, and that is all.
    Number<K: Key>, "page_number", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        words: Global<u64>, marks: Global<u32>, ids: Global<u32>, keys_out: Global<K>, count: Global<u64>,
        plan: NumberPlan,
    }
    |args, block| {
        let words = args.words.cast::<K::Joint<u32>>();
        let layout = args.plan.layout;
        with_form!(layout.slots, K, u32, F => {
            Walk::<F, K, u32>::new(words, &layout).visit(block, (sums, start), args.count, |met| {
                let value = || words.load(met.value_at).to_u64();
                if !args.marks.is_null() {
                    args.marks.store(value(), 1);
                    return;
                }
                let id = if args.ids.is_null() { met.place } else { args.ids.load_read_only(value()) as u64 };
                words.store(met.value_at, Scalar::from_u64(id));
                args.keys_out.store(id, met.key);
            });
        });
    }
}
