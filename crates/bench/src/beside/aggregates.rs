//! The comparison of several aggregates of floating-point numbers with polars.

use std::path::Path;

use anyhow::{Result, ensure};
use warpnest::primitives::Scratch;
use warpnest::relational::{Aggregate, GroupBy};

use super::groups::keys_and_values;
use super::lab::Lab;
use super::polars::{self, Polars};
use super::record::Comparison;
use super::timing::timed;
use crate::bench::input::{index, key};

/// The aggregates, by the names of polars' methods. The first operation of a case has two of them,
/// and the second one all.
const AGGREGATES: [&str; 4] = ["sum", "mean", "min", "max"];

/// The operations with two and with four aggregates, and the numbers of groups.
const CASES: [([&str; 2], u64); 7] = [
    (["sum and mean of f64, 4 groups", "sum, mean, min and max of f64, 4 groups"], 4),
    (["sum and mean of f64, 127 groups", "sum, mean, min and max of f64, 127 groups"], 127),
    (["sum and mean of f64, 128 groups", "sum, mean, min and max of f64, 128 groups"], 128),
    (["sum and mean of f64, 1024 groups", "sum, mean, min and max of f64, 1024 groups"], 1024),
    (["sum and mean of f64, 2^14 groups", "sum, mean, min and max of f64, 2^14 groups"], 1 << 14),
    (["sum and mean of f64, 2^16 groups", "sum, mean, min and max of f64, 2^16 groups"], 1 << 16),
    (["sum and mean of f64, 2^20 groups", "sum, mean, min and max of f64, 2^20 groups"], 1 << 20),
];

/// Compares aggregates of `f64` by 32-bit keys, which are equally frequent and in random order. The
/// values are sixteenths, so all sums are exact in any order, and all results must be equal.
pub fn beside_polars(lab: &Lab<'_>, python: &Path) -> Result<Vec<Comparison>> {
    let mut rows = Vec::new();
    for (ops, groups) in CASES.into_iter().filter(|&(_, groups)| groups <= lab.n) {
        let wanted = ops.into_iter().zip([&AGGREGATES[..2], &AGGREGATES[..]]);
        let mut wanted = wanted.filter(|(op, _)| lab.wants("group-by", op)).peekable();
        if wanted.peek().is_none() {
            continue;
        }
        let [keys, sixteenths] = keys_and_values(lab.n, groups);
        let folder = tempfile::tempdir()?;
        polars::save(folder.path(), "left", &keys, &sixteenths)?;
        let of_groups = expected(&keys, &sixteenths, groups);
        let values: Vec<f64> = sixteenths.iter().map(|&value| f64::from(value) / 16.0).collect();
        for (op, aggregates) in wanted {
            let all_keys: Vec<u32> = (0..groups).map(key).collect();
            let expected = checksums(&all_keys, &of_groups[..aggregates.len()]);
            let mut ours = || {
                let mut query = GroupBy::new(&keys);
                let wanted: Vec<Aggregate<f64>> =
                    aggregates.iter().map(|name| add(&mut query, name, &values)).collect();
                query.seed(1);
                let stream = lab.device.default_stream();
                let (time, found) = timed(|| query.run_on(stream, &mut Scratch::new(&lab.device)));
                let found = found?;
                let columns = wanted.iter().map(|&one| found.column(one)?.download(stream));
                let columns = columns.collect::<warpnest::Result<Vec<_>>>()?;
                let check = checksums(&found.keys().download(stream)?, &columns);
                ensure!(check == expected, "{check:?} instead of {expected:?}");
                Ok(time)
            };
            let start = |threads| Polars::start(python, folder.path(), threads, aggregates);
            let (mut one, mut all) = (start(Some(1))?, start(None)?);
            let (mut theirs, mut theirs_all) = (|| one.run(expected), || all.run(expected));
            let names = ["group-by", op, "polars"];
            lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
        }
    }
    Ok(rows)
}

/// Requests the aggregate with a name.
fn add<'q>(query: &mut GroupBy<'q, u32>, name: &str, values: &'q Vec<f64>) -> Aggregate<f64> {
    match name {
        "sum" => query.sum(values),
        "mean" => query.mean(values),
        "min" => query.min(values),
        _ => query.max(values),
    }
}

/// Returns the aggregates of each group, whose key is [`key`] of its index, in the order of
/// [`AGGREGATES`]. Every group has rows.
fn expected(keys: &[u32], sixteenths: &[u32], groups: u64) -> [Vec<f64>; 4] {
    let mut rows = vec![0.0; groups as usize];
    let [mut sums, mut least, mut greatest] = [0.0, f64::INFINITY, 0.0].map(|start| vec![start; groups as usize]);
    for (&key, &value) in keys.iter().zip(sixteenths) {
        let (group, value) = (index(key) as usize, f64::from(value) / 16.0);
        rows[group] += 1.0;
        sums[group] += value;
        (least[group], greatest[group]) = (value.min(least[group]), value.max(greatest[group]));
    }
    let means = sums.iter().zip(rows).map(|(sum, rows)| sum / rows).collect();
    [sums, means, least, greatest]
}

/// Returns the number of groups, and the two checksums of `polars.py`, which do not depend on the
/// order of the groups.
fn checksums(keys: &[u32], columns: &[Vec<f64>]) -> [u64; 3] {
    let mut checks = [keys.len() as u64, 0, 0];
    for (place, &key) in keys.iter().enumerate() {
        let mixed = columns.iter().zip((1u64..).step_by(2)).map(|(column, factor)| {
            let bits = column[place].to_bits();
            (bits ^ bits >> 32).wrapping_mul(factor)
        });
        let mixed = mixed.fold(0, u64::wrapping_add);
        checks[1] = checks[1].wrapping_add(mixed);
        checks[2] = checks[2].wrapping_add(mixed.wrapping_mul(u64::from(key)));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_depend_on_each_aggregate_but_not_on_the_order() {
        let [keys, sixteenths] = keys_and_values(1000, 7);
        let found = expected(&keys, &sixteenths, 7);
        let [sums, means, least, greatest] = &found;
        assert_eq!(sums.iter().sum::<f64>(), f64::from(sixteenths.iter().sum::<u32>()) / 16.0);
        for group in 0..7 {
            assert!(least[group] <= means[group] && means[group] <= greatest[group]);
        }
        let keys: Vec<u32> = (0..7).map(key).collect();
        let check = checksums(&keys, &found);
        let reversed = |column: &Vec<f64>| column.iter().rev().copied().collect();
        assert_eq!(checksums(&keys.iter().rev().copied().collect::<Vec<_>>(), &found.each_ref().map(reversed)), check);
        for changed in 0..4 {
            let mut other = found.clone();
            other[changed].swap(0, 6);
            assert!(checksums(&keys, &other) != check || other == found);
        }
    }
}
