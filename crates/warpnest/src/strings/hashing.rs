//! Hashes of 64 bits for the strings of a column, on all cores.

use super::column::Strings;
use rayon::prelude::*;
use std::hash::{BuildHasher, Hasher};

pub use foldhash::quality::RandomState;

/// The fewest rows that a core takes at once: fewer are done before another core has woken up.
pub(super) const MIN_ROWS: usize = 1 << 11;

/// Returns the hash of a string: of its bytes alone, without a length before or a byte behind them.
pub(super) fn hash_of(hasher: &impl BuildHasher, string: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(string);
    state.finish()
}

/// Returns the hash of each row.
pub(super) fn hashes(strings: &(impl Strings + ?Sized), hasher: &(impl BuildHasher + Sync)) -> Vec<u64> {
    let rows = (0..strings.rows()).into_par_iter().with_min_len(MIN_ROWS);
    rows.map(|row| hash_of(hasher, strings.row(row))).collect()
}
