//! The experiments of Alcantara and others, *Building an Efficient Hash Table on the GPU* (2011,
//! section 4.5): docs/papers/alcantara.md.

mod construction;
mod contenders;
mod misses;
mod multiplicity;
mod rates;
mod repeated;
mod strides;
mod units;

pub use misses::misses;
pub use multiplicity::multiplicity;
pub use rates::rates;

use super::figure::Figure;
use super::lab::Lab;

/// Measures strided updates, and compares cuckoo construction with a prediction from their rates.
pub fn strides(lab: &Lab) -> anyhow::Result<[Figure; 3]> {
    let (strides, update) = strides::strides(lab)?;
    let [construction, exchanges] = construction::construction(lab, update)?;
    Ok([strides, construction, exchanges])
}
