//! The tests that are shared by all maps that are built in one call from a configuration and can be
//! rebuilt.
//!
//! A new map of this kind implements [`Checked`]. Its test files then list the tests and their own
//! configurations with [`tests_of!`](crate::tests_of).

pub mod edges;
pub mod errors;
pub mod faults;

use crate::maps::{Checked, holds, is_empty};
use crate::{distinct_keys, on_each_engine, values};
use std::fmt::Debug;
use warpnest::design::Builds;
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, Result};

/// A design whose maps are built in one call and can be checked.
pub trait Tested: Builds + Checked {}
impl<D: Builds + Checked> Tested for D {}

/// Expands to tests by the named functions of a module. A function has one test for each of the
/// configurations in parentheses after its name, or one test with the arguments in brackets.
#[macro_export]
macro_rules! tests_of {
    ($module:ident: $($name:ident $arguments:tt;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::tests_of!(@$module $name $arguments);
            }
        )+
    };
    (@$module:ident $name:ident ($($config:expr),+)) => {
        $($module::$name(&$config);)+
    };
    (@$module:ident $name:ident [$($argument:expr),+]) => {
        $module::$name($($argument),+);
    };
}

/// Builds a map and checks all of it.
pub fn build<D: Tested, K: Key, V: Value>(
    device: &Device,
    config: &Config<D>,
    keys: &[K],
    values: &[V],
) -> BulkMap<K, V, D> {
    let built = config.build(device, keys, values);
    let map = built.unwrap_or_else(|error| panic!("{} keys on {}: {error}: {config:?}", keys.len(), device.name()));
    let _at = crate::at(format!("{config:?}: {:?}", map.report()));
    holds(&map, keys, values);
    map
}

/// Builds maps of up to `most` keys on every engine and checks all of them. `report` receives each
/// build's report and its count of pairs.
pub fn check<D: Tested, K: Key, V: Value>(
    config: impl Fn(usize) -> Config<D>,
    most: usize,
    keys: impl Fn(usize) -> Vec<K>,
    report: impl Fn(&D::Report, usize),
) {
    on_each_engine(|engine| {
        let keys = keys(engine.max_items.min(most));
        let config = config(keys.len());
        let _at = crate::at(format!("{} pairs, {config:?}", keys.len()));
        report(build::<D, K, V>(&engine.device, &config, &keys, &values(keys.len())).report(), keys.len());
    });
}

/// The state of a map before a rebuild, and the checks after it.
#[derive(Debug)]
pub struct Before<K, R> {
    once: Vec<K>,
    report: R,
}

impl<K: Key, R: Clone + Debug + PartialEq> Before<K, R> {
    /// Records the map's state before the rebuild.
    pub fn of<V: Value>(map: &BulkMap<K, V, impl Tested<Report = R>>) -> Self {
        let pairs = map.to_pairs().expect("nothing fails before the rebuild");
        Self { once: pairs.into_iter().map(|(key, _)| key).collect(), report: map.report().clone() }
    }

    /// Checks that the map has the pairs after the rebuild. If the rebuild failed, the map must be
    /// empty and must still have the report of the build before.
    pub fn check<V: Value>(
        mut self,
        map: &BulkMap<K, V, impl Tested<Report = R>>,
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
pub fn rebuild<K: Key, V: Value>(map: &mut BulkMap<K, V, impl Tested>, keys: &[K], values: &[V]) -> Result<()> {
    let device = map.device().clone();
    let before = Before::of(map);
    let on_device = (Buffer::from_slice(&device, keys)?, Buffer::from_slice(&device, values)?);
    let rebuilt = map.rebuild(&on_device.0, &on_device.1);
    before.check(map, &rebuilt, keys, values);
    rebuilt
}

/// Returns the error of `config` for `pairs` pairs, which must be the same from slices, from
/// buffers and from the memory queries.
pub fn refused(device: &Device, config: &Config<impl Tested>, pairs: usize) -> Error {
    let _at = crate::at(format!("{config:?}"));
    let keys: Vec<u32> = distinct_keys(pairs, 1);
    let error = config.build(device, &keys, &keys).unwrap_err();
    let buffer = Buffer::from_slice(device, &keys).unwrap();
    let on_buffers = config.build(device, &buffer, &buffer).unwrap_err();
    // The errors are compared as text, since a figure may be NaN.
    assert_eq!(format!("{on_buffers:?}"), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.memory_bytes::<u32, u32>(pairs).unwrap_err()), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.scratch_bytes::<u64, u32>(pairs).unwrap_err()), format!("{error:?}"));
    error
}
