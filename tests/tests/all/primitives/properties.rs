//! Scan, histogram, partition, sort, compaction and binary search, compared with the standard
//! library on every engine.

use proptest::prelude::*;
use warpnest::primitives::{
    BitField, Scratch, binary_search, compact, exclusive_scan, exclusive_scan_in_place, flag_last_of_each, histogram,
    inclusive_scan, inclusive_scan_in_place, partition_pairs, sort_keys, sort_pairs, unique_of_sorted,
};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer};
use warpnest_tests::{TestEngine, key, on_every_engine, parameterized};

/// Returns the most items for an engine, so some cases take several tiles of up to 8,192 items.
fn most(engine: &TestEngine) -> usize {
    match engine.max_items {
        0..1000 => 9_000,
        1000..10_000 => 20_000,
        _ => 60_000,
    }
}

fn check_scan<T: Key>(engine: &TestEngine, items: &[T]) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let mut sum = 0u64;
    let mut expected: Vec<T> = Vec::new();
    for item in items {
        expected.push(T::from_u64(sum));
        sum = sum.wrapping_add(item.to_u64());
    }
    let mut buffer = Buffer::from_slice(device, items).unwrap();
    let mut output = Buffer::zeroed(device, items.len()).unwrap();
    let mut longer = Buffer::from_slice(device, &vec![T::ALL_ONES; items.len() + 1]).unwrap();
    exclusive_scan(stream, &mut scratch, &buffer, &mut output).unwrap();
    exclusive_scan(stream, &mut scratch, &buffer, &mut longer).unwrap();
    exclusive_scan_in_place(stream, &mut scratch, &mut buffer).unwrap();
    prop_assert_eq!(&output.download(stream).unwrap(), &expected);
    prop_assert_eq!(&buffer.download(stream).unwrap(), &expected);
    expected.push(T::from_u64(sum));
    prop_assert_eq!(&longer.download(stream).unwrap(), &expected);

    let mut buffer = Buffer::from_slice(device, items).unwrap();
    inclusive_scan(stream, &mut scratch, &buffer, &mut output).unwrap();
    inclusive_scan_in_place(stream, &mut scratch, &mut buffer).unwrap();
    prop_assert_eq!(&output.download(stream).unwrap(), &expected[1..]);
    prop_assert_eq!(&buffer.download(stream).unwrap(), &expected[1..]);
    Ok(())
}

#[test]
fn scans() {
    on_every_engine(
        |engine| (prop::collection::vec(any::<u64>(), 0..most(engine)), 0u32..64),
        |engine, (items, shift)| {
            // Some items are small: with large items only, wrapping sums would hide some mistakes.
            check_scan(engine, &items.iter().map(|&item| (item >> shift) as u32).collect::<Vec<u32>>())?;
            check_scan(engine, &items.iter().map(|&item| item >> shift).collect::<Vec<u64>>())
        },
    );
}

fn check_compact<T: Key>(engine: &TestEngine, items: &[T], keep: &[bool]) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut words = vec![0u32; items.len().div_ceil(32)];
    keep.iter().enumerate().for_each(|(i, &keep)| words[i / 32] |= (keep as u32) << (i % 32));
    if let (Some(last), rest @ 1..) = (words.last_mut(), items.len() % 32) {
        // Bits after the last item's bit are ignored.
        *last |= u32::MAX << rest;
    }
    let expected: Vec<T> = items.iter().zip(keep).filter_map(|(&item, &keep)| keep.then_some(item)).collect();
    let input = Buffer::from_slice(device, items).unwrap();
    let keep = Buffer::from_slice(device, &words).unwrap();
    let mut output = Buffer::from_slice(device, &vec![T::ALL_ONES; items.len()]).unwrap();
    let mut count = Buffer::zeroed(device, 1).unwrap();
    compact(stream, &mut Scratch::new(device), &input, &keep, &mut output, &mut count).unwrap();
    prop_assert_eq!(count.download(stream).unwrap(), [expected.len() as u32]);
    let output = output.download(stream).unwrap();
    prop_assert_eq!(&output[..expected.len()], &expected);
    prop_assert!(output[expected.len()..].iter().all(|&item| item == T::ALL_ONES), "nothing stands behind them");
    Ok(())
}

#[test]
fn compaction() {
    on_every_engine(
        |engine| (prop::collection::vec(any::<u64>(), 0..most(engine)), 0.0..1.0),
        |engine, (items, share)| {
            let keep: Vec<bool> =
                items.iter().map(|&item| ((item >> 11) as f64) < share * (1u64 << 53) as f64).collect();
            check_compact(engine, &items.iter().map(|&item| item as u32).collect::<Vec<u32>>(), &keep)?;
            check_compact(engine, &items, &keep)
        },
    );
}

fn field(key_bits: u32) -> impl Strategy<Value = BitField> {
    (1u32..=10).prop_flat_map(move |bits| (0..=key_bits - bits).prop_map(move |shift| BitField { shift, bits }))
}

fn value_of(field: BitField, key: impl Key) -> usize {
    (key.to_u64() >> field.shift) as usize & ((1 << field.bits) - 1)
}

fn check_partition<K: Key, V: Value>(engine: &TestEngine, field: BitField, keys: &[K]) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let values: Vec<V> = (0..keys.len() as u64).map(|i| V::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut expected: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort_by_key(|&(key, _)| value_of(field, key));
    let mut counts = vec![0u32; 1 << field.bits];
    keys.iter().for_each(|&key| counts[value_of(field, key)] += 1);
    let starts: Vec<u32> = (0..counts.len()).map(|value| counts[..value].iter().sum()).collect();

    let (keys_in, values_in) =
        (Buffer::from_slice(device, keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
    let mut counted = Buffer::zeroed(device, counts.len()).unwrap();
    histogram(stream, &keys_in, field, &mut counted).unwrap();
    prop_assert_eq!(counted.download(stream).unwrap(), counts);
    let mut out = (Buffer::zeroed(device, keys.len()).unwrap(), Buffer::zeroed(device, keys.len()).unwrap());
    let mut scratch = Scratch::new(device);
    let input = (&keys_in, &values_in);
    partition_pairs(stream, &mut scratch, input, field, (&mut out.0, &mut out.1), &mut counted).unwrap();
    prop_assert_eq!(counted.download(stream).unwrap(), starts);
    let found: Vec<(K, V)> = out.0.download(stream).unwrap().into_iter().zip(out.1.download(stream).unwrap()).collect();
    prop_assert_eq!(found, expected);
    Ok(())
}

fn check_sort<K: Key, V: Value>(engine: &TestEngine, keys: &[K]) -> Result<(), TestCaseError> {
    check_keys_alone(engine, keys)?;
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let values: Vec<V> = (0..keys.len() as u64).map(V::from_u64).collect();
    let mut expected: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort();
    let (mut keys, mut values) =
        (Buffer::from_slice(device, keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
    sort_pairs(stream, &mut Scratch::new(device), &mut keys, &mut values).unwrap();
    let sorted = keys.download(stream).unwrap();
    let found: Vec<(K, V)> = sorted.iter().copied().zip(values.download(stream).unwrap()).collect();
    prop_assert_eq!(&found, &expected);

    // The queries are every key, and neighbours of the keys, which may be absent.
    let queries: Vec<K> = sorted.iter().flat_map(|&key| [key, K::from_u64(key.to_u64() ^ 1)]).collect();
    let on_device = Buffer::from_slice(device, &queries).unwrap();
    let mut answers = Answers::new(device, queries.len()).unwrap();
    binary_search(stream, (&keys, &values), &on_device, &mut answers).unwrap();
    let first = |key: &K| expected.get(expected.partition_point(|pair| pair.0 < *key)).filter(|pair| pair.0 == *key);
    let expected_answers: Vec<Option<V>> = queries.iter().map(|key| first(key).map(|pair| pair.1)).collect();
    prop_assert_eq!(answers.download(stream).unwrap(), expected_answers);

    let mut last = Buffer::zeroed(device, sorted.len().div_ceil(32)).unwrap();
    flag_last_of_each(stream, &keys, &mut last).unwrap();
    let last = last.download(stream).unwrap();
    for i in 0..last.len() * 32 {
        let is_last = i < sorted.len() && sorted.get(i + 1) != Some(&sorted[i]);
        prop_assert_eq!(last[i / 32] >> (i % 32) & 1 != 0, is_last);
    }
    Ok(())
}

/// Checks the sort of keys alone, and the distinct keys among them.
fn check_keys_alone<K: Key>(engine: &TestEngine, keys: &[K]) -> Result<(), TestCaseError> {
    let mut expected = keys.to_vec();
    expected.sort();
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let mut keys = Buffer::from_slice(device, keys).unwrap();
    sort_keys(stream, &mut scratch, &mut keys).unwrap();
    prop_assert_eq!(&keys.download(stream).unwrap(), &expected);

    expected.dedup();
    let mut output = Buffer::from_slice(device, &vec![K::ALL_ONES; keys.len()]).unwrap();
    let mut count = Buffer::from_slice(device, &[u32::MAX]).unwrap();
    unique_of_sorted(stream, &mut scratch, &keys, &mut output, &mut count).unwrap();
    prop_assert_eq!(count.download(stream).unwrap(), [expected.len() as u32]);
    expected.resize(keys.len(), K::ALL_ONES);
    prop_assert_eq!(output.download(stream).unwrap(), expected, "nothing stands behind them");
    Ok(())
}

fn keys_alone_around_the_sizes_of_tiles<K: Key>() {
    on_every_engine(
        |_| (prop::sample::select(vec![0, 1, 2, 31, 33, 4095, 4097, 7168, 8191, 8193]), 0u32..3),
        |engine, (length, spread)| {
            let key_of = |i: u64| [K::ALL_ONES.to_u64(), i / 3, u64::MAX - i][spread as usize];
            let keys: Vec<K> = (0..length.min(most(engine)) as u64).rev().map(|i| K::from_u64(key_of(i))).collect();
            check_keys_alone(engine, &keys)
        },
    );
}

#[test]
fn keys_alone_around_the_sizes_of_tiles_all_equal_and_distinct() {
    keys_alone_around_the_sizes_of_tiles::<u32>();
    keys_alone_around_the_sizes_of_tiles::<u64>();
}

#[parameterized(each_width)]
fn partitions_and_sorts<K: Key, V: Value>() {
    on_every_engine(
        |engine| (prop::collection::vec(key::<K>(), 0..most(engine)), field(K::BITS)),
        |engine, (keys, field)| {
            check_partition::<K, V>(engine, field, &keys)?;
            // The interpreter sorts few items, because each takes four or eight passes.
            let few = if engine.max_items < 1000 { 700 } else { keys.len() };
            check_sort::<K, V>(engine, &keys[..few.min(keys.len())])
        },
    );
}
