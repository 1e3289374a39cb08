//! Sorts and the operations that use them, on the CPU engine with one core and with several: digits
//! of 11 bits, passes that are skipped because all keys agree in a digit, and tiles that wait for
//! each other.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::ThreadPoolBuilder;
use warpnest::primitives::{BitField, Scratch, partition_pairs, sort_pairs};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, SortedMap};
use warpnest_tests::at;

/// Sizes around those at which digits get more bits, or at which there are several tiles.
const SIZES: [usize; 7] = [0, 1, 4097, 65_535, 65_537, 150_000, 300_001];
/// A count of pairs with which each core's tile has some hundreds of pairs of each digit.
const MANY: usize = 1 << 20;

fn with_cores(cores: usize, work: impl FnOnce(&Device) + Send) {
    let pool = ThreadPoolBuilder::new().num_threads(cores).build().unwrap();
    pool.install(|| work(&Device::cpu()));
}

/// Returns keys that agree in all bits outside of `mask`; one in eight is repeated.
fn keys<K: Key>(n: usize, mask: u64) -> Vec<K> {
    let mut random = Xoshiro256StarStar::seed_from_u64(n as u64 ^ mask);
    let fixed = random.next_u64() & !mask;
    let mut keys: Vec<K> = (0..n).map(|_| K::from_u64(random.next_u64() & mask | fixed)).collect();
    keys.copy_within(..n / 8, n - n / 8);
    keys
}

fn numbers<V: Value>(n: usize) -> Vec<V> {
    (0..n as u64).map(|number| V::from_u64(number.wrapping_mul(0x1_0000_0001))).collect()
}

/// Sorts in place and into another map's memory, and compares with the stable sort of `std`.
fn sorts<K: Key, V: Value>(device: &Device, keys: &[K]) {
    let (stream, values) = (device.default_stream(), numbers::<V>(keys.len()));
    let mut expected: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort_by_key(|pair| pair.0);
    let mut own_keys = Buffer::from_slice(device, keys).unwrap();
    let mut own_values = Buffer::from_slice(device, &values).unwrap();
    let mut scratch = Scratch::new(device);
    // The second sort finds the words of the first one in its scratch.
    for _ in 0..2 {
        own_keys.upload(stream, keys).unwrap();
        own_values.upload(stream, &values).unwrap();
        sort_pairs(stream, &mut scratch, &mut own_keys, &mut own_values).unwrap();
        let sorted = own_keys.download(stream).unwrap().into_iter().zip(own_values.download(stream).unwrap());
        assert!(sorted.eq(expected.iter().copied()), "the pairs are not in order");
    }
    expected.reverse();
    expected.dedup_by_key(|pair| pair.0);
    expected.reverse();
    let map = SortedMap::build(device, keys, &values).unwrap();
    assert!(map.to_pairs().unwrap() == expected, "the map has other pairs");
}

fn every_width(device: &Device, n: usize, mask: u64) {
    let _at = at(format!("{n} keys that differ in the bits {mask:#x}"));
    let (narrow, wide) = (keys::<u32>(n, mask), keys::<u64>(n, mask));
    sorts::<u32, u32>(device, &narrow);
    sorts::<u32, u64>(device, &narrow);
    sorts::<u64, u32>(device, &wide);
    sorts::<u64, u64>(device, &wide);
}

#[test]
fn sorts_are_stable_whichever_digits_differ() {
    for cores in [1, 3] {
        with_cores(cores, |device| {
            for n in SIZES {
                // The keys differ in all digits; in none; in the lowest, a middle or the highest
                // digit; or in two.
                for mask in [u64::MAX, 0, 0x7ff, 0x3f_f800, 0xffc0_0000_ffc0_0000, 0xff00_0000_0000_00ff, 0xff_ffff] {
                    every_width(device, n, mask);
                }
            }
        });
    }
}

#[test]
fn sorts_of_a_million_pairs_are_stable() {
    for cores in [1, 3] {
        with_cores(cores, |device| {
            let n = MANY + 77;
            sorts::<u32, u32>(device, &keys::<u32>(n, u64::MAX));
            sorts::<u64, u64>(device, &keys::<u64>(n, u64::MAX));
        });
    }
}

#[test]
fn partitions_are_stable_and_their_starts_are_those_of_the_digits() {
    for cores in [1, 3] {
        with_cores(cores, |device| {
            let stream = device.default_stream();
            for (n, bits, shift) in [(70_000, 10, 3), (200_000, 1, 31), (200_000, 8, 24), (MANY + 5, 10, 11)] {
                let _at = at(format!("{n} pairs by {bits} bits from bit {shift} on"));
                let (keys, values) = (keys::<u32>(n, u64::MAX), numbers::<u64>(n));
                let digit = |key: u32| (key >> shift) & ((1 << bits) - 1);
                let mut expected: Vec<(u32, u64)> = keys.iter().copied().zip(values.iter().copied()).collect();
                expected.sort_by_key(|pair| digit(pair.0));
                let (keys, values) =
                    (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
                let mut keys_out = Buffer::<u32>::zeroed(device, n).unwrap();
                let mut values_out = Buffer::<u64>::zeroed(device, n).unwrap();
                let mut starts = Buffer::<u32>::zeroed(device, 1 << bits).unwrap();
                let field = BitField { shift, bits };
                let mut scratch = Scratch::new(device);
                partition_pairs(
                    stream,
                    &mut scratch,
                    (&keys, &values),
                    field,
                    (&mut keys_out, &mut values_out),
                    &mut starts,
                )
                .unwrap();
                let moved = keys_out.download(stream).unwrap().into_iter().zip(values_out.download(stream).unwrap());
                assert!(moved.eq(expected.iter().copied()), "the pairs are not in order");
                let first_of = |value| expected.partition_point(|pair| digit(pair.0) < value) as u32;
                let expected_starts: Vec<u32> = (0..1u32 << bits).map(first_of).collect();
                assert_eq!(starts.download(stream).unwrap(), expected_starts);
            }
        });
    }
}
