//! Strings by their ids and ids by their strings, on the host.

use super::arena::Arena;
use std::collections::HashMap;

/// Different strings, numbered in the order in which they came.
///
/// The first string with a hash is found by the hash. The others with that hash are in a map by
/// themselves, whose hash has another seed: they take no longer if an attacker knew the first one.
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

    /// Returns the id of a string, whose hash is given.
    pub(super) fn get(&self, hash: u64, string: &[u8]) -> Option<u32> {
        let number = *self.by_hash.get(&hash)?;
        if self.strings.get(number as usize) == Some(string) {
            return Some(number);
        }
        self.sharing.get(string).copied()
    }

    /// Takes memory for so many more strings of so many bytes.
    pub(super) fn reserve(&mut self, strings: usize, bytes: usize) {
        self.strings.reserve(strings, bytes);
        self.by_hash.reserve(strings);
    }

    /// Appends a string that is not there, whose hash is given, and returns its id. There are fewer
    /// than 2^32 strings.
    pub(super) fn push(&mut self, hash: u64, string: &[u8]) -> u32 {
        let number = self.strings.len() as u32;
        self.strings.push(string);
        if *self.by_hash.entry(hash).or_insert(number) != number {
            self.sharing.insert(string.to_owned(), number);
        }
        number
    }

    /// Returns the bytes that are allocated, without the bytes for strings that share a hash.
    pub(super) fn memory_bytes(&self) -> usize {
        // A control byte is beside each pair, and of eight slots seven are given out.
        let slots = (self.by_hash.capacity() * 8).div_ceil(7);
        self.strings.memory_bytes() + slots * (size_of::<(u64, u32)>() + 1)
    }
}
