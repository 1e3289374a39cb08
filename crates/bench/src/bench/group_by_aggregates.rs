//! Benchmarks of group-by with several aggregates, of integers and of floating-point numbers, and
//! by two columns or one wide column of keys.

use super::Bench;
use super::group_by::{self, Queries, SEED, Spread, groups_of_rows, value};
use super::input::{index, key};
use super::on_cores::{column, count, of_groups};
use super::record::Record;
use bytemuck::Zeroable;
use std::sync::atomic::{AtomicBool, Ordering};
use warpnest::primitives::Number;
use warpnest::relational::{Aggregate, GroupBy, Groups};
use warpnest::types::Plain;
use warpnest::{Buffer, Key, Value};

/// The numbers of groups, besides as many groups as rows.
const FEW: [u64; 4] = [4, 1 << 10, 1 << 14, 1 << 20];

/// The number of columns of the query with four sums.
const COLUMNS: usize = 4;

/// The number of different keys in the second of two columns of keys.
const SECOND_KEYS: u64 = 1 << 10;

/// Returns the cases for `n` rows: the given numbers of groups and exponents, every power of two of
/// groups, or by default 4, 2^10, 2^14, 2^20 and n groups, and the exponent 1.2.
pub fn cases(n: u64, every_power: bool, groups: &[u64], skews: &[f64]) -> Vec<Spread> {
    if every_power { group_by::cases(n, true, &[], &[]) } else { group_by::given_or_few(n, &FEW, groups, skews) }
}

/// Measures queries with several aggregates of `n` rows. Each key and each aggregate is checked.
///
/// The limit is a copy of the rows' bytes.
pub fn measure(at: Bench<'_>, cases: &[Spread]) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for &spread in cases {
        let rows = Rows::new(at, spread)?;
        records.push(rows.sum_and_mean::<f64>("aggregates_f64")?);
        records.push(rows.sum_and_mean::<f32>("aggregates_f32")?);
        records.push(rows.four_sums()?);
        records.push(rows.first_and_last()?);
        records.push(rows.least_and_greatest()?);
        records.push(rows.by_two_keys()?);
        records.push(rows.by_wide_key()?);
    }
    Ok(records)
}

/// Returns a row's value in a column of floating-point numbers, in sixteenths, from -2048 to 2047.
/// So every sum of up to 2^31 values is exact in any order.
fn sixteenths(row: usize, column: usize) -> i64 {
    (value(row.wrapping_mul(COLUMNS).wrapping_add(column)) >> 20) as i64 - 2048
}

/// Returns the number of so many sixteenths.
fn number(sixteenths: i64) -> f64 {
    sixteenths as f64 / 16.0
}

/// Rows with keys of 32 bits.
struct Rows<'b> {
    at: Bench<'b>,
    spread: Spread,
    /// The id of the group of each row.
    ids: Vec<u32>,
    /// The number of rows of each group, which may be 0.
    counts: Vec<u32>,
    keys: Buffer<u32>,
}

impl<'b> Rows<'b> {
    fn new(at: Bench<'b>, spread: Spread) -> anyhow::Result<Self> {
        let (groups, skew) = spread;
        let ids = groups_of_rows(at.n, groups, skew);
        let counts = of_groups(&ids, groups, 0, |count, _| *count += 1);
        let keys = Buffer::from_slice(at.device, &column(ids.len(), |row| key::<u32>(ids[row] as u64)))?;
        Ok(Self { at, spread, ids, counts, keys })
    }

    /// Measures sum and mean of a column of floating-point numbers.
    fn sum_and_mean<T: Number<Sum = f64> + From<f32> + Zeroable>(&self, op: &str) -> anyhow::Result<Record> {
        let values = self.column(|row| T::from(number(sixteenths(row, 0)) as f32))?;
        let counts = &self.counts;
        let expected = self.of_groups(0, |sum, row| *sum += sixteenths(row, 0));
        let mut query = GroupBy::new(&self.keys);
        let (sum, mean) = (query.sum(&values), query.mean(&values));
        let columns = |found: &Groups<u32>| Ok((self.download(found, sum)?, self.download(found, mean)?));
        self.measure(op, 8 * size_of::<T>(), query, index, columns, |(sums, means), place, group| {
            let sum = number(expected[group]);
            sums[place] == sum && means[place] == sum / f64::from(counts[group])
        })
    }

    /// Measures four sums of four columns of `f64`, and the count, as in the first query of TPC-H.
    fn four_sums(&self) -> anyhow::Result<Record> {
        let values = |of_column| self.column(move |row| number(sixteenths(row, of_column)));
        let values: Vec<Buffer<f64>> = (0..COLUMNS).map(values).collect::<Result<_, _>>()?;
        let counts = &self.counts;
        let expected = self.of_groups([0; COLUMNS], |sums, row| {
            sums.iter_mut().zip(0..).for_each(|(sum, of_column)| *sum += sixteenths(row, of_column));
        });
        let mut query = GroupBy::new(&self.keys);
        let sums: Vec<Aggregate<f64>> = values.iter().map(|values| query.sum(values)).collect();
        let rows = query.count();
        let columns = |found: &Groups<u32>| {
            let sums = sums.iter().map(|&sum| self.download(found, sum)).collect::<anyhow::Result<Vec<_>>>()?;
            Ok((sums, self.download(found, rows)?))
        };
        let bits = 64 * COLUMNS;
        self.measure("aggregates_four_f64", bits, query, index, columns, |(sums, rows), place, group| {
            let mut sums = sums.iter().zip(expected[group]);
            sums.all(|(sums, expected)| sums[place] == number(expected)) && rows[place] == counts[group]
        })
    }

    /// Measures count, first and last value.
    fn first_and_last(&self) -> anyhow::Result<Record> {
        let values = self.column(value)?;
        let counts = &self.counts;
        let expected = self.of_groups((None, 0), |(first, last), row| {
            first.get_or_insert(value(row));
            *last = value(row);
        });
        let mut query = GroupBy::new(&self.keys);
        let (rows, first, last) = (query.count(), query.first(&values), query.last(&values));
        let columns = |found: &Groups<u32>| {
            Ok((self.download(found, rows)?, self.download(found, first)?, self.download(found, last)?))
        };
        self.measure("aggregates_first_last", 32, query, index, columns, |(rows, first, last), place, group| {
            rows[place] == counts[group] && (Some(first[place]), last[place]) == expected[group]
        })
    }

    /// Measures count, sum, least and greatest value.
    fn least_and_greatest(&self) -> anyhow::Result<Record> {
        let values = self.column(value)?;
        let counts = &self.counts;
        let expected = self.of_groups((0, u32::MAX, 0), |(sum, least, greatest), row| {
            *sum += u64::from(value(row));
            (*least, *greatest) = (value(row).min(*least), value(row).max(*greatest));
        });
        let mut query = GroupBy::new(&self.keys);
        let (rows, sum) = (query.count(), query.sum(&values));
        let ends = [query.min(&values), query.max(&values)];
        let columns = |found: &Groups<u32>| {
            let [least, greatest] = ends.map(|end| self.download(found, end));
            Ok((self.download(found, rows)?, self.download(found, sum)?, least?, greatest?))
        };
        let is_right = |found: &(Vec<u32>, Vec<u64>, Vec<u32>, Vec<u32>), place: usize, group: usize| {
            let (rows, sums, least, greatest) = found;
            rows[place] == counts[group] && (sums[place], least[place], greatest[place]) == expected[group]
        };
        self.measure("aggregates_u32", 32, query, index, columns, is_right)
    }

    /// Measures sums by two columns of keys.
    fn by_two_keys(&self) -> anyhow::Result<Record> {
        let ids = &self.ids;
        let first = self.column(|row| key::<u32>(ids[row] as u64 / SECOND_KEYS))?;
        let second = self.column(|row| key::<u32>(ids[row] as u64 % SECOND_KEYS))?;
        let group = |(first, second)| match index::<u32>(second) {
            second if second < SECOND_KEYS => index::<u32>(first) * SECOND_KEYS + second,
            _ => u64::MAX,
        };
        let values = self.column(value)?;
        self.sums("aggregates_two_keys", GroupBy::by_two(&first, &second), &values, group)
    }

    /// Measures sums by one column of keys of 64 bits.
    fn by_wide_key(&self) -> anyhow::Result<Record> {
        let ids = &self.ids;
        let keys = self.column(|row| key::<u64>(ids[row] as u64))?;
        let values = self.column(value)?;
        self.sums("aggregates_wide_key", GroupBy::new(&keys), &values, index)
    }

    /// Measures sums of a column of `u32`.
    fn sums<'q, K: Key + Sync>(
        &self,
        op: &str,
        mut query: GroupBy<'q, K>,
        values: &'q Buffer<u32>,
        group: impl Fn(K) -> u64 + Sync,
    ) -> anyhow::Result<Record> {
        let expected = self.of_groups(0, |sum, row| *sum += u64::from(value(row)));
        let sum = query.sum(values);
        let columns = |found: &Groups<K>| self.download(found, sum);
        self.measure(op, 32, query, group, columns, |sums, place, group| sums[place] == expected[group])
    }

    /// Returns a column on the device.
    fn column<T: Plain + Zeroable>(&self, value: impl Fn(usize) -> T + Sync) -> anyhow::Result<Buffer<T>> {
        Ok(Buffer::from_slice(self.at.device, &column(self.ids.len(), value))?)
    }

    /// Returns what `add` makes of each group's rows.
    fn of_groups<T: Clone + Send>(&self, start: T, add: impl Fn(&mut T, usize) + Sync) -> Vec<T> {
        of_groups(&self.ids, self.spread.0, start, add)
    }

    fn download<K: Key, T: Value>(&self, found: &Groups<K>, aggregate: Aggregate<T>) -> anyhow::Result<Vec<T>> {
        Ok(found.column(aggregate)?.download(self.at.device.default_stream())?)
    }

    /// Measures a query of values of `value_bits` bits a row. `group` returns the id of a key's
    /// group, and `columns` the aggregates. `is_right` tells whether the aggregates at a place are
    /// right for a group.
    fn measure<K: Key + Sync, C: Sync>(
        &self,
        op: &str,
        value_bits: usize,
        mut query: GroupBy<'_, K>,
        group: impl Fn(K) -> u64 + Sync,
        columns: impl FnOnce(&Groups<K>) -> anyhow::Result<C>,
        is_right: impl Fn(&C, usize, usize) -> bool + Sync,
    ) -> anyhow::Result<Record> {
        let mut queries = Queries::new(self.at, self.spread, [8 * size_of::<K>() as u32, value_bits as u32])?;
        queries.measure(op, query.seed(SEED), |found| {
            let (keys, columns) = (found.keys().download(self.at.device.default_stream())?, columns(found)?);
            Ok(wrong_groups(
                &self.counts,
                keys.len(),
                |place| group(keys[place]),
                |place, group| is_right(&columns, place, group),
            ))
        })
    }
}

/// Returns the number of groups that are missing or wrong, or that were not expected. `counts` has
/// the number of rows of each group, and `group` returns the id of the group at a place. A group
/// that occurs again is wrong.
fn wrong_groups(
    counts: &[u32],
    places: usize,
    group: impl Fn(usize) -> u64 + Sync,
    is_right: impl Fn(usize, usize) -> bool + Sync,
) -> u64 {
    let expected = count(counts.len(), |group| counts[group] != 0);
    let seen: Vec<AtomicBool> = counts.iter().map(|_| AtomicBool::new(false)).collect();
    let right = count(places, |place| {
        let group = group(place) as usize;
        let has_rows = counts.get(group).is_some_and(|&rows| rows != 0);
        has_rows && !seen[group].swap(true, Ordering::Relaxed) && is_right(place, group)
    });
    expected.max(places as u64) - right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_groups_are_counted() {
        let counts = [1, 0, 5, 2];
        let wrong = |ids: &[u64]| wrong_groups(&counts, ids.len(), |place| ids[place], |place, _| place != 4);
        assert_eq!(wrong(&[3, 0, 2]), 0);
        assert_eq!(wrong(&[3, 0]), 1); // one is missing
        assert_eq!(wrong(&[3, 1, 2]), 1); // a group without rows
        assert_eq!(wrong(&[3, 9, u64::MAX]), 2);
        assert_eq!(wrong(&[3, 3, 2, 0]), 1); // one occurs twice
        assert_eq!(wrong(&[9, 9, 3, 2, 0]), 3); // the aggregates at the last place are wrong
    }

    #[test]
    fn floating_point_numbers_are_exact_and_have_both_signs() {
        let all: Vec<i64> = (0..4096).map(|row| sixteenths(row, row % COLUMNS)).collect();
        assert!(all.iter().all(|&one| (-2048..2048).contains(&one) && number(one) as f32 as f64 * 16.0 == one as f64));
        assert!(all.iter().any(|&one| one < -1000) && all.iter().any(|&one| one > 1000));
    }

    #[test]
    fn the_given_cases_replace_the_usual_ones() {
        assert_eq!(
            cases(1 << 12, false, &[], &[]),
            [(4, None), (1 << 10, None), (1 << 12, None), (1 << 12, Some(1.2))]
        );
        assert_eq!(cases(1 << 12, false, &[7], &[0.5]), [(7, None), (1 << 12, Some(0.5))]);
        assert!(cases(1 << 12, true, &[], &[]).contains(&(1 << 11, None)));
    }
}
