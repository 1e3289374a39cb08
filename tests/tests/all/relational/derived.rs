//! Random sets of derived aggregates, the groups with the greatest aggregates, and reproducible
//! sums, compared with exact arithmetic on every engine.

use super::rows::{Rows, Tested, in_order, key_numbers, kinds_of_case, rows_of};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::error::InputError;
use warpnest::primitives::{Number, Scratch};
use warpnest::relational::{Aggregate, GroupBy, Groups, GroupsOnHost, Method, Order};
use warpnest::{Buffer, Device, Error, Key, Value};
use warpnest_tests::{TestEngine, on_every_engine, parameterized};

/// The settings of a query.
#[derive(Clone, Copy, Debug)]
struct Settings {
    order: Order,
    method: Method,
    ddof: u32,
    is_reproducible: bool,
    /// The requested aggregates, a bit for each.
    wanted: u32,
}

fn settings() -> impl Strategy<Value = Settings> {
    let orders = prop::sample::select(vec![Order::Any, Order::ByKey, Order::FirstSeen]);
    let methods = prop::sample::select(vec![Method::Auto, Method::Sort, Method::Hash]);
    (orders, methods, 0u32..3, any::<bool>(), any::<u32>()).prop_map(
        |(order, method, ddof, is_reproducible, wanted)| Settings { order, method, ddof, is_reproducible, wanted },
    )
}

/// Columns of values besides the ones of [`Rows`].
struct Columns {
    /// Columns of few distinct values.
    few: Vec<u32>,
    few_wide: Vec<u64>,
    /// Numbers that differ little in comparison with their size.
    close: Vec<f64>,
}

impl Columns {
    fn new<K>(rows: &Rows<K>) -> Self {
        let few_wide = rows.wide.iter().map(|wide| ((wide % 7) << 40) | (wide % 3)).collect();
        let few = rows.narrow.iter().map(|narrow| narrow % 9 * 0x1000_0001).collect();
        let close = rows.narrow.iter().map(|narrow| 1e9 + f64::from(narrow % 5)).collect();
        Self { few, few_wide, close }
    }
}

/// Returns the exact variance of integers, rounded a few times.
pub fn variance(values: &[i128], ddof: u32) -> f64 {
    let count = values.len() as i128;
    if count <= i128::from(ddof) {
        return f64::NAN;
    }
    let (sum, squares) = values.iter().fold((0, 0), |(sum, squares), value| (sum + value, squares + value * value));
    (count * squares - sum * sum) as f64 / count as f64 / (count - i128::from(ddof)) as f64
}

/// Returns the median and the third quartile of integers, which are exact.
pub fn quartile(values: &[i128], quarters: i128) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let position = (sorted.len() as i128 - 1) * quarters;
    let (below, rest) = ((position / 4) as usize, position % 4);
    let above = (below + 1).min(sorted.len() - 1);
    (sorted[below] * (4 - rest) + sorted[above] * rest) as f64 / 4.0
}

/// Checks numbers that may differ from the exact ones by a few units in the last place for each
/// row, relative to the exact number or to `scale`.
pub(super) fn check_close(found: &[f64], expected: &[f64], (rows, scale): (usize, f64)) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let bound = (rows + 8) as f64 * f64::EPSILON * expected.abs().max(scale);
        let is_close = (found - expected).abs() <= bound || found.is_nan() && expected.is_nan();
        prop_assert!(is_close, "{} instead of {}", found, expected);
    }
    Ok(())
}

/// Computes the groups on the host, or twice in the same memory on the device.
pub fn computed<K: Key + std::fmt::Debug>(device: &Device, query: &GroupBy<'_, K>, twice: bool) -> Found<K> {
    if !twice {
        return Found::OnHost(query.run(device).unwrap());
    }
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let mut groups = query.run_on(stream, &mut scratch).unwrap();
    query.run_into(stream, &mut scratch, &mut groups).unwrap();
    Found::OnDevice(groups, device.clone())
}

/// The groups of a query.
pub enum Found<K> {
    OnHost(GroupsOnHost<K>),
    OnDevice(Groups<K>, Device),
}

impl<K: Key> Found<K> {
    pub fn keys(&self) -> Vec<K> {
        match self {
            Self::OnHost(groups) => groups.keys.clone(),
            Self::OnDevice(groups, device) => groups.keys().download(device.default_stream()).unwrap(),
        }
    }

    pub fn column<T: Value>(&self, aggregate: Aggregate<T>) -> Vec<T> {
        match self {
            Self::OnHost(groups) => groups.column(aggregate).unwrap().to_vec(),
            Self::OnDevice(groups, device) => {
                groups.column(aggregate).unwrap().download(device.default_stream()).unwrap()
            }
        }
    }
}

/// Checks a random set of aggregates.
fn check<K: Tested>(device: &Device, rows: &Rows<K>, settings: Settings) -> Result<(), TestCaseError> {
    let columns = &Columns::new(rows);
    let Settings { order, method, ddof, is_reproducible, wanted } = settings;
    let mut query = GroupBy::new(&rows.keys);
    query.order(order).method(method).ddof(ddof);
    if is_reproducible {
        query.reproducible();
    }
    let is_wanted = |number: u32| wanted >> number & 1 != 0;
    let sum = query.sum(&rows.long);
    let letters = is_wanted(0).then(|| query.count_distinct(&rows.letters));
    let few = is_wanted(1).then(|| query.count_distinct(&columns.few));
    let few_wide = is_wanted(2).then(|| query.count_distinct(&columns.few_wide));
    let count = is_wanted(3).then(|| query.count());
    let (var, std) = (is_wanted(4), is_wanted(5));
    let var = var.then(|| (query.var(&rows.signed), query.var(&rows.double)));
    let std = std.then(|| (query.std(&rows.single), query.std(&columns.close)));
    let median = is_wanted(6).then(|| (query.median(&rows.signed), query.median(&rows.double)));
    let quartile3 = is_wanted(7).then(|| (query.quantile(&rows.narrow, 0.75), query.quantile(&rows.single, 0.75)));
    let ends = is_wanted(8).then(|| (query.quantile(&rows.signed, 0.0), query.quantile(&rows.signed, 1.0)));
    let groups = computed(device, &query, is_wanted(9));
    let expected = in_order(&rows.keys, &groups.keys(), order)?;
    let most = expected.iter().map(|group| group.1.len()).max().unwrap_or(0);
    let each = |of: &dyn Fn(&[usize]) -> f64| -> Vec<f64> { expected.iter().map(|group| of(&group.1)).collect() };
    let counts = |of: &dyn Fn(usize) -> u64| -> Vec<u32> {
        let distinct = |rows: &[usize]| rows.iter().map(|&row| of(row)).collect::<HashSet<u64>>().len() as u32;
        expected.iter().map(|group| distinct(&group.1)).collect()
    };
    let long = |rows_of: &[usize]| rows_of.iter().fold(0i64, |sum, &row| sum.wrapping_add(rows.long[row]));
    prop_assert_eq!(groups.column(sum), expected.iter().map(|group| long(&group.1)).collect::<Vec<i64>>());
    if let Some(letters) = letters {
        prop_assert_eq!(groups.column(letters), counts(&|row| u64::from(rows.letters[row])));
    }
    if let Some(few) = few {
        prop_assert_eq!(groups.column(few), counts(&|row| columns.few[row].into()));
    }
    if let Some(few_wide) = few_wide {
        prop_assert_eq!(groups.column(few_wide), counts(&|row| columns.few_wide[row]));
    }
    if let Some(count) = count {
        prop_assert_eq!(groups.column(count), expected.iter().map(|of| of.1.len() as u32).collect::<Vec<u32>>());
    }
    let signed = |of: &[usize]| of.iter().map(|&row| rows.signed[row].into()).collect::<Vec<i128>>();
    // The numbers of these columns are multiples of the divisors.
    let doubles = |of: &[usize]| of.iter().map(|&row| (rows.double[row] * 8.0) as i128).collect::<Vec<i128>>();
    let singles = |of: &[usize]| of.iter().map(|&row| rows.single[row] as i128).collect::<Vec<i128>>();
    let close = |of: &[usize]| of.iter().map(|&row| columns.close[row] as i128 - 1_000_000_000).collect::<Vec<i128>>();
    if let Some((of_signed, of_double)) = var {
        check_close(&groups.column(of_signed), &each(&|of| variance(&signed(of), ddof)), (most, 0.0))?;
        check_close(&groups.column(of_double), &each(&|of| variance(&doubles(of), ddof) / 64.0), (most, 0.0))?;
    }
    if let Some((of_single, of_close)) = std {
        check_close(&groups.column(of_single), &each(&|of| variance(&singles(of), ddof).sqrt()), (most, 0.0))?;
        // The mean is rounded, and so are the deviations from it.
        check_close(&groups.column(of_close), &each(&|of| variance(&close(of), ddof).sqrt()), (most, 1e5))?;
    }
    if let Some((of_signed, of_double)) = median {
        prop_assert_eq!(groups.column(of_signed), each(&|of| quartile(&signed(of), 2)));
        prop_assert_eq!(groups.column(of_double), each(&|of| quartile(&doubles(of), 2) / 8.0));
    }
    if let Some((of_narrow, of_single)) = quartile3 {
        let narrow = |of: &[usize]| of.iter().map(|&row| rows.narrow[row].into()).collect::<Vec<i128>>();
        prop_assert_eq!(groups.column(of_narrow), each(&|of| quartile(&narrow(of), 3)));
        prop_assert_eq!(groups.column(of_single), each(&|of| quartile(&singles(of), 3)));
    }
    if let Some((least, greatest)) = ends {
        prop_assert_eq!(groups.column(least), each(&|of| quartile(&signed(of), 0)));
        prop_assert_eq!(groups.column(greatest), each(&|of| quartile(&signed(of), 4)));
    }
    Ok(())
}

fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 300 } else { 6_000 }
}

#[test]
fn random_sets_of_derived_aggregates() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), settings()),
        |engine, (keys, seed, settings)| {
            let [narrow, wide, pairs] = kinds_of_case(engine, seed);
            if narrow {
                let keys = keys.iter().map(|&key| key as i32).collect();
                check::<i32>(&engine.device, &Rows::new(keys, seed), settings)?;
            }
            if wide {
                check::<u64>(&engine.device, &Rows::new(keys.clone(), seed), settings)?;
            }
            if pairs {
                let keys = keys.iter().map(|key| ((key % 3) as i32 - 1, *key as u32)).collect();
                check::<(i32, u32)>(&engine.device, &Rows::new(keys, seed), settings)?;
            }
            Ok(())
        },
    );
}

#[test]
fn aggregates_by_two_columns() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), settings()),
        |engine, (keys, Settings { order, method, .. })| {
            let first: Vec<i32> = keys.iter().map(|key| (key % 7) as i32 - 3).collect();
            let second: Vec<u32> = keys.iter().map(|key| (key >> 3) as u32 % 50).collect();
            let values: Vec<u32> = keys.iter().map(|key| (key >> 9) as u32 % 5).collect();
            let pairs: Vec<(i32, u32)> = first.iter().copied().zip(second.iter().copied()).collect();
            let mut query = GroupBy::by_two(&first, &second);
            let (distinct, median) = (query.count_distinct(&values), query.median(&values));
            let groups = query.order(order).method(method).run(&engine.device).unwrap();
            let expected = in_order(&pairs, &groups.keys, order)?;
            let of = |rows: &[usize]| rows.iter().map(|&row| values[row].into()).collect::<Vec<i128>>();
            let counts = expected.iter().map(|group| of(&group.1).into_iter().collect::<HashSet<i128>>().len() as u32);
            prop_assert_eq!(groups.column(distinct).unwrap(), counts.collect::<Vec<u32>>());
            let medians: Vec<f64> = expected.iter().map(|group| quartile(&of(&group.1), 2)).collect();
            prop_assert_eq!(groups.column(median).unwrap(), medians);
            Ok(())
        },
    );
}

/// Checks the groups with the greatest values, with ties in the order of the keys.
fn check_top<T: Number + PartialOrd + std::fmt::Debug>(
    device: &Device,
    (keys, values): (&[u32], &[T]),
    count: usize,
) -> Result<(), TestCaseError> {
    let mut query = GroupBy::new(keys);
    let (greatest, median) = (query.max(values), query.median(values));
    query.order(Order::ByKey).top(count, greatest);
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let mut groups = query.run_on(stream, &mut scratch).unwrap();
    let mut expected = rows_of(keys);
    expected.sort_by_key(|group| group.0);
    let most = |rows: &[usize]| rows.iter().map(|&row| values[row]).reduce(|a, b| if b > a { b } else { a }).unwrap();
    expected.sort_by(|a, b| most(&b.1).partial_cmp(&most(&a.1)).unwrap());
    expected.truncate(count);
    for _ in 0..2 {
        let found = groups.keys().download(stream).unwrap();
        prop_assert_eq!(found, expected.iter().map(|group| group.0).collect::<Vec<u32>>());
        let found = groups.column(greatest).unwrap().download(stream).unwrap();
        prop_assert_eq!(found, expected.iter().map(|group| most(&group.1)).collect::<Vec<T>>());
        prop_assert_eq!(groups.column(median).unwrap().len(), expected.len());
        query.run_into(stream, &mut scratch, &mut groups).unwrap();
    }
    Ok(())
}

#[test]
fn the_greatest_groups_are_first() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), prop::sample::select(vec![0usize, 1, 7, 10_000])),
        |engine, (keys, seed, count)| {
            let keys: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
            let rows = Rows::new(keys.clone(), seed);
            let few: Vec<i32> = rows.signed.iter().map(|signed| signed % 6).collect();
            check_top(&engine.device, (&keys, &few), count)?;
            check_top(&engine.device, (&keys, &rows.double), count)?;
            check_top(&engine.device, (&keys, &rows.wide), count)
        },
    );
}

#[parameterized]
fn nans_zeros_and_single_rows(device: &Device) {
    let nan = f64::NAN;
    let keys = [1u32, 1, 1, 2, 2, 2, 3, 4, 4];
    let values = [0.0, -0.0, 1.0, nan, -nan, 5.0, 7.0, f64::INFINITY, 1.0];
    let mut query = GroupBy::new(&keys);
    let (distinct, median, top) = (query.count_distinct(&values), query.median(&values), query.quantile(&values, 1.0));
    let (var, std, greatest) = (query.var(&values), query.std(&values), query.max(&values));
    let groups = query.order(Order::ByKey).run(device).unwrap();
    assert_eq!(groups.column(distinct).unwrap(), [3, 3, 1, 2]);
    let same = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        let equal = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        assert!(found.iter().zip(expected).all(equal), "{found:?} instead of {expected:?}");
    };
    same(groups.column(median).unwrap(), &[0.0, nan, 7.0, f64::INFINITY]);
    same(groups.column(top).unwrap(), &[1.0, nan, 7.0, f64::INFINITY]);
    same(&groups.column(var).unwrap()[1..], &[nan, nan, nan]);
    same(&groups.column(std).unwrap()[1..], &[nan, nan, nan]);
    // The greatest of NaNs alone is a NaN, which is last.
    let only_nans = [1.0, 2.0, 3.0, nan, nan, nan, -1.0, 4.0, 1.0];
    let mut query = GroupBy::new(&keys);
    let of_nans = query.max(&only_nans);
    let groups = query.top(4, of_nans).run(device).unwrap();
    assert_eq!(groups.keys, [4, 1, 3, 2]);
    // A variance with a NaN is the last of all.
    let mut query = GroupBy::new(&keys);
    let var = query.var(&values);
    assert_eq!(query.top(1, var).run(device).unwrap().keys, [1]);
    let mut query = GroupBy::new(&keys);
    query.top(2, greatest);
    assert_eq!(query.run(device).unwrap_err(), Error::Input(InputError::ForeignAggregate));
    // Without rows there are no groups.
    let mut query = GroupBy::<u64>::new(&[]);
    let (distinct, var) = (query.count_distinct::<u64>(&[]), query.var::<f32>(&[]));
    let median = query.median::<u32>(&[]);
    let groups = query.top(3, var).run(device).unwrap();
    assert_eq!((groups.column(distinct).unwrap().len(), groups.column(var).unwrap().len()), (0, 0));
    assert!(groups.keys.is_empty() && groups.column(median).unwrap().is_empty());
}

#[parameterized]
fn what_does_not_exist_is_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let (keys, values) = ([1u32, 2], [1.0f64, 2.0]);
    for asked in [-0.1, 1.5, f64::NAN] {
        let mut query = GroupBy::new(&keys);
        query.quantile(&values, asked);
        let error = query.run(device).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::Quantile { .. })), "{error:?}");
        assert!(error.to_string().contains(&asked.to_string()), "{error}");
    }
    // A result of the query from before an aggregate was requested has no memory for it.
    let mut query = GroupBy::new(&keys);
    let mut groups = query.run_on(stream, &mut scratch).unwrap();
    let median = query.median(&values);
    assert_eq!(groups.column(median).unwrap_err(), Error::Input(InputError::ForeignAggregate));
    let error = query.run_into(stream, &mut scratch, &mut groups).unwrap_err();
    assert_eq!((error, groups.len()), (Error::Input(InputError::ForeignAggregate), 2));
    let short = [1.0f32];
    let mut query = GroupBy::new(&keys);
    query.median(&short);
    assert!(query.run(device).unwrap_err().to_string().contains("the keys 2, a column of values 1"));
}

#[test]
fn reproducible_sums_have_the_same_bits_every_time() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>()),
        |engine, (keys, seed)| {
            let rows = Rows::new(keys, seed);
            let values: Vec<f64> = rows.wide.iter().map(|wide| 1.0 / (wide % 1_000_003 + 1) as f64).collect();
            let mut query = GroupBy::new(&rows.keys);
            let (sum, mean, var) = (query.sum(&values), query.mean(&values), query.var(&values));
            query.order(Order::ByKey).reproducible();
            let first = query.run(&engine.device).unwrap();
            prop_assert_eq!(first.report.method, Method::Sort);
            let on_device = Buffer::from_slice(&engine.device, &values).unwrap();
            let mut again = GroupBy::new(&rows.keys);
            let others = (again.sum(&on_device), again.mean(&on_device), again.var(&on_device));
            let second = again.order(Order::ByKey).method(Method::Hash).reproducible().run(&engine.device).unwrap();
            for (of_first, of_second) in [(sum, others.0), (mean, others.1), (var, others.2)] {
                let bits = |found: &[f64]| found.iter().map(|number| number.to_bits()).collect::<Vec<u64>>();
                let found = [bits(first.column(of_first).unwrap()), bits(second.column(of_second).unwrap())];
                prop_assert_eq!(&found[0], &found[1]);
            }
            Ok(())
        },
    );
}
