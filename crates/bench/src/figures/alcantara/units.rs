//! The sizes and the units of the figures of (Alcantara 2011).

use crate::bench::record::rounded;

/// The number of pairs in the tables of fixed size in (Alcantara 2011), unless the limit is lower.
pub const TEN_MILLION: u64 = 10_000_000;

pub const PAIRS_A_SECOND: &str = "10⁹ pairs a second";
pub const QUERIES_A_SECOND: &str = "10⁹ queries a second";

/// Returns the rate in 10^9 per second, or 0 if the measured time is 0.
pub fn billions_a_second(number: u64, ms: f64) -> f64 {
    rounded(number as f64 / ms / 1e6)
}
