//! The 64-bit hashes of the strings of a column, computed by all cores.

use super::column::Strings;
use rayon::prelude::*;
use std::hash::{BuildHasher, Hasher};

pub use foldhash::quality::RandomState;

/// The fewest rows that a core processes at once. Fewer rows are done before another core wakes up.
pub(super) const MIN_ROWS: usize = 1 << 11;

/// Returns the hash of a string's bytes. Unlike `Hash for str`, it hashes no length and no extra
/// byte.
pub(super) fn hash_of(hasher: &impl BuildHasher, string: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(string);
    state.finish()
}

/// A column whose rows can be hashed. It is implemented for each type of column and hasher, and its
/// users are compiled once.
pub(super) trait Hashed: Strings {
    /// Returns the hashes of `hashes.len()` rows that begin at `first`.
    fn hash(&self, first: usize, hashes: &mut [u64]);
}

/// A column and its hasher.
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
