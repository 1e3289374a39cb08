//! The comparison of sums of rows by their keys with polars' sums.

use std::path::Path;

use anyhow::{Result, ensure};
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, Method};

use super::lab::Lab;
use super::polars::{self, Polars};
use super::record::Comparison;
use super::timing::timed;
use crate::bench::input::{key, shuffle};

/// The numbers of groups. Some are next to powers of two, whose groups might collide in a table; 0
/// stands for as many groups as rows.
const CASES: [(&str, u64); 13] = [
    ("sums, 1 group", 1),
    ("sums, 4 groups", 4),
    ("sums, 16 groups", 16),
    ("sums, 64 groups", 64),
    ("sums, 127 groups", 127),
    ("sums, 128 groups", 128),
    ("sums, 129 groups", 129),
    ("sums, 256 groups", 256),
    ("sums, 1024 groups", 1024),
    ("sums, 2^14 groups", 1 << 14),
    ("sums, 2^16 groups", 1 << 16),
    ("sums, 2^20 groups", 1 << 20),
    ("sums, distinct keys", 0),
];

/// Returns the keys of `n` rows of `groups` groups, which are equally frequent and in random order,
/// and a value of each row.
pub fn keys_and_values(n: u64, groups: u64) -> [Vec<u32>; 2] {
    let mut keys: Vec<u32> = (0..n).map(|row| key(row % groups)).collect();
    shuffle(&mut keys);
    [keys, (0..n as u32).map(|row| row % 1000 + 1).collect()]
}

/// Compares 64-bit sums of 32-bit values by 32-bit keys, which are equally frequent and in random
/// order. Our sums are by the default method, and by sorting in rows of their own.
pub fn beside_polars(lab: &Lab<'_>, python: &Path) -> Result<Vec<Comparison>> {
    let mut rows = Vec::new();
    for (op, groups) in CASES.into_iter().filter(|&(_, groups)| groups < lab.n && lab.wants("group-by", "")) {
        let groups = if groups == 0 { lab.n } else { groups };
        let [keys, values] = keys_and_values(lab.n, groups);
        let folder = tempfile::tempdir()?;
        polars::save(folder.path(), "left", &keys, &values)?;
        let products = keys.iter().zip(&values).map(|(&key, &value)| u64::from(key) * u64::from(value));
        let check = products.fold(0u64, u64::wrapping_add);
        let expected = [groups, values.iter().map(|&value| u64::from(value)).sum(), check];
        let ours = |method: Method| {
            let (keys, values, device) = (&keys, &values, &lab.device);
            move || {
                let mut query = GroupBy::new(keys);
                let sum = query.sum(values);
                query.method(method).seed(1);
                let stream = device.default_stream();
                let (time, found) = timed(|| query.run_on(stream, &mut Scratch::new(device)));
                let found = found?;
                let (keys, sums) = (found.keys().download(stream)?, found.column(sum)?.download(stream)?);
                let products = keys.iter().zip(&sums).map(|(&key, &sum)| u64::from(key).wrapping_mul(sum));
                let check = [sums.len() as u64, sums.iter().sum(), products.fold(0, u64::wrapping_add)];
                ensure!(check == expected, "{check:?} instead of {expected:?}");
                Ok(time)
            }
        };
        let (mut one, mut all) =
            (Polars::start(python, folder.path(), Some(1), &[])?, Polars::start(python, folder.path(), None, &[])?);
        let (mut theirs, mut theirs_all) = (|| one.run(expected), || all.run(expected));
        let names = ["group-by", op, "polars"];
        lab.row_in_parallel(&mut rows, names, &mut ours(Method::Auto), &mut theirs, Some(&mut theirs_all))?;
        lab.row(&mut rows, ["group-by, hash", op, "sort"], &mut ours(Method::Hash), &mut ours(Method::Sort))?;
    }
    Ok(rows)
}
