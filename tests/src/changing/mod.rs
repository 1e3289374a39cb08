//! Maps that change in place, batch by batch: their common interface and common tests.
//!
//! A test file names the tests, with its own configurations and with the engines that can have such
//! maps.

pub mod edges;

use crate::maps::{Map, equals};
use std::collections::HashMap;
use std::fmt::Debug;
use warpnest::{Buffer, Device, ExtendibleConfig, ExtendibleMap, Key, LinearConfig, LinearMap, Result, Stream, Value};

/// A map that changes in place.
pub trait Changing<K: Key, V: Value>: Map<K, V> {
    /// Gives keys their values; returns the number of new keys.
    fn insert_many(&mut self, keys: &[K], values: &[V]) -> Result<u64>;
    /// Removes keys; returns their values.
    fn remove_many(&mut self, keys: &[K]) -> Result<Vec<Option<V>>>;
    /// Removes all keys.
    fn clear(&mut self, stream: &Stream) -> Result<()>;
    /// Writes all pairs into buffers.
    fn pairs_into(&self, stream: &Stream, keys: &mut Buffer<K>, values: &mut Buffer<V>) -> Result<()>;
}

/// The configuration of a map that changes in place.
pub trait ChangingConfig: Clone + Debug {
    /// The map.
    type Map<K: Key, V: Value>: Changing<K, V>;
    /// Creates an empty map.
    fn create<K: Key, V: Value>(&self, device: &Device) -> Result<Self::Map<K, V>>;
}

/// Makes a configuration a [`ChangingConfig`] and its map [`Changing`], by their methods.
macro_rules! is_changing {
    ($config:ident makes $map:ident) => {
        impl<K: Key, V: Value> Changing<K, V> for $map<K, V> {
            fn insert_many(&mut self, keys: &[K], values: &[V]) -> Result<u64> {
                self.insert_many(keys, values)
            }
            fn remove_many(&mut self, keys: &[K]) -> Result<Vec<Option<V>>> {
                self.remove_many(keys)
            }
            fn clear(&mut self, stream: &Stream) -> Result<()> {
                self.clear(stream)
            }
            fn pairs_into(&self, stream: &Stream, keys: &mut Buffer<K>, values: &mut Buffer<V>) -> Result<()> {
                self.pairs_into(stream, keys, values)
            }
        }

        impl ChangingConfig for $config {
            type Map<K: Key, V: Value> = $map<K, V>;
            fn create<K: Key, V: Value>(&self, device: &Device) -> Result<$map<K, V>> {
                self.create(device)
            }
        }
    };
}
is_changing! { LinearConfig makes LinearMap }
is_changing! { ExtendibleConfig makes ExtendibleMap }

/// The value that tests give a key, with bits of the key in all parts.
pub fn own<K: Key, V: Value>(key: &K) -> V {
    V::from_u64(key.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77 << 32 ^ 77)
}

/// The values that tests give keys.
pub fn values<K: Key, V: Value>(keys: &[K]) -> Vec<V> {
    keys.iter().map(own).collect()
}

/// Keys with the values that tests give them.
pub fn pairs<K: Key, V: Value>(keys: &[K]) -> HashMap<K, V> {
    keys.iter().map(|key| (*key, own(key))).collect()
}

/// Creates an empty map.
pub fn create<C: ChangingConfig, K: Key, V: Value>(device: &Device, config: &C) -> C::Map<K, V> {
    config.create(device).unwrap_or_else(|error| panic!("on {}: {error}: {config:?}", device.name()))
}

/// Fills an empty map in batches of `batch` distinct keys and checks all of it.
pub fn fill<C: ChangingConfig, K: Key, V: Value>(
    device: &Device,
    config: &C,
    keys: &[K],
    batch: usize,
) -> C::Map<K, V> {
    let mut map = create::<C, K, V>(device, config);
    for keys in keys.chunks(batch) {
        assert_eq!(map.insert_many(keys, &values(keys)), Ok(keys.len() as u64));
    }
    equals(&map, &pairs(keys));
    map
}

/// Removes keys that the map has with their values, and fails unless each is answered.
pub fn remove<K: Key, V: Value>(map: &mut impl Changing<K, V>, keys: &[K]) {
    assert_eq!(map.remove_many(keys).unwrap(), keys.iter().map(|key| Some(own(key))).collect::<Vec<_>>());
}

/// Fills an empty map, checks all of it, removes a third, and checks it again.
pub fn come_and_go<C: ChangingConfig, K: Key, V: Value>(device: &Device, config: &C, keys: &[K], batch: usize) {
    let mut map = fill::<C, K, V>(device, config, keys, batch);
    let (gone, left) = keys.split_at(keys.len() / 3);
    remove(&mut map, gone);
    equals(&map, &pairs(left));
}
