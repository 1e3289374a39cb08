//! Edge cases of sets of any kind: extreme keys, extreme counts of keys, copies of keys, and
//! rebuilds, on every engine.

use super::{Tested, build, holds, wrong_operations};
use crate::{TestEngine, at, distinct_keys, on_all, on_each_engine};
use std::collections::HashSet;
use warpnest::design::{BulkSet, Config};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};

/// Builds sets without the promise that keys are unique, and also with the promise if it is true.
pub fn with_and_without_the_promise<D: Tested, K: Key>(device: &Device, config: &Config<D>, keys: &[K]) {
    let _at = at(format!("{} keys of {}, {config:?}", keys.len(), std::any::type_name::<K>()));
    build(device, config, keys);
    if keys.iter().collect::<HashSet<_>>().len() == keys.len() {
        build(device, &config.clone().assume_unique(), keys);
    }
}

/// Checks small sets; the extreme keys include each power of two and its complement.
pub fn no_key_one_key_and_the_extremes<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key>(device: &Device, config: &Config<D>) {
        let (zero, ones) = (K::default(), K::ALL_ONES);
        for keys in [&[][..], &[zero], &[ones], &[zero, ones], &[ones, zero, ones], &[zero; 33], &[ones; 500]] {
            with_and_without_the_promise(device, config, keys);
        }
        for bit in 0..K::BITS {
            with_and_without_the_promise(device, config, &[K::from_u64(1 << bit)]);
        }
        let powers: Vec<K> = (0..K::BITS).flat_map(|bit| [K::from_u64(1 << bit), K::from_u64(!(1 << bit))]).collect();
        with_and_without_the_promise(device, config, &powers);
        let set = config.build_set::<K>(device, &[]).unwrap();
        assert_eq!(set.contains_many(&[]).unwrap(), Vec::<bool>::new());
        assert_eq!(set.contains_many(&[zero, ones]).unwrap(), [false, false]);
    }
    on_all(|device| with::<D, u32>(device, config));
    on_all(|device| with::<D, u64>(device, config));
}

/// Checks sets whose count of keys is each of `borders`, one less, and one more.
pub fn numbers_of_keys_around<D: Tested>(config: &Config<D>, borders: &[usize]) {
    fn with<D: Tested, K: Key>(engine: &TestEngine, config: &Config<D>, borders: &[usize]) {
        for &border in borders.iter().filter(|&&border| border <= engine.max_items) {
            for n in [border - 1, border, border + 1] {
                let keys: Vec<K> = distinct_keys(n, n as u64);
                with_and_without_the_promise(&engine.device, config, &keys);
            }
        }
    }
    on_each_engine(|engine| with::<D, u32>(engine, config, borders));
    on_each_engine(|engine| with::<D, u64>(engine, config, borders));
}

/// Checks sequential keys, and keys at distances that are powers of two.
pub fn keys_one_after_the_other_and_at_every_distance<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key>(engine: &TestEngine, config: &Config<D>) {
        let n = engine.max_items.min(3000) as u64;
        for lg in (0..K::BITS).step_by(5) {
            for first in [0, u64::MAX, 1 << 31] {
                let keys: Vec<K> = (0..n).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect();
                with_and_without_the_promise(&engine.device, config, &keys);
            }
        }
    }
    on_each_engine(|engine| with::<D, u32>(engine, config));
    on_each_engine(|engine| with::<D, u64>(engine, config));
}

/// Checks sets of repeated keys with each configuration that `configs` returns for their count.
pub fn copies_of_one_key_and_half_of_the_keys_twice<D: Tested>(configs: impl Fn(usize) -> Vec<Config<D>>) {
    fn with<D: Tested, K: Key>(engine: &TestEngine, configs: &impl Fn(usize) -> Vec<Config<D>>) {
        for n in [2, 33, 300, 2000, 10_000, 70_000].into_iter().filter(|&n| n <= engine.max_items) {
            for config in configs(n) {
                let (device, once) = (&engine.device, distinct_keys::<K>(n / 2, 3));
                let _at = at(format!("{n} keys, {config:?}"));
                for key in [0, 77, u64::MAX] {
                    build(device, &config, &vec![K::from_u64(key); n]);
                }
                build(device, &config, &once.repeat(2));
                let backwards: Vec<K> = once.iter().chain(once.iter().rev()).copied().collect();
                build(device, &config, &backwards);
                let often: Vec<K> = (0..n).map(|i| if i % 10 == 0 { once[i / 2] } else { K::from_u64(5) }).collect();
                build(device, &config, &often);
            }
        }
    }
    on_each_engine(|engine| with::<D, u32>(engine, &configs));
    on_each_engine(|engine| with::<D, u64>(engine, &configs));
}

/// Checks rebuilds with other counts of keys. `config` receives the largest count; `own_narrow` and
/// `own_wide` receive the set after each rebuild.
pub fn rebuilds_with_more_and_fewer_and_no_keys<D: Tested>(
    config: impl Fn(usize) -> Config<D>,
    own_narrow: impl Fn(&mut BulkSet<u32, D>),
    own_wide: impl Fn(&mut BulkSet<u64, D>),
) {
    fn with<D: Tested, K: Key>(
        engine: &TestEngine,
        config: &impl Fn(usize) -> Config<D>,
        own: &impl Fn(&mut BulkSet<K, D>),
    ) {
        let device = &engine.device;
        let most = engine.max_items.min(20_000);
        let mut set = build::<D, K>(device, &config(most), &distinct_keys(100, 1));
        for (round, size) in [most, most / 2, 0, 1, most - 1, 0, 0, 65, most].into_iter().enumerate() {
            let keys: Vec<K> = distinct_keys(size, 20 + round as u64);
            set.rebuild(&Buffer::from_slice(device, &keys).unwrap()).unwrap();
            holds(&set, &keys);
            own(&mut set);
        }
    }
    on_each_engine(|engine| with::<D, u32>(engine, &config, &own_narrow));
    on_each_engine(|engine| with::<D, u64>(engine, &config, &own_wide));
}

/// Checks the operations on each two of several sets. Some have more keys than a tile of a
/// compaction, and one has a few more than a word of flags.
pub fn operations_on_sets_without_keys_with_the_same_and_with_no_common_ones<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key>(device: &Device, config: &Config<D>, most: usize) {
        let keys: Vec<K> = distinct_keys(most, 3);
        let inputs = [&[][..], &keys[..1], &keys[..33], &keys[5..most / 2], &keys[most / 2..], &keys[..]];
        let sets: Vec<BulkSet<K, D>> = inputs.iter().map(|&keys| config.build_set(device, keys).unwrap()).collect();
        for (i, one) in sets.iter().enumerate() {
            for (j, other) in sets.iter().enumerate() {
                assert_eq!(wrong_operations(one, other), Ok(()), "{i} and {j} of {most} keys on {}", device.name());
            }
        }
    }
    on_all(|device| {
        with::<D, u32>(device, config, 200);
        with::<D, u64>(device, config, 200);
    });
    with::<D, u32>(&Device::cpu(), config, 20_000);
    with::<D, u64>(&Device::cpu(), config, 20_000);
}

/// Checks builds whose promise of unique keys is broken; the configuration has capacity for the
/// copies. `own` receives the report, the count of keys that the set returns, and the true count.
pub fn a_broken_promise_of_unique_keys_loses_none_and_finds_no_others<D: Tested>(
    config: &Config<D>,
    own: impl Fn(&D::Report, u64, u64),
) {
    fn with<D: Tested, K: Key>(engine: &TestEngine, config: &Config<D>, own: &impl Fn(&D::Report, u64, u64)) {
        let once: Vec<K> = distinct_keys(engine.max_items.min(2000) / 2, 8);
        let twice = [once.repeat(2), once.iter().flat_map(|&key| [key, key]).collect(), vec![K::ALL_ONES; 100]];
        for keys in twice {
            let set = config.clone().assume_unique().build_set(&engine.device, &keys).unwrap();
            let expected: HashSet<K> = keys.iter().copied().collect();
            assert!((expected.len()..=keys.len()).contains(&set.len()));
            assert!(set.contains_many(&keys).unwrap().iter().all(|&found| found));
            let written = set.to_keys().unwrap();
            assert_eq!(written.len(), set.len());
            assert_eq!(written.into_iter().collect::<HashSet<K>>(), expected);
            own(set.report(), set.len() as u64, expected.len() as u64);
        }
    }
    on_each_engine(|engine| with::<D, u32>(engine, config, &own));
    on_each_engine(|engine| with::<D, u64>(engine, config, &own));
}
