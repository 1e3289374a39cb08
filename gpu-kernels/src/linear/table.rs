//! A table as kernels hold it, in three kinds: their types keep apart what must not happen in one launch.

use super::slot::{self, BESIDE, IfHeld, Inserted};
use super::{Layout, Slots, header};
use crate::seam::Global;

/// A table in use: threads may insert, look up and remove at the same time. The slot of a removed key stays its own.
///
/// No thread of the launch may hold the table as another kind.
#[derive(Clone, Copy, Debug)]
pub struct InUse {
    words: Global<u64>,
    header: Global<u64>,
    layout: Layout,
}

/// A table that is being filled: threads may insert and look up at the same time, and slots of removed keys are used again.
///
/// It has no way to remove, and no thread of the launch may hold the table as another kind.
#[derive(Clone, Copy, Debug)]
pub struct Filling(InUse);

/// A table that is being emptied: threads may remove and look up at the same time, and slots become empty where that cuts off no key.
///
/// It has no way to insert, and no thread of the launch may hold the table as another kind.
#[derive(Clone, Copy, Debug)]
pub struct Emptying(InUse);

/// In the cell of the key that is all ones: it is there.
const THERE: u64 = 1 << 32;

impl InUse {
    /// The table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<u64>, header: Global<u64>, layout: Layout) -> Self {
        Self { words, header, layout }
    }

    /// Gives the key the value; or, by `if_held`, keeps the one that it has. Without `may_take` a key that is not there, and had no slot
    /// before, is refused.
    #[inline(always)]
    pub fn insert(&self, key: u32, value: u32, if_held: IfHeld, may_take: bool) -> Inserted {
        if key == BESIDE {
            return self.insert_beside(value, if_held);
        }
        slot::insert_in_place(&Slots(self.words), &self.layout, key, value, if_held, may_take)
    }

    /// Removes the key; returns the value that it had.
    #[inline(always)]
    pub fn remove(&self, key: u32) -> Option<u32> {
        if key == BESIDE {
            return Self::in_cell(self.header.atomic(header::CELL).exchange(0));
        }
        slot::remove(&Slots(self.words), &self.layout, key)
    }

    /// The value of the key.
    #[inline(always)]
    pub fn get(&self, key: u32) -> Option<u32> {
        if key == BESIDE {
            return Self::in_cell(self.header.atomic(header::CELL).load());
        }
        slot::get(&Slots(self.words), &self.layout, key)
    }

    #[inline(always)]
    fn in_cell(word: u64) -> Option<u32> {
        if word == 0 { None } else { Some(word as u32) }
    }

    #[inline(always)]
    fn insert_beside(&self, value: u32, if_held: IfHeld) -> Inserted {
        let (cell, word) = (self.header.atomic(header::CELL), THERE | value as u64);
        let before = if if_held == IfHeld::Replace {
            cell.exchange(word)
        } else {
            // The cell of an absent key is 0, so this fails only if the key is there.
            cell.compare_exchange(0, word)
        };
        Inserted { before: Self::in_cell(before), taken: false, refused: false }
    }
}

impl Filling {
    /// The same table. Nobody may hold it as [`InUse`] any more.
    #[inline(always)]
    pub(super) fn of(table: InUse) -> Self {
        Self(table)
    }

    /// The table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<u64>, header: Global<u64>, layout: Layout) -> Self {
        Self(InUse::new(words, header, layout))
    }

    /// Gives the key the value; or, by `if_held`, keeps the one that it has. Without `may_take` a key that is not there is refused.
    #[inline(always)]
    pub fn insert(&self, key: u32, value: u32, if_held: IfHeld, may_take: bool) -> Inserted {
        if key == BESIDE {
            return self.0.insert_beside(value, if_held);
        }
        slot::insert_anywhere(&Slots(self.0.words), &self.0.layout, key, value, if_held, may_take)
    }

    /// The value of the key.
    #[inline(always)]
    pub fn get(&self, key: u32) -> Option<u32> {
        self.0.get(key)
    }
}

impl Emptying {
    /// The table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<u64>, header: Global<u64>, layout: Layout) -> Self {
        Self(InUse::new(words, header, layout))
    }

    /// Removes the key; returns the value that it had, and whether its slot is empty now.
    #[inline(always)]
    pub fn remove(&self, key: u32) -> Option<(u32, bool)> {
        if key == BESIDE {
            return self.0.remove(key).map(|value| (value, false));
        }
        slot::remove_and_empty(&Slots(self.0.words), &self.0.layout, key)
    }

    /// The value of the key.
    #[inline(always)]
    pub fn get(&self, key: u32) -> Option<u32> {
        self.0.get(key)
    }
}
