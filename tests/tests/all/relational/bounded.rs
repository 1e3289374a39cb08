//! Different keys and groups with a capacity, whose count stays on the device, compared with loops
//! over maps of the standard library, on every engine.

use super::rows::{Tested, in_order, key_numbers, kinds_of_case, rows_of};
use proptest::prelude::*;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{Bounded, GroupBy, Groups, Method, OnDevice, Order, Unique};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::planted::{LASTING_FAULTS, Operation, SINGLE_FAULTS, in_each_operation, is_planted, planted};
use warpnest_tests::random::derived;
use warpnest_tests::{
    TestEngine, assert_wrong_device, at, copy_words, counting, elsewhere, engines, on_every_engine, parameterized,
    says, the_cpu_engine,
};

type Found<K> = Bounded<OnDevice<K, u32, u32, u32>>;

/// Checks the error of a result that has more rows than the capacity, whose memory must be kept.
pub fn check_over<R>(device: &Device, found: &mut Bounded<R>, what: &str) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let count = found.count().download(stream).unwrap();
    prop_assert!(count.len() == 1 && count[0] > found.capacity() as u64, "{:?} of {}", count, found.capacity());
    let error = found.finish(stream).map(drop).unwrap_err();
    says(&error, &[what, &count[0].to_string(), &found.capacity().to_string(), "a larger capacity"]);
    let is_typed = matches!(error, Error::Input(InputError::OverCapacity { capacity, found: least, .. })
        if capacity == found.capacity() as u64 && least == count[0]);
    prop_assert!(is_typed, "{:?}", error);
    Ok(())
}

/// Checks the different keys of a column, in memory that has any contents.
fn check_unique<K: Tested>(
    device: &Device,
    (scratch, found): (&mut Scratch, &mut Found<K>),
    rows: &[K],
    seed: u64,
) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let column = Buffer::from_slice(device, rows).unwrap();
    let query = Unique::of(&column).ids().counts().first_rows().seed(seed);
    query.run_bounded_into(stream, scratch, found).unwrap();
    let (capacity, groups) = (found.capacity(), rows_of(rows));
    let memory = found.memory();
    let lengths = [memory.keys.len(), memory.counts.len(), memory.first_rows.len()];
    prop_assert_eq!((lengths, memory.ids.len()), ([capacity; 3], rows.len()));
    if groups.len() > capacity {
        return check_over(device, found, "different keys");
    }
    prop_assert_eq!(found.count().download(stream).unwrap(), [groups.len() as u64]);
    for _ in 0..2 {
        let found = found.finish(stream).unwrap();
        let groups = in_order(rows, &found.keys.download(stream).unwrap(), Order::Any)?;
        let mut ids = vec![u32::MAX; rows.len()];
        for (id, (_, of_key)) in (0..).zip(&groups) {
            of_key.iter().for_each(|&row| ids[row] = id);
        }
        prop_assert_eq!(found.ids.download(stream).unwrap(), ids);
        let counts: Vec<u32> = groups.iter().map(|group| group.1.len() as u32).collect();
        prop_assert_eq!(found.counts.download(stream).unwrap(), counts);
        let firsts: Vec<u32> = groups.iter().map(|group| group.1[0] as u32).collect();
        prop_assert_eq!(found.first_rows.download(stream).unwrap(), firsts);
    }
    Ok(())
}

/// Checks groups with every aggregate that a bounded query has, twice in the same memory.
fn check_groups<K: Tested>(device: &Device, keys: &[K], capacity: usize, seed: u64) -> Result<(), TestCaseError> {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let values: Vec<i32> = (0..keys.len() as u64).map(|row| (row ^ seed).wrapping_mul(0x9e37_79b1) as i32).collect();
    let column = Buffer::from_slice(device, &values).unwrap();
    let column_of_keys = Buffer::from_slice(device, keys).unwrap();
    let mut query = GroupBy::new(&column_of_keys);
    let (count, sum, mean, again) = (query.count(), query.sum(&column), query.mean(&column), query.sum(&column));
    let (least, greatest) = (query.min(&column), query.max(&column));
    let mut groups = query.seed(seed).run_bounded(stream, &mut scratch, capacity).unwrap();
    for _ in 0..2 {
        query.run_bounded_into(stream, &mut scratch, &mut groups).unwrap();
        prop_assert_eq!((groups.memory().len(), groups.memory().column(sum).unwrap().len()), (capacity, capacity));
        if rows_of(keys).len() > capacity {
            check_over(device, &mut groups, "groups")?;
            continue;
        }
        let groups = groups.finish(stream).unwrap();
        prop_assert_eq!((groups.report().method, groups.report().estimated_groups), (Method::Hash, None));
        let expected = in_order(keys, &groups.keys().download(stream).unwrap(), Order::Any)?;
        let of = |of: &dyn Fn(&mut dyn Iterator<Item = i32>) -> i64| -> Vec<i64> {
            expected.iter().map(|(_, rows)| of(&mut rows.iter().map(|&row| values[row]))).collect()
        };
        let sums = of(&|values| values.map(i64::from).sum());
        let counts = of(&|values| values.count() as i64);
        let means: Vec<f64> = sums.iter().zip(&counts).map(|(&sum, &count)| sum as f64 / count as f64).collect();
        let counted = groups.column(count).unwrap().download(stream).unwrap();
        prop_assert_eq!(counted.iter().map(|&count| count.into()).collect::<Vec<i64>>(), counts);
        prop_assert_eq!(&groups.column(sum).unwrap().download(stream).unwrap(), &sums);
        prop_assert_eq!(&groups.column(again).unwrap().download(stream).unwrap(), &sums);
        prop_assert_eq!(groups.column(mean).unwrap().download(stream).unwrap(), means);
        let wide = |column: Vec<i32>| column.into_iter().map(i64::from).collect::<Vec<i64>>();
        let found = wide(groups.column(least).unwrap().download(stream).unwrap());
        prop_assert_eq!(found, of(&|values| values.min().unwrap().into()));
        let found = wide(groups.column(greatest).unwrap().download(stream).unwrap());
        prop_assert_eq!(found, of(&|values| values.max().unwrap().into()));
    }
    Ok(())
}

/// Returns capacities around the count of keys, and others. With a quarter, all slots are filled.
fn capacities(keys: usize, seed: u64) -> Vec<usize> {
    vec![keys, keys.saturating_sub(1), keys + 1, 0, 1, keys / 4, seed as usize % (2 * keys + 1), 3 * keys + 100]
}

/// Checks a column with one of the capacities, in memory that had some other rows.
fn check<K: Tested>(engine: &TestEngine, rows: &[K], seed: u64) -> Result<(), TestCaseError> {
    let (device, mut scratch) = (&engine.device, Scratch::new(&engine.device));
    let stream = device.default_stream();
    let all = capacities(rows_of(rows).len(), seed);
    let capacity = all[seed as usize % all.len()];
    let others = [rows, rows].concat();
    let others = Buffer::from_slice(device, &others[..others.len().min(40 + capacity)]).unwrap();
    let query = Unique::of(&others).ids().counts().first_rows();
    let mut found = query.run_bounded(stream, &mut scratch, capacity).unwrap();
    for rows in [rows, &rows[..rows.len() / 2], &rows[..rows.len().min(capacity)], rows] {
        check_unique(device, (&mut scratch, &mut found), rows, seed)?;
    }
    check_groups(device, rows, capacity, seed)
}

fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 160 } else { 6_000 }
}

#[test]
fn keys_of_32_bits() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            let rows: Vec<u32> = numbers.iter().map(|&number| (number >> 32) as u32 ^ number as u32).collect();
            check(engine, &rows, seed)
        },
    );
}

#[test]
fn keys_of_64_bits_and_pairs() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            let [wide, pairs] = kinds_of_case(engine, seed);
            if wide {
                check(engine, &numbers, seed)?;
            }
            if pairs {
                let pair = |&number: &u64| (number as i32 % 5, (number >> 40) as u32);
                check(engine, &numbers.iter().map(pair).collect::<Vec<(i32, u32)>>(), seed)?;
            }
            Ok(())
        },
    );
}

#[test]
fn two_columns_of_keys() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), 0..2usize),
        |engine, (numbers, missing)| {
            let (device, mut scratch) = (&engine.device, Scratch::new(&engine.device));
            let stream = device.default_stream();
            let first: Vec<i32> = numbers.iter().map(|key| (key % 7) as i32 - 3).collect();
            let second: Vec<u32> = numbers.iter().map(|key| (key >> 3) as u32).collect();
            let pairs: Vec<(i32, u32)> = first.iter().copied().zip(second.iter().copied()).collect();
            let capacity = rows_of(&pairs).len().saturating_sub(missing);
            let mut query = GroupBy::by_two(&first, &second);
            let count = query.count();
            let mut groups = query.run_bounded(stream, &mut scratch, capacity).unwrap();
            if missing == 1 && !pairs.is_empty() {
                return check_over(device, &mut groups, "groups");
            }
            let groups = groups.finish(stream).unwrap();
            let expected = in_order(&pairs, &groups.keys().download(stream).unwrap(), Order::Any)?;
            let counts: Vec<u32> = expected.iter().map(|group| group.1.len() as u32).collect();
            prop_assert_eq!(groups.column(count).unwrap().download(stream).unwrap(), counts);
            Ok(())
        },
    );
}

/// The lengths of columns at the edges of warps, blocks and windows of a probe.
const LENGTHS: [usize; 13] = [0, 1, 2, 31, 32, 33, 63, 65, 257, 511, 512, 513, 1025];

#[test]
fn edges() {
    for engine in engines().iter().chain(the_cpu_engine()) {
        for length in LENGTHS.into_iter().filter(|&length| length < engine.max_items) {
            let seed = derived(("edges", length, engine.device.name()));
            let _at = at(format!("{length} rows, seed {seed}, on {}", engine.device.name()));
            let [equal, extreme, different] = kinds_of_case(engine, seed);
            if equal {
                check(engine, &vec![u32::MAX; length], seed).unwrap();
            }
            if extreme {
                let key = |row: usize| if row.is_multiple_of(2) { 0 } else { u64::MAX };
                check(engine, &(0..length).map(key).collect::<Vec<_>>(), seed).unwrap();
            }
            // With this length, probes of a full table of 128 slots pause once before the end.
            if different || length == 257 {
                let rows: Vec<u32> = (0..length as u32).map(|row| row.wrapping_mul(0x9e37_79b1)).collect();
                let mut scratch = Scratch::new(&engine.device);
                for capacity in capacities(length, seed) {
                    let query = Unique::of(&rows).ids().counts().first_rows();
                    let stream = engine.device.default_stream();
                    let mut found = query.run_bounded(stream, &mut scratch, capacity).unwrap();
                    check_unique(&engine.device, (&mut scratch, &mut found), &rows, seed).unwrap();
                }
            }
        }
    }
}

fn large_engines() -> impl Iterator<Item = &'static TestEngine> {
    engines().iter().chain(the_cpu_engine()).filter(|engine| engine.max_items >= 100_000)
}

/// Checks counts of rows at which queries without a capacity no longer take one table.
#[test]
fn a_million_rows() {
    for engine in large_engines() {
        let (device, mut scratch) = (&engine.device, Scratch::new(&engine.device));
        let million = 1 << 20;
        for (length, keys, missing) in
            [(million - 1, 3000, 0), (million, 40_000, 1), (million + 1, 40_000, 0), (million / 4 + 1, million, 0)]
        {
            let _at = at(format!("{length} rows, {keys} keys on {}", device.name()));
            let rows: Vec<u32> = (0..length).map(|row: u32| (row % keys).wrapping_mul(0x9e37_79b1)).collect();
            let query = Unique::of(&rows).ids().counts().first_rows();
            let capacity = keys.min(length) as usize - missing;
            let mut found = query.run_bounded(device.default_stream(), &mut scratch, capacity).unwrap();
            check_unique(device, (&mut scratch, &mut found), &rows, 5).unwrap();
        }
    }
}

/// Checks many rows with far more keys than the capacity. If probes went on through the full table,
/// this would take hours.
#[test]
fn far_too_small_a_capacity_is_found_soon() {
    for engine in large_engines() {
        let device = &engine.device;
        let rows: Vec<u64> = (0..3u64 << 20).map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let column = Buffer::from_slice(device, &rows).unwrap();
        let mut query = GroupBy::new(&column);
        query.sum(&column);
        for capacity in [0, 1, 1000, 1 << 17, 1 << 19] {
            let _at = at(format!("a capacity of {capacity} on {}", device.name()));
            let mut scratch = Scratch::new(device);
            let mut groups = query.run_bounded(device.default_stream(), &mut scratch, capacity).unwrap();
            check_over(device, &mut groups, "groups").unwrap();
        }
    }
}

/// Checks that work on another stream can read the count and the keys before the host knows them.
#[parameterized]
fn later_work_on_the_device_reads_the_count(device: &Device) {
    let (stream, other, mut scratch) = (device.default_stream(), device.stream().unwrap(), Scratch::new(device));
    let column = Buffer::from_slice(device, &[7u64, 7, 9, 7]).unwrap();
    let found = Unique::of(&column).run_bounded(stream, &mut scratch, 2).unwrap();
    let mut copies = [Buffer::zeroed(device, 1).unwrap(), Buffer::zeroed(device, 2).unwrap()];
    for (source, copy) in [found.count(), &found.memory().keys].into_iter().zip(&mut copies) {
        let words = source.len();
        // SAFETY: both buffers have this many words.
        unsafe { other.launch(words, |uses| copy_words(uses.read(source), uses.write(copy), words as u64)) }.unwrap();
    }
    let [count, keys] = copies.map(|copy| copy.download(&other).unwrap());
    assert_eq!(count, [2]);
    assert!(keys == [7, 9] || keys == [9, 7], "{keys:?}");
}

/// Lets each operation of a second call fail: a call with the memory of the first may only queue
/// fills, copies on the device and launches.
#[test]
fn a_second_call_only_queues_and_may_fail() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..3000u32).map(|row| row.wrapping_mul(0x9e37_79b1) % 800).collect();
    let column = Buffer::from_slice(&device, &keys).unwrap();
    let halves: Vec<u32> = keys.iter().map(|key| key / 3).collect();
    let halves = Buffer::from_slice(&device, &halves).unwrap();
    let unique = Unique::of(&column).ids().counts().first_rows();
    let mut by_two = GroupBy::by_two(&column, &halves);
    let (mean, again) = (by_two.mean(&column), by_two.mean(&column));
    let (_, _, sum) = (by_two.max(&column), by_two.max(&column), by_two.sum(&column));
    type Subject = (Scratch, Found<u32>, Bounded<Groups<(u32, u32)>>);
    let begin = |capacity: usize| {
        let mut scratch = Scratch::new(&device);
        let found = unique.run_bounded(&stream, &mut scratch, capacity).unwrap();
        let groups = by_two.run_bounded(&stream, &mut scratch, capacity).unwrap();
        // These are the calls after which nothing is allocated.
        let mut subject = (scratch, found, groups);
        call(&mut subject, &unique, &by_two, &stream).unwrap();
        subject
    };
    fn call(
        (scratch, found, groups): &mut Subject,
        unique: &Unique<'_, u32, u32, u32, u32>,
        by_two: &GroupBy<'_, (u32, u32)>,
        stream: &warpnest::Stream,
    ) -> warpnest::Result<()> {
        unique.run_bounded_into(stream, scratch, found)?;
        by_two.run_bounded_into(stream, scratch, groups)
    }
    for capacity in [1000, 700] {
        for faults in [SINGLE_FAULTS, LASTING_FAULTS] {
            let again_and_right = |mut subject: Subject, done: warpnest::Result<()>| {
                assert!(is_planted(&done.unwrap_err()));
                // One of the two has failed, and the other may not have been queued.
                let lengths = [subject.1.memory().keys.len(), subject.2.memory().len()];
                assert!(lengths.contains(&0), "{lengths:?}");
                call(&mut subject, &unique, &by_two, &stream).unwrap();
                let (_, found, groups) = &mut subject;
                if capacity < 800 {
                    check_over(&device, found, "different keys").unwrap();
                    return check_over(&device, groups, "groups").unwrap();
                }
                assert_eq!(found.finish(&stream).unwrap().keys.len(), rows_of(&keys).len());
                let groups = groups.finish(&stream).unwrap();
                let of = groups.keys().download(&stream).unwrap();
                let means = [mean, again].map(|mean| groups.column(mean).unwrap().download(&stream).unwrap());
                assert!(means.iter().all(|means| of.iter().zip(means).all(|(key, &mean)| key.0 as f64 == mean)));
                let sums = groups.column(sum).unwrap().download(&stream).unwrap();
                assert_eq!(sums.iter().sum::<u64>(), keys.iter().map(|&key| key as u64).sum());
            };
            let call = |subject: &mut Subject| call(subject, &unique, &by_two, &stream);
            let seen = in_each_operation(&plan, &faults, || begin(capacity), call, again_and_right);
            let is_queued = |operation: &Operation| {
                matches!(operation, Operation::Fill | Operation::Launch | Operation::Copy | Operation::Record)
            };
            assert!(seen.iter().all(is_queued), "{seen:?}");
        }
    }
}

/// Checks that elements beyond the count are valid, in memory that held other bytes.
#[test]
fn each_element_of_the_memory_is_a_key() {
    let (device, _) = counting();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let mut found = Unique::of(&[9u32, 9]).run_bounded(stream, &mut scratch, 5).unwrap();
    assert_eq!(found.memory().keys.download(stream).unwrap(), [9, 0, 0, 0, 0]);
    Unique::of(&[9u32, 9, 8, 7, 6, 5, 4]).run_bounded_into(stream, &mut scratch, &mut found).unwrap();
    assert!(found.finish(stream).is_err());
    assert!(found.memory().keys.download(stream).unwrap().iter().all(|key| *key < 10));
    let groups = GroupBy::by_two(&[9u32, 9], &[1u32, 1]).run_bounded(stream, &mut scratch, 2).unwrap();
    assert_eq!(groups.memory().keys().download(stream).unwrap(), [(9, 1), (0, 0)]);
    // A result that is moved out keeps the elements up to its count.
    Unique::of(&[3u32]).run_bounded_into(stream, &mut scratch, &mut found).unwrap();
    assert_eq!(found.into_result(stream).unwrap().keys.download(stream).unwrap(), [3]);
}

#[parameterized]
fn what_needs_a_wait_is_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let refused = |error: Error, what: &str| {
        assert!(matches!(error, Error::Input(InputError::NotBounded { .. })), "{error:?}");
        says(&error, &[what, "without a capacity"]);
    };
    let mut found = Unique::of(&[1u32, 2]).run_bounded(stream, &mut scratch, 2).unwrap();
    for order in [Order::ByKey, Order::FirstSeen] {
        let query = Unique::of(&[1u32]).order(order);
        refused(query.run_bounded_into(stream, &mut scratch, &mut found).unwrap_err(), "an order of the keys");
    }
    assert_eq!(found.finish(stream).unwrap().keys.len(), 2);

    let keys = [1u32, 2];
    let ask = |asked: fn(&mut GroupBy<'static, u32>), what: &str| {
        let mut query = GroupBy::<u32>::new(&[1u32, 2]);
        asked(&mut query);
        refused(query.run_bounded(stream, &mut Scratch::new(device), 2).unwrap_err(), what);
    };
    ask(|query| _ = query.order(Order::ByKey), "an order of the groups");
    ask(|query| _ = query.order(Order::FirstSeen), "an order of the groups");
    ask(|query| _ = query.method(Method::Sort), "sorting the rows");
    let five = |query: &mut GroupBy<'static, u32>| {
        query.sum(&[1u64, 2]);
        query.sum(&[1i64, 2]);
        query.sum(&[1f64, 2.0]);
        query.max(&[1u32, 2]);
        query.first(&[1i32, 2]);
    };
    ask(five, "aggregates of many columns");
    ask(|query| _ = query.count_distinct(&[1u64, 2]), "a count of distinct values");
    ask(|query| _ = query.var(&[1u64, 2]), "a variance");
    ask(|query| _ = query.median(&[1f32, 2.0]), "a quantile");
    let top = |query: &mut GroupBy<'static, u32>| {
        let count = query.count();
        query.top(1, count);
    };
    ask(top, "the top groups");
    ask(|query| _ = query.reproducible().sum(&[1f32, 2.0]), "sorting the rows");

    let there = elsewhere();
    let error = Unique::of(&[1u32]).run_bounded_into(stream, &mut Scratch::new(&there), &mut found).unwrap_err();
    assert_wrong_device(error, "the memory of the result", device, &there);
    let (query, other) = (GroupBy::new(&keys), GroupBy::new(&keys));
    let mut groups = query.run_bounded(stream, &mut Scratch::new(device), 2).unwrap();
    let error = other.run_bounded_into(stream, &mut Scratch::new(device), &mut groups).unwrap_err();
    assert_eq!(error, Error::Input(InputError::ForeignAggregate));
    assert_eq!(groups.finish(stream).unwrap().len(), 2);
}
