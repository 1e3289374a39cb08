//! The tables that (Alcantara 2011) compares, and those of this library beside them.

use warpnest::{CuckooConfig, CuckooMap, PageConfig, PageMap, SortedConfig, SortedMap, TwoLevelConfig, TwoLevelMap};

use crate::bench::maps::{BulkMap, Subjects};
use crate::figures::figure::Series;

/// Keys and values of 32 bits, as in (Alcantara 2011).
pub type Pairs<'d> = Subjects<'d, u32, u32>;

type Map = Box<dyn BulkMap<u32, u32>>;

/// A table, and the function that builds it from pairs.
pub struct Contender {
    pub name: &'static str,
    pub build: fn(&Pairs<'_>) -> warpnest::Result<Map>,
}

impl Contender {
    /// A line that has no points yet.
    pub fn series(&self) -> Series {
        Series { name: self.name, points: Vec::new(), cited: None }
    }
}

/// Builds with a configuration, and without looking for repeated keys.
macro_rules! build {
    ($map:ident, $config:expr) => {
        |pairs| {
            let stream = pairs.device.default_stream();
            let config = $config.assume_unique();
            let map: $map<u32, u32> = config.build_on(stream, pairs.device, &pairs.keys, &pairs.values)?;
            Ok(Box::new(map))
        }
    };
}

fn cuckoo(functions: u32, slots_per_pair: f64) -> CuckooConfig {
    CuckooConfig::default().functions(functions).slots_per_pair(slots_per_pair).seed(1)
}

pub const CUCKOO: Contender = Contender { name: "CuckooMap, 1.25 N slots", build: build!(CuckooMap, cuckoo(4, 1.25)) };
/// A cuckoo map in as much space as the two-level table of (Alcantara 2011) takes.
pub const CUCKOO_IN_MORE: Contender =
    Contender { name: "CuckooMap, 1.42 N slots", build: build!(CuckooMap, cuckoo(4, 1.42)) };
pub const CUCKOO_OF_FOUR: Contender = Contender { name: "CuckooMap, 4 functions", ..CUCKOO };
/// A cuckoo map with as many functions as the two-level table has.
pub const CUCKOO_OF_THREE: Contender =
    Contender { name: "CuckooMap, 3 functions", build: build!(CuckooMap, cuckoo(3, 1.25)) };
pub const TWO_LEVEL: Contender =
    Contender { name: "TwoLevelMap", build: build!(TwoLevelMap, TwoLevelConfig::default().seed(1)) };
pub const PAGE: Contender =
    Contender { name: "PageMap, load .8", build: build!(PageMap, PageConfig::default().load(0.8).seed(1)) };
pub const SORTED: Contender = Contender { name: "SortedMap", build: build!(SortedMap, SortedConfig::default()) };
