//! Tables with each of the five formulas in turn; property tests draw only some formulas at random.

use std::collections::{HashMap, HashSet};
use warpnest::design::{Arithmetic, HashFamily};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{CompactingConfig, CuckooConfig, Device, MultiConfig, TwoLevelConfig};
use warpnest_tests::maps;
use warpnest_tests::{at, built, distinct_keys, parameterized, sets, values};

const FAMILIES: [HashFamily; 5] = [
    HashFamily::Mix,
    HashFamily::Linear { prime: 334_214_459, arithmetic: Arithmetic::Exact },
    HashFamily::Linear { prime: 334_214_459, arithmetic: Arithmetic::Wrapping },
    HashFamily::Xor { prime: 334_214_459, arithmetic: Arithmetic::Exact },
    HashFamily::Xor { prime: 334_214_459, arithmetic: Arithmetic::Wrapping },
];

/// Returns keys, some of which occur twice, including the key that is in no slot.
fn keys<K: Key>() -> Vec<K> {
    let mut keys: Vec<K> = distinct_keys(200, 5);
    keys.extend_from_within(..50);
    keys.extend([K::ALL_ONES, K::default()]);
    keys
}

fn cuckoo(family: HashFamily, functions: u32) -> CuckooConfig {
    CuckooConfig::default().hash(family).functions(functions).slots(601).restarts(200).seed(3)
}

fn two_level(family: HashFamily, sub_tables: u32) -> TwoLevelConfig {
    let config = TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(24.0).restarts(200).seed(3);
    config.hash(family).sub_table_hash(family).sub_tables(sub_tables, 40)
}

fn maps_of<K: Key, V: Value>(device: &Device, family: HashFamily) {
    let (keys, values) = (keys::<K>(), values::<V>(252));
    let once = &keys[..200];
    for functions in [2, 5] {
        let config = cuckoo(family, functions);
        built::build::<_, K, V>(device, &config, &keys, &values);
        built::build::<_, K, V>(device, &config.assume_unique().statistics(), once, &values[..200]);
    }
    for sub_tables in [2, 3, 4] {
        let config = two_level(family, sub_tables);
        built::build::<_, K, V>(device, &config, &keys, &values);
        built::build::<_, K, V>(device, &config.statistics(), once, &values[..200]);
    }
    // A single bucket is so full that every thread has several of its pairs.
    let config = TwoLevelConfig::default().items_per_bucket(500.0).restarts(200).seed(3).hash(family);
    let keys: Vec<K> = distinct_keys(490, 5);
    let config = config.sub_table_hash(family).sub_tables(4, 250);
    built::build::<_, K, V>(device, &config, &keys, &warpnest_tests::values::<V>(490));
}

#[parameterized]
fn maps_of_every_width(device: &Device) {
    for family in FAMILIES {
        let _at = at(format!("{family:?}"));
        warpnest_tests::in_all_widths!(maps_of(device, family));
    }
}

fn on_others<K: Key>(device: &Device, family: HashFamily) {
    let keys = keys::<K>();
    for functions in [2, 5] {
        let config = CuckooConfig::default().hash(family).functions(functions).slots(601).restarts(200).seed(3);
        sets::build(device, &config, &keys);
    }
    let absent: Vec<K> = keys.iter().map(|key| K::from_u64(key.to_u64() ^ 0x5555)).collect();
    let queries = [&keys[..], &absent].concat();
    let different = [&keys[..200], &keys[250..]].concat();
    let occurs = |key: &K| keys.iter().filter(|other| *other == key).count() as u64;
    macro_rules! on_table {
        ($config:expr) => {
            let table = CompactingConfig::on($config).build(device, &keys).unwrap();
            let ids: HashMap<K, u32> = table.to_pairs().unwrap().into_iter().collect();
            assert_eq!(maps::check(table.ids(), &ids, &queries), Ok(()));
            let given: HashSet<u32> = ids.values().copied().collect();
            assert!(different.iter().all(|key| ids.contains_key(key)) && given == (0..202).collect());
            let ordered = CompactingConfig::on($config).in_order_of_appearance().build(device, &keys).unwrap();
            let ids: HashMap<K, u32> = different.iter().copied().zip(0..).collect();
            assert_eq!(maps::check(ordered.ids(), &ids, &queries), Ok(()));
            let map = MultiConfig::on($config).build(device, &keys, &values::<u32>(252)).unwrap();
            let counts = map.count_many(&queries).unwrap();
            assert!(queries.iter().zip(&counts).all(|(key, count)| *count as u64 == occurs(key)), "{counts:?}");
        };
    }
    on_table!(cuckoo(family, 5));
}

#[parameterized]
fn what_stands_on_them(device: &Device) {
    for family in FAMILIES {
        let _at = at(format!("{family:?}"));
        on_others::<u32>(device, family);
        on_others::<u64>(device, family);
    }
}
