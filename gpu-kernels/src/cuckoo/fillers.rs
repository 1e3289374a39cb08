//! Erasing a copy of a key from a set without making its slot empty.
//!
//! A search ends at an empty slot, since keys leave slots only for other keys. A copy in the slot
//! of a later function can therefore not simply be removed, since a key that was evicted from that
//! slot would then come after an empty one. Instead the copy is replaced by a *filler*: a key that
//! no function maps to the slot. A lookup of the filler's key never reads the slot, and for all
//! other lookups it is another key.
//!
//! So a key counts as a key of the set only if it is in one of its own slots. Checking that takes
//! no memory access.

use super::Table;
use crate::table::slots::Slots;
use crate::types::{KeyWord, Payload, Scalar};

/// The count of keys that are tried as fillers of a slot. In tables of more than a few slots at
/// least one of them is a filler.
const TRIED: u64 = 256;

/// Returns whether no function maps `key` to `slot`.
#[inline(always)]
pub fn is_filler<K: KeyWord, V: Payload>(table: &Table<K, V>, key: K, slot: u32) -> bool {
    table.functions.search(key, |own| (own == slot).then_some(())).is_none()
}

/// Writes the smallest filler to `slot`. Returns `false` if none of the keys that are tried is a
/// filler. No other thread may write to the slot.
#[inline(always)]
pub(super) fn put_filler<K: KeyWord, V: Payload>(table: &Table<K, V>, slot: u32) -> bool {
    let mut number = 0;
    while number < TRIED {
        let key = K::from_u64(number);
        if is_filler(table, key, slot) {
            table.slots.replace(slot, Slots::<K, V>::item(key, Scalar::from_u64(0)));
            return true;
        }
        number += 1;
    }
    false
}
