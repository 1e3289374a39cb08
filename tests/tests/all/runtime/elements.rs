//! Keys and values of every type that tables accept, and of types that this file defines.

use bytemuck::{Pod, Zeroable};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::Ordering;
use warpnest::error::InputError;
use warpnest::linear::LinearOperation;
use warpnest::{
    Answers, Buffer, CompactingTable, CuckooMap, Device, Error, ExtendibleMap, Key, LinearMap, MultiMap, PageMap,
    PageSet, SortedMap, Value,
};
use warpnest_tests::{at, distinct_keys, faulty, on_all, parameterized};

/// A type of 8 bytes with fields of different sizes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
struct Cell {
    column: u16,
    row: u16,
    layer: i32,
}
warpnest::key!(Cell);

/// The counts of pairs: none, one, around the bits of a word of found-flags, and several blocks.
const NUMBERS: [usize; 5] = [0, 1, 32, 33, 700];

/// Checks tables of keys and values that `key` and `value` make from different 32-bit words. Every
/// third key is not in the tables.
fn with<K: Key + Debug + Eq + Hash, V: Value + Debug + PartialEq>(
    key: impl Fn(u64) -> K,
    value: impl Fn(u64) -> V,
    on: impl Fn(&dyn Fn(&Device)),
) {
    let _at = at(format!("{} to {}", std::any::type_name::<K>(), std::any::type_name::<V>()));
    on(&|device| {
        for n in NUMBERS {
            let words: Vec<u64> = distinct_keys::<u32>(n * 3 / 2, 5).into_iter().map(u64::from).collect();
            let queries: Vec<K> = words.iter().map(|&word| key(word)).collect();
            let (keys, values): (Vec<K>, Vec<V>) = words[..n].iter().map(|&word| (key(word), value(word))).unzip();
            let expected: Vec<Option<V>> =
                (0..queries.len()).map(|i| if i < n { Some(values[i]) } else { None }).collect();
            let pairs: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();

            let map = PageMap::build(device, &keys, &values).unwrap();
            assert_eq!(map.get_many(&queries).unwrap(), expected);
            assert_eq!(map.to_pairs().unwrap().into_iter().collect::<HashMap<K, V>>(), pairs);
            assert_eq!(map.clone().get_many(&queries).unwrap(), expected);
            assert_eq!(CuckooMap::build(device, &keys, &values).unwrap().get_many(&queries).unwrap(), expected);
            let sorted = SortedMap::build(device, &keys, &values).unwrap();
            assert_eq!(sorted.get_many(&queries).unwrap(), expected);
            assert_eq!(sorted.pairs_into_map(), pairs);

            let set = PageSet::build(device, &keys).unwrap();
            assert_eq!(set.contains_many(&queries).unwrap(), expected.iter().map(Option::is_some).collect::<Vec<_>>());
            assert_eq!(set.iter().unwrap().collect::<HashSet<K>>(), keys.iter().copied().collect());
            let ids = CompactingTable::build(device, &[&keys[..], &keys].concat()).unwrap();
            assert_eq!(ids.len(), n);
            let of_keys: Vec<u32> = ids.get_many(&keys).unwrap().into_iter().flatten().collect();
            assert_eq!(ids.keys_of_many(&of_keys).unwrap(), keys.iter().copied().map(Some).collect::<Vec<_>>());
            let twice =
                MultiMap::build(device, &[&keys[..], &keys].concat(), &[&values[..], &values].concat()).unwrap();
            let found = twice.retrieve_many(&queries).unwrap();
            assert_eq!(found.iter().len(), queries.len());
            for (i, found) in found.iter().enumerate() {
                assert_eq!(found, expected[i].map_or(vec![], |value| vec![value; 2]));
            }

            let mut map = ExtendibleMap::new(device).unwrap();
            assert_eq!(map.insert_many(&keys, &values), Ok(n));
            assert_eq!(map.remove_many(&queries).unwrap(), expected);
            assert!(map.is_empty());
        }
    });
}

/// Checks the operations that only a linear map has. Some engines support it for 32-bit words
/// alone.
fn with_linear<K: Key + Debug + Eq + Hash, V: Value + Debug + PartialEq>(device: &Device, pairs: &[(K, V)]) {
    let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
    let all: Vec<Option<V>> = values.iter().copied().map(Some).collect();
    let mut map = LinearMap::new(device).unwrap();
    assert_eq!(map.insert_many(&keys, &values), Ok(keys.len()));
    assert_eq!(map.replace_many(&keys, &values).unwrap(), all);
    assert_eq!(map.get_or_insert_many(&keys, &values).unwrap(), values);
    let operations = keys.iter().map(|&key| LinearOperation::Get(key)).collect::<Vec<_>>();
    assert_eq!(map.apply_many(&operations).unwrap(), all);
    assert!(map.table().probe_lengths().unwrap().longest >= 1);
    assert_eq!(map.remove_many(&keys).unwrap(), all);
}

/// The pairs of a sorted map, by its iterators.
trait PairsIntoMap<K, V> {
    fn pairs_into_map(&self) -> HashMap<K, V>;
}
impl<K: Key + Eq + Hash, V: Value> PairsIntoMap<K, V> for SortedMap<K, V> {
    fn pairs_into_map(&self) -> HashMap<K, V> {
        self.keys().unwrap().zip(self.values().unwrap()).collect()
    }
}

#[test]
fn every_type_of_4_and_8_bytes_is_a_key_or_a_value() {
    let on_all_devices = |work: &dyn Fn(&Device)| on_all(work);
    let on_cpu = |work: &dyn Fn(&Device)| work(&Device::cpu());
    let cell = |word: u64| Cell { column: word as u16, row: (word >> 16) as u16, layer: -(word as i32) };
    with(|word| word as i32, |word| word as f32 - 1e9, on_all_devices);
    with(cell, |word| (word as i32, 0.5 * word as f32), on_all_devices);
    with(|word| word as i64 - (1 << 40), |word| char::from_u32(word as u32 % 0xd800).unwrap(), on_cpu);
    with(|word| word as usize, |word| (word as u32).to_le_bytes(), on_cpu);
    with(|word| word as isize, |word| word.to_be_bytes(), on_cpu);
    with(|word| (word as u32).to_be_bytes(), |word| word as i64, on_cpu);
    with(|word| word.to_be_bytes(), |word| word as f64, on_cpu);
    with(|word| (word as u32, word as i32), |word| (word as f32, word as u32), on_cpu);
    with(|word| (7i32, word as u32), cell, on_cpu);
    with(|word| ('x', word as u32), |word| (word as f32, 'y'), on_cpu);
    on_all(|device| with_linear(device, &[(-1i32, 0.5f32), (0, -1.5), (i32::MIN, f32::MAX)]));
    with_linear(&Device::cpu(), &[('a', (1u32, 2u32)), ('\u{10ffff}', (0, u32::MAX)), ('\0', (3, 4))]);
}

/// A type that is aligned to 512 bytes.
#[repr(C, align(512))]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct Wide([u64; 64]);
warpnest::plain!(Wide);

#[parameterized]
fn elements_of_any_alignment_are_copied(device: &Device) {
    let stream = device.default_stream();
    let elements: Vec<Wide> = (0..9).map(|i| Wide([i; 64])).collect();
    assert_eq!(Buffer::from_slice(device, &elements).unwrap().download(stream).unwrap(), elements);
    assert_eq!(Answers::<Wide>::new(device, 9).unwrap().download(stream).unwrap(), [None; 9]);
}

#[test]
fn arrays_of_bytes_are_read_wherever_they_begin() {
    let bytes: Vec<u8> = (0..4 * 100 + 3).map(|i| (i * 7 % 251) as u8).collect();
    for first in 0..4 {
        let keys: &[[u8; 4]] = bytemuck::cast_slice(&bytes[first..][..400]);
        on_all(|device| {
            let map = PageMap::from_pairs(device, keys.iter().copied().zip(0u32..)).unwrap();
            let reference: HashMap<[u8; 4], u32> = keys.iter().copied().zip(0..).collect();
            let expected: Vec<Option<u32>> = keys.iter().map(|key| reference.get(key).copied()).collect();
            assert_eq!(map.get_many(keys).unwrap(), expected);
            let buffer = Buffer::from_slice(device, keys).unwrap();
            assert_eq!(buffer.download(device.default_stream()).unwrap(), keys);
        });
    }
}

#[parameterized]
fn characters_are_keys(device: &Device) {
    // The keys are every 97th character, skipping numbers that are none.
    let keys: Vec<char> = (0..0x11_0000).step_by(97).filter_map(char::from_u32).collect();
    let values: Vec<usize> = keys.iter().map(|&key| key.len_utf8()).collect();
    let map = PageMap::build(device, &keys, &values).unwrap();
    let (_, queries): (Vec<usize>, Vec<char>) = keys.iter().copied().enumerate().filter(|(i, _)| i % 3 == 0).unzip();
    assert_eq!(map.get_many(&queries).unwrap(), queries.iter().map(|key| Some(key.len_utf8())).collect::<Vec<_>>());
    assert_eq!(map.get_many(&['b', 'c']).unwrap(), [None, None]);
    assert_eq!(map.to_pairs().unwrap().into_iter().collect::<HashMap<_, _>>(), keys.into_iter().zip(values).collect());
}

#[parameterized]
fn characters_and_sizes_have_the_order_of_their_words(device: &Device) {
    let text: Vec<char> = "straße, Öl, \u{10ffff}, abc".chars().collect();
    let map = SortedMap::from_pairs(device, text.iter().copied().zip(0i32..)).unwrap();
    let reference: BTreeMap<char, i32> = text.iter().copied().zip(0..).collect();
    assert_eq!(map.to_pairs().unwrap(), reference.clone().into_iter().collect::<Vec<_>>());
    let between = reference.range('b'..='ß').map(|(&key, &value)| (key, value)).collect::<Vec<_>>();
    assert_eq!(map.range_pairs('b'..='ß').unwrap(), between);
    assert_eq!(map.lower_bound_many(&['\0', 'ß', char::MAX]).unwrap(), [0, 11, 12]);
}

#[parameterized]
fn one_key_an_iterator_and_a_clone_do_as_those_of_the_standard_library(device: &Device) {
    let pairs: HashMap<u64, i32> = (0..100).map(|i| (i * i, -(i as i32))).collect();
    let map = PageMap::from_pairs(device, pairs.clone()).unwrap();
    assert_eq!((map.get(81).unwrap(), map.get(82).unwrap()), (Some(-9), None));
    assert_eq!(map.iter().unwrap().collect::<HashMap<_, _>>(), pairs);
    assert_eq!((&map).into_iter().collect::<HashMap<_, _>>(), pairs);
    assert_eq!(map.keys().unwrap().collect::<HashSet<_>>(), pairs.keys().copied().collect());
    assert_eq!(map.values().unwrap().map(i64::from).sum::<i64>(), -4950);
    let said = format!("{map:?}");
    let bytes = map.memory_bytes();
    assert_eq!(said, format!("PageMap {{ keys: 100, bytes: {bytes}, device: {:?}, .. }}", device.name()));
    let set = PageSet::build(device, &[1u32, 2, 2]).unwrap();
    assert_eq!((set.contains(2).unwrap(), set.contains(3).unwrap(), set.clone().len()), (true, false, 2));
    assert!(format!("{set:?}").starts_with("PageSet { keys: 2, bytes: "));
    let same = PageSet::from_keys(device, [2, 1, 2]).unwrap();
    assert_eq!((&same).into_iter().collect::<HashSet<u32>>(), HashSet::from([1, 2]));
}

#[test]
#[should_panic(expected = "a table cannot be copied: kernel")]
fn a_loop_over_a_map_panics_if_its_device_fails() {
    let (device, good_launches) = faulty();
    let map = PageMap::build(&device, &[1], &[2]).unwrap();
    good_launches.store(0, Ordering::Relaxed);
    for _ in &map {}
}

#[test]
#[should_panic(expected = "a table cannot be copied: kernel")]
fn a_loop_over_a_set_panics_if_its_device_fails() {
    let (device, good_launches) = faulty();
    let set = PageSet::build(&device, &[1]).unwrap();
    good_launches.store(0, Ordering::Relaxed);
    for _ in &set {}
}

#[parameterized]
fn what_takes_no_stream_does_as_what_takes_one(device: &Device) {
    let mut map = PageMap::build(device, &[1, 2], &[3, 4]).unwrap();
    map.rebuild(&[5, 6, 5], &[7, 8, 9]).unwrap();
    assert_eq!((map.get_many(&[5, 6, 1]).unwrap(), map.len()), (vec![Some(9), Some(8), None], 2));
    let copy = map.try_clone().unwrap();
    assert!(matches!(map.rebuild(&[5], &[]).unwrap_err(), Error::Input(InputError::LengthsDiffer { .. })));
    assert_eq!((copy.get(6).unwrap(), map.get(6).unwrap()), (Some(8), Some(8)));

    let mut one = PageSet::build(device, &[1u64]).unwrap();
    one.rebuild(&[1, 2, 3]).unwrap();
    let other = PageSet::build(device, &[3, 4]).unwrap();
    let lengths = [one.union(&other), one.intersection(&other), one.difference(&other), one.try_clone()]
        .map(|made| made.unwrap().len());
    assert_eq!(lengths, [4, 1, 2, 3]);

    let mut ids = CompactingTable::build(device, &['a']).unwrap();
    ids.rebuild(&['b', 'c', 'b']).unwrap();
    assert_eq!((ids.len(), ids.clone().contains_many(&['a', 'b']).unwrap()), (2, vec![false, true]));
    assert_eq!(ids.iter().unwrap().collect::<Vec<_>>(), ids.to_pairs().unwrap());
    assert_eq!(ids.keys().unwrap().collect::<Vec<_>>(), ids.key_buffer().download(device.default_stream()).unwrap());
    assert!(format!("{ids:?}").starts_with("CompactingTable { keys: 2, bytes: "));
    let mut values = MultiMap::build(device, &[1], &[2]).unwrap();
    values.rebuild(&[7, 7], &[8, 9]).unwrap();
    assert_eq!(values.clone().retrieve_many(&[7]).unwrap().values, [8, 9]);
    assert!(format!("{values:?}").starts_with("MultiMap { keys: 1, pairs: 2, bytes: "));
    // The map's keys were unique, but rebuilds of its copy do not rely on that.
    let mut runs = values.runs().clone();
    runs.rebuild(&[7, 7, 7], &[1, 2, 3]).unwrap();
    assert_eq!((runs.len(), runs.get(7).unwrap()), (1, Some(3)));

    let mut map = LinearMap::<u32, u32>::new(device).unwrap();
    map.reserve(1000).unwrap();
    let (slots, keys) = (map.table().slots(), (0..1000).collect::<Vec<u32>>());
    map.insert_many(&keys, &keys).unwrap();
    assert_eq!((map.table().slots(), map.len()), (slots, 1000));
    map.remove_many(&keys[..900]).unwrap();
    map.drop_tombstones().unwrap();
    assert_eq!((map.table().taken(), map.get(950).unwrap()), (100, Some(950)));
    map.clear().unwrap();
    assert!(map.is_empty() && map.to_pairs().unwrap().is_empty());
}

#[parameterized]
fn every_table_is_built_from_buffers_with_the_default_configuration(device: &Device) {
    let keys = Buffer::from_slice(device, &[5u32, 6, 5]).unwrap();
    let values = Buffer::from_slice(device, &[1u64, 2, 3]).unwrap();
    let map = PageMap::build(device, &keys, &values).unwrap();
    assert_eq!(map.get_many(&[5, 6, 7]).unwrap(), [Some(3), Some(2), None]);
    let set = PageSet::build(device, &keys).unwrap();
    assert_eq!((set.len(), set.contains(6).unwrap()), (2, true));
    let multi = MultiMap::build(device, &keys, &values).unwrap();
    assert_eq!(multi.get(5).unwrap(), [1, 3]);
    let ids = CompactingTable::build(device, &keys).unwrap();
    assert_eq!((ids.len(), ids.get(7).unwrap()), (2, None));
}
