//! The list of comparisons, in groups of operations on the same input.

use anyhow::Result;

use super::lab::{Hasher, Lab};
use super::record::Comparison;
use super::{clicks, maps, sorted, strings};

/// A function that compares operations on the same input.
pub type Group = fn(&Lab<'_>) -> Result<Vec<Comparison>>;

/// Returns all groups, each of which makes its own input.
pub const fn groups<S: Hasher>() -> [Group; 12] {
    [
        sorted::sorts,
        sorted::map,
        maps::multi::<S>,
        maps::unique::<S>,
        maps::unique_skewed::<S>,
        maps::linear::<S>,
        maps::extendible::<S>,
        maps::built::<S>,
        maps::page::<S>,
        maps::sets::<S>,
        strings::made_up::<S>,
        clicks::users::<S>,
    ]
}
