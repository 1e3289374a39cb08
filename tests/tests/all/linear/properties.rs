//! The linear map, compared with `std::collections::HashMap` through sequences of batches with
//! concurrent operations, on every engine.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::error::FullError;
use warpnest::linear::LinearOperation;
use warpnest::linear::LinearOperation::{Combine, Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Error, Fold, LinearConfig, LinearMap};
use warpnest_tests::linear_checker::{Done, check_answers, check_linear_map, linear_engines};
use warpnest_tests::{TestEngine, key, on_those, the_cpu_engine};

/// Returns a strategy for keys: few different keys, which repeat in a batch; any keys; or keys in
/// sequence, some of which differ in their upper halves alone.
fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let few = prop_oneof![4 => 0u64..6, 1 => Just(u64::MAX), 1 => any::<u64>().prop_map(|key| key % 40)];
    let upper = (0u64..6).prop_map(|key| K::from_u64(key << (K::BITS - 3)));
    let few = prop_oneof![5 => few.prop_map(K::from_u64), 1 => upper];
    let row = (any::<u64>(), 0..K::BITS, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    prop_oneof![
        3 => prop::collection::vec(few, 0..=most.min(60)),
        3 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec((0u64..300).prop_map(K::from_u64), 0..=most),
        1 => row,
    ]
}

/// Returns a strategy for pairs. Their values repeat if `repeat` is true, and otherwise tell their
/// origin.
fn pairs<K: Key, V: Value>(most: usize) -> impl Strategy<Value = (Vec<K>, Vec<V>)> {
    (keys(most), any::<u64>(), any::<bool>()).prop_map(|(keys, seed, repeat)| {
        let number = |i: usize| if repeat { (i as u64 ^ seed) % 3 } else { seed.wrapping_add(i as u64) };
        let value = |i: usize| V::from_u64(number(i).wrapping_mul(0x1_0000_0001));
        let values = (0..keys.len()).map(value).collect();
        (keys, values)
    })
}

/// A call of a map.
#[derive(Clone, Debug)]
enum Step<K, V> {
    Insert(Vec<K>, Vec<V>),
    Replace(Vec<K>, Vec<V>),
    GetOrInsert(Vec<K>, Vec<V>),
    GetOrInsertInto(Vec<K>, Vec<V>),
    Remove(Vec<K>),
    RemoveOn(Vec<K>),
    /// Removes every n-th key of the map.
    RemoveSome(usize),
    Apply(Vec<LinearOperation<K, V>>),
    Get(Vec<K>),
    Compact,
    Shrink,
    Reserve(usize),
    Clear,
    Clone,
}

fn step<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Step<K, V>> {
    let operations = (pairs(most), any::<u64>()).prop_map(|((keys, values), seed)| {
        let kind = |i: usize| (seed ^ i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
        let pairs = keys.into_iter().zip(values).enumerate();
        let operation = |(i, (key, value))| match kind(i) {
            0 | 1 => Get(key),
            2 | 3 => Insert(key, value),
            4 | 5 => GetOrInsert(key, value),
            6 => Remove(key),
            _ => Combine(key, value, [Fold::SUM, Fold::MIN, Fold::MAX][i % 3]),
        };
        Step::Apply(pairs.map(operation).collect())
    });
    prop_oneof![
        3 => pairs(most).prop_map(|(keys, values)| Step::Insert(keys, values)),
        3 => pairs(most).prop_map(|(keys, values)| Step::Replace(keys, values)),
        2 => pairs(most).prop_map(|(keys, values)| Step::GetOrInsert(keys, values)),
        2 => pairs(most).prop_map(|(keys, values)| Step::GetOrInsertInto(keys, values)),
        3 => keys(most).prop_map(Step::Remove),
        1 => keys(most).prop_map(Step::RemoveOn),
        2 => (1usize..6).prop_map(Step::RemoveSome),
        5 => operations,
        1 => keys(most).prop_map(Step::Get),
        1 => Just(Step::Compact),
        1 => Just(Step::Shrink),
        1 => (0usize..600).prop_map(Step::Reserve),
        1 => Just(Step::Clear),
        1 => Just(Step::Clone),
    ]
}

#[derive(Clone, Debug)]
struct Case<K, V> {
    config: LinearConfig,
    fixed: bool,
    steps: Vec<Step<K, V>>,
}

/// Returns a strategy for batches of up to `most` operations on a map with an initial capacity for
/// `pairs` pairs.
fn case<K: Key, V: Value>(most: usize, pairs: usize, max_steps: usize) -> impl Strategy<Value = Case<K, V>> {
    let load = prop_oneof![2 => Just(0.8), 2 => 0.3..1.0f64, 2 => Just(0.99), 1 => Just(0.05)];
    let fixed = prop_oneof![3 => Just(false), 1 => Just(true)];
    let config = (load, prop_oneof![Just(0), 0..pairs], any::<bool>(), any::<u64>(), fixed);
    (config, prop::collection::vec(step(most), 1..max_steps)).prop_map(|((load, pairs, linear, seed, fixed), steps)| {
        let config = LinearConfig::default().load(load).pairs(pairs).seed(seed);
        let config = if linear { config.linear_probing() } else { config };
        Case { config: if fixed { config.fixed() } else { config }, fixed, steps }
    })
}

fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn zip<K: Key, V: Value>(
    keys: &[K],
    values: &[V],
    operation: impl Fn(K, V) -> LinearOperation<K, V>,
) -> Vec<LinearOperation<K, V>> {
    keys.iter().zip(values).map(|(&key, &value)| operation(key, value)).collect()
}

fn answered<K: Key, V: Value>(
    operations: Vec<LinearOperation<K, V>>,
    answers: Vec<Option<V>>,
) -> Result<Vec<Done<K, V>>, TestCaseError> {
    prop_assert_eq!(operations.len(), answers.len());
    Ok(operations.into_iter().zip(answers).collect())
}

/// Checks insertions without answers: each key has one of the values that the batch gave it, and
/// all other keys are unchanged.
fn check_inserted<K: Key, V: Value>(
    before: &HashMap<K, V>,
    (keys, values): (&[K], &[V]),
    after: &HashMap<K, V>,
) -> Result<(), TestCaseError> {
    let mut given: HashMap<K, Vec<V>> = HashMap::new();
    keys.iter().zip(values).for_each(|(&key, &value)| given.entry(key).or_default().push(value));
    for (key, values) in &given {
        prop_assert!(after.get(key).is_some_and(|value| values.contains(value)), "key {key}: {:?}", after.get(key));
    }
    let others = |pairs: &HashMap<K, V>| -> HashMap<K, V> {
        pairs.iter().filter(|pair| !given.contains_key(pair.0)).map(|(&key, &value)| (key, value)).collect()
    };
    prop_assert_eq!(others(before), others(after));
    Ok(())
}

/// Checks insertions of which some were refused: each key is unchanged, or as one of its operations
/// left it.
fn check_refused<K: Key, V: Value>(
    before: &HashMap<K, V>,
    step: &Step<K, V>,
    after: &HashMap<K, V>,
) -> Result<(), TestCaseError> {
    let operations = match step {
        Step::Insert(keys, values) | Step::Replace(keys, values) => zip(keys, values, Insert),
        Step::GetOrInsert(keys, values) | Step::GetOrInsertInto(keys, values) => zip(keys, values, GetOrInsert),
        Step::Apply(operations) => operations.clone(),
        _ => return Err(TestCaseError::fail("only insertions may be refused")),
    };
    let mut states: HashMap<K, Vec<Option<V>>> = HashMap::new();
    let mut combined = HashSet::new();
    for operation in operations {
        let (_, key, value) = operation.parts();
        if matches!(operation, Combine(..)) {
            combined.insert(key);
        }
        states.entry(key).or_default().extend(match operation {
            Get(_) => None,
            Insert(..) | GetOrInsert(..) | Combine(..) => Some(Some(value)),
            Remove(_) => Some(None),
        });
    }
    for key in before.keys().chain(after.keys()) {
        let (first, last) = (before.get(key).copied(), after.get(key).copied());
        let possible = first == last || states.get(key).is_some_and(|states| states.contains(&last));
        let possible = possible || last.is_some() && combined.contains(key);
        prop_assert!(possible, "key {key}: {first:?} became {last:?}");
    }
    Ok(())
}

/// The operations of a step, with their answers.
type Outcome<K, V> = Result<Vec<Done<K, V>>, TestCaseError>;

/// Applies a step. `Ok` has the answers, unless the step was insertions without answers.
fn work<K: Key, V: Value>(map: &mut LinearMap<K, V>, before: &HashMap<K, V>, step: Step<K, V>) -> Outcome<K, V> {
    match step {
        Step::Insert(keys, values) => insert(map, before, (&keys, &values)),
        Step::Replace(keys, values) => {
            let answers = map.replace_many(&keys, &values).map_err(fail)?;
            answered(zip(&keys, &values, Insert), answers)
        }
        Step::GetOrInsert(keys, values) => get_or_insert(map, before, (&keys, &values)),
        Step::GetOrInsertInto(keys, values) => get_or_insert_into(map, &keys, &values),
        Step::RemoveSome(every) => remove(map, before.keys().copied().step_by(every).collect()),
        Step::Remove(keys) => remove(map, keys),
        Step::RemoveOn(keys) => remove_on(map, before, keys),
        Step::Apply(operations) => {
            let answers = map.apply_many(&operations).map_err(fail)?;
            answered(operations, answers)
        }
        Step::Get(keys) => {
            let answers = map.get_many(&keys).map_err(fail)?;
            answered(keys.into_iter().map(Get).collect(), answers)
        }
        Step::Clear => {
            map.clear().map_err(fail)?;
            prop_assert_eq!((map.len(), map.table().taken()), (0, 0));
            Ok(before.iter().map(|(&key, &value)| (Remove(key), Some(value))).collect())
        }
        step => change_memory(map, before, step).map(|()| vec![]),
    }
}

fn insert<K: Key, V: Value>(
    map: &mut LinearMap<K, V>,
    before: &HashMap<K, V>,
    (keys, values): (&[K], &[V]),
) -> Outcome<K, V> {
    let had = map.len();
    let new = map.insert_many(keys, values).map_err(fail)?;
    prop_assert_eq!(new, map.len() - had);
    let after = check_linear_map(map).map_err(TestCaseError::fail)?.pairs;
    check_inserted(before, (keys, values), &after)?;
    // These answers follow from the new state, so only the reads below are left to check.
    let last: HashMap<K, V> = keys.iter().map(|key| (*key, after[key])).collect();
    Ok(last.into_iter().map(|(key, value)| (Insert(key, value), before.get(&key).copied())).collect())
}

fn get_or_insert<K: Key, V: Value>(
    map: &mut LinearMap<K, V>,
    before: &HashMap<K, V>,
    (keys, values): (&[K], &[V]),
) -> Outcome<K, V> {
    let answers = map.get_or_insert_many(keys, values).map_err(fail)?;
    prop_assert_eq!(answers.len(), keys.len());
    let after = check_linear_map(map).map_err(TestCaseError::fail)?.pairs;
    for (key, answer) in keys.iter().zip(answers) {
        prop_assert_eq!(Some(&answer), after.get(key), "key {}", key);
    }
    // For each new key one operation must have stored the value, and all other operations found it.
    let mut brought = HashMap::new();
    let done = zip(keys, values, GetOrInsert).into_iter().map(|operation| {
        let (_, key, value) = operation.parts();
        let first = !before.contains_key(&key) && value == after[&key] && brought.insert(key, value).is_none();
        (operation, (!first).then_some(after[&key]))
    });
    Ok(done.collect())
}

fn get_or_insert_into<K: Key, V: Value>(map: &mut LinearMap<K, V>, keys: &[K], values: &[V]) -> Outcome<K, V> {
    let device = map.device().clone();
    let (stream, had) = (device.default_stream(), map.len());
    let on_device = Buffer::from_slice(&device, keys).map_err(fail)?;
    let device_values = Buffer::from_slice(&device, values).map_err(fail)?;
    let mut answers = Answers::new(&device, keys.len()).map_err(fail)?;
    let new = map.get_or_insert_many_into(stream, &on_device, &device_values, &mut answers).map_err(fail)?;
    let found = answers.download(stream).map_err(fail)?;
    prop_assert_eq!(new, map.len() - had);
    prop_assert_eq!(found.iter().filter(|found| found.is_none()).count(), new);
    // An operation that found no value stored its own value, which is also its answer.
    for (i, answer) in answers.values().download(stream).map_err(fail)?.into_iter().enumerate() {
        prop_assert_eq!(answer, found[i].unwrap_or(values[i]), "key {}", keys[i]);
    }
    answered(zip(keys, values, GetOrInsert), found)
}

fn remove<K: Key, V: Value>(map: &mut LinearMap<K, V>, keys: Vec<K>) -> Outcome<K, V> {
    let had = map.len();
    let answers = map.remove_many(&keys).map_err(fail)?;
    prop_assert_eq!(had - map.len(), answers.iter().flatten().count());
    answered(keys.into_iter().map(Remove).collect(), answers)
}

fn remove_on<K: Key, V: Value>(map: &mut LinearMap<K, V>, before: &HashMap<K, V>, mut keys: Vec<K>) -> Outcome<K, V> {
    let device = map.device().clone();
    let buffer = Buffer::from_slice(&device, &keys).map_err(fail)?;
    let removed = map.erase_many(&buffer).map_err(fail)?;
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| before.contains_key(key));
    prop_assert_eq!(removed, keys.len());
    Ok(keys.into_iter().map(|key| (Remove(key), Some(before[&key]))).collect())
}

/// Applies a step that changes no pairs.
fn change_memory<K: Key, V: Value>(
    map: &mut LinearMap<K, V>,
    before: &HashMap<K, V>,
    step: Step<K, V>,
) -> Result<(), TestCaseError> {
    let with_cell = before.contains_key(&K::ALL_ONES) as u64;
    match step {
        Step::Compact => {
            map.drop_tombstones().map_err(fail)?;
            prop_assert!(check_linear_map(map).map_err(TestCaseError::fail)?.removed <= with_cell);
        }
        Step::Shrink => {
            let slots = map.table().slots();
            map.shrink_to_fit().map_err(fail)?;
            prop_assert!(map.table().slots() <= slots);
        }
        Step::Reserve(additional) => {
            map.reserve(additional).map_err(fail)?;
            // The key with the cell takes no slot, so it is not counted.
            prop_assert!(map.len() as u64 - with_cell + (additional as u64) < map.table().slots());
        }
        Step::Clone => {
            let copy = map.try_clone().map_err(fail)?;
            let figures = |map: &LinearMap<K, V>| (map.len(), map.table().taken(), *map.table().layout());
            prop_assert_eq!(figures(&copy), figures(map));
            // The map may change now, and the copy must not change with it.
            let inserted = map.insert_many(&[0, 1, 2, u64::MAX].map(K::from_u64), &[V::from_u64(99); 4]);
            prop_assert!(matches!(inserted, Ok(_) | Err(Error::Full(FullError::NoSlots { .. }))), "{inserted:?}");
            *map = copy;
        }
        step => unreachable!("{step:?} changes pairs"),
    }
    Ok(())
}

fn run<K: Key, V: Value>(engine: &TestEngine, case: Case<K, V>) -> Result<(), TestCaseError> {
    let mut map = case.config.create(&engine.device).map_err(fail)?;
    let mut before: HashMap<K, V> = HashMap::new();
    for step in case.steps {
        let text = format!("{step:?}").chars().take(60).collect::<String>();
        let in_step = |wrong: String| TestCaseError::fail(format!("{text}: {wrong}"));
        let done = match work(&mut map, &before, step.clone()) {
            Err(TestCaseError::Fail(error))
                if case.fixed && error.message().contains("found no slot for a new key") =>
            {
                let after = check_linear_map(&map).map_err(in_step)?.pairs;
                check_refused(&before, &step, &after)?;
                before = after;
                continue;
            }
            done => done?,
        };
        let after = check_linear_map(&map).map_err(in_step)?.pairs;
        let keys: Vec<K> =
            done.iter().map(|(operation, _)| operation.parts().1).chain((0..9).map(K::from_u64)).collect();
        check_answers(&before, done, &after).map_err(in_step)?;
        let expected: Vec<Option<V>> = keys.iter().map(|key| after.get(key).copied()).collect();
        prop_assert_eq!(&map.get_many(&keys).map_err(fail)?, &expected, "after {}", text);
        let contained: Vec<bool> = expected.iter().map(Option::is_some).collect();
        prop_assert_eq!(map.contains_many(&keys).map_err(fail)?, contained, "after {}", text);
        before = after;
    }
    let pairs = map.to_pairs().map_err(fail)?;
    prop_assert_eq!(pairs.len(), before.len());
    prop_assert_eq!(pairs.into_iter().collect::<HashMap<K, V>>(), before);
    Ok(())
}

/// The factor for the count of cases. A case takes less time than a case of other tables, so there
/// can be more of them.
const ROUNDS: usize = 3;

/// Checks batches on maps of all sizes; their operations must behave as in some order.
fn large<K: Key, V: Value>() {
    for _ in 0..ROUNDS {
        let engines = linear_engines::<K, V>().chain(the_cpu_engine());
        on_those(engines, |engine| case(engine.max_items.min(700), 700, 9), run::<K, V>);
    }
}

/// Checks batches on tables of a few lines, in which keys are inserted and removed many times.
fn small<K: Key, V: Value>() {
    for _ in 0..ROUNDS {
        on_those(linear_engines::<K, V>().chain(the_cpu_engine()), |_| case(14, 40, 40), run::<K, V>);
    }
}

mod every_batch_does_what_its_operations_would_do_in_some_order {
    use super::*;
    warpnest_tests::of_all_widths!(large);
}

mod every_batch_on_a_small_crowded_map_does_so_too {
    use super::*;
    warpnest_tests::of_all_widths!(small);
}
