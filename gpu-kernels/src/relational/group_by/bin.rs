//! The rows of a bin, and the arrays to which its groups are written.

use super::bin_table::GroupPage;
use super::columns::each_on_chip;
use super::in_memory::InMemory;
use crate::seam::{Global, Shared};
use crate::split::pairs::Pairs;
use crate::types::{KeyWord, Payload, Row, WordOf};

/// The most slots that are probed for a row. If more are needed, nearly all slots of the page are
/// used.
pub(super) const MAX_STEPS: u32 = 64;

/// The rows that a block reads.
#[derive(Clone, Copy)]
pub(super) struct Rows<K: KeyWord, V: Payload> {
    pub pairs: Pairs<false, K, V>,
    /// The index of the first row, and the count of rows.
    pub first: u64,
    pub count: u32,
    /// Whether the rows come from a split, so that all of them are of this bin, and their keys are
    /// mixed already. Otherwise `a` and `b` are the constants of the mix.
    pub split: bool,
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord, V: Payload> Rows<K, V> {
    /// Returns the rows starting at index `row` among these rows.
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

/// The arrays to which groups are written. The array of an aggregate that is not wanted is null.
#[derive(Clone, Copy)]
pub(super) struct Groups<K: KeyWord, V: Row> {
    pub keys: Global<K>,
    pub aggregates: InMemory<WordOf<V>>,
    /// The listed columns, if `V` is a list.
    pub columns: Global<u64>,
    /// The capacity of the arrays, in groups.
    pub capacity: u64,
    /// The count of groups that the arrays contain already.
    pub before: u64,
    /// The constants of the mix.
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord, V: Row> Groups<K, V> {
    /// Writes the group in a slot of a page at index `target` among the new groups, if the capacity
    /// allows.
    #[inline(always)]
    pub fn write<S: Shared<u32>>(&self, target: u64, mixed: K, page: &GroupPage<S>, slot: u32) {
        let target = self.before + target;
        if target >= self.capacity {
            return;
        }
        self.keys.store(target, mixed.unmixed(self.a, self.b));
        let copies = page.copies(slot);
        self.aggregates.write(target, page.chip.merged(copies, slot), page.column);
        if V::IS_LIST {
            each_on_chip!((column, own) in self.columns, after page.chip => { column.write(&own, (copies, slot), target); });
        }
    }
}
