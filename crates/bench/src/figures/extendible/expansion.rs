//! The sizes of buckets and directories: the predictions of (Hu 2015, §3.2), and counted sizes.

use std::f64::consts::{E, LN_2};

use warpnest::extendible::ExtendibleReport;

/// The size of a map with `keys` keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub keys: u64,
    /// The number of entries of the segment table.
    pub segments: u64,
    pub tables: u64,
    /// The number of entries of a bucket table.
    pub entries_of_table: u64,
    pub buckets: u64,
    /// The entries of a directory with one level for the same buckets.
    pub one_level: u64,
    pub depth: u32,
}

impl From<ExtendibleReport> for Size {
    fn from(report: ExtendibleReport) -> Self {
        Self {
            keys: report.records,
            segments: report.segments,
            tables: report.bucket_tables,
            entries_of_table: report.buckets_of_table,
            buckets: report.buckets,
            one_level: report.one_level_entries,
            depth: report.global_depth,
        }
    }
}

impl Size {
    /// Returns the number of entries of the directory, on both levels.
    pub fn directory(&self) -> u64 {
        self.segments + self.tables * self.entries_of_table
    }
}

/// An expansion of the segment table, and the new bucket tables of the same batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expansion {
    /// The number of keys after the batch.
    pub keys: u64,
    /// The depth of the directory after the batch.
    pub depth: u32,
    /// The number of entries of the segment table before the expansion (M).
    pub segments: u64,
    /// The number of entries added to the segment table: M if it doubled once.
    pub new_segments: u64,
    /// The number of new bucket tables (a).
    pub new_tables: u64,
    /// The number of entries of each new bucket table (N).
    pub entries_of_table: u64,
}

impl Expansion {
    /// Returns the expansion between two sizes, or `None` if the segment table was not expanded.
    pub fn between(before: &Size, after: &Size) -> Option<Self> {
        (after.segments > before.segments).then(|| Self {
            keys: after.keys,
            depth: after.depth,
            segments: before.segments,
            new_segments: after.segments - before.segments,
            new_tables: after.tables - before.tables,
            entries_of_table: after.entries_of_table,
        })
    }

    /// Returns all expansions in a sequence of sizes.
    pub fn all(sizes: &[Size]) -> Vec<Self> {
        sizes.windows(2).filter_map(|pair| Self::between(&pair[0], &pair[1])).collect()
    }

    /// Returns the number of entries that the expansion adds to the directory: M + aN.
    pub fn entries(&self) -> u64 {
        self.new_segments + self.new_tables * self.entries_of_table
    }

    /// Returns the number of entries that it would add to a directory with one level: MN.
    pub fn one_level_entries(&self) -> u64 {
        self.new_segments * self.entries_of_table
    }

    /// Returns the share of the new segments that have their own bucket tables: a / M.
    pub fn share(&self) -> f64 {
        self.new_tables as f64 / self.new_segments as f64
    }
}

/// Returns the predicted entries of the directory for each size, if only expansions of the segment
/// table add entries.
///
/// It begins with the first size's entries, and adds M + aN per expansion.
pub fn predicted(sizes: &[Size]) -> Vec<u64> {
    let mut entries = sizes.first().map_or(0, Size::directory);
    let mut predicted: Vec<u64> = sizes.first().map(|_| entries).into_iter().collect();
    for pair in sizes.windows(2) {
        entries += Expansion::between(&pair[0], &pair[1]).map_or(0, |expansion| expansion.entries());
        predicted.push(entries);
    }
    predicted
}

/// Returns the expected number of buckets of `records` records for `keys` keys, at a fill of ln 2.
pub fn expected_buckets(keys: u64, records: u32) -> f64 {
    keys as f64 / (records as f64 * LN_2)
}

/// Returns the number of entries of a directory with one level for `keys` evenly spread keys, in
/// the limit of very many keys.
///
/// It is an average over the number of keys (Flajolet 1983): e / ln 2 · keys^(1 + 1/b) / b. Its
/// order is in (Hu 2015).
pub fn asymptotic_one_level(keys: u64, records: u32) -> f64 {
    let b = records as f64;
    E / LN_2 * (keys as f64).powf(1.0 + 1.0 / b) / b
}

/// Returns the expected number of entries of a directory with one level for `keys` keys, which has
/// `roots` entries at first.
///
/// The directory has a depth if no part of the range overflows at this depth. The parts' key counts
/// are taken as independent, with Poisson's distribution.
pub fn expected_one_level(keys: u64, records: u32, roots: u64) -> f64 {
    let (mut expected, mut less_deep) = (0.0, 0.0);
    for depth in 0..=32 {
        let parts = (roots << depth) as f64;
        let deep_enough = (parts * (-overflowing(keys as f64 / parts, records)).ln_1p()).exp();
        expected += parts * (deep_enough - less_deep);
        less_deep = deep_enough;
    }
    expected
}

/// Returns the expected entries of a directory with two levels for `keys` evenly spread keys. It
/// begins with `segments` segments of `buckets` buckets each.
///
/// If any part of a bucket table's range overflows, the table is split, so there is one more table.
pub fn expected_directory(keys: u64, records: u32, (segments, buckets): (u32, u32)) -> f64 {
    let (segments, buckets) = (segments as f64, buckets as f64);
    let of_segments = expected_one_level(keys, records, (segments * buckets) as u64) / buckets;
    let splits = (0..=32).map(|depth| {
        let tables = segments * 2f64.powi(depth);
        let overflowing = overflowing(keys as f64 / (tables * buckets), records);
        // This is 1 less the probability that no part overflows.
        -tables * (buckets * (-overflowing).ln_1p()).exp_m1()
    });
    of_segments + buckets * (segments + splits.sum::<f64>())
}

/// Returns the probability that a part of the range, which has `mean` keys on average, has more
/// than `records` keys.
fn overflowing(mean: f64, records: u32) -> f64 {
    if mean == 0.0 {
        return 0.0;
    }
    let mut log_factorial: f64 = (1..=records).map(|k| (k as f64).ln()).sum();
    // Terms this far above the mean are negligible.
    let last = records + (mean + 20.0 * mean.sqrt()) as u32 + 40;
    let terms = (records + 1..=last).map(|k| {
        log_factorial += (k as f64).ln();
        (k as f64 * mean.ln() - mean - log_factorial).exp()
    });
    terms.sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256StarStar;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::collections::HashSet;

    fn size(keys: u64, segments: u64, tables: u64) -> Size {
        Size { keys, segments, tables, entries_of_table: 16, buckets: 0, one_level: 16 * segments, depth: 0 }
    }

    #[test]
    fn expansions_are_what_came_with_a_longer_segment_table() {
        // A doubling with one new bucket table, a new bucket table without a doubling, and two
        // doublings at once.
        let sizes = [size(0, 2, 2), size(10, 4, 3), size(20, 4, 4), size(30, 16, 7)];
        let expansions = Expansion::all(&sizes);
        let numbers =
            |e: &Expansion| (e.keys, e.segments, e.new_segments, e.new_tables, e.entries(), e.one_level_entries());
        assert_eq!(
            expansions.iter().map(numbers).collect::<Vec<_>>(),
            [(10, 2, 2, 1, 18, 32), (30, 4, 12, 3, 60, 192)]
        );
        assert_eq!(expansions[0].share(), 0.5);
        assert_eq!(predicted(&sizes), [34, 52, 52, 112]);
        assert_eq!(sizes[3].directory() - predicted(&sizes)[3], 16, "the table that came without an expansion");
        assert!(predicted(&[]).is_empty());
    }

    #[test]
    fn the_formulas_are_those_of_the_literature() {
        assert_eq!(expected_buckets(64_000, 64).round(), 1443.0);
        // This is Flajolet's constant, 3.92.
        assert!((asymptotic_one_level(1, 1) - 3.92).abs() < 0.005);
        assert!((asymptotic_one_level(1 << 20, 20) / (1u64 << 20) as f64 - 3.92 * 2.0 / 20.0).abs() < 0.001);
    }

    #[test]
    fn the_expectation_of_one_level_is_that_of_the_distribution_of_keys() {
        // With a mean of 1, the share of parts without a key is 1/e, and so is the share with one
        // key.
        assert!((overflowing(1.0, 1) - (1.0 - 2.0 / E)).abs() < 1e-12);
        assert!((overflowing(5000.0, 64) - 1.0).abs() < 1e-9 && overflowing(0.0, 64) == 0.0);
        // Random draws of 2000 keys, with 4 segments of 4 roots, and 8 records per bucket.
        let (keys, records, draws) = (2000, 8, 400);
        let mut random = Xoshiro256StarStar::seed_from_u64(9);
        let (mut one_level, mut two_levels) = (0, 0);
        for _ in 0..draws {
            let hashes: Vec<u64> = (0..keys).map(|_| random.next_u64()).collect();
            let (mut depth, mut tables) = (0, 4);
            loop {
                let mut counts = vec![0; 16 << depth];
                hashes.iter().for_each(|hash| counts[(hash >> (60 - depth)) as usize] += 1);
                // The parts of a bucket table agree in the first two bits, and in the bits after
                // the first four.
                let table = |part: usize| (part >> (2 + depth), part & ((1 << depth) - 1));
                let overflowing = (0..counts.len()).filter(|&part| counts[part] > records).map(table);
                let split = overflowing.collect::<HashSet<_>>().len();
                if split == 0 {
                    break;
                }
                (depth, tables) = (depth + 1, tables + split);
            }
            one_level += 16 << depth;
            two_levels += (4 << depth) + 4 * tables;
        }
        let expected = [expected_one_level(keys, records, 16), expected_directory(keys, records, (4, 4))];
        for (drawn, expected) in [one_level, two_levels].into_iter().zip(expected) {
            let mean = drawn as f64 / draws as f64;
            assert!((mean / expected - 1.0).abs() < 0.1, "{mean} drawn, {expected} expected");
        }
        // With so few keys, a root is hardly ever split.
        assert!((expected_one_level(5, 8, 16) - 16.0).abs() < 1e-6);
        assert!((expected_directory(5, 8, (4, 4)) - 20.0).abs() < 1e-6);
    }
}
