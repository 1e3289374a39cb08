//! The parts of the PTX that the interpreter executes only if there are more items than one tile
//! holds, in which blocks look back at earlier blocks.

use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, PageConfig, PageMap, PageSet, SortedConfig};
use warpnest_tests::{built, distinct_keys, engines, values};

/// A count of items above a tile of a split or of a radix pass, whose 512 threads have at most 16
/// items each.
const ITEMS: usize = 2 * 512 * 16 + 100;

/// Returns the devices of the interpreters.
fn interpreters() -> impl Iterator<Item = &'static Device> {
    engines().iter().filter(|engine| engine.device.name().starts_with("PTX")).map(|engine| &engine.device)
}

/// Returns keys, every eighth of which occurs twice.
fn keys<K: Key>() -> Vec<K> {
    let mut keys = distinct_keys::<K>(ITEMS - ITEMS / 8, 3);
    keys.extend_from_within(..ITEMS / 8);
    keys
}

#[test]
fn splits_of_a_page_map() {
    fn with<K: Key, V: Value>(device: &Device) {
        let (keys, values) = (keys::<K>(), values::<V>(ITEMS));
        let config = PageConfig::default().seed(3);
        let map: PageMap<K, V> = built::build(device, &config, &keys, &values);
        assert_eq!(map.len(), ITEMS - ITEMS / 8);
        let once = ITEMS - ITEMS / 8;
        built::build::<_, K, V>(device, &config.assume_unique(), &keys[..once], &values[..once]);
    }
    for device in interpreters() {
        warpnest_tests::in_all_widths!(with(device));
    }
}

#[test]
fn splits_of_a_page_set() {
    fn with<K: Key>(device: &Device) {
        let keys = keys::<K>();
        let set: PageSet<K> = PageConfig::default().seed(3).build_set(device, &keys).unwrap();
        assert_eq!(set.len(), ITEMS - ITEMS / 8);
        assert!(set.contains_many(&keys).unwrap().iter().all(|found| *found));
    }
    for device in interpreters() {
        with::<u32>(device);
        with::<u64>(device);
    }
}

#[test]
fn passes_of_a_sort() {
    fn with<K: Key, V: Value>(device: &Device) {
        built::build::<_, K, V>(device, &SortedConfig::default(), &keys::<K>(), &values::<V>(ITEMS));
    }
    for device in interpreters() {
        warpnest_tests::in_all_widths!(with(device));
    }
}
