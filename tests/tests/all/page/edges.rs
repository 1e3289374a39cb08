//! Edge cases of the page map: extreme keys and values, sizes around every bound, every load,
//! tables of every form, and rebuilds.
//!
//! `page/skew.rs` tests repeated keys, and keys that are chosen to collide.

use warpnest::low_level::kernels::page::{Number, NumberParams, Unpack, UnpackParams};
use warpnest::low_level::kernels::split;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, PageConfig, PageMap};
use warpnest_tests::built::{build, edges};
use warpnest_tests::page_checker::check_page_map;
use warpnest_tests::{TestEngine, distinct_keys, engines, is_thorough, on_all, parameterized, values};

fn default() -> PageConfig {
    PageConfig::default().seed(11)
}

/// Builds maps of unique keys, with and without that promise, on every engine that supports `n`
/// items.
fn unique<K: Key, V: Value>(config: &PageConfig, n: usize, keys: impl Fn(u64) -> u64) {
    for engine in engines().iter().filter(|engine| n <= engine.max_items) {
        let keys: Vec<K> = (0..n as u64).map(|i| K::from_u64(keys(i))).collect();
        for config in [config.clone(), config.clone().assume_unique()] {
            let map = build::<_, K, V>(&engine.device, &config, &keys, &values(n));
            assert_eq!((map.len(), map.report().skewed), (n, false), "on {}", engine.device.name());
        }
    }
}

warpnest_tests::tests_of! { edges:
    empty_input_and_empty_queries(default(), default().assume_unique());
    one_pair_of_every_extreme_key_and_value(default());
    the_key_that_is_all_ones_is_there_or_not_with_every_value(default());
    values_that_are_all_zeros_and_all_ones(default(), default().assume_unique().load(1.0));
    a_clone_keeps_what_the_map_has_no_more(default());
    a_map_that_is_shrunk_takes_no_more_than_a_fresh_one(default());
    rebuilds_with_more_and_fewer_and_no_pairs[|_| default()];
}

#[test]
fn empty_input_at_the_lowest_load() {
    on_all(|device| drop(build::<_, u32, u64>(device, &default().load(1.0 / 1024.0), &[], &[])));
}

/// Checks the count of keys. A thread adds the keys that it inserts and subtracts the keys that it
/// finds repeated, which other threads may have inserted. With most seeds some thread subtracts
/// more than it added.
#[test]
fn each_of_few_keys_twice_with_any_seed() {
    for seed in 0..20 {
        let keys: Vec<u32> = (0..50).chain(0..50).collect();
        on_all(|device| {
            let map = build::<_, u32, u32>(device, &PageConfig::default().seed(seed), &keys, &values(100));
            assert_eq!(map.len(), 50);
        });
    }
}

/// Checks that the kernels that list keys write no more than the capacity, however many keys the
/// table has.
#[parameterized]
fn keys_are_listed_as_far_as_there_is_room(device: &Device) {
    let stream = device.default_stream();
    let keys: Vec<u32> = (0..250).map(|i| 77 * i).collect();
    let map = build::<_, u32, u32>(device, &default(), &keys, &keys);
    let layout = *map.table().layout();
    // The words are copied, because ids will replace the values.
    let mut words = Buffer::from_slice(device, &map.table().words().download(stream).unwrap()).unwrap();
    let capacities = [0, 1, 100, 249, 250, 300];
    // Pairs are listed first, because ids overwrite the values.
    for (numbers, capacity) in
        [false, true].into_iter().flat_map(|numbers| capacities.map(|capacity| (numbers, capacity)))
    {
        let mut listed = [(); 2].map(|()| Buffer::from_slice(device, &[u32::MAX; 400]).unwrap());
        let mut count = Buffer::<u64>::zeroed(device, 1).unwrap();
        // SAFETY: the outputs have more capacity than the kernels are told, and the layout is the
        // table's.
        unsafe {
            stream.launch_dyn(layout.buckets() as usize, |uses| {
                let words = uses.write(&mut words).cast();
                let [keys_out, values_out] = listed.each_mut().map(|listed| uses.write(listed));
                let count = uses.write(&mut count);
                if numbers {
                    let plan = NumberParams { layout, capacity };
                    return Box::new(Number::<u32> { words, keys_out, count, plan });
                }
                let plan = UnpackParams { layout, capacity };
                Box::new(Unpack::<u32, u32> { words, keys_out, values_out, count, plan })
            })
        }
        .unwrap();
        assert_eq!(count.download(stream).unwrap(), [250]);
        for listed in &listed[..if numbers { 1 } else { 2 }] {
            let listed = listed.download(stream).unwrap();
            let (inside, beyond) = listed.split_at(capacity.min(250) as usize);
            assert!(beyond.iter().all(|&word| word == u32::MAX), "beyond a room of {capacity}");
            assert!(inside.iter().all(|word| keys.contains(word)), "a room of {capacity}");
        }
    }
}

#[test]
fn sequential_and_strided_keys() {
    for lg in 0..=24 {
        // The stride limits the count of keys, so all keys differ.
        for most in [290, 2000] {
            let most = most.min(1 << (32 - lg));
            unique::<u32, u32>(&default(), most, |i| i << lg);
            unique::<u64, u32>(&default(), most, |i| (i << lg).reverse_bits());
        }
        unique::<u64, u64>(&default(), 290, |i| u64::MAX - (i << lg << 8));
    }
    for lg in [0, 1, 7, 12, 15] {
        unique::<u32, u32>(&default(), 100_000, |i| i << lg);
        unique::<u64, u64>(&default(), 50_000, |i| i << lg << 32);
    }
}

#[test]
fn wide_keys_that_differ_in_one_half_only() {
    for config in [default(), default().assume_unique()] {
        edges::wide_keys_that_differ_in_one_half_only(&config, |report| assert!(!report.skewed, "{report:?}"));
    }
}

#[test]
fn sizes_around_powers_of_two_tiles_and_pages() {
    let tiles = [split::tile::<u32, u32>() as usize, split::tile::<u64, u64>() as usize];
    // The smallest table holds up to 56 pairs, and two pages need at least 1431 pairs.
    let bounds = [2, 4, 8, 32, 56, 64, 128, 256, 512, 1024, 1431, 2048, 3277, 5000, 16_384, 32_768, 65_536];
    let mut sizes: Vec<usize> = bounds.into_iter().chain(tiles).chain(tiles.map(|tile| 2 * tile)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        for n in size - 1..=size + 1 {
            unique::<u32, u32>(&default(), n, |i| i.wrapping_mul(0x9e37_79b1));
            unique::<u64, u64>(&default(), n, |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            if n < 300 {
                unique::<u32, u64>(&default(), n, |i| !i);
                unique::<u64, u32>(&default(), n, |i| !i);
            }
        }
    }
}

#[test]
fn every_load_is_kept_and_built() {
    for load in [1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25, 0.1, 0.05, 0.01] {
        for n in [1, 50, 290, 2000, 20_000] {
            let config = default().load(load);
            unique::<u32, u32>(&config, n, |i| i);
            unique::<u64, u64>(&config, n, |i| i << 20);
            if n == 290 {
                unique::<u32, u64>(&config, n, |i| i << 5);
                unique::<u64, u32>(&config, n, |i| i << 50);
            }
        }
    }
}

#[test]
fn no_table_is_fuller_than_the_load_that_was_asked_for() {
    fn with<K: Key, V: Value>(pair_bytes: u64) {
        for load in [1.0, 0.8, 0.5, 0.1] {
            for n in (1..3000).chain((3000..300_000).step_by(997)) {
                let bytes = default().load(load).memory_bytes::<K, V>(n).unwrap();
                let full = (n * pair_bytes as usize) as f64 / bytes as f64;
                assert!(full <= load, "{n} pairs of {pair_bytes} bytes at load {load}: {full} of {bytes} bytes");
            }
        }
    }
    with::<u32, u32>(8);
    with::<u32, u64>(12);
    with::<u64, u32>(12);
    with::<u64, u64>(16);
}

/// Checks tables with short tags, which need many buckets: with few pairs at a low load, and with
/// many pairs.
#[test]
fn tables_of_five_slots_a_bucket_with_few_pairs_and_with_many() {
    let engine = &engines()[0];
    for (n, load) in [(1, 1e-7), (3000, 0.0014), (100_000, 0.045)] {
        let keys: Vec<u32> = distinct_keys(n, 4);
        for config in [default().load(load), default().load(load).assume_unique()] {
            let map = build::<_, u32, u32>(&engine.device, &config, &keys, &values(n));
            assert!(map.table().layout().slots == 5 || n == 1, "{n} pairs: {:?}", map.table().layout());
        }
    }
    // Checking so many pairs takes long, so each load and each promise is tried once by default.
    let full = [(1 << 21, 1.0, false), (2_000_000, 0.95, true), (1 << 21, 1.0, true), (2_000_000, 0.95, false)];
    for &(n, load, unique) in &full[..if is_thorough() { 4 } else { 2 }] {
        let keys: Vec<u32> = distinct_keys(n, 5);
        let config = if unique { default().assume_unique() } else { default() };
        let map = build::<_, u32, u32>(&engine.device, &config.load(load), &keys, &values(n));
        assert_eq!((map.table().layout().slots, map.report().failures), (5, 0));
    }
}

/// Checks a table of 2^25 buckets, which takes a gigabyte.
#[test]
fn a_table_of_six_slots_a_bucket() {
    let device = Device::cpu();
    let n = 1 << 20;
    let keys: Vec<u32> = distinct_keys(n, 6);
    let mut repeated = keys[n / 2..].to_vec();
    repeated.extend_from_slice(&keys);
    for (config, keys) in [(default(), &repeated), (default().assume_unique(), &keys)] {
        let load = keys.len() as f64 * 8.0 / (1u64 << 30) as f64 / 1.01;
        let map: PageMap<u32, u32> = config.load(load).build(&device, keys, &values(keys.len())).unwrap();
        assert_eq!((map.table().layout().slots, map.len()), (6, n));
        let reference = keys.iter().copied().zip(values::<u32>(keys.len())).collect();
        assert_eq!(check_page_map(&map, &reference), Ok(()));
        let queries: Vec<u32> = keys.iter().take(1000).flat_map(|&key| [key, !key]).collect();
        let expected: Vec<Option<u32>> = queries.iter().map(|key| reference.get(key).copied()).collect();
        assert_eq!(map.get_many(&queries).unwrap(), expected);
        assert_eq!(map.to_pairs().unwrap().len(), n);
    }
}

#[parameterized]
fn builds_with_equal_and_with_different_seeds_hold_the_same_pairs(engine: &TestEngine) {
    let n = engine.max_items.min(5000);
    let once: Vec<u32> = distinct_keys(n / 2, 9);
    let keys: Vec<u32> = once.iter().rev().chain(&once).copied().collect();
    let maps =
        [1, 1, 2, 3].map(|seed| build::<_, _, u32>(&engine.device, &default().seed(seed), &keys, &values(keys.len())));
    assert_eq!(maps.each_ref().map(|map| map.report().seed), [1, 1, 2, 3]);
    let constants = maps.each_ref().map(|map| (map.table().layout().a, map.table().layout().b));
    assert!(constants[0] == constants[1] && constants[1] != constants[2] && constants[2] != constants[3]);
    let sorted = maps.each_ref().map(|map| {
        let mut pairs = map.to_pairs().unwrap();
        pairs.sort_unstable();
        pairs
    });
    assert!(sorted.iter().all(|pairs| *pairs == sorted[0]), "on {}", engine.device.name());
    let random = PageConfig::default().build(&engine.device, &keys, &keys).unwrap();
    let again = PageConfig::default().seed(random.report().seed).build(&engine.device, &keys, &keys).unwrap();
    assert_eq!(random.table().layout(), again.table().layout());
}

#[parameterized]
fn stages_are_reported_if_they_are_asked_for_and_only_then(engine: &TestEngine) {
    for pairs in [0, 1, 250] {
        let keys: Vec<u32> = distinct_keys(pairs, 9);
        // At such a low load there are several pages, so there is a split.
        let config = default().load(0.02);
        assert_eq!(build::<_, _, u32>(&engine.device, &config, &keys, &values(pairs)).report().stages, None);
        let timed = build::<_, _, u32>(&engine.device, &config.timings(), &keys, &values(pairs));
        let stages = timed.report().stages.expect("they were asked for");
        let each = [stages.initialization, stages.first_split, stages.later_splits, stages.pages];
        assert!(each.iter().all(|&milliseconds| (0.0..60_000.0).contains(&milliseconds)), "{stages:?}");
        assert!((stages.total() - each.iter().sum::<f64>()).abs() < 1e-9);
        assert!(stages.pages > 0.0 && (pairs < 250 || stages.first_split > 0.0), "{stages:?}");
    }
}
