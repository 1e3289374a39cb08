//! Primitives over many tiles, whose blocks look back at each other while they run. They run on the
//! CPU engine's cores, and on an engine with more threads, which take the blocks in random order.
//! They are repeated, because a race does not show each time.
//!
//! Partitions work in portions of 2^29 pairs, which need more memory than a test may take. `digits`
//! tests the state that passes from one portion to the next, with small portions.

#[path = "../../../../crates/warpnest/tests/shuffled_threads/mod.rs"]
mod shuffled_threads;

use gpu_kernels::types::KeyWord as _;
use shuffled_threads::ShuffledThreads;
use std::collections::HashMap;
use warpnest::low_level::engine::HostEngine;
use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, exclusive_scan_in_place, inclusive_scan, partition_pairs, sort_keys,
    sort_pairs,
};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, TwoLevelConfig};
use warpnest_tests::distinct_keys;

/// Returns the devices, and the count of repetitions on each.
fn devices() -> [(Device, u64); 2] {
    [(Device::cpu(), 5), (Device::from_engine(HostEngine::new(ShuffledThreads::new(1))).unwrap(), 5)]
}

/// Returns random words that follow from a seed.
fn random<T: Key>(n: usize, seed: u64) -> Vec<T> {
    let low = |i: u64| i.mix(seed, 77) as u64;
    (0..n as u64).map(|i| T::from_u64((low(2 * i) << 32 | low(2 * i + 1)) & T::ALL_ONES.to_u64())).collect()
}

/// Fails at the first difference, without printing millions of words.
fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let different = found.iter().zip(expected).position(|(found, expected)| found != expected);
    if let Some(i) = different {
        panic!("{what}: item {i} of {} is {:?}, and {:?} is right", found.len(), found[i], expected[i]);
    }
}

/// Returns the sum of the items before each item, and the sum of all items.
fn sums<T: Key>(items: &[T]) -> Vec<T> {
    let mut sums = vec![T::default()];
    for &item in items {
        sums.push(item.plus(sums[sums.len() - 1]));
    }
    sums
}

fn scans<T: Key>(n: usize) {
    let items: Vec<T> = random(n, 5);
    let expected = sums(&items);
    for (device, times) in devices() {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
        let input = Buffer::from_slice(&device, &items).unwrap();
        let mut output = Buffer::zeroed(&device, n + 1).unwrap();
        for _ in 0..times {
            output.fill(stream, 0xff).unwrap();
            exclusive_scan(stream, &mut scratch, &input, &mut output).unwrap();
            same(&output.download(stream).unwrap(), &expected, device.name());
            let mut in_place = Buffer::from_slice(&device, &items).unwrap();
            exclusive_scan_in_place(stream, &mut scratch, &mut in_place).unwrap();
            same(&in_place.download(stream).unwrap(), &expected[..n], device.name());
            inclusive_scan(stream, &mut scratch, &input, &mut in_place).unwrap();
            same(&in_place.download(stream).unwrap(), &expected[1..], device.name());
        }
    }
}

#[test]
fn scans_of_millions() {
    for n in [1_000_000, (1 << 22) + 1] {
        scans::<u32>(n);
        scans::<u64>(n);
    }
}

fn compactions<T: Key>(n: usize) {
    let items: Vec<T> = random(n, 6);
    let words: Vec<u32> = random(n.div_ceil(32), 7);
    let kept = (0..n).filter(|i| words[i / 32] >> (i % 32) & 1 != 0);
    let expected: Vec<T> = kept.map(|i| items[i]).collect();
    for (device, times) in devices() {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
        let input = Buffer::from_slice(&device, &items).unwrap();
        let keep = Buffer::from_slice(&device, &words).unwrap();
        let mut count = Buffer::zeroed(&device, 1).unwrap();
        for _ in 0..times {
            let mut output = Buffer::zeroed(&device, n).unwrap();
            compact(stream, &mut scratch, &input, &keep, &mut output, &mut count).unwrap();
            assert_eq!(count.download(stream).unwrap(), [expected.len() as u32], "{}", device.name());
            same(&output.download(stream).unwrap()[..expected.len()], &expected, device.name());
        }
    }
}

#[test]
fn compactions_of_millions() {
    compactions::<u32>(4_000_001);
    compactions::<u64>(1_000_000);
}

/// Returns keys of which many are equal, so the order of equal keys can be checked.
fn repeated_keys<K: Key>(n: usize, different: u64) -> Vec<K> {
    let spread = |word: u64| (word % different).wrapping_mul(0x9e37_79b9_7f4a_7c15) & K::ALL_ONES.to_u64();
    random::<u64>(n, 8).into_iter().map(|word| K::from_u64(spread(word))).collect()
}

fn sorts<K: Key, V: Value>(n: usize, different: u64) {
    let keys: Vec<K> = repeated_keys(n, different);
    let values: Vec<V> = (0..n as u64).map(V::from_u64).collect();
    let mut expected: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort();
    let sorted_keys: Vec<K> = expected.iter().map(|&(key, _)| key).collect();
    for (device, times) in devices() {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
        for _ in 0..times {
            let mut keys = Buffer::from_slice(&device, &keys).unwrap();
            let mut values = Buffer::from_slice(&device, &values).unwrap();
            sort_pairs(stream, &mut scratch, &mut keys, &mut values).unwrap();
            let (keys, values) = (keys.download(stream).unwrap(), values.download(stream).unwrap());
            let found: Vec<(K, V)> = keys.into_iter().zip(values).collect();
            same(&found, &expected, device.name());
        }
        for _ in 0..times {
            let mut alone = Buffer::from_slice(&device, &keys).unwrap();
            sort_keys(stream, &mut scratch, &mut alone).unwrap();
            same(&alone.download(stream).unwrap(), &sorted_keys, device.name());
        }
    }
}

#[test]
fn stable_sorts_of_millions() {
    sorts::<u32, u32>(4_000_001, 1000);
    sorts::<u32, u64>(1_000_000, 1 << 40);
    sorts::<u64, u32>(1_000_000, 3);
    sorts::<u64, u64>(1 << 20, 1 << 40);
}

fn partitions<K: Key, V: Value>(n: usize, field: BitField) {
    let keys: Vec<K> = repeated_keys(n, 50_000);
    let values: Vec<V> = (0..n as u64).map(V::from_u64).collect();
    let digit = |key: K| (key.to_u64() >> field.shift) as usize & ((1 << field.bits) - 1);
    let mut expected: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort_by_key(|&(key, _)| digit(key));
    let start_of = |value| expected.partition_point(|&(key, _)| digit(key) < value) as u32;
    let starts: Vec<u32> = (0..1 << field.bits).map(start_of).collect();
    for (device, times) in devices() {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
        let input = (&Buffer::from_slice(&device, &keys).unwrap(), &Buffer::from_slice(&device, &values).unwrap());
        let mut counted = Buffer::zeroed(&device, starts.len()).unwrap();
        for _ in 0..times {
            let (mut keys_out, mut values_out) =
                (Buffer::zeroed(&device, n).unwrap(), Buffer::zeroed(&device, n).unwrap());
            let scratch = &mut scratch;
            partition_pairs(stream, scratch, input, field, (&mut keys_out, &mut values_out), &mut counted).unwrap();
            let (keys, values) = (keys_out.download(stream).unwrap(), values_out.download(stream).unwrap());
            let found: Vec<(K, V)> = keys.into_iter().zip(values).collect();
            same(&found, &expected, device.name());
            same(&counted.download(stream).unwrap(), &starts, device.name());
        }
    }
}

#[test]
fn partitions_of_millions() {
    partitions::<u32, u32>(4_000_000, BitField { shift: 7, bits: 10 });
    partitions::<u64, u64>(1_000_001, BitField { shift: 54, bits: 10 });
    partitions::<u64, u32>(1_000_000, BitField { shift: 31, bits: 1 });
}

/// Checks sorts that run at the same time. Blocks of several launches share the cores, and blocks
/// that wait must let the others continue.
#[test]
fn sorts_and_scans_of_several_host_threads_at_once() {
    for (device, times) in devices() {
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let device = &device;
                scope.spawn(move || {
                    let (stream, mut scratch) = (device.stream().unwrap(), Scratch::new(device));
                    let keys: Vec<u32> = repeated_keys(300_000 + worker, 5000);
                    let values: Vec<u32> = (0..keys.len() as u32).collect();
                    let mut expected: Vec<(u32, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
                    expected.sort_unstable();
                    let sums = sums(&expected.iter().map(|pair| pair.0).collect::<Vec<u32>>());
                    for _ in 0..times {
                        let mut keys = Buffer::from_slice(device, &keys).unwrap();
                        let mut values = Buffer::from_slice(device, &values).unwrap();
                        sort_pairs(&stream, &mut scratch, &mut keys, &mut values).unwrap();
                        let sorted = keys.download(&stream).unwrap();
                        let found: Vec<(u32, u32)> =
                            sorted.into_iter().zip(values.download(&stream).unwrap()).collect();
                        same(&found, &expected, device.name());
                        exclusive_scan_in_place(&stream, &mut scratch, &mut keys).unwrap();
                        same(&keys.download(&stream).unwrap(), &sums[..expected.len()], device.name());
                    }
                });
            }
        });
    }
}

fn maps<K: Key, V: Value>(n: usize) {
    let keys: Vec<K> = distinct_keys(n, 3);
    // Every eighth key occurs twice. In `copied`, one key occurs so often that the pairs are
    // sorted.
    let repeated: Vec<K> = (0..n).map(|i| keys[if i % 8 == 7 { i - 4 } else { i }]).collect();
    let copied: Vec<K> = (0..n).map(|i| if i % 100 == 50 { K::ALL_ONES } else { repeated[i] }).collect();
    let values: Vec<V> = (0..n as u64).map(|i| V::from_u64(i.wrapping_mul(0x1_0000_0001))).collect();
    for (keys, sorted) in [(&keys, false), (&repeated, false), (&copied, true)] {
        let last: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
        let expected: Vec<Option<V>> = keys.iter().map(|key| last.get(key).copied()).collect();
        for (device, _) in devices() {
            let map = TwoLevelConfig::default().seed(1).build(&device, keys, &values).unwrap();
            assert_eq!((map.len(), map.report().sorted), (last.len(), sorted), "{}", device.name());
            same(&map.get_many(keys).unwrap(), &expected, device.name());
        }
    }
}

#[test]
fn two_level_maps_of_a_million_pairs() {
    maps::<u32, u32>(1 << 20);
    maps::<u64, u64>(1_000_000);
}
