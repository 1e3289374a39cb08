//! The comparison of joins with polars' joins.

use std::path::Path;

use anyhow::{Result, ensure};
use warpnest::relational::JoinWithValues;

use super::lab::Lab;
use super::polars::{self, Polars};
use super::record::Comparison;
use super::timing::timed;
use crate::bench::input::{key, shuffle};

/// The rows per key on the left side, if its keys are repeated.
const MULTIPLICITY: u64 = 8;

/// The keys and values of the two tables.
struct Tables {
    keys: [Vec<u32>; 2],
    values: [Vec<u32>; 2],
}

impl Tables {
    /// Makes tables with `multiplicity` rows per key on the left and one on the right. All rows
    /// match.
    fn new(n: u64, multiplicity: u64) -> Self {
        let n = n.next_multiple_of(multiplicity);
        let mut keys = [multiplicity, 1]
            .map(|of_key| -> Vec<u32> { (0..n * of_key / multiplicity).map(|row| key(row / of_key)).collect() });
        // The right rows are shuffled twice, so that the orders differ.
        [0, 1, 1].into_iter().for_each(|side| shuffle(&mut keys[side]));
        let values = keys.each_ref().map(|keys| (0..keys.len() as u32).collect());
        Self { keys, values }
    }

    /// Returns the number of pairs, and the sum of each side's values over all pairs.
    fn expected(&self) -> [u64; 3] {
        let [left, right] = self.values.each_ref().map(|values| values.iter().map(|&value| u64::from(value)).sum());
        let pairs = self.keys[0].len() as u64;
        [pairs, left, right * (pairs / self.keys[1].len() as u64)]
    }
}

/// Compares inner joins that return keys and a column of values from each side.
pub fn beside_polars(lab: &Lab<'_>, python: &Path) -> Result<Vec<Comparison>> {
    let mut rows = Vec::new();
    for (op, multiplicity) in [("inner, unique keys", 1), ("inner, 8 rows a key on one side", MULTIPLICITY)] {
        let tables = Tables::new(lab.n, multiplicity);
        let folder = tempfile::tempdir()?;
        for (side, name) in ["left", "right"].into_iter().enumerate() {
            polars::save(folder.path(), name, &tables.keys[side], &tables.values[side])?;
        }
        let mut one = Polars::start(python, folder.path(), Some(1), &[])?;
        let (mut all, expected) = (Polars::start(python, folder.path(), None, &[])?, tables.expected());
        let Tables { keys: [left, right], values: [left_values, right_values] } = &tables;
        let mut ours = || {
            let mut join = JoinWithValues::new((left, left_values), (right, right_values));
            let (time, joined) = timed(|| join.seed(1).run(&lab.device));
            let (joined, stream) = (joined?, lab.device.default_stream());
            let sums = [joined.left_values().download(stream)?, joined.right_values().download(stream)?]
                .map(|values| values.into_iter().map(u64::from).sum());
            ensure!([joined.len() as u64, sums[0], sums[1]] == expected, "{} pairs, sums {sums:?}", joined.len());
            Ok(time)
        };
        let (mut theirs, mut theirs_all) = (|| one.run(expected), || all.run(expected));
        let names = ["join", op, "polars"];
        lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_pairs_that_are_expected() {
        for (rows, multiplicity) in [(64, 1), (64, MULTIPLICITY), (57, MULTIPLICITY)] {
            let tables = Tables::new(rows, multiplicity);
            assert_eq!(tables.keys[0].len() as u64, tables.keys[1].len() as u64 * multiplicity);
            assert!(tables.keys[0].iter().all(|key| tables.keys[1].contains(key)));
            assert_eq!(tables.expected()[0], 64);
        }
    }
}
