//! What every table has, whatever its kind: one test of all, through the bound [`Kind`] alone.

use std::fmt::Debug;
use warpnest::design::{Erases, HasValues, Kind, Loads};
use warpnest::{
    CompactingTable, CuckooMap, CuckooSet, Device, ExtendibleMap, FileInfo, LinearMap, MultiMap, PageMap, PageSet,
    RowMap, SortedMap, Table, TwoLevelMap,
};
use warpnest_tests::{distinct_keys, parameterized};

/// Returns elements in order: most tables have none, and may write items in another one each time.
fn sorted<T: Ord>(elements: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut elements: Vec<T> = elements.into_iter().collect();
    elements.sort_unstable();
    elements
}

/// Checks a table of so many items, whose name is `name`.
fn check<T: Kind<Key = u32, Item: Debug + Ord> + Loads>(table: &Table<T>, name: &str, items: usize) {
    let device = table.device();
    let all = sorted(table.iter().unwrap());
    let keys = sorted(table.keys().unwrap());
    assert_eq!((table.len(), all.len(), table.is_empty()), (items, items, items == 0), "{name}");
    assert_eq!(sorted(table), all, "{name}");
    assert!(keys.is_sorted_by(|one, next| one < next), "{name}: the keys differ");
    assert!(table.contains_many(&keys).unwrap().into_iter().all(|found| found), "{name}");
    let absent = (0..).find(|key| !keys.contains(key)).unwrap();
    assert!(!table.contains(absent).unwrap(), "{name}");
    let said = format!("{table:?}");
    assert!(said.starts_with(&format!("{name} {{ keys: {},", keys.len())), "{said}");

    let mut saved = Vec::new();
    table.save(&mut saved).unwrap();
    assert_eq!(FileInfo::verify(&saved[..]).unwrap().keys, keys.len() as u64, "{name}");
    let loaded = Table::<T>::load(device, &saved[..]).unwrap();
    let mut copy = table.clone();
    copy.shrink_to_fit().unwrap();
    for same in [&loaded, &copy] {
        assert_eq!(sorted(same), all, "{name}");
        assert!(same.memory_bytes() <= table.memory_bytes(), "{name}");
    }
}

/// Checks a table that has values, too.
fn check_values<T>(table: &Table<T>, name: &str, items: usize)
where
    T: HasValues<Key = u32, Value: Debug + Ord> + Loads,
{
    check(table, name, items);
    let (keys, values) = table.to_columns().unwrap();
    assert_eq!(sorted(keys.into_iter().zip(values)), sorted(table.to_pairs().unwrap()), "{name}");
    let values = table.to_pairs().unwrap().into_iter().map(|(_, value)| value);
    assert_eq!(sorted(table.values().unwrap()), sorted(values), "{name}");
}

/// Checks removals from a table, of every other key and then of all.
fn check_erases<T: Erases<Key = u32>>(mut table: Table<T>) {
    table.reserve(10).unwrap();
    let keys: Vec<u32> = table.keys().unwrap().collect();
    let keep: Vec<bool> = (0..keys.len()).map(|at| at % 2 == 0).collect();
    assert_eq!(table.retain_many(&keys, &keep), Ok(keys.len() / 2));
    assert_eq!(table.contains_many(&keys).unwrap(), keep);
    assert_eq!(table.erase_many(&keys), Ok(keys.len().div_ceil(2)));
    table.clear().unwrap();
    assert!(table.is_empty());
}

#[parameterized]
fn every_table_has_what_tables_have(device: &Device) {
    for n in [0, 33] {
        let keys: Vec<u32> = distinct_keys(n, 5);
        let values: Vec<u32> = keys.iter().map(|key| key / 3).collect();
        let rows: Vec<[u32; 3]> = keys.iter().map(|&key| [key, 1, key / 7]).collect();
        let changing = (LinearMap::<u32, u32>::new(device).unwrap(), ExtendibleMap::<u32, u32>::new(device).unwrap());
        let (mut linear, mut extendible) = changing;
        assert_eq!(linear.insert_many(&keys, &values), Ok(n));
        assert_eq!(extendible.insert_many(&keys, &values), Ok(n));
        let page = PageMap::build(device, &keys, &values).unwrap();
        let page_set = PageSet::build(device, &keys).unwrap();
        let row_map = RowMap::build(device, &keys, &rows).unwrap();
        let twice: Vec<u32> = keys.iter().chain(&keys).copied().collect();

        check_values(&page, "PageMap", n);
        check_values(&CuckooMap::build(device, &keys, &values).unwrap(), "CuckooMap", n);
        check_values(&TwoLevelMap::build(device, &keys, &values).unwrap(), "TwoLevelMap", n);
        check_values(&SortedMap::build(device, &keys, &values).unwrap(), "SortedMap", n);
        check_values(&linear, "LinearMap", n);
        check_values(&extendible, "ExtendibleMap", n);
        check_values(&row_map, "RowMap", n);
        check_values(&MultiMap::build(device, &twice, &twice).unwrap(), "MultiMap", 2 * n);
        check_values(&CompactingTable::build(device, &twice).unwrap(), "CompactingTable", n);
        check(&page_set, "PageSet", n);
        check(&CuckooSet::build(device, &twice).unwrap(), "CuckooSet", n);

        check_erases(page);
        check_erases(linear);
        check_erases(extendible);
        check_erases(row_map);
        check_erases(page_set);
    }
}
