//! The map between strings and their ids, on the host.

use super::arena::Arena;
use std::collections::HashMap;

/// Distinct strings with ids in the order of addition.
///
/// The first string with a hash is found by it. Other strings with that hash are in a separate map,
/// which hashes with another random seed. An attacker who knows the first seed cannot slow it down.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    strings: Arena,
    by_hash: HashMap<u64, u32, foldhash::fast::RandomState>,
    sharing: HashMap<Vec<u8>, u32>,
}

impl Dictionary {
    pub(super) fn strings(&self) -> &Arena {
        &self.strings
    }

    /// Returns the id of a string, if it has one. `hash` is the hash of the string.
    pub(super) fn get(&self, hash: u64, string: &[u8]) -> Option<u32> {
        let number = *self.by_hash.get(&hash)?;
        if self.strings.get(number as usize) == Some(string) {
            return Some(number);
        }
        self.sharing.get(string).copied()
    }

    /// Reserves memory for `strings` more strings with `bytes` bytes in all.
    pub(super) fn reserve(&mut self, strings: usize, bytes: usize) {
        self.strings.reserve(strings, bytes);
        self.by_hash.reserve(strings);
    }

    /// Appends a new string with the hash `hash`, and returns its id. There must be fewer than 2^32
    /// strings.
    pub(super) fn push(&mut self, hash: u64, string: &[u8]) -> u32 {
        let number = self.strings.len() as u32;
        self.strings.push(string);
        if *self.by_hash.entry(hash).or_insert(number) != number {
            self.sharing.insert(string.to_owned(), number);
        }
        number
    }

    /// Returns the allocated bytes, except for copies of strings that share a hash.
    pub(super) fn memory_bytes(&self) -> usize {
        // Each slot has a control byte, and the capacity is seven eighths of the slots.
        let slots = (self.by_hash.capacity() * 8).div_ceil(7);
        self.strings.memory_bytes() + slots * (size_of::<(u64, u32)>() + 1)
    }
}
