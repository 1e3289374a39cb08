//! The tables on which a compacting table or a multimap can be built. Every test of these two
//! tables runs on each base table.

use crate::maps::Checked;
use warpnest::design::Config;
use warpnest::design::{Cuckoo, Ids, Page};
use warpnest::{CuckooConfig, PageConfig};

/// A design of base tables with keys `K`.
pub trait FormOf: Ids + Checked {}
impl<D: Ids + Checked> FormOf for D {}

/// The design of a base table.
pub trait Form: FormOf + FormOf {
    /// Returns a configuration with this seed; a `fullness` of 1 gives at least the default load
    /// factor.
    fn with(seed: u64, fullness: f64) -> Config<Self>;
}

impl Form for Page {
    fn with(seed: u64, fullness: f64) -> PageConfig {
        PageConfig::default().seed(seed).load(fullness)
    }
}

impl Form for Cuckoo {
    fn with(seed: u64, fullness: f64) -> CuckooConfig {
        // The count of hash functions follows from the seed, too.
        let functions = 2 + (seed % 4) as u32;
        let fullest = [2.3, 1.25, 1.1, 1.05][functions as usize - 2];
        CuckooConfig::default().seed(seed).functions(functions).slots_per_pair(fullest / fullness)
    }
}

/// Expands to tests that run each of the named functions with each [`Form`].
#[macro_export]
macro_rules! of_all_forms {
    ($($test:ident),+ $(,)?) => {
        $crate::of_all_forms! { @on page warpnest::design::Page; $($test),+ }
        $crate::of_all_forms! { @on cuckoo warpnest::design::Cuckoo; $($test),+ }
    };
    (@on $form:ident $design:ty; $($test:ident),+) => {
        mod $form {
            $(
                #[test]
                fn $test() {
                    super::$test::<$design>();
                }
            )+
        }
    };
}
