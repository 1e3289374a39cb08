//! Benchmarks of group-by: sums over uniform and skewed keys, by the default method and by sorting.

use super::input::key;
use super::on_cores::{column, of_groups, share};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use super::{Bench, is_cpu};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::thread::scope;
use warpnest::Buffer;
use warpnest::primitives::{Number, Scratch};
use warpnest::relational::{GroupBy, GroupReport, Groups, Method};
use warpnest::types::WordKey as Key;

/// The binary logarithms of the numbers of groups, unless all powers are requested.
const GROUPS: [u32; 15] = [0, 1, 5, 8, 10, 11, 12, 13, 14, 15, 17, 20, 22, 23, 25];

/// The exponents of the Zipf distributions.
const SKEWS: [f64; 5] = [0.5, 0.8, 1.0, 1.2, 1.5];
/// The number of keys of the Zipf distributions, unless there are fewer rows.
const SKEWED_KEYS: u64 = 1 << 24;

/// A number of groups, and the exponent of their Zipf distribution, or `None` for uniform rows.
pub type Spread = (u64, Option<f64>);

/// Returns the cases for `n` rows: 1 to `n` groups, and Zipf distributions. If groups or skews are
/// given, it returns only the given cases. `every_power` adds the other powers of two of groups.
pub fn cases(n: u64, every_power: bool, groups: &[u64], skews: &[f64]) -> Vec<Spread> {
    let skewed = |skews: &[f64]| skews.iter().map(|&skew| (SKEWED_KEYS.min(n), Some(skew))).collect::<Vec<_>>();
    let uniform = |groups: Vec<u64>| groups.into_iter().filter(|&groups| groups <= n).map(|groups| (groups, None));
    if !groups.is_empty() || !skews.is_empty() {
        return uniform(groups.to_vec()).chain(skewed(skews)).collect();
    }
    let powers: Vec<u32> = if every_power { (0..=40).collect() } else { GROUPS.to_vec() };
    let below = powers.into_iter().map(|bits| 1u64 << bits).filter(|&groups| groups < n).collect();
    uniform(below).chain([(n, None)]).chain(skewed(&SKEWS)).collect()
}

/// Returns the cases that are given, or else `few` numbers of groups, `n` groups and the Zipf
/// distribution with the exponent 1.2.
pub fn given_or_few(n: u64, few: &[u64], groups: &[u64], skews: &[f64]) -> Vec<Spread> {
    if groups.is_empty() && skews.is_empty() {
        let few = few.iter().copied().filter(|&groups| groups > 0 && groups < n);
        return cases(n, false, &few.chain([n]).collect::<Vec<_>>(), &[1.2]);
    }
    cases(n, false, groups, skews)
}

/// Measures sums of `n` values by the keys of each case, by the default method and by sorting.
/// Every sum is checked.
///
/// The limit is a copy of the rows' bytes.
pub fn measure<K: Key, V: Number<Sum = u64> + From<u32>>(
    at: Bench<'_>,
    cases: &[Spread],
) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for &(groups, skew) in cases {
        let rows = groups_of_rows(at.n, groups, skew);
        let case = Case::<K> { rows, groups, skew, key };
        records.extend(case.measure::<V>(&at, &[(Method::Auto, "group_by"), (Method::Sort, "group_by_sort")])?);
    }
    Ok(records)
}

/// The seed of all queries.
pub const SEED: u64 = 1;

/// Rows to group, and their groups.
pub struct Case<K> {
    /// The id of the group of each row.
    pub rows: Vec<u32>,
    /// The number of groups. All ids are below it.
    pub groups: u64,
    /// The exponent of a Zipf distribution, for the record.
    pub skew: Option<f64>,
    /// A function that returns the key of a group.
    pub key: fn(u64) -> K,
}

/// Returns the id of the group of each of `n` rows. If `groups` is `n`, each row has its own group.
pub fn groups_of_rows(n: u64, groups: u64, skew: Option<f64>) -> Vec<u32> {
    let mut rows = vec![0; n as usize];
    let a_thread = share(n as usize);
    scope(|scope| {
        for (part, number) in rows.chunks_mut(a_thread).zip(0..) {
            scope.spawn(move || {
                let mut random = Xoshiro256StarStar::seed_from_u64(number + 1);
                let first = number * a_thread as u64;
                match skew.map(|skew| Zipf::new(groups as f64, skew).expect("a positive number and exponent")) {
                    Some(zipf) => part.iter_mut().for_each(|row| *row = zipf.sample(&mut random) as u32 - 1),
                    None if groups == n => part.iter_mut().zip(first..).for_each(|(row, number)| *row = number as u32),
                    // The product's high half is a random number below the second factor.
                    None => part.iter_mut().for_each(|row| *row = ((random.next_u32() as u64 * groups) >> 32) as u32),
                }
            });
        }
    });
    rows
}

/// Returns the value of a row, which is never 0, so that no sum is 0.
pub fn value(row: usize) -> u32 {
    (row as u32).wrapping_mul(0x9e37_79b1) | 1
}

/// Returns the keys of the groups that have rows, and the sums of their rows' values.
pub fn sums_of_groups<K>(rows: &[u32], groups: u64, key: fn(u64) -> K) -> Vec<(K, u64)> {
    let sums = of_groups(rows, groups, 0, |sum, row| *sum += value(row) as u64);
    let sums = (0..groups).zip(sums).map(|(group, sum)| (key(group), sum));
    sums.filter(|&(_, sum)| sum != 0).collect()
}

impl<K: Key> Case<K> {
    /// Measures sums of one value per row, by each method; its operation's name is in the records.
    pub fn measure<V: Number<Sum = u64> + From<u32>>(
        self,
        at: &Bench<'_>,
        ways: &[(Method, &str)],
    ) -> anyhow::Result<Vec<Record>> {
        let Self { rows, groups, skew, key } = self;
        let (device, stream) = (at.device, at.device.default_stream());
        let sums = sums_of_groups(&rows, groups, key);
        let (found, expected) = (sums.len(), checksum(sums.into_iter()));
        let keys = Buffer::from_slice(device, &column(rows.len(), |row| key(rows[row] as u64)))?;
        let values = Buffer::from_slice(device, &(0..rows.len()).map(|row| value(row).into()).collect::<Vec<V>>())?;
        drop(rows);
        let mut queries = Queries::new(*at, (groups, skew), [K::BITS, 8 * size_of::<V>() as u32])?;
        let measured = |&(method, op): &(Method, &str)| {
            let mut query = GroupBy::new(&keys);
            let sum = query.sum(&values);
            queries.measure(op, query.method(method).seed(SEED), |result| {
                let (keys, sums) = (result.keys().download(stream)?, result.column(sum)?.download(stream)?);
                let right = keys.len() == found && checksum(keys.into_iter().zip(sums)) == expected;
                Ok(if right { 0 } else { groups })
            })
        };
        ways.iter().map(measured).collect()
    }
}

/// The measurement of queries whose rows have equally many bits.
pub struct Queries<'b> {
    at: Bench<'b>,
    spread: Spread,
    /// The bits of a row's keys and of its values.
    bits: [u32; 2],
    limit: f64,
    scratch: Scratch,
}

impl<'b> Queries<'b> {
    /// Measures the limit, which is a copy of the rows' bytes.
    pub fn new(at: Bench<'b>, spread: Spread, bits: [u32; 2]) -> anyhow::Result<Self> {
        let of_row = bits[0] + bits[1];
        let limit = at.roofline.copies(at.n, of_row)?.gops(at.n * of_row as u64 / 8);
        Ok(Self { at, spread, bits, limit, scratch: Scratch::new(at.device) })
    }

    /// Measures a query. `wrong` returns the number of wrong groups of its result.
    pub fn measure<K: warpnest::Key>(
        &mut self,
        op: &str,
        query: &GroupBy<'_, K>,
        wrong: impl FnOnce(&Groups<K>) -> anyhow::Result<u64>,
    ) -> anyhow::Result<Record> {
        let Self { at: Bench { device, run, n, runs, .. }, spread: (groups, skew), .. } = *self;
        let (stream, scratch) = (device.default_stream(), &mut self.scratch);
        let warm_ups = if is_cpu(device) { 1 } else { 2 };
        let mut result = query.run_on(stream, scratch)?;
        let ms = median_ms(stream, warm_ups, runs, || query.run_into(stream, scratch, &mut result))?;
        let GroupReport { method, hot_rows, estimated_groups, overflowed, .. } = result.report();
        eprintln!("{op}, {groups} groups: {method:?}, {hot_rows} hot, {estimated_groups:?} expected, {overflowed}");
        let [key_bits, value_bits] = self.bits;
        let subject = Subject { table: "group-by".to_owned(), op, n, load: 0.0, key_bits, value_bits };
        let record = run.record(subject, ms, self.limit, wrong(&result)?);
        Ok(Record { groups: Some(groups), skew, ..record })
    }
}

/// Returns a checksum over the groups that does not depend on their order.
pub fn checksum<K: Key>(groups: impl Iterator<Item = (K, u64)>) -> u64 {
    groups.fold(0, |sum, (key, of_key)| sum.wrapping_add(random(key.to_u64() ^ random(of_key))))
}

/// Returns a hash of a number: the finalizer of SplitMix64 (Steele et al., 2014).
fn random(number: u64) -> u64 {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
