//! The tests that are shared by all maps that change in place, batch by batch.
//!
//! A test file names the tests, with its own configurations and with the engines that support such
//! maps.

pub mod edges;
pub mod errors;
pub mod stepping;
pub mod steps;

use crate::maps::{Checked, equals};
use std::collections::HashMap;
use warpnest::Device;
use warpnest::design::Changes;
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};

/// A design whose maps change in place and can be checked.
pub trait Changing: Changes + Checked {}
impl<D: Changes + Checked> Changing for D {}

/// Returns the value that tests give a key; all its parts depend on the key.
pub fn own<K: Key, V: Value>(key: &K) -> V {
    V::from_u64(key.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77 << 32 ^ 77)
}

/// Returns the values that tests give keys.
pub fn values<K: Key, V: Value>(keys: &[K]) -> Vec<V> {
    keys.iter().map(own).collect()
}

/// Returns keys with the values that tests give them.
pub fn pairs<K: Key, V: Value>(keys: &[K]) -> HashMap<K, V> {
    keys.iter().map(|key| (*key, own(key))).collect()
}

/// Creates an empty map.
pub fn create<D: Changing, K: Key, V: Value>(device: &Device, config: &Config<D>) -> BulkMap<K, V, D> {
    config.create(device).unwrap_or_else(|error| panic!("on {}: {error}: {config:?}", device.name()))
}

/// Fills an empty map in batches of `batch` distinct keys and checks all of it.
pub fn fill<D: Changing, K: Key, V: Value>(
    device: &Device,
    config: &Config<D>,
    keys: &[K],
    batch: usize,
) -> BulkMap<K, V, D> {
    let mut map = create::<D, K, V>(device, config);
    for keys in keys.chunks(batch) {
        assert_eq!(map.insert_many(keys, &values(keys)), Ok(keys.len()));
    }
    equals(&map, &pairs(keys));
    map
}

/// Removes keys that the map has, and fails unless the removal returns each key's value.
pub fn remove<K: Key, V: Value>(map: &mut BulkMap<K, V, impl Changing>, keys: &[K]) {
    assert_eq!(map.remove_many(keys).unwrap(), keys.iter().map(|key| Some(own(key))).collect::<Vec<_>>());
}

/// Fills an empty map, removes a third of the keys, and checks the map after each step.
pub fn come_and_go<D: Changing, K: Key, V: Value>(device: &Device, config: &Config<D>, keys: &[K], batch: usize) {
    let mut map = fill::<D, K, V>(device, config, keys, batch);
    let (gone, left) = keys.split_at(keys.len() / 3);
    remove(&mut map, gone);
    equals(&map, &pairs(left));
}
