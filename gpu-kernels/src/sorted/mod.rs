//! A sorted array of keys with an index, which lets a binary search read one or two lines of memory
//! per level instead of one line per step.
//!
//! The cuckoo table was compared with a sorted array (Alcantara 2011, §4.5.1). The index is the
//! directory of Rao and Ross, *Cache Conscious Indexing for Decision-Support in Main Memory*
//! (1999): a search tree without pointers beside an array that does not change. docs/sort-by-key.md
//! describes the design.
//!
//! **Layout.** Level 0 contains the sorted keys. Level `l + 1` contains the last key of each full
//! group of [`GROUP`] keys in level `l`. The top level has fewer keys than a group. The levels are
//! stored one after the other. Each level is padded to whole groups with keys that are all ones, at
//! least one of them. No key is above such a key, so a search reads whole groups and never checks
//! for the end.
//!
//! [`Table`], below, is the search. `index` writes the levels, `find` and `bounds` launch searches,
//! and `binary_search` is for arrays without an index.

mod binary_search;
mod bounds;
mod find;
mod index;

pub use binary_search::{BinarySearch, BinarySearchParams};
pub use bounds::{Bounds, BoundsParams, CountRanges, RangesParams};
pub use find::{Find, FindParams};
pub use index::{Index, IndexParams};

use crate::seam::{Global, Tile};
use crate::types::KeyWord;

/// The binary logarithm of [`GROUP`].
const GROUP_BITS: u32 = 4;

/// The count of keys of a group: 64 bytes of narrow keys, 128 of wide ones.
pub const GROUP: u64 = 1 << GROUP_BITS;

/// Returns the count of key slots of a level with `entries` entries: whole groups, with at least
/// one slot after the last entry.
pub const fn padded_entries(entries: u64) -> u64 {
    (entries / GROUP + 1) * GROUP
}

/// A level of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Level {
    /// The index of the slot where the level's entries begin.
    pub first: u64,
    /// The binary logarithm of the distance between its keys: the level contains the last of each
    /// `2^shift` keys.
    pub shift: u64,
}

/// The layout of the levels over a count of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Layout {
    /// The count of keys, below 2^32.
    pub keys: u64,
    /// The level where searches begin.
    pub top: Level,
}

impl Layout {
    /// Returns the layout of `keys` keys.
    #[inline(always)]
    pub const fn new(keys: u64) -> Self {
        let mut layout = Self { keys, top: Level { first: 0, shift: 0 } };
        // At most sixteen steps: each level has a sixteenth of the entries below it.
        while layout.entries_of(layout.top) >= GROUP {
            layout.top = layout.above(layout.top);
        }
        layout
    }

    /// Returns the count of key slots of all levels together.
    pub const fn key_slots(&self) -> u64 {
        self.top.first + GROUP
    }

    /// Returns the count of entries of a level.
    #[inline(always)]
    pub const fn entries_of(&self, level: Level) -> u64 {
        self.keys >> level.shift
    }

    /// Returns the level that contains every [`GROUP`]th entry of `level`.
    #[inline(always)]
    const fn above(&self, level: Level) -> Level {
        Level { first: level.first + padded_entries(self.entries_of(level)), shift: level.shift + GROUP_BITS as u64 }
    }

    /// Returns the level below `level`, which contains all keys of `level` and those between them;
    /// `None` for the keys themselves.
    #[inline(always)]
    pub const fn below(&self, level: Level) -> Option<Level> {
        if level.shift == 0 {
            return None;
        }
        let shift = level.shift - GROUP_BITS as u64;
        Some(Level { first: level.first - padded_entries(self.keys >> shift), shift })
    }
}

/// Sorted keys and their index as an argument of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Table<K> {
    keys: Global<K>,
    layout: Layout,
}

impl<K: KeyWord> Table<K> {
    /// Returns the table of the keys and index at `keys`, which have the layout `layout`.
    #[inline(always)]
    pub fn new(keys: Global<K>, layout: Layout) -> Self {
        Self { keys, layout }
    }

    /// Returns the count of keys below `key`.
    #[inline(always)]
    pub fn lower_bound(&self, key: K) -> u32 {
        self.search(key).below
    }

    /// Returns the rank of `key`, if it is present. Of equal keys this is the rank of the first.
    #[inline(always)]
    pub fn rank(&self, key: K) -> Option<u32> {
        self.search(key).found(&self.layout)
    }

    #[inline(always)]
    fn search(&self, key: K) -> Search<K> {
        let mut search = Search::new(key);
        let mut next = Some(self.layout.top);
        // At most as many steps as levels.
        while let Some(level) = next {
            next = self.layout.below(level);
            search.step(self, level, next);
        }
        search
    }

    /// Takes the searches of a tile down to the keys, level by level. On the CPU, each lane's next
    /// group is being fetched while the other lanes search. `step` calls [`Search::step`] for all
    /// searches of a lane.
    #[inline(always)]
    fn descend<T, L: Tile>(
        &self,
        tile: &mut L,
        lanes: &mut L::Local<T>,
        step: impl Fn(&mut T, Level, Option<Level>) + Sync,
    ) {
        let mut next = Some(self.layout.top);
        // At most as many steps as levels.
        while let Some(level) = next {
            next = self.layout.below(level);
            tile.each(lanes, |_, lane| step(lane, level, next));
        }
    }
}

/// A search that descends through the levels.
#[derive(Clone, Copy, Debug)]
struct Search<K> {
    key: K,
    /// The count of entries below the key in the level that was searched last, which is also the
    /// index of the key's group in the next level.
    below: u32,
    /// Whether the key was among the entries that were read in that level. If so, it is the first
    /// entry that is not below it.
    met: bool,
}

impl<K: KeyWord> Search<K> {
    #[inline(always)]
    fn new(key: K) -> Self {
        Self { key, below: 0, met: false }
    }

    /// Searches the group of `level` that the search of the level above has found. `next` is the
    /// level below.
    ///
    /// Two comparisons leave four adjacent entries, which are read together. That makes three
    /// reads, all in one line of 64 bytes; wide keys take four reads in one or two lines. The last
    /// entry of a group is never below the key: it is all ones, or it is the first entry in the
    /// level above that is not below the key.
    #[inline(always)]
    fn step(&mut self, table: &Table<K>, level: Level, next: Option<Level>) {
        let first = self.below as u64 * GROUP;
        let group = table.keys.offset(level.first + first);
        let mut at = 0;
        if group.load_read_only(7) < self.key {
            at = 8;
        }
        if group.load_read_only(at + 3) < self.key {
            at += 4;
        }
        let [a, b, c, d] = group.load_four_read_only(at);
        let below = (a < self.key) as u32 + (b < self.key) as u32 + (c < self.key) as u32;
        self.below = (first + at) as u32 + below;
        self.met = (a == self.key) | (b == self.key) | (c == self.key) | (d == self.key);
        if let Some(next) = next {
            table.keys.prefetch(next.first + self.below as u64 * GROUP);
        }
    }

    /// Returns the rank of the key, if it is present and the keys themselves have been searched.
    #[inline(always)]
    fn found(&self, layout: &Layout) -> Option<u32> {
        // The padding after the last key is all ones.
        (self.met && (self.below as u64) < layout.keys).then_some(self.below)
    }
}
