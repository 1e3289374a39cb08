//! Maps that are built in one call from a configuration and can be rebuilt: their common interface
//! and common tests.
//!
//! A new map of this kind is made a [`Config`] here. Its test files then name the tests, with their
//! own configurations, by [`tests_of!`](crate::tests_of).

pub mod edges;
pub mod errors;
pub mod faults;

use crate::maps::{Map, holds, is_empty};
use crate::{distinct_keys, on_each_engine, values};
use std::fmt::Debug;
use warpnest::{
    Buffer, CuckooConfig, CuckooMap, CuckooReport, Device, Error, Key, PageConfig, PageMap, PageReport, Result,
    SortedConfig, SortedMap, SortedReport, Stream, TwoLevelConfig, TwoLevelMap, TwoLevelReport, Value,
};

/// A map that is built in one call.
pub trait Built<K: Key, V: Value>: Map<K, V> {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;
    /// Builds the map with the default configuration.
    fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self>;
    /// Builds the map again from other pairs.
    fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()>;
    /// The report of the last build.
    fn report(&self) -> &Self::Report;
    /// Frees the spare memory of rebuilds, if there is any.
    fn shrink_to_fit(&mut self);
    /// Copies the map.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;
    /// The layout of the table, or its hash functions.
    fn layout(&self) -> &(impl Debug + PartialEq);
}

/// The configuration of a map that is built.
pub trait Config: Clone + Debug {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;
    /// The map that it builds.
    type Map<K: Key, V: Value>: Built<K, V, Report = Self::Report>;
    /// Builds a map.
    fn build<K: Key, V: Value>(&self, device: &Device, keys: &[K], values: &[V]) -> Result<Self::Map<K, V>>;
    /// Builds a map from buffers.
    fn build_on<K: Key, V: Value>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self::Map<K, V>>;
    /// The bytes that the map will keep.
    fn memory_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64>;
    /// The bytes that a build takes besides those that the map keeps.
    fn scratch_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64>;
}

/// Makes a configuration a [`Config`] and its map [`Built`], by their methods. The arguments name
/// what differs: the scratch, and the method for the table's layout.
macro_rules! is_built {
    (
        $config:ident builds $map:ident, $report:ident tells of it;
        scratch $scratch:expr;
        shrink $shrink:expr;
        layout $layout:ident;
    ) => {
        impl<K: Key, V: Value> Built<K, V> for $map<K, V> {
            type Report = $report;
            fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self> {
                $map::build(device, keys, values)
            }
            fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
                self.rebuild(stream, keys, values)
            }
            fn report(&self) -> &$report {
                self.report()
            }
            fn shrink_to_fit(&mut self) {
                ($shrink)(self);
            }
            fn try_clone(&self, stream: &Stream) -> Result<Self> {
                self.try_clone(stream)
            }
            fn layout(&self) -> &(impl Debug + PartialEq) {
                self.$layout()
            }
        }

        impl Config for $config {
            type Report = $report;
            type Map<K: Key, V: Value> = $map<K, V>;
            fn build<K: Key, V: Value>(&self, device: &Device, keys: &[K], values: &[V]) -> Result<$map<K, V>> {
                self.build(device, keys, values)
            }
            fn build_on<K: Key, V: Value>(
                &self,
                stream: &Stream,
                device: &Device,
                keys: &Buffer<K>,
                values: &Buffer<V>,
            ) -> Result<$map<K, V>> {
                self.build_on(stream, device, keys, values)
            }
            fn memory_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
                self.memory_bytes::<K, V>(pairs)
            }
            fn scratch_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
                ($scratch)(self, pairs)
            }
        }
    };
}

is_built! {
    CuckooConfig builds CuckooMap, CuckooReport tells of it;
    scratch |config: &Self, pairs| config.memory_bytes::<K, V>(pairs).map(|_| 0);
    shrink |_| ();
    layout functions;
}
is_built! {
    TwoLevelConfig builds TwoLevelMap, TwoLevelReport tells of it;
    scratch Self::scratch_bytes::<K, V>;
    shrink Self::shrink_to_fit;
    layout layout;
}
is_built! {
    PageConfig builds PageMap, PageReport tells of it;
    scratch Self::scratch_bytes::<K, V>;
    shrink Self::shrink_to_fit;
    layout layout;
}
is_built! {
    SortedConfig builds SortedMap, SortedReport tells of it;
    scratch Self::scratch_bytes::<K, V>;
    shrink Self::shrink_to_fit;
    layout layout;
}

/// Expands to tests of a map by the named functions of a module: one test for each function, with
/// each of the configurations listed after its name.
#[macro_export]
macro_rules! tests_of {
    ($module:ident: $($name:ident($($config:expr),+);)+) => {
        $(
            #[test]
            fn $name() {
                $($module::$name(&$config);)+
            }
        )+
    };
}

/// Builds a map and checks all of it.
pub fn build<C: Config, K: Key, V: Value>(device: &Device, config: &C, keys: &[K], values: &[V]) -> C::Map<K, V> {
    let built = config.build(device, keys, values);
    let map = built.unwrap_or_else(|error| panic!("{} keys on {}: {error}: {config:?}", keys.len(), device.name()));
    let _at = crate::at(format!("{config:?}: {:?}", map.report()));
    holds(&map, keys, values);
    map
}

/// Builds maps of up to `most` keys on every engine and checks all of them. `report` receives each
/// build's report and number of pairs.
pub fn check<C: Config, K: Key, V: Value>(
    config: impl Fn(usize) -> C,
    most: usize,
    keys: impl Fn(usize) -> Vec<K>,
    report: impl Fn(&C::Report, usize),
) {
    on_each_engine(|engine| {
        let keys = keys(engine.max_items.min(most));
        let config = config(keys.len());
        let _at = crate::at(format!("{} pairs, {config:?}", keys.len()));
        report(build::<C, K, V>(&engine.device, &config, &keys, &values(keys.len())).report(), keys.len());
    });
}

/// A check of a rebuild, whether it succeeds or fails.
#[derive(Debug)]
pub struct Before<K, R> {
    once: Vec<K>,
    report: R,
}

impl<K: Key, R: Clone + Debug + PartialEq> Before<K, R> {
    /// Records the map's state before the rebuild.
    pub fn of<V: Value>(map: &impl Built<K, V, Report = R>) -> Self {
        let pairs = map.to_pairs().expect("nothing fails before the rebuild");
        Self { once: pairs.into_iter().map(|(key, _)| key).collect(), report: map.report().clone() }
    }

    /// Checks that the map has the pairs after the rebuild. If it was an error, the map must be
    /// empty, with the report of the build before.
    pub fn check<V: Value>(
        mut self,
        map: &impl Built<K, V, Report = R>,
        rebuilt: &Result<()>,
        keys: &[K],
        values: &[V],
    ) {
        if rebuilt.is_ok() {
            return holds(map, keys, values);
        }
        self.once.extend(keys);
        is_empty(map, &self.once);
        assert_eq!(*map.report(), self.report, "the report after {rebuilt:?}");
    }
}

/// Rebuilds a map from these pairs and checks its contents. After an error other than a refusal the
/// map must be empty.
pub fn rebuild<K: Key, V: Value>(map: &mut impl Built<K, V>, keys: &[K], values: &[V]) -> Result<()> {
    let device = map.device().clone();
    let before = Before::of(map);
    let on_device = (Buffer::from_slice(&device, keys)?, Buffer::from_slice(&device, values)?);
    let rebuilt = map.rebuild(device.default_stream(), &on_device.0, &on_device.1);
    before.check(map, &rebuilt, keys, values);
    rebuilt
}

/// The error of `config` for `pairs` pairs, which must be the same from slices, from buffers and
/// from the memory queries.
pub fn refused(device: &Device, config: &impl Config, pairs: usize) -> Error {
    let _at = crate::at(format!("{config:?}"));
    let keys: Vec<u32> = distinct_keys(pairs, 1);
    let error = config.build(device, &keys, &keys).unwrap_err();
    let buffer = Buffer::from_slice(device, &keys).unwrap();
    let on_buffers = config.build_on(device.default_stream(), device, &buffer, &buffer).unwrap_err();
    // Compared as text, since a figure may be NaN.
    assert_eq!(format!("{on_buffers:?}"), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.memory_bytes::<u32, u32>(pairs as u64).unwrap_err()), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.scratch_bytes::<u64, u32>(pairs as u64).unwrap_err()), format!("{error:?}"));
    error
}
