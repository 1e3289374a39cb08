//! Group-by of keys that are hard for one of the methods, and of keys that are chosen to defeat the
//! sample. Every method and every order is compared with a map, on every engine.

use super::rows::Tested;
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::{HashMap, HashSet};
use warpnest::low_level::sampled_rows;
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, GroupReport, Method, Order};
use warpnest::{Buffer, Device};
use warpnest_tests::{TestEngine, at, on_each_engine, only_cuda, parameterized, the_cpu_engine};

/// The seed of all queries, for which keys are chosen.
const SEED: u64 = 3;

/// Runs `test` on every engine, including the CPU engine itself, with a count of rows that suits
/// it.
fn everywhere(test: impl Fn(&Device, usize)) {
    let rows = |engine: &TestEngine| if engine.max_items < 10_000 { engine.max_items } else { 20_000 };
    on_each_engine(|engine| test(&engine.device, rows(engine)));
    on_the_fast_ones(1 << 18, &test);
}

/// Runs `test` on the CPU engine and on a GPU, with `rows` rows, or with fewer under the
/// sanitizers.
fn on_the_fast_ones(rows: usize, test: impl Fn(&Device, usize)) {
    if let Some(engine) = the_cpu_engine() {
        let _at = at("the CPU engine");
        test(&engine.device, rows);
    }
    on_each_engine(|engine| {
        if engine.max_items >= 1 << 16 && !engine.in_turn {
            test(&engine.device, if engine.max_items < 1 << 20 { engine.max_items } else { rows });
        }
    });
}

/// A group: its key, its count of rows, and the sum of its values.
type Group<K> = (K, u32, u64);

/// Rows, and their groups as a loop over a map finds them.
struct Case<K> {
    keys: Vec<K>,
    values: Vec<u32>,
    /// The groups in the order of their first rows.
    groups: Vec<Group<K>>,
}

impl<K: Tested> Case<K> {
    fn new(keys: Vec<K>) -> Self {
        let values: Vec<u32> = (0..keys.len() as u32).map(|row| row.wrapping_mul(0x9e37_79b1)).collect();
        let mut groups: Vec<Group<K>> = Vec::new();
        let mut numbers = HashMap::new();
        for (&key, &value) in keys.iter().zip(&values) {
            let number = *numbers.entry(key).or_insert_with(|| {
                groups.push((key, 0, 0));
                groups.len() - 1
            });
            groups[number].1 += 1;
            groups[number].2 += value as u64;
        }
        Self { keys, values, groups }
    }

    /// Returns whether a report has the count of groups in place of an estimate, as reports of
    /// cores have.
    fn is_counted(&self, report: &GroupReport) -> bool {
        report.estimated_groups == Some(self.groups.len() as u64)
    }

    /// Checks the groups by every method and in every order. Returns the report of [`Method::Hash`]
    /// in any order.
    fn check(&self, device: &Device) -> GroupReport {
        let stream = device.default_stream();
        let mut scratch = Scratch::new(device);
        let keys = Buffer::from_slice(device, &self.keys).unwrap();
        let values = Buffer::from_slice(device, &self.values).unwrap();
        let mut by_key = self.groups.clone();
        by_key.sort_unstable();
        let mut hashed = None;
        for method in [Method::Hash, Method::Auto, Method::Sort] {
            for order in [Order::Any, Order::ByKey, Order::FirstSeen] {
                let _at = at(format!("{} rows, {method:?}, {order:?}", self.keys.len()));
                let mut query = GroupBy::new(&keys);
                let (count, sum) = (query.count(), query.sum(&values));
                query.order(order).method(method).seed(SEED);
                let groups = query.run_on(stream, &mut scratch).unwrap();
                let counts = groups.column(count).unwrap().download(stream).unwrap();
                let sums = groups.column(sum).unwrap().download(stream).unwrap();
                let keys = groups.keys().download(stream).unwrap();
                let mut found: Vec<Group<K>> =
                    keys.into_iter().zip(counts).zip(sums).map(|((key, count), sum)| (key, count, sum)).collect();
                let expected = if order == Order::FirstSeen { &self.groups } else { &by_key };
                if order == Order::Any {
                    found.sort_unstable();
                }
                assert_eq!(found.len(), expected.len(), "the number of groups");
                let different = found.iter().zip(expected).find(|(found, expected)| found != expected);
                assert_eq!(different, None, "what was found, and what is right");

                let report = groups.report();
                if method == Method::Sort {
                    assert_eq!((report.method, report.overflowed, report.hot_rows), (Method::Sort, false, 0));
                } else if method == Method::Hash {
                    // If bins overflow, the query may end with a sort.
                    assert!(report.method == Method::Hash || report.overflowed, "{report:?}");
                    // Which of several equally rare keys are hot may vary, and so may their count
                    // of rows.
                    let before = hashed.get_or_insert(report);
                    let told = |report: &GroupReport| (report.method, report.estimated_groups, report.overflowed);
                    // In the order of first rows, their numbers are computed, too. So fewer keys
                    // are hot.
                    if order != Order::FirstSeen {
                        assert_eq!(told(before), told(&report), "the same rows, in the same way");
                    }
                }
            }
        }
        hashed.unwrap()
    }
}

/// Returns 32-bit keys that look random, one for each number.
fn keys_32(numbers: &[u32]) -> Vec<u32> {
    numbers.iter().map(|number| number.wrapping_mul(0x9e37_79b1)).collect()
}

/// Returns 64-bit keys that look random, one for each number.
fn keys_64(numbers: &[u32]) -> Vec<u64> {
    numbers.iter().map(|&number| (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn random(seed: u64) -> Xoshiro256StarStar {
    Xoshiro256StarStar::seed_from_u64(seed)
}

/// Returns numbers below `rows`, with a Zipf distribution of this exponent.
fn zipf(rows: usize, skew: f64) -> Vec<u32> {
    let (mut random, zipf) = (random(7), Zipf::new(rows as f64, skew).unwrap());
    (0..rows).map(|_| zipf.sample(&mut random) as u32 - 1).collect()
}

#[test]
fn zipf_keys() {
    everywhere(|device, rows| {
        for skew in [0.5, 0.8, 1.0, 1.2, 1.5] {
            let _at = at(format!("Zipf {skew}"));
            let numbers = zipf(rows, skew);
            let case = Case::new(keys_32(&numbers));
            let report = case.check(device);
            // If the sample contains the frequent keys, the hot pass takes their rows. Many cores
            // divide all rows by their keys.
            if skew >= 1.2 {
                let are_hot = report.hot_rows > rows as u64 / 2 || case.is_counted(&report);
                assert!(are_hot && !report.overflowed, "{report:?}");
            }
            Case::new(keys_64(&numbers)).check(device);
        }
    });
}

#[test]
fn zipf_keys_in_ascending_order() {
    everywhere(|device, rows| {
        let mut numbers = zipf(rows, 1.0);
        numbers.sort_unstable();
        Case::new(keys_32(&numbers)).check(device);
        Case::new(numbers).check(device);
    });
}

#[test]
fn sorted_keys_of_many_groups_of_a_few_rows() {
    everywhere(|device, rows| {
        for rows_of_group in [1, 3, 100] {
            let _at = at(format!("{rows_of_group} rows a group"));
            let numbers: Vec<u32> = (0..rows as u32).map(|row| row / rows_of_group).collect();
            let report = Case::new(numbers.clone()).check(device);
            assert!(!report.overflowed, "the sample's positions are random: {report:?}");
            Case::new(keys_64(&numbers)).check(device);
        }
    });
}

/// Checks 25 keys. In 9.6 million rows the sum of a group has more than 32 bits.
#[test]
fn few_keys_in_many_rows() {
    let check = |device: &Device, rows: usize| {
        let mut random = random(11);
        let numbers: Vec<u32> = (0..rows).map(|_| random.next_u32() % 25).collect();
        let case = Case::new(keys_32(&numbers));
        assert!(rows < 1_000_000 || case.groups.iter().all(|group| group.2 > 1 << 40));
        let report = case.check(device);
        assert_eq!((report.hot_rows, report.overflowed), (rows as u64, false), "{report:?}");
        assert_eq!(report.estimated_groups, Some(25));
    };
    on_each_engine(|engine| check(&engine.device, engine.max_items.min(20_000)));
    on_the_fast_ones(9_600_000, check);
}

#[test]
fn keys_that_are_frequent_only_at_the_end() {
    everywhere(|device, rows| {
        // All keys differ except in the last part, which has one key or a few.
        for (share, hot) in [(50, 1), (50, 7), (10, 1)] {
            let _at = at(format!("the last 1 / {share} of the rows have {hot} keys"));
            let first_hot = (rows - rows / share) as u32;
            let number = |row: u32| if row < first_hot { row } else { u32::MAX - row % hot };
            let numbers: Vec<u32> = (0..rows as u32).map(number).collect();
            let report = Case::new(keys_32(&numbers)).check(device);
            if rows > 10_000 {
                // The sample draws these rows as it draws other rows.
                assert!(!report.overflowed, "{report:?}");
            }
            Case::new(keys_64(&numbers)).check(device);
        }
    });
}

/// Returns numbers of groups: `seen` for the rows that a query's sample draws, and `unseen` for all
/// other rows.
fn chosen(device: &Device, rows: usize, seen: impl Fn(u32) -> u32, unseen: impl Fn(u32) -> u32) -> Vec<u32> {
    let drawn: HashSet<u64> = sampled_rows(device.default_stream(), rows as u64, SEED).collect();
    let number = |row: u32| if drawn.contains(&(row as u64)) { seen(row) } else { unseen(row) };
    (0..rows as u32).map(number).collect()
}

#[test]
fn frequent_keys_that_the_sample_does_not_draw() {
    everywhere(|device, rows| {
        for hot in [1, 3, 100] {
            let _at = at(format!("{hot} keys"));
            let numbers = chosen(device, rows, |row| row, |row| u32::MAX - row % hot);
            let case = Case::new(keys_32(&numbers));
            let report = case.check(device);
            // The sample drew no key twice, so the query expects as many groups as rows. The bins
            // of these few keys overflow and are split again by their counts. If they are too large
            // for that, another sample contains the keys.
            assert_eq!(report.method, Method::Hash, "{report:?}");
            // Tables of cores grow instead.
            let have_grown = report.hot_rows == rows as u64 || case.is_counted(&report);
            let expected =
                if report.overflowed { report.hot_rows > 0 } else { report.estimated_groups == Some(rows as u64) };
            assert!(expected || have_grown, "{report:?}");
            // A single block would take long for a bin of this many rows.
            assert!(report.overflowed || have_grown || hot != 1 || rows < 1 << 18, "{report:?}");
            Case::new(keys_64(&numbers)).check(device);
        }
    });
}

/// Checks so many rows that they are split twice. Bins of the first split overflow, and another
/// sample contains the keys.
#[parameterized]
fn frequent_keys_that_the_sample_does_not_draw_among_rows_that_are_split_twice(engine: &TestEngine) {
    // The sanitizers and the interpreter would take long.
    if engine.max_items < 1 << 16 || only_cuda() {
        return;
    }
    let rows = 1 << 21;
    for hot in [1, 100] {
        let _at = at(format!("{hot} keys"));
        let report = Case::new(keys_32(&chosen(&engine.device, rows, |row| row, |row| u32::MAX - row % hot)))
            .check(&engine.device);
        // Tables of cores grow instead.
        let was_wrong = report.overflowed || report.hot_rows == rows as u64;
        assert!(was_wrong && report.hot_rows > rows as u64 / 2, "{report:?}");
    }
}

#[test]
fn many_keys_that_the_sample_does_not_draw() {
    everywhere(|device, rows| {
        let numbers = chosen(device, rows, |_| 0, |row| row + 1);
        let case = Case::new(keys_32(&numbers));
        let report = case.check(device);
        // The sample drew a single key, but far fewer rows than expected have it. Another sample
        // shows that. Cores count the groups.
        let was_wrong = report.overflowed || case.is_counted(&report);
        assert!(was_wrong && report.estimated_groups > Some(rows as u64 / 2), "{report:?}");
        Case::new(keys_64(&numbers)).check(device);
    });
}

#[parameterized]
fn keys_that_only_several_blocks_have_memory_for(engine: &TestEngine) {
    // The sanitizers and the interpreter would take long.
    if engine.max_items < 1 << 20 || only_cuda() {
        return;
    }
    let mut random = random(5);
    for groups in [9_000, 12_000, 15_000] {
        let _at = at(format!("{groups} groups"));
        let numbers: Vec<u32> = (0..1 << 21).map(|_| random.next_u32() % groups).collect();
        let report = Case::new(keys_64(&numbers)).check(&engine.device);
        assert!(!report.overflowed && report.hot_rows > numbers.len() as u64 / 2, "{report:?}");
    }
}
