//! Benchmarks of sums that many batches update in a map, and of insertions of frequent keys.

use super::Bench;
use super::group_by::{self, Spread, checksum, groups_of_rows, sums_of_groups, value};
use super::input::key;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::design::BulkMap;
use warpnest::design::Changes;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Fold, LinearConfig, LinearMap, PageConfig};
use warpnest_bench_kernels::roofline::Access;

/// The number of unmeasured calls of an operation.
const WARM_UPS: u32 = 2;

/// Returns the cases for `n` rows: the given numbers of groups and exponents, or by default 1,
/// 2^10, 2^20, n / 2 and n groups, and the exponent 1.2.
pub fn cases(n: u64, groups: &[u64], skews: &[f64]) -> Vec<Spread> {
    group_by::given_or_few(n, &[1, 1 << 10, 1 << 20, n / 2], groups, skews)
}

/// Measures sums of `n` values by the keys of each case, in a linear map and in a page map.
/// `combine_new` has keys that are new to the map, and `combine` has keys that are in it. Every sum
/// is checked.
///
/// `insert_repeated` inserts the pairs into a linear map that has the keys. `combine_mixed` adds
/// the values by a mixed batch that returns answers.
///
/// The limit is the rate of one random exchange per row, in a table of the map's size.
pub fn measure<K: Key, V: Value + From<u32>>(at: Bench<'_>, cases: &[Spread]) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for &(groups, skew) in cases {
        let rows = groups_of_rows(at.n, groups, skew);
        let sums: Vec<(K, u64)> = sums_of_groups(&rows, groups, key);
        let keys: Vec<K> = rows.iter().map(|&group| key(group as u64)).collect();
        let values: Vec<V> = (0..rows.len()).map(|row| value(row).into()).collect();
        drop(rows);
        let (keys, values) = (Buffer::from_slice(at.device, &keys)?, Buffer::from_slice(at.device, &values)?);
        let case = Case { at, spread: (groups, skew), keys, values, sums };
        let mut linear = LinearConfig::default().pairs(case.sums.len()).seed(1).create::<K, V>(at.device)?;
        records.extend(case.combine("LinearMap", &mut linear)?);
        let stream = at.device.default_stream();
        let ms = median_ms(stream, WARM_UPS, at.runs, || linear.insert_many(&case.keys, &case.values).map(|_| ()))?;
        let wrong = (linear.len() != case.sums.len()) as u64;
        records.push(case.record("LinearMap", "insert_repeated", linear.memory_bytes(), ms, wrong)?);
        records.push(case.mixed(&mut linear)?);
        drop(linear);
        records.extend(case.combine("PageMap", &mut PageConfig::default().seed(1).create::<K, V>(at.device)?)?);
    }
    Ok(records)
}

/// Pairs whose values are added to the values of their keys.
struct Case<'c, K, V> {
    at: Bench<'c>,
    spread: Spread,
    keys: Buffer<K>,
    values: Buffer<V>,
    /// The sum of the values of each key.
    sums: Vec<(K, u64)>,
}

impl<K: Key, V: Value> Case<'_, K, V> {
    fn combine<D: Changes>(&self, table: &str, map: &mut BulkMap<K, V, D>) -> anyhow::Result<[Record; 2]> {
        let (stream, runs) = (self.at.device.default_stream(), self.at.runs);
        let mut times = Vec::new();
        for _ in 0..WARM_UPS + runs {
            map.clear()?;
            let start = stream.record()?;
            map.combine_many(Fold::SUM, &self.keys, &self.values)?;
            times.push(stream.record()?.milliseconds_since(&start)?);
        }
        let times = &mut times[WARM_UPS as usize..];
        times.sort_by(f64::total_cmp);
        let new = times[times.len() / 2];
        let wrong_new = self.wrong(map, 1)?;
        let held =
            median_ms(stream, WARM_UPS, runs, || map.combine_many(Fold::SUM, &self.keys, &self.values).map(|_| ()))?;
        let wrong = self.wrong(map, 1 + (WARM_UPS + runs) as u64)?;
        let bytes = map.memory_bytes();
        Ok([
            self.record(table, "combine_new", bytes, new, wrong_new)?,
            self.record(table, "combine", bytes, held, wrong)?,
        ])
    }

    /// Measures additions as operations of a mixed batch that returns their answers.
    fn mixed(&self, map: &mut LinearMap<K, V>) -> anyhow::Result<Record> {
        let (device, stream) = (self.at.device, self.at.device.default_stream());
        map.clear()?;
        map.combine_many(Fold::SUM, &self.keys, &self.values)?;
        let kinds = Buffer::from_slice(device, &vec![Fold::<V>::SUM.into(); self.keys.len()])?;
        let mut answers = Answers::new(device, self.keys.len())?;
        let ms = median_ms(stream, WARM_UPS, self.at.runs, || {
            map.apply_many_into(stream, &kinds, &self.keys, &self.values, &mut answers)
        })?;
        let wrong = self.wrong(map, 1 + (WARM_UPS + self.at.runs) as u64)?;
        self.record("LinearMap", "combine_mixed", map.memory_bytes(), ms, wrong)
    }

    /// Returns the number of keys if the map is wrong, and otherwise 0. All values were added
    /// `times` times.
    fn wrong<D: Changes>(&self, map: &BulkMap<K, V, D>, times: u64) -> anyhow::Result<u64> {
        let expected = self.sums.iter().map(|&(key, sum)| (key, V::from_u64(sum.wrapping_mul(times)).to_u64()));
        let (keys, values) = map.to_columns()?;
        let found = keys.into_iter().zip(values.into_iter().map(|value| value.to_u64()));
        let right = map.len() == self.sums.len() && checksum(found) == checksum(expected);
        Ok(if right { 0 } else { self.sums.len() as u64 })
    }

    fn record(&self, table: &str, op: &'static str, bytes: usize, ms: f64, wrong: u64) -> anyhow::Result<Record> {
        let Bench { run, n, .. } = self.at;
        let limit = self.at.roofline.gops(Access::Insert, bytes as u64 / 8, n)?;
        let (key_bits, value_bits) = (8 * size_of::<K>() as u32, 8 * size_of::<V>() as u32);
        let subject = Subject { table: table.to_owned(), op, n, load: 0.0, key_bits, value_bits };
        let (groups, skew) = self.spread;
        Ok(Record { groups: Some(groups), skew, ..run.record(subject, ms, limit, wrong) })
    }
}
