//! Page tables in memory-mapped files.

use std::fs;
use std::path::Path;
use warpnest::error::FileError;
use warpnest::files::Mapped;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, PageMap, PageSet, Result};
use warpnest_tests::files::value;
use warpnest_tests::{distinct_keys, elsewhere, parameterized, says};

fn map_file<K: Key, V: Value>(path: &Path) -> Result<Mapped<PageMap<K, V>>> {
    // SAFETY: the tests change no file that is mapped.
    unsafe { PageMap::map_file(&Device::cpu(), path) }
}

#[parameterized]
fn a_mapped_map_answers_as_the_saved_one<K: Key, V: Value>() {
    let folder = tempfile::tempdir().unwrap();
    for n in [0, 1, 100, 100_000] {
        let path = folder.path().join("map");
        let keys: Vec<K> = distinct_keys(n, 3);
        let values: Vec<V> = (0..n).map(value).collect();
        let saved = PageMap::build(&elsewhere(), &keys, &values).unwrap();
        saved.save_to(&path).unwrap();
        let map = map_file::<K, V>(&path).unwrap();
        let queries: Vec<K> = keys.iter().copied().chain(distinct_keys(50, 1234)).collect();
        assert_eq!(map.get_many(&queries).unwrap(), saved.get_many(&queries).unwrap());
        assert_eq!((map.len(), map.memory_bytes()), (saved.len(), saved.memory_bytes()));
        map.verify().unwrap();
        // The file may be replaced while it is mapped. The copy is in memory, so it can change.
        PageMap::build(&elsewhere(), &keys[..n / 2], &values[..n / 2]).unwrap().save_to(&path).unwrap();
        let mut copy = map.try_clone().unwrap();
        copy.rebuild(&queries[n..], &(0..50).map(value).collect::<Vec<V>>()).unwrap();
        assert_eq!((copy.len(), map.to_pairs().unwrap().len()), (50, n));
        drop(map);
        assert_eq!(map_file::<K, V>(&path).unwrap().len(), n / 2);
    }
}

#[test]
fn a_mapped_set_answers_as_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set");
    let keys: Vec<u64> = distinct_keys(5000, 3);
    let saved = PageSet::build(&elsewhere(), &keys).unwrap();
    saved.save_to(&path).unwrap();
    // SAFETY: nobody changes the file.
    let set = unsafe { PageSet::<u64>::map_file(&Device::cpu(), &path) }.unwrap();
    assert!(set.contains_many(&keys).unwrap().into_iter().all(|found| found));
    assert_eq!(set.contains(keys[0].wrapping_add(1)), saved.contains(keys[0].wrapping_add(1)));
    assert_eq!(set.union(&PageSet::build(&Device::cpu(), &keys).unwrap()).unwrap().len(), 5000);
    set.verify().unwrap();
}

#[test]
fn damage_of_the_header_is_found_at_once_and_of_the_data_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let keys: Vec<u32> = distinct_keys(300_000, 3);
    PageMap::build(&elsewhere(), &keys, &keys).unwrap().save_to(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let with = |byte: usize| {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1;
        // The old file may still be mapped, so a new one is written.
        fs::remove_file(&path).unwrap();
        fs::write(&path, damaged).unwrap();
        map_file::<u32, u32>(&path)
    };
    let reason = |error: Error| {
        says(&error, &[&path.display().to_string()]);
        let Error::File(error) = error else { panic!("{error}") };
        error.reason().clone()
    };
    assert_eq!(reason(with(100).unwrap_err()), FileError::DamagedHeader);
    assert!(matches!(reason(with(3).unwrap_err()), FileError::Foreign { .. }));
    let map = with(4096 + (2 << 20) + 5).unwrap();
    let damaged = FileError::Damaged { section: "buckets", chunk: 2, offset: 4096 + (2 << 20) };
    assert_eq!(reason(map.verify().unwrap_err()), damaged);
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 4096]).unwrap();
    assert!(matches!(reason(map_file::<u32, u32>(&path).unwrap_err()), FileError::Cut { .. }));
    fs::write(&path, b"").unwrap();
    assert!(map_file::<u32, u32>(&path).is_err());
    assert!(matches!(map_file::<u32, u32>(folder.path()).unwrap_err(), Error::File(FileError::Io { .. })));
}

#[test]
fn a_device_that_does_not_share_the_hosts_memory_maps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let device = elsewhere();
    PageMap::build(&device, &[1u32], &[2u32]).unwrap().save_to(&path).unwrap();
    // SAFETY: nobody changes the file.
    let error = unsafe { PageMap::<u32, u32>::map_file(&device, &path) }.unwrap_err();
    says(&error, &["another CPU does not share the host's memory", "`load_from`", "Device::cpu()"]);
}
