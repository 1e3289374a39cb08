//! Keys with chosen hashes.

use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use warpnest::low_level::kernels::extendible::Layout;
use warpnest::low_level::kernels::types::KeyWord as _;

/// The distribution of hashes over their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Evenly spread over the range.
    Uniform,
    /// Normally distributed around the middle of the range, with a standard deviation of 1/64 of
    /// the range.
    ///
    /// 95 % of the hashes are in the middle sixteenth of the range, where they are up to 25.5 times
    /// as dense as evenly spread hashes.
    Skewed,
}

/// The standard deviation, as a share of the whole range.
const DEVIATION: f64 = 1.0 / 64.0;

impl Spread {
    /// Returns `n` distinct keys, at most 2^32, whose hashes in a map with this layout have this
    /// distribution.
    ///
    /// The directory uses the upper half of a mixed key. The lower half is the index of the key, so
    /// that keys differ. Mixing is invertible.
    pub fn keys(self, layout: &Layout, n: u64) -> anyhow::Result<Vec<u64>> {
        let mut random = Xoshiro256StarStar::seed_from_u64(3);
        let normal = Normal::new(0.5, DEVIATION)?;
        let mut hash = || match self {
            Self::Uniform => random.next_u64() >> 32,
            // Hashes outside the range are practically impossible; `as` would clamp them to the
            // range.
            Self::Skewed => (normal.sample(&mut random) * 2f64.powi(32)) as u32 as u64,
        };
        Ok((0..n).map(|number| (hash() << 32 | number).unmixed(layout.a, layout.b)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use warpnest::{Device, ExtendibleConfig};

    #[test]
    fn keys_differ_and_their_hashes_are_where_they_should_be() {
        let layout = ExtendibleConfig::default().seed(5).create::<u64, u32>(&Device::cpu()).unwrap().table().layout();
        let n = 100_000;
        // The middle sixteenth of the range extends two standard deviations to each side.
        for (spread, share, most_off) in [(Spread::Uniform, 1.0 / 16.0, 0.005), (Spread::Skewed, 0.9545, 0.005)] {
            let keys = spread.keys(&layout, n).unwrap();
            assert_eq!(keys.iter().collect::<HashSet<_>>().len() as u64, n);
            let parts = layout.roots as f64;
            let middle = |hash_position: &f64| (hash_position / parts - 0.5).abs() < 1.0 / 32.0;
            let positions =
                keys.iter().map(|key| layout.hash_position(key.mixed(layout.a, layout.b)) as f64 / 2f64.powi(32));
            let found = positions.filter(middle).count() as f64 / n as f64;
            assert!((found - share).abs() < most_off, "{spread:?}: {found}");
        }
    }
}
