//! What a set says of its keys, and must say.

use crate::page_checker::check_page_set;
use std::collections::HashSet;
use warpnest::{Device, Error, Key, PageSet, PageSetConfig};

/// Says what is wrong with a set, if its keys should be those of `reference`; `queries` are keys to ask for, there or not.
pub fn check<K: Key>(set: &PageSet<K>, reference: &HashSet<K>, queries: &[K]) -> Result<(), String> {
    let said = |error: Error| error.to_string();
    check_page_set(set, reference)?;
    let expected: Vec<bool> = queries.iter().map(|key| reference.contains(key)).collect();
    let answers = set.contains_many(queries).map_err(said)?;
    if answers != expected {
        let wrong = (0..queries.len()).find(|&i| answers.get(i) != expected.get(i));
        return Err(format!("{} answers to {} queries, wrong at {wrong:?}", answers.len(), queries.len()));
    }
    let keys = set.to_keys().map_err(said)?;
    if keys.len() != reference.len() || keys.iter().copied().collect::<HashSet<K>>() != *reference {
        return Err(format!("{} keys were written, and there are {}", keys.len(), reference.len()));
    }
    Ok(())
}

/// Fails unless the set has these keys and no others, and says so in every way it can.
pub fn holds<K: Key>(set: &PageSet<K>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).chain([K::default(), K::ALL_ONES]).collect();
    if let Err(wrong) = check(set, &keys.iter().copied().collect(), &queries) {
        panic!("{} keys on {}: {wrong}: {:?}", keys.len(), set.device().name(), set.report());
    }
}

/// Builds a set and looks at all of it.
pub fn build<K: Key>(device: &Device, config: &PageSetConfig, keys: &[K]) -> PageSet<K> {
    let set = config.build(device, keys).unwrap_or_else(|error| panic!("{} keys: {error}: {config:?}", keys.len()));
    holds(&set, keys);
    set
}
