//! A table as an argument of kernels, in three types, which separate operations that must not
//! happen in the same launch.

use super::slot::{self, IfHeld, Inserted};
use super::{Layout, Slots, header};
use crate::double_word::{Double, PackedPair};
use crate::seam::{Atomic, DeviceScope, Global};
use crate::types::{KeyWord, Scalar, ValueWord};

/// A table in use: threads may insert, look up and remove concurrently. The slot of a removed key
/// stays reserved for that key.
///
/// No thread of the launch may use the table through another type.
#[derive(Clone, Copy, Debug)]
pub struct InUse<K: KeyWord, V: ValueWord> {
    words: Global<PackedPair<K, V>>,
    header: Global<u64>,
    layout: Layout,
}

/// A table that is being filled: threads may insert and look up concurrently, and slots of removed
/// keys are used again.
///
/// It has no operation that removes, and no thread of the launch may use the table through another
/// type.
#[derive(Clone, Copy, Debug)]
pub struct Filling<K: KeyWord, V: ValueWord>(InUse<K, V>);

/// A table that is being emptied: threads may remove and look up concurrently, and slots become
/// empty if no search for another key needs them.
///
/// It has no operation that inserts, and no thread of the launch may use the table through another
/// type.
#[derive(Clone, Copy, Debug)]
pub struct Emptying<K: KeyWord, V: ValueWord>(InUse<K, V>);

/// Converts a key or value to half of a word, or half of a word back to the key or value.
#[inline(always)]
pub(super) fn resized<To: Scalar>(from: impl Scalar) -> To {
    To::from_u64(from.to_u64())
}

/// Returns the value of an operation: its element of the array, or `value` if the array is null.
#[inline(always)]
pub(super) fn given<V: ValueWord>(values: Global<V>, index: u64, value: u64) -> V {
    if values.is_null() { V::from_u64(value) } else { values.load_streaming(index) }
}

/// Returns the word of the cell if the key that is all ones has this value.
#[inline(always)]
fn cell_of<W: Double>(value: W::Half) -> W {
    W::of(W::Half::from_u64(1), value)
}

/// Returns the value in the cell of the key that is all ones.
#[inline(always)]
pub(super) fn in_cell<W: Double>(word: W) -> Option<W::Half> {
    if word == W::default() { None } else { Some(word.lower()) }
}

impl<K: KeyWord, V: ValueWord> InUse<K, V> {
    /// Returns the table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self { words, header, layout }
    }

    /// Inserts the key, or replaces, keeps or combines its value, according to `if_held`. If
    /// `may_take` is false, an absent key that has had no slot before is refused.
    #[inline(always)]
    pub fn insert(&self, key: K, value: V, if_held: IfHeld, may_take: bool) -> Inserted<V> {
        if key == K::ALL_ONES {
            return self.insert_beside(value, if_held);
        }
        let (key, value) = (resized(key), resized(value));
        slot::insert_in_place(&Slots(self.words), &self.layout, key, value, if_held, may_take).map(resized)
    }

    /// Inserts the key as [`InUse::insert`] does with `may_take`, but probes at most `buckets`
    /// buckets. A key that finds neither its own slot nor an empty slot there is refused.
    #[inline(always)]
    pub fn insert_within(&self, key: K, value: V, if_held: IfHeld, buckets: u32) -> Inserted<V> {
        if key == K::ALL_ONES {
            return self.insert_beside(value, if_held);
        }
        let pair = (resized(key), resized(value));
        slot::insert_in_place_within(&Slots(self.words), &self.layout, pair, if_held, true, buckets).map(resized)
    }

    /// Removes the key. Returns the value that it had.
    #[inline(always)]
    pub fn remove(&self, key: K) -> Option<V> {
        if key == K::ALL_ONES {
            return in_cell(self.cell().exchange(Default::default())).map(resized);
        }
        slot::remove(&Slots(self.words), &self.layout, resized(key)).map(resized)
    }

    /// Returns the value of the key.
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        if key == K::ALL_ONES {
            return in_cell(self.cell().load()).map(resized);
        }
        slot::get(&Slots(self.words), &self.layout, resized(key)).map(resized)
    }

    #[inline(always)]
    fn cell(&self) -> Atomic<PackedPair<K, V>, DeviceScope> {
        self.header.cast().atomic(header::CELL)
    }

    #[inline(always)]
    fn insert_beside(&self, value: V, if_held: IfHeld) -> Inserted<V> {
        let (cell, word) = (self.cell(), cell_of::<PackedPair<K, V>>(resized(value)));
        let before = match if_held {
            IfHeld::Replace => cell.exchange(word),
            // The cell of an absent key is 0, so this fails only if the key is there.
            IfHeld::Keep => cell.compare_exchange(Default::default(), word),
            IfHeld::Combine(fold) => {
                let mut seen = cell.load();
                // At most one step more than other threads change the cell concurrently.
                loop {
                    let new = in_cell(seen).map_or(word, |held| cell_of(fold.of(held, word.lower())));
                    let now = cell.compare_exchange(seen, new);
                    if now == seen {
                        break seen;
                    }
                    seen = now;
                }
            }
        };
        Inserted { before: in_cell(before).map(resized), taken: false, refused: false }
    }
}

impl<K: KeyWord, V: ValueWord> Filling<K, V> {
    /// Returns the same table for filling. No thread may use it as [`InUse`] any more.
    #[inline(always)]
    pub(super) fn of(table: InUse<K, V>) -> Self {
        Self(table)
    }

    /// Returns the table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self(InUse::new(words, header, layout))
    }

    /// Inserts the key, or replaces, keeps or combines its value, according to `if_held`. If
    /// `may_take` is false, an absent key is refused.
    #[inline(always)]
    pub fn insert(&self, key: K, value: V, if_held: IfHeld, may_take: bool) -> Inserted<V> {
        if key == K::ALL_ONES {
            return self.0.insert_beside(value, if_held);
        }
        let (key, value) = (resized(key), resized(value));
        slot::insert_anywhere(&Slots(self.0.words), &self.0.layout, key, value, if_held, may_take).map(resized)
    }

    /// Returns the value of the key.
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        self.0.get(key)
    }
}

impl<K: KeyWord, V: ValueWord> Emptying<K, V> {
    /// Returns the table with this layout, slots and header.
    #[inline(always)]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self(InUse::new(words, header, layout))
    }

    /// Removes the key. Returns the value that it had, and whether its slot is empty now.
    #[inline(always)]
    pub fn remove(&self, key: K) -> Option<(V, bool)> {
        if key == K::ALL_ONES {
            return self.0.remove(key).map(|value| (value, false));
        }
        let removed = slot::remove_and_empty(&Slots(self.0.words), &self.0.layout, resized(key));
        removed.map(|(value, emptied)| (resized(value), emptied))
    }

    /// Returns the value of the key.
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        self.0.get(key)
    }
}
