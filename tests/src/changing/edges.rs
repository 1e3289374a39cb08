//! Edge cases of every map that changes in place: empty batches, extreme keys, and keys at every
//! distance.

use super::{Changing, come_and_go, create, fill, own, pairs, values};
use crate::maps::equals;
use crate::{assert_lengths, distinct_keys};
use gpu_kernels::types::Scalar;
use std::collections::HashMap;
use std::fmt::Debug;
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device};

/// Checks empty batches in an empty map and in a map with a few keys, and returns the map after it
/// was cleared. `own` runs the empty operations that only this map has, and returns the state that
/// must not change.
pub fn batches_of_nothing_do_nothing<D: Changing, K: Key, V: Value, S: Debug + PartialEq>(
    device: &Device,
    config: &Config<D>,
    own: impl Fn(&mut BulkMap<K, V, D>) -> S,
) -> BulkMap<K, V, D> {
    let mut map = create::<D, K, V>(device, config);
    for there in [vec![], vec![K::from_u64(1), K::ALL_ONES, K::from_u64(5)]] {
        assert_eq!(map.insert_many(&there, &values(&there)), Ok(there.len()));
        let before = own(&mut map);
        assert_eq!(map.insert_many(&[], &[]), Ok(0));
        assert_eq!(map.remove_many(&[]), Ok(vec![]));
        assert_eq!((map.get_many(&[]), map.contains_many(&[])), (Ok(vec![]), Ok(vec![])));
        // This removes only keys that the map does not have.
        assert_eq!(map.remove_many(&[K::from_u64(2), K::from_u64(2)]), Ok(vec![None; 2]));
        assert_eq!(own(&mut map), before);
        equals(&map, &pairs(&there));
    }
    map.clear().unwrap();
    equals(&map, &HashMap::new());
    assert_eq!(map.to_pairs(), Ok(vec![]));
    map
}

/// Returns the extreme numbers: the ends of the range, its middle, and numbers with a half that is
/// all ones, all zeros or nearly so.
pub fn extremes<T: Scalar>() -> Vec<T> {
    let all = [0, 1, 1 << 31, u32::MAX as u64 - 1, u32::MAX as u64, 1 << 32, u64::MAX << 32, u64::MAX - 1, u64::MAX];
    let mut those: Vec<T> = all.map(T::from_u64).to_vec();
    those.sort_unstable();
    those.dedup();
    those
}

/// Checks sequences of at most `n` keys with strides of powers of two; the exponents are `every`
/// apart. The same keys with reversed bits follow, in batches of `batch`.
pub fn sequential_and_strided_keys<D: Changing, K: Key, V: Value>(
    device: &Device,
    config: &Config<D>,
    (n, every, batch): (u64, usize, usize),
) {
    // With the widest strides, 64-bit keys differ in their upper halves alone.
    for lg in (0..=K::BITS - 8).step_by(every) {
        // The stride limits the count of keys, so all keys differ.
        let keys: Vec<K> = (0..n.min(1 << (K::BITS - lg).min(32))).map(|i| K::from_u64(i << lg)).collect();
        come_and_go::<D, K, V>(device, config, &keys, keys.len());
        let reversed = |key: &K| !K::from_u64(key.to_u64().reverse_bits() >> (64 - K::BITS));
        come_and_go::<D, K, V>(device, config, &keys.iter().map(reversed).collect::<Vec<_>>(), batch);
    }
}

/// Inserts and removes keys one at a time, some of them without reading back their values.
pub fn one_key_at_a_time<D: Changing, K: Key, V: Value>(device: &Device, config: &Config<D>) {
    let mut map = create::<D, K, V>(device, config);
    let (zero, all_ones) = (K::from_u64(0), K::ALL_ONES);
    for key in [zero, K::from_u64(7), all_ones] {
        assert_eq!(map.insert(key, own(&key)), Ok(true));
        assert_eq!(map.insert(key, own(&key)), Ok(false));
    }
    assert_eq!(map.remove(K::from_u64(8)), Ok(None));
    assert_eq!(map.remove(zero), Ok(Some(own(&zero))));
    equals(&map, &pairs(&[K::from_u64(7), all_ones]));
    assert_eq!(map.erase_many(&[all_ones, zero, K::from_u64(9)]), Ok(1));
    equals(&map, &pairs(&[K::from_u64(7)]));
    assert_eq!(map.erase_many(&[]), Ok(0));
}

/// Checks that retaining removes exactly the keys that a mask drops, on slices and on buffers, for
/// counts of keys around multiples of 32.
pub fn retaining<D: Changing, K: Key, V: Value>(device: &Device, config: &Config<D>, most: usize) {
    let stream = device.default_stream();
    for n in [0, 1, 31, 32, 33, 64, 200].into_iter().filter(|&n| n <= most) {
        let keys: Vec<K> = distinct_keys(n + 3, 5);
        // The last three of `keys` are not in the map.
        let mut map = fill::<D, K, V>(device, config, &keys[..n], n.max(1));
        for (round, every) in [usize::MAX, 3, 2, 1].into_iter().enumerate() {
            let keep: Vec<bool> = (0..n + 3).map(|i| i < n && i % every != 0).collect();
            let before = map.len();
            let left: Vec<K> = (0..n).filter(|&i| keep[i] && map.contains(keys[i]).unwrap()).map(|i| keys[i]).collect();
            let removed = if round % 2 == 0 {
                map.retain_many(&keys, &keep).unwrap()
            } else {
                // Bits after the last key are ignored, so these are set.
                let bit = |word: usize, bit: usize| keep.get(32 * word + bit).is_none_or(|&keep| keep);
                let word = |word: usize| (0..32).fold(0u32, |bits, at| bits | (bit(word, at) as u32) << at);
                let words: Vec<u32> = (0..(n + 3).div_ceil(32)).map(word).collect();
                let (keys, words) =
                    (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &words).unwrap());
                map.retain_many_on(stream, &keys, &words).unwrap()
            };
            assert_eq!(removed, before - left.len());
            equals(&map, &pairs(&left));
        }
        assert_eq!(map.len(), 0);
    }
    let mut map = fill::<D, K, V>(device, config, &[K::from_u64(1), K::from_u64(2)], 2);
    // Each key needs a flag, and a key that is dropped once and kept once is removed.
    assert_lengths(map.retain_many(&[K::ALL_ONES], &[]).unwrap_err(), ("the keys", 1), ("the flags", 0));
    let (two, none) = (Buffer::<K>::zeroed(device, 33).unwrap(), Buffer::zeroed(device, 1).unwrap());
    let short = map.retain_many_on(stream, &two, &none).unwrap_err();
    assert_lengths(short, ("the keys, in words of 32,", 2), ("the words to keep", 1));
    assert_eq!(map.retain_many(&[K::from_u64(2), K::from_u64(2)], &[true, false]), Ok(1));
    equals(&map, &pairs(&[K::from_u64(1)]));
}
