//! Sets of any kind beside `std::collections::HashSet`, on every engine: any keys, and any steps.

use super::{Set, SetConfig, check, wrong_operations};
use crate::{TestEngine, key, on_every_engine};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::{Buffer, Device, Error, Key};

/// What is done with a set after its build.
#[derive(Clone, Debug)]
pub enum Step<K> {
    /// It is built anew from other keys.
    Rebuild(Vec<K>),
    /// A copy takes its place.
    Clone,
    /// Its keys are written to a buffer.
    KeysInto,
    /// It gives back what rebuilds left.
    Shrink,
}

impl<K> Step<K> {
    /// The same step with other keys, if it has any.
    pub fn with(self, other: impl Fn(Vec<K>) -> Vec<K>) -> Self {
        match self {
            Self::Rebuild(keys) => Self::Rebuild(other(keys)),
            step => step,
        }
    }
}

/// Any such step with at most so many keys.
pub fn step<K: Key>(most: usize) -> impl Strategy<Value = Step<K>> {
    prop_oneof![
        3 => keys(most).prop_map(Step::Rebuild),
        1 => Just(Step::Clone),
        1 => Just(Step::KeysInto),
        1 => Just(Step::Shrink),
    ]
}

/// An error that is none of the set's, or that the set may not have.
pub fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Builds a set of the first keys, does the steps, and looks at all of the set after each. Rebuilds may fail if `excused` says so of the error and
/// the keys; `report` looks at those that succeed.
pub fn any_steps<C: SetConfig, K: Key>(
    device: &Device,
    config: &C,
    (first, steps, queries): (Vec<K>, Vec<Step<K>>, Vec<K>),
    excused: impl Fn(&Error, &HashSet<K>) -> Result<(), String>,
    report: impl Fn(&C::Report) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let mut set = config.build(device, &first).map_err(fail)?;
    let mut reference: HashSet<K> = first.into_iter().collect();
    for step in steps.into_iter().chain([Step::KeysInto]) {
        match step {
            Step::Rebuild(keys) => {
                let input = Buffer::from_slice(device, &keys).map_err(fail)?;
                reference = keys.into_iter().collect();
                match set.rebuild(stream, &input) {
                    Ok(()) => report(set.report())?,
                    Err(error) => {
                        excused(&error, &reference).map_err(TestCaseError::fail)?;
                        reference.clear();
                    }
                }
            }
            Step::Clone => {
                let copy = set.try_clone(stream).map_err(fail)?;
                prop_assert_eq!(copy.report(), set.report());
                prop_assert!(copy.hashing() == set.hashing(), "{:?}, {:?}", copy.hashing(), set.hashing());
                set = copy;
            }
            Step::KeysInto => {
                let mut keys = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                set.keys_into(stream, &mut keys).map_err(fail)?;
                let keys: HashSet<K> = keys.download(stream).map_err(fail)?.into_iter().collect();
                prop_assert_eq!(&keys, &reference);
            }
            Step::Shrink => set.shrink_to_fit(),
        }
        let queries: Vec<K> = queries.iter().chain(&reference).copied().collect();
        check(&set, &reference, &queries).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

/// Two sets of at most so many keys each, by two of such configurations, and all that they make.
pub fn sets_of_any_keys_are_combined<C: SetConfig, K: Key>(most: usize, configs: &impl Strategy<Value = (C, C)>) {
    on_every_engine(
        |engine: &TestEngine| {
            let keys = || prop::collection::vec(key::<K>(), 0..engine.max_items.min(most));
            (keys(), keys(), configs)
        },
        |engine, (first, second, (config, other))| {
            let one = config.build(&engine.device, &first).map_err(fail)?;
            let other = other.build(&engine.device, &second).map_err(fail)?;
            wrong_operations(&one, &other).and_then(|()| wrong_operations(&other, &one)).map_err(TestCaseError::fail)
        },
    );
}

/// Keys that repeat, any, copies of one, or one after the other at some distance.
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
