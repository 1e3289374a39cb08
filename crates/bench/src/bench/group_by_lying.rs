//! Benchmarks of group-by of rows whose sample lies or is hard, each beside honest rows of as many
//! groups.

use super::Bench;
use super::group_by::{Case, SEED};
use super::input::key;
use super::record::Record;
use warpnest::low_level::kernels::page::position;
use warpnest::low_level::sampled_rows;
use warpnest::primitives::Number;
use warpnest::relational::Method;
use warpnest::types::WordKey as Key;

/// The count of groups of rows that are not hot, and the count of hot keys.
const GROUPS: u64 = 1 << 20;
const HOT: u64 = 3;

/// The rows at the end of which hot keys are: one in so many.
const END: u64 = 50;

/// Measures sums of `n` values: of sorted rows, of rows with hot keys only at the end, of hot keys
/// that the sample does not draw, and of many keys that it does not draw. Before each are honest
/// rows of as many groups, all equally large and in random order.
pub fn measure<K: Key, V: Number<Sum = u64> + From<u32>>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let n = at.n;
    let drawn = drawn(at);
    let number_drawn = drawn.iter().filter(|&&drawn| drawn).count() as u64;
    let few = GROUPS.min(n / 4).max(1);
    let not_at_end = n - n / END;
    let uniform = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let mut records = Vec::new();
    let mut measure = |op, groups: u64, key: fn(u64) -> K, group: &dyn Fn(u64) -> u64| -> anyhow::Result<()> {
        let case = |rows, key| Case { rows, groups, skew: None, key };
        records.extend(case(honest(n, groups), key).measure::<V>(&at, &[(Method::Auto, "group_by_honest")])?);
        let rows = (0..n).map(|row| group(row) as u32).collect();
        records.extend(case(rows, key).measure::<V>(&at, &[(Method::Auto, op)])?);
        Ok(())
    };
    for groups in [1 << 10, few, n / 4] {
        measure("group_by_sorted", groups.clamp(1, n), K::from_u64, &|row| row * groups.clamp(1, n) / n)?;
    }
    for others in [few, not_at_end] {
        // The numbers of rows are random where there are fewer groups than rows.
        let other = |row: u64| if others == not_at_end { row } else { uniform(row) % others };
        measure("group_by_hot_at_end", others + HOT, key, &|row| match row < not_at_end {
            true => other(row),
            false => others + row % HOT,
        })?;
    }
    // Half of the rows have hot keys, which are in no row that is drawn.
    measure("group_by_hot_not_drawn", few + HOT, key, &|row| match drawn[row as usize] || row % 2 == 0 {
        true => uniform(row) % few,
        false => few + row / 2 % HOT,
    })?;
    // All have, except the ones that are drawn.
    let mut of_drawn = vec![0; n as usize];
    (0..n as usize).filter(|&row| drawn[row]).zip(HOT..).for_each(|(row, group)| of_drawn[row] = group);
    measure("group_by_all_hot_not_drawn", number_drawn + HOT, key, &|row| match drawn[row as usize] {
        true => of_drawn[row as usize],
        false => row % HOT,
    })?;
    // The sample sees one key, all others are distinct.
    let mut next = 0;
    for row in 0..n as usize {
        next += !drawn[row] as u64;
        of_drawn[row] = if drawn[row] { 0 } else { next };
    }
    measure("group_by_many_not_drawn", next + 1, key, &|row| of_drawn[row as usize])?;
    Ok(records)
}

/// Returns whether the sample draws each row.
fn drawn(at: Bench<'_>) -> Vec<bool> {
    let mut drawn = vec![false; at.n as usize];
    sampled_rows(at.device.default_stream(), at.n, SEED).for_each(|row| drawn[row as usize] = true);
    drawn
}

/// Returns the numbers of the groups of `n` rows: as many rows of each, in random order.
fn honest(n: u64, groups: u64) -> Vec<u32> {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let permuted = |row| {
        // What is beyond the rows goes on until it is among them.
        let mut row = position(row, key::<u64>(groups), bits);
        while row >= n {
            row = position(row, key::<u64>(groups), bits);
        }
        row
    };
    (0..n).map(|row| (permuted(row) % groups) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_groups_are_equally_large() {
        for (n, groups) in [(1, 1), (1000, 1), (1000, 7), (1 << 12, 1 << 12), (5000, 4900)] {
            let mut counts = vec![0; groups as usize];
            honest(n, groups).into_iter().for_each(|group| counts[group as usize] += 1);
            let (least, most) = (n / groups, n.div_ceil(groups));
            assert!(counts.iter().all(|count| (least..=most).contains(count)), "{n} rows of {groups} groups");
        }
    }
}
