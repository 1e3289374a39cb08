//! Writing out all pairs of a table.

use super::form::{Form, with_form};
use super::{BUCKET_WORDS, Layout};
use crate::places::{self, WARPS};
use crate::seam::{Block, Global, Word};
use crate::types::{Key, Scalar, Value};

/// What is to be written out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackPlan {
    /// The table's layout.
    pub layout: Layout,
}

/// What a thread knows of its bucket.
struct Bucket {
    pairs: u32,
    /// Where the first of them is written.
    place: u64,
}

kernel! {
    /// Writes the pairs of all buckets, one thread a bucket, to `keys_out` and `values_out`, which have room for them; `count[0]`, 0
    /// at first, becomes their number. Their order is that in which blocks come.
    Unpack<K: Key, V: Value>, "page_unpack", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    { words: Global<u64>, keys_out: Global<K>, values_out: Global<V>, count: Global<u64>, plan: UnpackPlan }
    |args, block| {
        let words = args.words.cast::<K::Joint<V>>();
        let layout = args.plan.layout;
        let output = Output { words, keys: args.keys_out, values: args.values_out, count: args.count };
        with_form!(layout.slots, K::Joint<V>, F => unpack::<F, K, V, _>(block, &output, &layout, sums, start));
    }
}

struct Output<K: Key, V: Value> {
    words: Global<K::Joint<V>>,
    keys: Global<K>,
    values: Global<V>,
    count: Global<u64>,
}

#[inline(always)]
fn unpack<F: Form, K: Key, V: Value, B: Block>(
    block: &mut B,
    output: &Output<K, V>,
    layout: &Layout,
    sums: B::Shared<u32>,
    start: B::Shared<u64>,
) {
    let first = block.first_thread();
    let Output { words, keys, values, count } = *output;
    let word = |bucket: u64, number: u32| words.load_read_only(bucket * BUCKET_WORDS as u64 + number as u64);
    let tag = |bucket: u64, slot: u32| {
        let mask = (<K::Joint<V>>::from_u64(1) << F::tag_bits::<K::Joint<V>>()).minus(Scalar::from_u64(1));
        word(bucket, slot / F::TAGS) >> (slot % F::TAGS * F::tag_bits::<K::Joint<V>>()) & mask
    };
    let mut buckets = block.local(|thread| {
        let bucket = first + thread as u64;
        let mut pairs = 0;
        if bucket < layout.buckets() as u64 {
            for slot in 0..F::SLOTS {
                pairs += (tag(bucket, slot) != Scalar::from_u64(0)) as u32;
            }
        }
        Bucket { pairs, place: 0 }
    });
    places::give(block, &mut buckets, (sums, start), count, |bucket| bucket.pairs, |bucket| &mut bucket.place);
    block.each(&mut buckets, |thread, state| {
        let bucket = first + thread as u64;
        let mut place = state.place;
        if state.pairs == 0 {
            return;
        }
        for slot in 0..F::SLOTS {
            let tag = tag(bucket, slot);
            if tag == Scalar::from_u64(0) {
                continue;
            }
            let (remainder, number) = layout.untag(tag);
            let in_page = (bucket % layout.page_buckets as u64) as u32;
            let home = bucket as u32 - in_page + layout.home_of(in_page, remainder, number);
            let mixed: K = layout.mixed_of::<K, K::Joint<V>>(home, remainder.to_u64());
            keys.store(place, mixed.unmixed(layout.a, layout.b));
            values.store(place, V::from_u64(word(bucket, F::TAG_WORDS + slot).to_u64()));
            place += 1;
        }
    });
}
