//! Invariants of the arrays of a sorted map.

use gpu_kernels::sorted::GROUP;
use warpnest::SortedMap;
use warpnest::types::{WordKey as Key, WordValue as Value};

/// Says what is wrong with the keys and the index of a map of `length` keys. The check computes the
/// layout again, from docs/sort-by-key.md.
pub fn check_sorted_map<K: Key, V: Value>(map: &SortedMap<K, V>) -> Result<(), String> {
    let length = map.len();
    let keys = map.table().keys().download(map.device().default_stream()).map_err(|error| error.to_string())?;
    if let Some(index) = keys[..length].windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(format!("keys {} and {} stand at {index} and behind it", keys[index], keys[index + 1]));
    }
    check_index(&keys, length)
}

/// Says what is wrong with the index alone, over keys that may be repeated.
pub fn check_index<K: Key>(keys: &[K], length: usize) -> Result<(), String> {
    let group = GROUP as usize;
    let (mut level, mut first, mut number) = (keys[..length].to_vec(), 0, 0);
    loop {
        let mut expected = level.clone();
        // Each level ends with an all-ones key or several, and consists of whole groups.
        expected.push(K::ALL_ONES);
        expected.resize(expected.len().next_multiple_of(group), K::ALL_ONES);
        let found = keys.get(first..first + expected.len()).ok_or("the keys have no room for the index")?;
        if let Some(index) = (0..expected.len()).find(|&index| found[index] != expected[index]) {
            let (found, expected) = (found[index], expected[index]);
            return Err(format!("entry {index} of level {number} is {found} and not {expected}, of {length} keys"));
        }
        if level.len() < group {
            return Ok(());
        }
        (first, number) = (first + expected.len(), number + 1);
        level = level.chunks_exact(group).map(|group| group[group.len() - 1]).collect();
    }
}
