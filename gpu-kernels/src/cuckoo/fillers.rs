//! How a copy of a key is erased from a set although no slot becomes empty.
//!
//! A search may end at an empty slot, since keys leave slots only for other keys. A copy in the slot of a later function can therefore not
//! just be taken away: a key that passed through its slot would be behind an empty one. So in place of the copy comes a *stranger*: a key
//! none of whose functions leads to the slot. Whoever asks for that key never reads the slot, and to all others it is another key.
//!
//! Every key that is taken for one of the set must therefore be in a slot of its own. It takes no memory access to see that.

use super::Table;
use crate::table::slots::Slots;
use crate::types::{Key, Payload, Scalar};

/// How many keys are tried for one slot. All of them have it among theirs only in tables of a few slots.
const TRIED: u64 = 256;

/// Whether none of the functions leads from `key` to `slot`.
#[inline(always)]
pub fn is_filler<K: Key, V: Payload>(table: &Table<K, V>, key: K, slot: u32) -> bool {
    table.functions.search(key, |own| (own == slot).then_some(())).is_none()
}

/// Puts a stranger into `slot`, the smallest there is; `false` if none of the keys that are tried is one. No other thread writes to the slot.
#[inline(always)]
pub(super) fn put_filler<K: Key, V: Payload>(table: &Table<K, V>, slot: u32) -> bool {
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
