//! Reading all pairs of a table by one thread, which writes them out or gives them ids.

use super::buckets::{Bucket, Walk};
use crate::page::form::{FirstMixed, Form, MAX_SLOTS};
use crate::seam::{Block, Global, Word, Work, vectorized};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The arrays that pairs are written to, up to their capacity.
#[derive(Clone, Copy)]
pub struct Output<K, V: Payload> {
    pub keys: Global<K>,
    /// The values, which are not used if values become ids.
    pub values: Global<WordOf<V>>,
    pub capacity: u64,
    /// The count of pairs for which blocks have reserved output.
    pub count: Global<u64>,
}

/// Writes out the keys of the block's buckets, as many as the block has threads. With `NUMBER` the
/// indices of the keys in the output become their values. Otherwise the values, if there are any,
/// are written out.
#[inline(always)]
pub fn walk_in_turn<const NUMBER: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    block: &B,
    walk: &Walk<'_, F, K, V>,
    output: Output<K, V>,
) {
    let first = block.first_thread();
    let end = (first + block.threads() as u64).min(walk.layout.buckets() as u64);
    if first < end {
        let pairs = vectorized(Count { walk, first, end });
        let target = output.count.atomic(0).fetch_add(pairs);
        // Output that other blocks have reserved must not be overwritten.
        let output = Output { capacity: output.capacity.min(target + pairs), ..output };
        vectorized(WriteOut::<NUMBER, _, _, _> { walk, first, end, target, output });
    }
}

/// The work of counting the pairs in some buckets.
struct Count<'w, 'l, F, K: KeyWord, V: Payload> {
    walk: &'w Walk<'l, F, K, V>,
    first: u64,
    end: u64,
}

impl<F: Form, K: KeyWord, V: Payload> Work for Count<'_, '_, F, K, V> {
    type Output = u64;
    #[inline(always)]
    fn run(self) -> u64 {
        (self.first..self.end).map(|number| self.walk.take(number).pairs as u64).sum()
    }
}

/// The work of writing out the pairs in some buckets, starting at index `target` of the output.
struct WriteOut<'w, 'l, const NUMBER: bool, F, K: KeyWord, V: Payload> {
    walk: &'w Walk<'l, F, K, V>,
    first: u64,
    end: u64,
    target: u64,
    output: Output<K, V>,
}

impl<const NUMBER: bool, F: Form, K: KeyWord, V: Payload> Work for WriteOut<'_, '_, NUMBER, F, K, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { walk, first, end, mut target, output } = self;
        for number in first..end {
            let mut bucket = walk.take(number);
            let keys = keys_of(walk, number, &bucket);
            // Slots are filled in order, but it cannot be predicted how many are full. So each key
            // is written to the offset that the next one may overwrite.
            for slot in 0..F::SLOTS {
                if target < output.capacity {
                    output.keys.store(target, keys[slot as usize]);
                    if F::VALUES && !NUMBER {
                        output.values.store(target, walk.value(&bucket, slot));
                    }
                }
                if NUMBER {
                    let held = walk.holds(&bucket, slot);
                    let value = if held { Scalar::from_u64(target) } else { walk.value(&bucket, slot) };
                    walk.set_value(&mut bucket, slot, value);
                }
                target += walk.holds(&bucket, slot) as u64;
            }
            if NUMBER {
                walk.put(number, &bucket);
            }
        }
    }
}

/// Returns the keys in the slots of a bucket. Elements for empty slots are unspecified.
///
/// Nearly all keys are in their home line, and these are computed with vectors. The other keys are
/// computed one by one.
#[inline(always)]
fn keys_of<F: Form, K: KeyWord, V: Payload>(
    walk: &Walk<'_, F, K, V>,
    number: u64,
    bucket: &Bucket<K::PackedWord<V>>,
) -> [K; MAX_SLOTS] {
    let layout = *walk.layout;
    let homes = [number as u32, number as u32 - bucket.in_page + (bucket.in_page ^ 1)];
    let firsts = [walk.homes.first(homes[0]), walk.homes.first(homes[1])];
    let remainders: K::PackedWord<V> = Scalar::from_u64(layout.remainders);
    let none: K::PackedWord<V> = Scalar::from_u64(0);
    let (mut keys, mut far) = ([K::default(); MAX_SLOTS], 0u32);
    for slot in 0..F::SLOTS {
        let tag = walk.tag(bucket, slot);
        let at_home = tag.minus(Scalar::from_u64(1));
        let beside = at_home >= remainders;
        let remainder = at_home.minus(if beside { remainders } else { none });
        far |= ((tag != none && remainder >= remainders) as u32) << slot;
        let (home, first) = if beside { (homes[1], firsts[1]) } else { (homes[0], firsts[0]) };
        let mixed: K = layout.mixed_in::<K, K::PackedWord<V>>(&first, home, remainder.to_u64());
        keys[slot as usize] = mixed.unmixed(layout.a, layout.b);
    }
    // At most as many steps as slots: each step clears a bit.
    while far != 0 {
        let slot = far.trailing_zeros();
        far &= far - 1;
        keys[slot as usize] = walk.key(number, bucket, slot);
    }
    keys
}
