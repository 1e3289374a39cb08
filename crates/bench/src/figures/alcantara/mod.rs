//! The experiments of Alcantara and others, *Building an Efficient Hash Table on the GPU* (2011,
//! section 4.5): docs/alcantara.md.

mod construction;
mod contenders;
mod misses;
mod multiplicity;
mod rates;
mod repeated;
mod strides;

pub use misses::misses;
pub use multiplicity::multiplicity;
pub use rates::rates;

use super::Lab;
use super::figure::Figure;
use crate::bench::record::rounded;

/// The pairs of the tables of fixed size in (Alcantara 2011); fewer where that is the limit.
const TEN_MILLION: u64 = 10_000_000;

const PAIRS_A_SECOND: &str = "10⁹ pairs a second";
const QUERIES_A_SECOND: &str = "10⁹ queries a second";

/// Returns the rate in 10^9 a second, or 0 if the clock saw no time pass.
fn billions_a_second(number: u64, ms: f64) -> f64 {
    rounded(number as f64 / ms / 1e6)
}

/// Measures strided updates, and predicts from their rates the construction of a cuckoo table.
pub fn strides(lab: &Lab) -> anyhow::Result<[Figure; 3]> {
    let (strides, update) = strides::strides(lab)?;
    let [construction, exchanges] = construction::construction(lab, update)?;
    Ok([strides, construction, exchanges])
}
