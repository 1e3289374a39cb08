//! Tests of lookups by refs, compared with `HashMap` and with batches that do the same.

use crate::{engines, fail};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use warpnest::design::{BulkMap, Config};
use warpnest::design::{Cuckoo, Page};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    Buffer, CompactingTable, CuckooMap, CuckooSet, Device, Error, ExtendibleMap, LinearMap, MultiConfig, MultiMap,
    PageMap, PageSet, Result, SortedMap, TwoLevelMap,
};
use warpnest_bench_kernels::lookups::*;
use warpnest_tests::{key, of_all_widths, on_those, the_cpu_engine};

/// Launches a kernel that looks up queries in the table, and returns the answers.
macro_rules! ask {
    ($kernel:ident, $device:expr, $table:expr, $queries:expr) => {{
        let (device, stream, count) = ($device, $device.default_stream(), $queries.len());
        let (queries, mut values) = (Buffer::from_slice(device, $queries)?, Buffer::zeroed(device, count)?);
        let mut found = Buffer::<u32>::zeroed(device, count.div_ceil(32))?;
        // SAFETY: there is a value for each query, and a word of `found` for each 32 queries.
        unsafe {
            stream.launch(count, |uses| $kernel {
                queries: uses.read(&queries),
                values: uses.write(&mut values),
                found: uses.write(&mut found),
                map: uses.table($table),
                count: count as u64,
            })?;
        }
        answers(values.download(stream)?, &found.download(stream)?)
    }};
}

/// Launches a kernel that tests whether the set has keys, and returns the answers.
macro_rules! flag {
    ($kernel:ident, $device:expr, $table:expr, $queries:expr) => {{
        let (device, stream, count) = ($device, $device.default_stream(), $queries.len());
        let queries = Buffer::from_slice(device, $queries)?;
        let mut found = Buffer::<u32>::zeroed(device, count.div_ceil(32))?;
        // SAFETY: there is a word of `found` for each 32 queries.
        unsafe {
            stream.launch(count, |uses| $kernel {
                queries: uses.read(&queries),
                found: uses.write(&mut found),
                table: uses.table($table),
                count: count as u64,
            })?;
        }
        let found = answers(vec![(); count], &found.download(stream)?);
        found.iter().map(Option::is_some).collect::<Vec<bool>>()
    }};
}

fn answers<V>(values: Vec<V>, found: &[u32]) -> Vec<Option<V>> {
    let answer = |(i, value)| (found[i / 32] >> (i % 32) & 1 != 0).then_some(value);
    values.into_iter().enumerate().map(answer).collect()
}

/// Returns pairs with distinct keys, and queries: all these keys, and other keys.
fn pairs_and_queries<K: Key, V: Value>(most: usize) -> impl Strategy<Value = (BTreeMap<K, V>, Vec<K>)> {
    let pairs = prop::collection::btree_map(key::<K>(), any::<u64>().prop_map(V::from_u64), 0..=most);
    (pairs, prop::collection::vec(key::<K>(), 0..40)).prop_map(|(pairs, others)| {
        let edges = [K::from_u64(0), K::from_u64(1), K::ALL_ONES];
        let queries = pairs.keys().copied().chain(others).chain(edges).collect();
        (pairs, queries)
    })
}

/// A map's name and its answers.
type Answered<V> = (&'static str, Vec<Option<V>>);

/// Returns the answers of every map through its ref.
fn asked_by_refs<K: Key, V: Value>(
    device: &Device,
    (keys, values): (&[K], &[V]),
    queries: &[K],
) -> Result<Vec<Answered<V>>> {
    let page = PageMap::build(device, keys, values)?;
    let cuckoo = CuckooMap::build(device, keys, values)?;
    let two_level = TwoLevelMap::build(device, keys, values)?;
    let sorted = SortedMap::build(device, keys, values)?;
    let mut extendible = ExtendibleMap::new(device)?;
    extendible.insert_many(keys, values)?;
    let mut all = vec![
        ("page", ask!(AskPage, device, &page, queries)),
        ("cuckoo", ask!(AskCuckoo, device, &cuckoo, queries)),
        ("two-level", ask!(AskTwoLevel, device, &two_level, queries)),
        ("sorted", ask!(AskSorted, device, &sorted, queries)),
        ("extendible", ask!(AskExtendible, device, &extendible, queries)),
    ];
    match LinearMap::new(device) {
        // The PTX for every GPU has no wide linear maps.
        Err(Error::NoWideAtomics { .. }) => {}
        linear => {
            let mut linear = linear?;
            linear.insert_many(keys, values)?;
            all.push(("linear", ask!(AskLinear, device, &linear, queries)));
        }
    }
    Ok(all)
}

fn maps_answer_by_refs_as_a_hash_map_does<K: Key, V: Value>() {
    on_those(
        engines().iter().chain(the_cpu_engine()),
        |engine| pairs_and_queries::<K, V>(engine.max_items.min(2000)),
        |engine, (pairs, queries)| {
            let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().unzip();
            let expected: Vec<Option<V>> = queries.iter().map(|query| pairs.get(query).copied()).collect();
            for (design, answers) in asked_by_refs(&engine.device, (&keys, &values), &queries).map_err(fail)? {
                prop_assert_eq!(&answers, &expected, "{}", design);
            }
            Ok(())
        },
    );
}

#[test]
fn maps_of_no_pair_and_of_the_last_key_alone() {
    let queries = [0, 1, u64::MAX];
    for engine in engines() {
        for (keys, last) in [(&[][..], None), (&[u64::MAX][..], Some(5))] {
            for (design, answers) in asked_by_refs(&engine.device, (keys, &[5u64][..keys.len()]), &queries).unwrap() {
                assert_eq!(answers, [None, None, last], "{design} on {}", engine.device.name());
            }
            let narrow: Vec<u32> = keys.iter().map(|_| u32::MAX).collect();
            for found in flagged(&engine.device, &narrow, &[0, u32::MAX]).unwrap() {
                assert_eq!(found, [false, last.is_some()]);
            }
            let sum = if last.is_some() { 1 + 5 } else { 0 };
            for sums in weighed(&engine.device, (keys, &[5u32][..keys.len()]), &queries).unwrap() {
                assert_eq!(sums, [0, 0, sum]);
            }
        }
    }
}

mod maps {
    use super::{maps_answer_by_refs_as_a_hash_map_does, of_all_widths};
    of_all_widths!(maps_answer_by_refs_as_a_hash_map_does);
}

fn flagged<K: Key>(device: &Device, keys: &[K], queries: &[K]) -> Result<[Vec<bool>; 2]> {
    let (page, cuckoo) = (PageSet::build(device, keys)?, CuckooSet::build(device, keys)?);
    Ok([flag!(FlagPageSet, device, &page, queries), flag!(FlagCuckooSet, device, &cuckoo, queries)])
}

fn sets_of<K: Key>() {
    on_those(
        engines().iter().chain(the_cpu_engine()),
        |engine| pairs_and_queries::<K, u32>(engine.max_items.min(2000)),
        |engine, (pairs, queries)| {
            let keys: Vec<K> = pairs.keys().copied().collect();
            let expected: Vec<bool> = queries.iter().map(|query| pairs.contains_key(query)).collect();
            for answers in flagged(&engine.device, &keys, &queries).map_err(fail)? {
                prop_assert_eq!(&answers, &expected);
            }
            Ok(())
        },
    );
}

#[test]
fn sets_answer_by_refs_as_a_hash_set_does() {
    sets_of::<u32>();
    sets_of::<u64>();
}

/// Returns the kernels' sums over the values of each query, for multimaps on both designs.
fn weighed<K: Key, V: Value>(device: &Device, (keys, values): (&[K], &[V]), queries: &[K]) -> Result<[Vec<u64>; 2]> {
    let on_pages: MultiMap<K, V> = MultiMap::build(device, keys, values)?;
    let on_cuckoo = MultiConfig::<Cuckoo>::on(Config::default()).build(device, keys, values)?;
    let (stream, count) = (device.default_stream(), queries.len());
    let (queries, mut sums) = (Buffer::from_slice(device, queries)?, [(); 2].map(|()| Buffer::zeroed(device, count)));
    let [by_pages, by_cuckoo] = &mut sums;
    let (by_pages, by_cuckoo) = (by_pages.as_mut().unwrap(), by_cuckoo.as_mut().unwrap());
    // SAFETY: there is a sum for each query.
    unsafe {
        stream.launch(count, |uses| {
            let map = uses.table(&on_pages);
            WeighOnPages { queries: uses.read(&queries), sums: uses.write(by_pages), map, count: count as u64 }
        })?;
        stream.launch(count, |uses| {
            let map = uses.table(&on_cuckoo);
            WeighOnCuckoo { queries: uses.read(&queries), sums: uses.write(by_cuckoo), map, count: count as u64 }
        })?;
    }
    Ok([by_pages.download(stream)?, by_cuckoo.download(stream)?])
}

fn multimaps_have_the_values_of_a_key_in_order<K: Key, V: Value>() {
    let few = || prop_oneof![3 => (0u64..5).prop_map(K::from_u64), 1 => key::<K>()];
    on_those(
        engines().iter().chain(the_cpu_engine()),
        |engine| {
            let pairs = (few(), any::<u64>().prop_map(V::from_u64));
            (prop::collection::vec(pairs, 0..=engine.max_items.min(1000)), prop::collection::vec(few(), 0..40))
        },
        |engine, (pairs, mut queries)| {
            queries.extend([K::from_u64(0), K::ALL_ONES]);
            let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
            let mut held: HashMap<K, Vec<u64>> = HashMap::new();
            pairs.iter().for_each(|(key, value)| held.entry(*key).or_default().push(value.to_u64()));
            let weigh = |query: &K| {
                let values = held.get(query).map_or(&[][..], Vec::as_slice);
                let weighed = values.iter().zip(1u64..).map(|(value, place)| value.wrapping_mul(place));
                weighed.fold(values.len() as u64, u64::wrapping_add)
            };
            let expected: Vec<u64> = queries.iter().map(weigh).collect();
            for sums in weighed(&engine.device, (&keys, &values), &queries).map_err(fail)? {
                prop_assert_eq!(&sums, &expected);
            }
            Ok(())
        },
    );
}

mod multimaps {
    use super::{multimaps_have_the_values_of_a_key_in_order, of_all_widths};
    of_all_widths!(multimaps_have_the_values_of_a_key_in_order);
}

/// Checks the ids of keys and the keys of ids, and that there is no key after the last id.
fn check_ids<K: Key>(device: &Device, rows: &[K], queries: &[K]) -> Result<()> {
    let table: CompactingTable<K> = CompactingTable::build(device, rows)?;
    let (stream, count) = (device.default_stream(), queries.len());
    let expected = table.get_many(queries)?;
    let asked = Buffer::from_slice(device, queries)?;
    let (mut there_and_back, mut ids) = (Buffer::zeroed(device, count)?, Buffer::zeroed(device, count)?);
    let mut behind = Buffer::from_slice(device, &[7u32])?;
    // SAFETY: each buffer has an answer for each query, and `behind` has a word.
    unsafe {
        stream.launch(count, |uses| IdsAndBack {
            queries: uses.read(&asked),
            there_and_back: uses.write(&mut there_and_back),
            ids: uses.write(&mut ids),
            behind: uses.write(&mut behind),
            table: uses.table(&table),
            count: count as u64,
        })?;
    }
    let back: Vec<K> = expected.iter().zip(queries).map(|(id, &key)| id.map_or(K::ALL_ONES, |_| key)).collect();
    assert_eq!(there_and_back.download(stream)?, back);
    let ids = ids.download(stream)?;
    assert_eq!(ids, expected.iter().map(|id| id.unwrap_or(u32::MAX)).collect::<Vec<u32>>());
    assert_eq!(behind.download(stream)?, [0]);
    Ok(())
}

#[test]
fn compacting_tables_give_ids_and_keys() {
    for engine in engines() {
        let rows: Vec<u64> = (0..300).map(|row| row * row % 91).chain([u64::MAX]).collect();
        check_ids(&engine.device, &rows, &[0, 1, 2, 3, 90, 91, u64::MAX, 1 << 40]).unwrap();
        check_ids::<u32>(&engine.device, &[], &[0, u32::MAX]).unwrap();
        check_ids(&engine.device, &[5u32; 40], &[5, 4, 6]).unwrap();
    }
}

/// Checks the ranks of keys, and the values of the pairs with these ranks.
fn check_ranks<K: Key>(device: &Device, keys: &[K], queries: &[K]) -> Result<()> {
    let values: Vec<u64> = (10..10 + keys.len() as u64).collect();
    let map = SortedMap::build(device, keys, &values)?;
    let (stream, count) = (device.default_stream(), queries.len());
    let asked = Buffer::from_slice(device, queries)?;
    let (mut below, mut next) = (Buffer::zeroed(device, count)?, Buffer::zeroed(device, count)?);
    // SAFETY: each buffer has an answer for each query.
    unsafe {
        stream.launch(count, |uses| RanksOf {
            queries: uses.read(&asked),
            below: uses.write(&mut below),
            next: uses.write(&mut next),
            map: uses.table(&map),
            count: count as u64,
        })?;
    }
    let mut sorted: Vec<(K, u64)> = keys.iter().copied().zip(values).collect();
    sorted.sort_unstable();
    let rank = |query: &K| sorted.partition_point(|(key, _)| key < query);
    assert_eq!(below.download(stream)?, queries.iter().map(|query| rank(query) as u32).collect::<Vec<u32>>());
    let value = |query: &K| sorted.get(rank(query)).map_or(0, |&(_, value)| value);
    assert_eq!(next.download(stream)?, queries.iter().map(value).collect::<Vec<u64>>());
    Ok(())
}

#[test]
fn sorted_maps_give_ranks_and_their_pairs() {
    for engine in engines() {
        let keys: Vec<u32> = (0..300u32).map(|i| i.wrapping_mul(0x9e37_79b1)).chain([u32::MAX]).collect();
        check_ranks(&engine.device, &keys, &[0, 1, 77, 1 << 31, u32::MAX - 1, u32::MAX]).unwrap();
        check_ranks::<u64>(&engine.device, &[], &[0, u64::MAX]).unwrap();
    }
}

/// Checks that a map's ref sees the results of all batches before the launch.
#[test]
fn a_ref_is_in_step_with_batches_and_an_emptied_map_has_nothing() {
    fn keys_of(device: &Device, map: &BulkMap<u32, u32, Page>) -> Result<Vec<Option<u32>>> {
        Ok(ask!(AskPage, device, map, &[0u32, 1, 2, u32::MAX]))
    }
    for engine in engines() {
        let device = &engine.device;
        let (one, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut map: PageMap<u32, u32> = PageMap::new(device).unwrap();
        assert_eq!(keys_of(device, &map).unwrap(), [None; 4]);
        let (keys, values) =
            (Buffer::from_slice(device, &[1, u32::MAX]).unwrap(), Buffer::from_slice(device, &[5, 6]).unwrap());
        map.on(&one).unwrap().insert_many(&keys, &values).unwrap();
        assert_eq!(keys_of(device, &map).unwrap(), [None, Some(5), None, Some(6)]);
        map.remove_many_on(&other, &keys).unwrap();
        assert_eq!(keys_of(device, &map).unwrap(), [None; 4]);
        map.insert_many(&[2], &[8]).unwrap();
        map.clear().unwrap();
        assert_eq!(keys_of(device, &map).unwrap(), [None; 4]);
    }
}
