//! The tables that can be the base of a compacting table or a multimap. Every test of these two is
//! run on each.

use crate::maps::Map;
use warpnest::{CuckooConfig, IdTableConfig, PageConfig, TwoLevelConfig};

/// The configuration of a base table.
pub trait Form: IdTableConfig<Map<u32>: Map<u32, u32>, Map<u64>: Map<u64, u32>> + Default {
    /// A configuration with this seed for tables of this fullness; 1 is as full as they are by
    /// default, or fuller.
    fn with(seed: u64, fullness: f64) -> Self;
}

impl Form for PageConfig {
    fn with(seed: u64, fullness: f64) -> Self {
        Self::default().seed(seed).load(fullness)
    }
}

impl Form for CuckooConfig {
    fn with(seed: u64, fullness: f64) -> Self {
        // The number of functions, too, follows from the seed.
        let functions = 2 + (seed % 4) as u32;
        let fullest = [2.3, 1.25, 1.1, 1.05][functions as usize - 2];
        Self::default().seed(seed).functions(functions).slots_per_pair(fullest / fullness)
    }
}

impl Form for TwoLevelConfig {
    fn with(seed: u64, fullness: f64) -> Self {
        Self::default().seed(seed).items_per_bucket((409.0 * fullness).max(1.0))
    }
}

/// Expands to tests, each a function of a [`Form`], for each of the forms.
#[macro_export]
macro_rules! of_all_forms {
    ($($test:ident),+ $(,)?) => {
        $crate::of_all_forms! { @on page warpnest::PageConfig; $($test),+ }
        $crate::of_all_forms! { @on cuckoo warpnest::CuckooConfig; $($test),+ }
        $crate::of_all_forms! { @on two_level warpnest::TwoLevelConfig; $($test),+ }
    };
    (@on $form:ident $config:ty; $($test:ident),+) => {
        mod $form {
            $(
                #[test]
                fn $test() {
                    super::$test::<$config>();
                }
            )+
        }
    };
}
