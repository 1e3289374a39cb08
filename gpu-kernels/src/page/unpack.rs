//! Writing out all pairs of a table.

use super::Layout;
use super::form::with_form;
use super::walk::Walk;
use crate::places::WARPS;
use crate::seam::Global;
use crate::types::{Key, Payload, Scalar, WordOf};

/// What is to be written out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackPlan {
    /// The table's layout.
    pub layout: Layout,
}

kernel! {
    /// Writes the pairs of all buckets, one thread a bucket, to `keys_out` and, if there are any, `values_out`, which have room for them; `count[0]`, 0
    /// at first, becomes their number. Their order is that in which blocks come.
    Unpack<K: Key, V: Payload>, "page_unpack", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    { words: Global<u64>, keys_out: Global<K>, values_out: Global<WordOf<V>>, count: Global<u64>, plan: UnpackPlan }
    |args, block| {
        let words = args.words.cast::<K::Joint<V>>();
        let layout = args.plan.layout;
        with_form!(layout.slots, K, V, F => {
            Walk::<F, K, V>::new(words, &layout).visit(block, (sums, start), args.count, |met| {
                args.keys_out.store(met.place, met.key);
                if F::VALUES {
                    args.values_out.store(met.place, Scalar::from_u64(words.load_read_only(met.value_at).to_u64()));
                }
            });
        });
    }
}
