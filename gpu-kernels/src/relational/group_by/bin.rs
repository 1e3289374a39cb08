//! The rows of a bin, and the arrays that its groups are written to.

use super::bin_table::GroupPage;
use crate::seam::{Global, Shared};
use crate::split::pairs::Pairs;
use crate::types::{KeyWord, Payload, WordOf};

/// The most slots that are looked into for a row. Where more are needed, nearly all slots of the
/// page are taken.
pub(super) const MAX_STEPS: u32 = 64;

/// The rows that a block reads.
#[derive(Clone, Copy)]
pub(super) struct Rows<K: KeyWord, V: Payload> {
    pub pairs: Pairs<false, K, V>,
    /// The index of the first row, and how many there are.
    pub first: u64,
    pub count: u32,
    /// Whether they come from a split: then all of them are of this bin, and their keys are mixed
    /// already. Otherwise these are the constants of the mix.
    pub split: bool,
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord, V: Payload> Rows<K, V> {
    /// Returns the same rows without those before index `row`.
    #[inline(always)]
    pub fn from(&self, row: u32) -> Self {
        Self { first: self.first + row as u64, ..*self }
    }

    /// Loads a row.
    #[inline(always)]
    pub fn load(&self, row: u32) -> (K, V::Word) {
        let at = self.first + row as u64;
        if self.split { self.pairs.load(at) } else { self.pairs.load_apart(at) }
    }
}

/// The arrays that groups are written to; null where an aggregate is not wanted.
#[derive(Clone, Copy)]
pub(super) struct Groups<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub counts: Global<u32>,
    pub sums: Global<u64>,
    pub minima: Global<WordOf<V>>,
    pub maxima: Global<WordOf<V>>,
    /// The count of groups that there is capacity for.
    pub capacity: u64,
    /// The count of groups that were there before.
    pub before: u64,
    /// The constants of the mix.
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord, V: Payload> Groups<K, V> {
    /// Writes the group in a slot of a page as index `target` of the new ones, if there is capacity
    /// for it.
    #[inline(always)]
    pub fn write<S: Shared<u32>>(&self, target: u64, mixed: K, page: &GroupPage<S>, slot: u32) {
        let target = self.before + target;
        if target >= self.capacity {
            return;
        }
        let GroupPage { wanted, column, chip, .. } = page;
        self.keys.store(target, mixed.unmixed(self.a, self.b));
        if wanted.counts {
            self.counts.store(target, chip.count(slot));
        }
        if V::VALUE_BITS == 0 {
            return;
        }
        if wanted.sums {
            self.sums.store(target, chip.sum(slot));
        }
        if wanted.minima {
            self.minima.store(target, column.of_min_rank(chip.minimum::<V::Word>(slot)));
        }
        if wanted.maxima {
            self.maxima.store(target, column.of_max_rank(chip.maximum::<V::Word>(slot)));
        }
    }
}
