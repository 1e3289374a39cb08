//! Lookups of arrays, and results whose memory Arrow owns afterwards.

use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, Int64Array, PrimitiveArray, UInt32Array};
use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::{Buffer, CuckooMap, Device, LinearMap, PageMap, arrow};
use warpnest_tests::{on_every_engine, parameterized};

#[test]
fn any_array_is_looked_up() {
    let number = prop_oneof![1 => Just(None), 5 => (0u32..200).prop_map(Some)];
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(2_000);
            (
                prop::collection::hash_map(0u32..150, any::<i64>(), 0..=most.min(150)),
                prop::collection::vec(number.clone(), 0..=most),
                0..70usize,
            )
        },
        |engine, (pairs, queries, offset)| {
            let pairs: HashMap<u32, i64> = pairs;
            let (keys, values): (Vec<u32>, Vec<i64>) = pairs.iter().unzip();
            let (keys, values) = (UInt32Array::from(keys), Int64Array::from(values));
            let device = &engine.device;
            let expected = queries.iter().map(|query| query.and_then(|query| pairs.get(&query).copied()));
            let expected: Int64Array = expected.collect();
            let before = std::iter::repeat_n(Some(3), offset);
            let queries: UInt32Array = before.chain(queries.iter().copied()).collect();
            let queries = queries.slice(offset, queries.len() - offset);
            let page = PageMap::build(device, keys.values(), values.values()).unwrap();
            let found: Int64Array = arrow::lookup::<UInt32Type, _, _>(&page, &queries).unwrap();
            prop_assert_eq!(&found, &expected);
            let cuckoo = CuckooMap::build(device, keys.values(), values.values()).unwrap();
            prop_assert_eq!(&arrow::lookup::<UInt32Type, Int64Type, _>(&cuckoo, &queries).unwrap(), &expected);
            Ok(())
        },
    );
}

#[test]
fn answers_become_an_array_in_their_memory() {
    let device = Device::cpu();
    let stream = device.default_stream();
    let mut map = LinearMap::<u32, i64>::new(&device).unwrap();
    map.insert_many(&[3, 4, 5], &[30, 40, 50]).unwrap();
    let queries: Vec<u32> = (0..100).collect();
    let queries = Buffer::from_slice(&device, &queries).unwrap();
    let answers = map.get_many_on(stream, &queries).unwrap();
    let addresses = [answers.values().address(), answers.found().address()];
    let array: Int64Array = arrow::from_answers(stream, answers).unwrap();
    let bits = array.nulls().unwrap().buffer();
    assert_eq!([array.values().as_ptr().addr(), bits.as_ptr().addr()], addresses);
    drop((map, queries, device));
    // The memory lives as long as any array uses it.
    let part = array.slice(3, 4);
    drop(array);
    assert_eq!(part, Int64Array::from(vec![Some(30), Some(40), Some(50), None]));
}

#[parameterized]
fn buffers_and_answers_become_arrays_on_every_engine(device: &Device) {
    let stream = device.default_stream();
    for length in [0usize, 1, 31, 32, 33, 100] {
        let numbers: Vec<u32> = (0..length as u32).map(|number| number * 3).collect();
        let buffer = Buffer::from_slice(device, &numbers).unwrap();
        let array = UInt32Array::new(arrow::from_buffer(stream, buffer).unwrap(), None);
        assert_eq!(array, UInt32Array::from(numbers.clone()));
        let map = PageMap::build(device, &[3u32, 6], &[1u32, 2]).unwrap();
        let queries = Buffer::from_slice(device, &numbers).unwrap();
        let answers = map.get_many_on(stream, &queries).unwrap();
        let array: PrimitiveArray<UInt32Type> = arrow::from_answers(stream, answers).unwrap();
        let expected = numbers.iter().map(|number| match number {
            3 => Some(1),
            6 => Some(2),
            _ => None,
        });
        assert_eq!(array, expected.collect::<UInt32Array>());
    }
}
