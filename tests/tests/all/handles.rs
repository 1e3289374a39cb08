//! The operations that every kind of table has: a single test for all tables, through the bound
//! [`Kind`] alone.

use std::fmt::Debug;
use warpnest::design::{Erases, HasValues, Kind, Loads};
use warpnest::error::InputError;
use warpnest::files::FileInfo;
use warpnest::{
    Buffer, CompactingTable, CuckooMap, CuckooSet, Device, Error, ExtendibleMap, Fold, LinearMap, MultiMap, PageMap,
    PageSet, RowMap, SortedMap, Table, TwoLevelMap,
};
use warpnest_tests::{assert_lengths, assert_wrong_device, distinct_keys, elsewhere, parameterized};

/// Returns elements in order. Most tables have no order, and may write their items in a different
/// order each time.
fn sorted<T: Ord>(elements: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut elements: Vec<T> = elements.into_iter().collect();
    elements.sort_unstable();
    elements
}

/// Checks a table with `items` items, whose debug output begins with `name`.
fn check<T: Kind<Key = u32, Item: Debug + Ord> + Loads>(table: &Table<T>, name: &str, items: usize) {
    let device = table.device();
    let all = sorted(table.iter().unwrap());
    let keys = sorted(table.keys().unwrap());
    assert_eq!((table.len(), all.len(), table.is_empty()), (items, items, items == 0), "{name}");
    assert_eq!(sorted(table), all, "{name}");
    assert!(keys.is_sorted_by(|one, next| one < next), "{name}: the keys differ");
    assert!(table.contains_many(&keys).unwrap().into_iter().all(|found| found), "{name}");
    let on_device = Buffer::from_slice(device, &keys).unwrap();
    assert!(table.contains_many(&on_device).unwrap().into_iter().all(|found| found), "{name}");
    let absent = (0..).find(|key| !keys.contains(key)).unwrap();
    assert!(!table.contains(absent).unwrap(), "{name}");
    let said = format!("{table:?}");
    assert!(said.starts_with(&format!("{name} {{ keys: {},", keys.len())), "{said}");

    let mut saved = Vec::new();
    table.save(&mut saved).unwrap();
    assert_eq!(FileInfo::verify(&saved[..]).unwrap().keys, keys.len() as u64, "{name}");
    let loaded = Table::<T>::load(device, &saved[..]).unwrap();
    let (mut copy, stream) = (table.clone(), device.stream().unwrap());
    assert_wrong_device(copy.on(elsewhere().default_stream()).unwrap_err(), "the stream", &elsewhere(), device);
    copy.on(&stream).unwrap().shrink_to_fit().unwrap();
    for on_stream in [&copy, &copy.clone()] {
        assert_eq!(format!("{:?}", on_stream.device().default_stream()), format!("{stream:?}"), "{name}");
    }
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

/// Checks removals from a table: first every other key is removed, and then all keys.
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
fn tables_are_built_and_changed_from_slices_and_buffers_alike(device: &Device) {
    let on_device = |slice: &[u32]| Buffer::from_slice(device, slice).unwrap();
    let (keys, values) = (on_device(&[3, 4, 5]), on_device(&[30, 40, 50]));
    let mut map = PageMap::build(device, &keys, &[30u32, 40, 50]).unwrap();
    assert_eq!(map.insert_many(&[4, 6], &on_device(&[41, 60])), Ok(1));
    assert_eq!(map.insert_many(&on_device(&[4]), &Vec::from([42])), Ok(0));
    assert_eq!(map.erase_many(&on_device(&[3, 9])), Ok(1));
    assert_eq!(map.combine_many(Fold::SUM, &on_device(&[5]), &[1]), Ok(0));
    assert_eq!(map.count_many(&on_device(&[6, 7, 7])), Ok(1));
    let found = Ok(vec![None, Some(42), Some(51), Some(61), Some(2)]);
    assert_eq!(map.get_many(&[3, 4, 5, 6, 7]), found);
    assert_eq!(map.get_many(&on_device(&[3, 4, 5, 6, 7])), found);
    assert_eq!(map.remove_many(&on_device(&[7, 8])), Ok(vec![Some(2), None]));
    map.rebuild(&[1], &on_device(&[2])).unwrap();
    assert_eq!(map.to_pairs(), Ok(vec![(1, 2)]));

    let mut set = PageSet::build(device, &keys).unwrap();
    assert_eq!(set.insert_many(&values), Ok(3));
    set.rebuild(&values).unwrap();
    assert_eq!(set.contains_many(&[3, 30]), Ok(vec![false, true]));
    assert_eq!(set.remove_many(&keys), Ok(vec![false; 3]));
    let rows = Buffer::from_slice(device, &[[1u32; 3]; 3]).unwrap();
    let row_map = RowMap::build(device, &keys, &rows).unwrap();
    assert_eq!(row_map.get(5), Ok(Some([1; 3])));
    assert_eq!(MultiMap::build(device, &keys, &values).unwrap().get(4), Ok(vec![40]));
    assert_eq!(CompactingTable::build(device, &keys).unwrap().len(), 3);

    let there = elsewhere();
    let far = Buffer::from_slice(&there, &[1u32]).unwrap();
    assert_wrong_device(set.insert_many(&far).unwrap_err(), "the buffer of keys", &there, device);
    assert_wrong_device(map.insert_many(&[1], &far).unwrap_err(), "the buffer of values", &there, device);
    assert_lengths(map.insert_many(&keys, &far).unwrap_err(), ("the keys", 3), ("the values", 1));
    assert_eq!((map.len(), set.len()), (1, 3));
}

/// Checks that a call is refused because an argument is misaligned, and that it changes nothing.
fn is_refused<T: Kind<Key = u32, Item: Debug + Ord>>(
    table: &mut Table<T>,
    call: impl FnOnce(&mut Table<T>) -> Result<(), Error>,
) {
    let before = sorted(&*table);
    let error = call(table).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::Misaligned { .. })), "{error:?}");
    assert_eq!(sorted(&*table), before);
}

/// Checks a call with keys and values: neither may begin at an address from which kernels cannot
/// read.
fn refuses_misaligned<T: Kind<Key = u32, Item: Debug + Ord>>(
    mut table: Table<T>,
    call: impl Fn(&mut Table<T>, &Buffer<u32>, &Buffer<u32>) -> Result<(), Error>,
) {
    let buffer = Buffer::from_slice(table.device(), &[900u32, 901, 902, 903, 904, 905]).unwrap();
    let (aligned, odd) = (buffer.slice(4..).unwrap(), buffer.slice(1..3).unwrap());
    for (keys, values) in [(&odd, &aligned), (&aligned, &odd), (&odd, &odd)] {
        is_refused(&mut table, |table| call(table, keys, values));
    }
    call(&mut table, &aligned, &aligned).unwrap();
}

/// Checks a call with keys alone.
fn refuses_misaligned_keys<T: Kind<Key = u32, Item: Debug + Ord>>(
    mut table: Table<T>,
    call: impl Fn(&mut Table<T>, &Buffer<u32>) -> Result<(), Error>,
) {
    let buffer = Buffer::from_slice(table.device(), &[1u32, 2, 3, 900, 1, 2]).unwrap();
    is_refused(&mut table, |table| call(table, &*buffer.slice(1..3)?));
    call(&mut table, &buffer.slice(4..).unwrap()).unwrap();
}

#[parameterized]
fn parts_that_begin_where_no_kernel_can_read_are_refused_and_change_nothing(device: &Device) {
    let (keys, values) = ([1u32, 2, 3], [4u32, 5, 6]);
    let page = || PageMap::build(device, &keys, &values).unwrap();
    let set = || PageSet::build(device, &keys).unwrap();
    let mut linear = LinearMap::new(device).unwrap();
    let mut extendible = ExtendibleMap::new(device).unwrap();
    linear.insert_many(&keys, &values).unwrap();
    extendible.insert_many(&keys, &values).unwrap();

    refuses_misaligned(page(), |map, keys, values| map.insert_many(keys, values).map(drop));
    refuses_misaligned(page(), |map, keys, values| map.combine_many(Fold::MAX, keys, values).map(drop));
    refuses_misaligned(page(), |map, keys, values| map.rebuild(keys, values));
    refuses_misaligned(linear.clone(), |map, keys, values| map.insert_many(keys, values).map(drop));
    refuses_misaligned(linear.clone(), |map, keys, values| map.combine_many(Fold::SUM, keys, values).map(drop));
    refuses_misaligned(extendible.clone(), |map, keys, values| map.insert_many(keys, values).map(drop));
    refuses_misaligned(extendible.clone(), |map, keys, values| map.combine_many(Fold::SUM, keys, values).map(drop));
    let rows = RowMap::build(device, &keys, &values).unwrap();
    refuses_misaligned(rows.clone(), |map, keys, values| map.insert_many(keys, values).map(drop));
    let cuckoo = CuckooMap::build(device, &keys, &values).unwrap();
    refuses_misaligned(cuckoo, |map, keys, values| map.rebuild(keys, values));
    let two_level = TwoLevelMap::build(device, &keys, &values).unwrap();
    refuses_misaligned(two_level, |map, keys, values| map.rebuild(keys, values));
    let sorted = SortedMap::build(device, &keys, &values).unwrap();
    refuses_misaligned(sorted, |map, keys, values| map.rebuild(keys, values));
    let multi = MultiMap::build(device, &keys, &values).unwrap();
    refuses_misaligned(multi, |map, keys, values| map.rebuild(keys, values));

    let cuckoo = CuckooSet::build(device, &keys).unwrap();
    refuses_misaligned_keys(cuckoo, |set, keys| set.rebuild(keys));
    let compacting = CompactingTable::build(device, &keys).unwrap();
    refuses_misaligned_keys(compacting, |table, keys| table.rebuild(keys));
    refuses_misaligned_keys(set(), |set, keys| set.rebuild(keys));
    refuses_misaligned_keys(set(), |set, keys| set.insert_many(keys).map(drop));
    refuses_misaligned_keys(set(), |set, keys| set.erase_many(keys).map(drop));
    let stream = device.default_stream();
    refuses_misaligned_keys(set(), |set, keys| set.remove_many_on(stream, keys).map(drop));
    refuses_misaligned_keys(page(), |map, keys| map.erase_many(keys).map(drop));
    refuses_misaligned_keys(page(), |map, keys| map.remove_many_on(stream, keys).map(drop));
    refuses_misaligned_keys(page(), |map, keys| map.count_many(keys).map(drop));
    refuses_misaligned_keys(linear, |map, keys| map.remove_many_on(stream, keys).map(drop));
    refuses_misaligned_keys(extendible.clone(), |map, keys| map.erase_many(keys).map(drop));
    refuses_misaligned_keys(extendible, |map, keys| map.remove_many_on(stream, keys).map(drop));
    refuses_misaligned_keys(rows, |map, keys| map.erase_many(keys).map(drop));
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
