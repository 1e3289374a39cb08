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

/// A column whose rows can be hashed. Only this is compiled for each type of columns and hashers:
/// what takes it is compiled once.
pub(super) trait Hashed: Strings {
    /// Returns the hashes of the rows that begin at `first`, as many as there are `hashes`.
    fn hash(&self, first: usize, hashes: &mut [u64]);
}

/// A column and what hashes its rows.
pub(super) struct With<'a, S: ?Sized, H>(pub &'a S, pub &'a H);

impl<S: Strings + ?Sized, H: Sync> Strings for With<'_, S, H> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn row(&self, row: usize) -> &[u8] {
        self.0.row(row)
    }
}

impl<S: Strings + ?Sized, H: BuildHasher + Sync> Hashed for With<'_, S, H> {
    fn hash(&self, first: usize, hashes: &mut [u64]) {
        for (row, hash) in (first..).zip(hashes) {
            *hash = hash_of(self.1, self.0.row(row));
        }
    }
}

/// Returns the hash of each row.
pub(super) fn hashes(column: &dyn Hashed) -> Vec<u64> {
    let mut hashes = vec![0; column.rows()];
    let parts = hashes.par_chunks_mut(MIN_ROWS).enumerate();
    parts.for_each(|(part, hashes)| column.hash(part * MIN_ROWS, hashes));
    hashes
}
