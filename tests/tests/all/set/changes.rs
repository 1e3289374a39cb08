//! The page set, compared with `std::collections::HashSet` through sequences of all its operations,
//! on every engine. Its words are checked after each step.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Error, PageConfig, PageSet};
use warpnest_tests::changing::steps::{Step, check_removed, every, fail, step, words_of};
use warpnest_tests::sets::{check, holds};
use warpnest_tests::{TestEngine, assert_lengths, distinct_keys, on_every_engine, parameterized};

/// Applies a step to a set and its reference, and returns keys to look up.
fn take<K: Key>(set: &mut PageSet<K>, reference: &mut HashSet<K>, step: Step<K>) -> Result<Vec<K>, TestCaseError> {
    let device = &set.device().clone();
    let stream = device.default_stream();
    let on_device = |keys: &[K]| Buffer::from_slice(device, keys).map_err(fail);
    let there = |keys: &[K], reference: &HashSet<K>| {
        keys.iter().filter(|key| reference.contains(key)).collect::<HashSet<_>>().len()
    };
    match step {
        Step::Insert(keys, _) => {
            let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains(*key)).collect();
            prop_assert_eq!(set.insert_many(&keys).map_err(fail)?, new.len());
            reference.extend(&keys);
            return Ok(keys);
        }
        Step::Update(n, _) => {
            let keys = every(reference.iter().copied(), n);
            let memory = set.memory_bytes();
            prop_assert_eq!(set.insert_many(&on_device(&keys)?).map_err(fail)?, 0);
            prop_assert_eq!(set.memory_bytes(), memory, "no key is new");
        }
        Step::Remove(keys) => {
            let answers = set.remove_many(&keys).map_err(fail)?;
            let answers: Vec<Option<()>> = answers.into_iter().map(|there| there.then_some(())).collect();
            let before: HashMap<K, ()> = reference.iter().map(|&key| (key, ())).collect();
            check_removed(&before, &keys, &answers)?;
            keys.iter().for_each(|key| _ = reference.remove(key));
            return Ok(keys);
        }
        Step::Erase(keys) => {
            prop_assert_eq!(set.erase_many(&keys).map_err(fail)?, there(&keys, reference));
            keys.iter().for_each(|key| _ = reference.remove(key));
            return Ok(keys);
        }
        Step::Thin(n) => {
            let keys = set.keys_on(stream).map_err(fail)?;
            let all = keys.download(stream).map_err(fail)?;
            let kept: HashSet<K> = every(all.iter().copied(), n).into_iter().collect();
            let flags: Vec<bool> = all.iter().map(|key| kept.contains(key)).collect();
            let mask = Buffer::from_slice(device, &words_of(&flags)).map_err(fail)?;
            prop_assert_eq!(set.retain_many_on(stream, &keys, &mask).map_err(fail)?, all.len() - kept.len());
            reference.retain(|key| kept.contains(key));
            return Ok(all);
        }
        Step::Drop(keys, n) => {
            let flags: Vec<bool> = (0..keys.len()).map(|i| i % n != 0).collect();
            let dropped: Vec<K> = keys.iter().copied().step_by(n).collect();
            prop_assert_eq!(set.retain_many(&keys, &flags).map_err(fail)?, there(&dropped, reference));
            dropped.iter().for_each(|key| _ = reference.remove(key));
            return Ok(keys);
        }
        Step::One(key, true) => prop_assert_eq!(set.insert(key).map_err(fail)?, reference.insert(key)),
        Step::One(key, false) => prop_assert_eq!(set.remove(key).map_err(fail)?, reference.remove(&key)),
        Step::Clear => {
            set.clear().map_err(fail)?;
            reference.clear();
        }
        Step::Reserve(additional) => {
            set.reserve(additional).map_err(fail)?;
            prop_assert!(set.capacity() >= set.len() + additional);
        }
        Step::Shrink => {
            let memory = set.memory_bytes();
            set.shrink_to_fit().map_err(fail)?;
            prop_assert!(set.memory_bytes() <= memory);
        }
        Step::Rebuild(keys, _) => {
            set.rebuild(&keys).map_err(fail)?;
            *reference = keys.into_iter().collect();
        }
        Step::Clone => *set = set.try_clone().map_err(fail)?,
        Step::SaveAndLoad => {
            let mut file = Vec::new();
            set.save(&mut file).map_err(fail)?;
            *set = PageSet::load(device, &file[..]).map_err(fail)?;
        }
    }
    Ok(vec![K::from_u64(3), K::ALL_ONES])
}

#[parameterized(each_width)]
fn as_a_hash_set<K: Key>() {
    let inputs = |engine: &TestEngine| {
        let most = (engine.max_items / 10).clamp(150, 2000);
        let load = prop_oneof![2 => 0.05..=1.0f64, 2 => Just(0.8), 1 => 0.002..0.05f64];
        ((load, any::<u64>(), any::<bool>()), prop::collection::vec(step::<K>(most), 1..8))
    };
    on_every_engine(inputs, |engine, ((load, seed, unique), steps)| {
        let config = PageConfig::default().load(load).seed(seed);
        let config = if unique { config.assume_unique() } else { config };
        let mut set = config.create_set::<K>(&engine.device).map_err(fail)?;
        let mut reference = HashSet::new();
        for step in steps {
            let queries = take(&mut set, &mut reference, if unique { step.unique() } else { step })?;
            check(&set, &reference, &queries).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
}

#[parameterized]
fn batches_of_nothing_and_of_extreme_keys<K: Key>(device: &Device) {
    let mut set: PageSet<K> = PageSet::new(device).unwrap();
    assert_eq!((set.insert_many(&[]), set.remove_many(&[]), set.erase_many(&[])), (Ok(0), Ok(vec![]), Ok(0)));
    assert_eq!(set.remove_many(&[K::ALL_ONES, K::ALL_ONES]), Ok(vec![false; 2]));
    let extremes = [K::from_u64(0), K::ALL_ONES, K::from_u64(1)];
    assert_eq!(set.insert_many(&extremes), Ok(3));
    assert_eq!(set.insert_many(&extremes), Ok(0));
    holds(&set, &extremes);
    assert_eq!(set.remove_many(&[K::ALL_ONES, K::from_u64(2), K::from_u64(0)]), Ok(vec![true, false, true]));
    holds(&set, &[K::from_u64(1)]);
    // All keys are equal, and exceed the capacity.
    let many = vec![K::from_u64(7); 2 * set.capacity() + 1];
    assert_eq!(set.insert_many(&many), Ok(1));
    holds(&set, &[K::from_u64(1), K::from_u64(7)]);
}

#[parameterized]
fn words_of_another_length_are_refused(device: &Device) {
    let stream = device.default_stream();
    let keys: Vec<u32> = distinct_keys(40, 3);
    let mut set = PageConfig::default().build_set(device, &keys).unwrap();
    let on_device = Buffer::from_slice(device, &keys).unwrap();
    let mut found = Buffer::zeroed(device, 1).unwrap();
    let error = set.remove_many_into(stream, &on_device, &mut found).unwrap_err();
    assert_lengths(error, ("the keys, in words of 32,", 2), ("the found-words", 1));
    assert!(matches!(set.retain_many(&keys, &[true]), Err(Error::Input(_))));
    assert!(matches!(set.retain_many_on(stream, &on_device, &found), Err(Error::Input(_))));
    holds(&set, &keys);
}
