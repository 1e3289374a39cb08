//! Ids of strings that are stored elsewhere.

use std::collections::HashMap;

/// Distinct strings, with ids from 0 in the order of addition.
///
/// The first string with a hash is found by it. Other strings with that hash are in a separate map,
/// which hashes with another random seed. An attacker who knows the first seed cannot slow it down.
#[derive(Default)]
pub(super) struct Numbers<'s> {
    by_hash: HashMap<u64, u32, foldhash::fast::RandomState>,
    sharing: HashMap<&'s [u8], u32>,
    strings: Vec<&'s [u8]>,
    hashes: Vec<u64>,
}

impl<'s> Numbers<'s> {
    /// Returns the id of a string, which is the next id if the string is new. `hash` is its hash.
    pub(super) fn get_or_insert(&mut self, hash: u64, string: &'s [u8]) -> u32 {
        let next = self.strings.len() as u32;
        let mut number = *self.by_hash.entry(hash).or_insert(next);
        if number != next {
            if self.strings[number as usize] == string {
                return number;
            }
            number = *self.sharing.entry(string).or_insert(next);
        }
        if number == next {
            self.strings.push(string);
            self.hashes.push(hash);
        }
        number
    }

    /// Returns the count of strings.
    pub(super) fn len(&self) -> usize {
        self.strings.len()
    }

    /// Returns the hash of each string.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Iterates over the strings and their hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'s [u8], u64)> {
        self.strings.iter().copied().zip(self.hashes.iter().copied())
    }

    /// Iterates over the ids of the strings that share their hash with an earlier string. The order
    /// is unspecified.
    pub(super) fn sharing(&self) -> impl Iterator<Item = u32> {
        self.sharing.values().copied()
    }
}
