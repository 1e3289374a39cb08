//! Invariants of the words of a cuckoo set.

use gpu_kernels::cuckoo::header;
use gpu_kernels::hash::{HashFunctions, NO_SLOT};
use std::collections::{HashMap, HashSet};
use warpnest::CuckooSet;
use warpnest::types::WordKey as Key;

/// The contents of a set, decoded from its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<K: Key> {
    /// The keys, including the one in the cell.
    pub keys: HashSet<K>,
    /// The slots of fillers: keys whose hash functions do not lead to that slot. Copies had been
    /// there.
    pub fillers: Vec<u32>,
}

/// Returns the key in a slot of an array of 64-bit words, or `None` if the slot is empty. Slots are
/// as wide as a key.
pub fn slot<K: Key>(words: &[u64], slot: u32) -> Option<K> {
    let bits = match K::BITS {
        32 => words[slot as usize / 2] >> (slot % 2 * 32) & u32::MAX as u64,
        _ => words[slot as usize],
    };
    Some(K::from_u64(bits)).filter(|&key| key != K::ALL_ONES)
}

/// Decodes the words, or says what is wrong with them. Every key must be in exactly one slot, which
/// one of its hash functions returns, and its slots by earlier functions must not be empty.
pub fn keys_of_words<K: Key>(functions: &HashFunctions, words: &[u64], head: &[u64]) -> Result<Said<K>, String> {
    if (words.len() * 64) < functions.slots() as usize * K::BITS as usize {
        return Err(format!("{} words are too few for {} slots", words.len(), functions.slots()));
    }
    let mut said = Said { keys: HashSet::new(), fillers: Vec::new() };
    let mut slot_of = HashMap::new();
    for number in 0..functions.slots() {
        let Some(key) = slot::<K>(words, number) else { continue };
        let own = functions.slots_of(key);
        let Some(function) = own.iter().position(|&slot| slot == number) else {
            said.fillers.push(number);
            continue;
        };
        if let Some(&before) = own[..function].iter().find(|&&before| slot::<K>(words, before).is_none()) {
            return Err(format!("key {key} in slot {number} passed by slot {before}, which is empty"));
        }
        if let Some(other) = slot_of.insert(key, number) {
            return Err(format!("key {key} is in slots {other} and {number}"));
        }
        said.keys.insert(key);
    }
    if own_words(head, header::FAILED) != 0 {
        return Err("the build failed".to_owned());
    }
    if own_words(head, header::CELL) != 0 {
        said.keys.insert(K::ALL_ONES);
    }
    Ok(said)
}

fn own_words(head: &[u64], word: u64) -> u64 {
    head.get(word as usize).copied().unwrap_or(u64::MAX)
}

/// Decodes the words of a set, or says what is wrong with them.
pub fn keys_of_set<K: Key>(set: &CuckooSet<K>) -> Result<Said<K>, String> {
    let stream = set.device().default_stream();
    let words = set.table().words().download(stream).map_err(|error| error.to_string())?;
    let head = set.table().header().download(stream).map_err(|error| error.to_string())?;
    if set.table().slots() != set.table().functions().slots() as u64
        || set.table().functions().slots_of(K::default()).contains(&NO_SLOT) != (set.table().functions().count() < 5)
    {
        return Err(format!(
            "the set says it has {} slots and {} functions",
            set.table().slots(),
            set.table().functions().count()
        ));
    }
    keys_of_words(set.table().functions(), &words, &head)
}

/// Says what is wrong with the set, given that its keys should be the keys of `reference`.
pub fn check_cuckoo_set<K: Key>(set: &CuckooSet<K>, reference: &HashSet<K>) -> Result<(), String> {
    let said = keys_of_set(set)?;
    if let Some(key) = said.keys.iter().find(|key| !reference.contains(key)) {
        return Err(format!("key {key} should not be there"));
    }
    if let Some(key) = reference.iter().find(|key| !said.keys.contains(key)) {
        return Err(format!("key {key} is nowhere"));
    }
    let probed: u64 = set.table().probe_lengths().map_err(|error| error.to_string())?.histogram.iter().sum();
    let in_slots = said.keys.len() as u64 - said.keys.contains(&K::ALL_ONES) as u64;
    if probed != in_slots {
        return Err(format!("{in_slots} keys are in slots, and {probed} in the histogram of probes"));
    }
    if !said.fillers.is_empty() && !set.report().repeated_keys {
        return Err(format!("no key was repeated, and {} copies were erased", said.fillers.len()));
    }
    Ok(())
}
