//! Benchmarks of group-by of rows with a misleading or difficult sample, beside ordinary rows with
//! equally many groups.

use super::Bench;
use super::group_by::{Case, SEED};
use super::input::key;
use super::record::Record;
use warpnest::low_level::kernels::page::position;
use warpnest::low_level::sampled_rows;
use warpnest::primitives::Number;
use warpnest::relational::Method;
use warpnest::types::WordKey as Key;

/// The number of groups of rows that are not hot.
const GROUPS: u64 = 1 << 20;
/// The number of hot keys.
const HOT: u64 = 3;

/// The inverse of the share of rows, at the end, that have hot keys.
const END: u64 = 50;

/// Measures sums of `n` values for sorted rows, for rows with hot keys only at the end, and for
/// rows with hot keys, or many keys, that the sample does not draw. Before each, it measures rows
/// of equally many and equally large groups in random order.
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
        // If there are fewer groups than rows, the group of a row is random.
        let other = |row: u64| if others == not_at_end { row } else { uniform(row) % others };
        measure("group_by_hot_at_end", others + HOT, key, &|row| match row < not_at_end {
            true => other(row),
            false => others + row % HOT,
        })?;
    }
    // Half of the rows have hot keys, but the sample draws none of these rows.
    measure("group_by_hot_not_drawn", few + HOT, key, &|row| match drawn[row as usize] || row % 2 == 0 {
        true => uniform(row) % few,
        false => few + row / 2 % HOT,
    })?;
    // All rows have hot keys, except the rows that the sample draws.
    let mut of_drawn = vec![0; n as usize];
    (0..n as usize).filter(|&row| drawn[row]).zip(HOT..).for_each(|(row, group)| of_drawn[row] = group);
    measure("group_by_all_hot_not_drawn", number_drawn + HOT, key, &|row| match drawn[row as usize] {
        true => of_drawn[row as usize],
        false => row % HOT,
    })?;
    // Rows that the sample draws have one key, and all others distinct keys.
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

/// Returns the group ids of `n` rows. All groups have equally many rows, in random order.
fn honest(n: u64, groups: u64) -> Vec<u32> {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let permuted = |row| {
        // A permuted index beyond the rows is permuted again until it is a row.
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
