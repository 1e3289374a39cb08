//! Kernels of a user that change a linear map by its ref.

use gpu_kernels::linear::Operation;
use gpu_kernels::refs::{LinearRefMut, LinearThread};
use gpu_kernels::seam::{Block, Global};
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, ValueWord};

gpu_kernels::kernel! {
    /// Inserts pair `i` in thread `i`.
    InsertPairs<K: KeyWord, V: ValueWord>, "insert_pairs", threads 256, wide atomics;
    { keys: Global<K>, values: Global<V>, map: LinearRefMut<K, V>, count: u64 }
}

impl<K: KeyWord, V: ValueWord> InsertPairs<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        args.map.each_item(block, args.count, |index, map| {
            map.insert(args.keys.load_streaming(index), args.values.load_streaming(index));
        });
    }
}

/// The value in `before` of an operation that found no free slot.
pub const REFUSED: u32 = 2;

/// Does an operation. Returns 1 if its key had a value before, 0 if it had none, or [`REFUSED`];
/// and that value.
#[inline(always)]
fn change<K: KeyWord, V: ValueWord>(map: &mut LinearThread<K, V>, kind: u32, key: K, value: V) -> (u32, Option<V>) {
    if kind == Operation::Get as u32 {
        let held = map.get(key);
        return (held.is_some() as u32, held);
    }
    if kind == Operation::Remove as u32 {
        let held = map.remove(key);
        return (held.is_some() as u32, held);
    }
    let inserted = match Fold::of_word(kind, V::BITS) {
        Some(fold) => map.combine(key, value, fold),
        None if kind == Operation::GetOrInsert as u32 => map.get_or_insert(key, value),
        None => map.insert(key, value),
    };
    (if inserted.refused { REFUSED } else { inserted.before.is_some() as u32 }, inserted.before)
}

gpu_kernels::kernel! {
    /// Does operations `i · each` to `(i + 1) · each` in thread `i`, one after the other. `kinds`
    /// has the words of a linear map's batch operations. For each operation, `before` becomes 1 if
    /// its key had a value, 0 if it had none, or [`REFUSED`]; `answers` gets the value or 0.
    ChangeMap<K: KeyWord, V: ValueWord>, "change_map", threads 64, wide atomics;
    {
        kinds: Global<u32>, keys: Global<K>, values: Global<V>, before: Global<u32>, answers: Global<V>,
        map: LinearRefMut<K, V>, count: u64, each: u64,
    }
}

impl<K: KeyWord, V: ValueWord> ChangeMap<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        args.map.each_item(block, args.count.div_ceil(args.each), |thread, map| {
            let mut index = thread * args.each;
            while index < args.count && index < (thread + 1) * args.each {
                let (key, value) = (args.keys.load_read_only(index), args.values.load_read_only(index));
                let (before, held) = change(map, args.kinds.load_read_only(index), key, value);
                args.before.store_streaming(index, before);
                args.answers.store_streaming(index, held.unwrap_or_default());
                index += 1;
            }
        });
    }
}
