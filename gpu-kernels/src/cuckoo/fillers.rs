//! Erasing a copy of a key from a set although no slot becomes empty.
//!
//! A search may end at an empty slot, since keys leave slots only for other keys. A copy in the
//! slot of a later function can therefore not simply be removed: a key that passed through its slot
//! would be behind an empty one. The copy is replaced by a *filler*: a key that none of the
//! functions maps to the slot. A lookup of that key never reads the slot, and for all other lookups
//! it is another key.
//!
//! So a key counts as one of the set only if it is in a slot of its own. Checking that takes no
//! memory access.

use super::Table;
use crate::table::slots::Slots;
use crate::types::{KeyWord, Payload, Scalar};

/// The count of keys that are tried for one slot. In tables of more than a few slots at least one
/// of them is a filler.
const TRIED: u64 = 256;

/// Returns whether none of the functions leads from `key` to `slot`.
#[inline(always)]
pub fn is_filler<K: KeyWord, V: Payload>(table: &Table<K, V>, key: K, slot: u32) -> bool {
    table.functions.search(key, |own| (own == slot).then_some(())).is_none()
}

/// Puts the smallest filler into `slot`; returns `false` if none of the keys that are tried is one.
/// No other thread writes to the slot.
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
