//! Properties of sets of any kind, compared with `std::collections::HashSet` on every engine, for
//! any keys and any steps.

use super::{Tested, check, wrong_operations};
use crate::{TestEngine, key, on_every_engine};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::design::Config;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Error};

/// A step that is applied to a set after its build.
#[derive(Clone, Debug)]
pub enum Step<K> {
    /// Builds the set again from other keys.
    Rebuild(Vec<K>),
    /// Replaces the set by a copy.
    Clone,
    /// Writes the keys to a buffer.
    KeysInto,
    /// Frees the spare memory of rebuilds.
    Shrink,
}

impl<K> Step<K> {
    /// Maps the keys of the step, if it has any.
    pub fn with(self, other: impl Fn(Vec<K>) -> Vec<K>) -> Self {
        match self {
            Self::Rebuild(keys) => Self::Rebuild(other(keys)),
            step => step,
        }
    }
}

/// Returns a strategy for any step with at most `most` keys.
pub fn step<K: Key>(most: usize) -> impl Strategy<Value = Step<K>> {
    prop_oneof![
        3 => keys(most).prop_map(Step::Rebuild),
        1 => Just(Step::Clone),
        1 => Just(Step::KeysInto),
        1 => Just(Step::Shrink),
    ]
}

/// Returns the test failure for an error that the set should not have returned.
pub fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Builds a set of the first keys, applies the steps, and checks all of the set after each step.
/// Rebuilds may fail if `excused` accepts the error for the keys; `report` receives the reports of
/// the rebuilds that succeed.
pub fn any_steps<D: Tested, K: Key>(
    device: &Device,
    config: &Config<D>,
    (first, steps, queries): (Vec<K>, Vec<Step<K>>, Vec<K>),
    excused: impl Fn(&Error, &HashSet<K>) -> Result<(), String>,
    report: impl Fn(&D::Report) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let mut set = config.build_set(device, &first).map_err(fail)?;
    let mut reference: HashSet<K> = first.into_iter().collect();
    for step in steps.into_iter().chain([Step::KeysInto]) {
        match step {
            Step::Rebuild(keys) => {
                let input = Buffer::from_slice(device, &keys).map_err(fail)?;
                reference = keys.into_iter().collect();
                match set.rebuild(&input) {
                    Ok(()) => report(set.report())?,
                    Err(error) => {
                        excused(&error, &reference).map_err(TestCaseError::fail)?;
                        reference.clear();
                    }
                }
            }
            Step::Clone => {
                let copy = set.try_clone().map_err(fail)?;
                prop_assert_eq!(copy.report(), set.report());
                set = copy;
            }
            Step::KeysInto => {
                let mut keys = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                set.keys_into(stream, &mut keys).map_err(fail)?;
                let keys: HashSet<K> = keys.download(stream).map_err(fail)?.into_iter().collect();
                prop_assert_eq!(&keys, &reference);
            }
            Step::Shrink => set.shrink_to_fit().map_err(fail)?,
        }
        let queries: Vec<K> = queries.iter().chain(&reference).copied().collect();
        check(&set, &reference, &queries).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

/// Checks two sets of at most `most` keys each, with two configurations, and the results of all
/// operations on the two sets.
pub fn sets_of_any_keys_are_combined<D: Tested, K: Key>(
    most: usize,
    configs: &(impl Strategy<Value = (Config<D>, Config<D>)> + Clone + 'static),
) {
    on_every_engine(
        |engine: &TestEngine| {
            let keys = || prop::collection::vec(key::<K>(), 0..engine.max_items.min(most));
            (keys(), keys(), configs.clone())
        },
        |engine, (first, second, (config, other))| {
            let one = config.build_set(&engine.device, &first).map_err(fail)?;
            let other = other.build_set(&engine.device, &second).map_err(fail)?;
            wrong_operations(&one, &other).and_then(|()| wrong_operations(&other, &one)).map_err(TestCaseError::fail)
        },
    );
}

/// Returns a strategy for keys: keys that repeat, any keys, copies of one key, or keys in sequence
/// at some distance.
pub fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let steps = (any::<u64>(), 0u32..48, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    let copies = (any::<u64>(), 1usize..9, 0..=most)
        .prop_map(|(one, every, n)| (0..n).map(|i| K::from_u64(if i % every == 0 { one } else { i as u64 })).collect());
    prop_oneof![
        3 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec(any::<u64>().prop_map(K::from_u64), 0..=most),
        1 => steps,
        1 => copies,
    ]
}
