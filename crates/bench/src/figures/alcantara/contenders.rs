//! The tables that (Alcantara 2011) compares, and the other tables of this library.

use warpnest::design::Builds;
use warpnest::design::{BulkMap, Config};
use warpnest::{Buffer, CuckooConfig, PageConfig, Result, SortedConfig, TwoLevelConfig};

use crate::bench::maps::Subjects;
use crate::figures::figure::Series;

/// Keys and values of 32 bits, as in (Alcantara 2011).
pub type Pairs<'d> = Subjects<'d, u32, u32>;

/// A map of any design, with the measurements of [`Subjects`].
pub trait Map {
    fn rebuild_ms(&mut self, pairs: &Pairs<'_>) -> Result<f64>;
    fn find(&self, pairs: &Pairs<'_>, queries: &Buffer<u32>) -> Result<(f64, Vec<Option<u32>>)>;
}

impl<D: Builds> Map for BulkMap<u32, u32, D> {
    fn rebuild_ms(&mut self, pairs: &Pairs<'_>) -> Result<f64> {
        pairs.rebuild_ms(self)
    }
    fn find(&self, pairs: &Pairs<'_>, queries: &Buffer<u32>) -> Result<(f64, Vec<Option<u32>>)> {
        pairs.find(self, queries)
    }
}

/// A table in a figure, and the function that builds it from pairs.
pub struct Contender {
    pub name: &'static str,
    pub build: fn(&Pairs<'_>) -> Result<Box<dyn Map>>,
}

impl Contender {
    /// Returns a line without points.
    pub fn series(&self) -> Series {
        Series { name: self.name, points: Vec::new(), cited: None }
    }
}

/// Builds a table without a check for repeated keys.
fn build<D: Builds>(pairs: &Pairs<'_>, config: Config<D>) -> Result<Box<dyn Map>> {
    Ok(Box::new(pairs.build(&config.assume_unique())?))
}

fn cuckoo(pairs: &Pairs<'_>, functions: u32, slots_per_pair: f64) -> Result<Box<dyn Map>> {
    build(pairs, CuckooConfig::default().functions(functions).slots_per_pair(slots_per_pair).seed(1))
}

pub const CUCKOO: Contender = Contender { name: "CuckooMap, 1.25 N slots", build: |pairs| cuckoo(pairs, 4, 1.25) };
/// A cuckoo map in the same space as the two-level table of (Alcantara 2011).
pub const CUCKOO_IN_MORE: Contender =
    Contender { name: "CuckooMap, 1.42 N slots", build: |pairs| cuckoo(pairs, 4, 1.42) };
pub const CUCKOO_OF_FOUR: Contender = Contender { name: "CuckooMap, 4 functions", ..CUCKOO };
/// A cuckoo map with the same number of functions as the two-level table.
pub const CUCKOO_OF_THREE: Contender =
    Contender { name: "CuckooMap, 3 functions", build: |pairs| cuckoo(pairs, 3, 1.25) };
pub const TWO_LEVEL: Contender =
    Contender { name: "TwoLevelMap", build: |pairs| build(pairs, TwoLevelConfig::default().seed(1)) };
pub const PAGE: Contender =
    Contender { name: "PageMap, load .8", build: |pairs| build(pairs, PageConfig::default().load(0.8).seed(1)) };
pub const SORTED: Contender = Contender { name: "SortedMap", build: |pairs| build(pairs, SortedConfig::default()) };
