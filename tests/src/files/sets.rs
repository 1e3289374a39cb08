//! Saved sets, and all operations on a set after it is loaded.

use super::sample::{Contents, Sample, pairs, save};
use crate::distinct_keys;
use std::collections::HashSet;
use warpnest::design::{BulkSet, Config};
use warpnest::design::{Changes, Sets};
use warpnest::types::WordKey as Key;
use warpnest::{Device, Result};

/// Returns the sample of a set.
pub fn set<K: Key, D: Sets>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    let set = config.build_set(device, &keys)?;
    let bytes = save(|to| set.save(to))?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut set = BulkSet::<K, D>::load(device, bytes)?;
        let saved = save(|to| set.save(to))?;
        contents.after(ask(&set, &keys, contents))?;
        if contents == Contents::Same {
            assert!(saved == bytes);
            set.rebuild(&keys[..n / 2])?;
            assert_eq!(set.len(), n / 2);
        } else {
            for keys in [&distinct_keys::<K>(2 * n + 3, 5)[..], &keys, &keys[..n / 2]] {
                contents.after(set.rebuild(keys))?;
                contents.after(set.contains_many(keys))?;
            }
            contents.after(set.shrink_to_fit())?;
            contents.after(set.to_keys())?;
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what} of {} bits", K::BITS), bytes, uses: Box::new(uses) })
}

/// Calls all queries of a set, and combines the set with other sets.
fn ask<K: Key, D: Sets>(set: &BulkSet<K, D>, keys: &[K], contents: Contents) -> Result<()> {
    let absent = distinct_keys::<K>(40, 0xabc).into_iter().filter(|key| !keys.contains(key));
    let queries: Vec<K> = keys.iter().copied().chain(absent).collect();
    let found = set.contains_many(&queries)?;
    let (mut all, copy) = (set.to_keys()?, set.try_clone()?);
    let of_copy = copy.contains_many(&queries)?;
    let [union, intersection, difference] = [
        contents.after(set.union(&copy))?,
        contents.after(set.intersection(&copy))?,
        contents.after(set.difference(&copy))?,
    ];
    if contents == Contents::Same {
        let expected: Vec<bool> = (0..queries.len()).map(|i| i < keys.len()).collect();
        assert!(found == expected && of_copy == expected, "the answers differ");
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        all.sort_unstable();
        assert!(all == keys && set.len() == keys.len());
        let lengths = [union, intersection, difference].map(|set| set.map(|set| set.len()));
        assert_eq!(lengths, [Some(keys.len()), Some(keys.len()), Some(0)]);
    }
    Ok(())
}

/// Returns the sample of a set in which keys were inserted and removed.
pub fn changing_set<K: Key, D: Sets + Changes>(
    device: &Device,
    what: &str,
    config: Config<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    let mut set: BulkSet<K, D> = config.create_set(device)?;
    for keys in keys.chunks(n.div_ceil(3).max(1)) {
        set.insert_many(keys)?;
    }
    let kept = n - n / 4;
    set.remove_many(&keys[kept..])?;
    let bytes = save(|to| set.save(to))?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut set = BulkSet::<K, D>::load(device, bytes)?;
        contents.after(ask(&set, &keys[..kept], contents))?;
        let saved = save(|to| set.save(to))?;
        assert!(contents != Contents::Same || saved == bytes);
        let absent = distinct_keys::<K>(71, 0xdead);
        for order in [0, 1].into_iter().filter(|_| contents == Contents::Any) {
            let mut copy = set.try_clone()?;
            let own = contents.after(copy.to_keys())?.unwrap_or_default();
            if order == 0 {
                contents.after(copy.erase_many(&absent))?;
                contents.after(copy.insert_many(&keys))?;
                contents.after(copy.erase_many(&own[own.len() / 2..]))?;
            } else {
                for key in absent.iter().take(2).chain(own.iter().take(3)) {
                    contents.after(copy.insert(*key))?;
                    contents.after(copy.remove(*key))?;
                }
                contents.after(copy.remove_many(&own[..own.len() / 3]))?;
                contents.after(copy.insert_many(&own))?;
                contents.after(copy.erase_many(&own))?;
            }
            contents.after(copy.shrink_to_fit())?;
            contents.after(copy.to_keys())?;
            contents.after(copy.insert_many(&keys))?;
        }
        let more: Vec<K> = distinct_keys(3 * n + 20, 1_234_567);
        for keys in more.chunks(n + 7) {
            contents.after(set.insert_many(keys))?;
        }
        contents.after(set.remove_many(&keys[..kept / 2]))?;
        contents.after(set.shrink_to_fit())?;
        contents.after(ask(&set, &more, Contents::Any))?;
        if contents == Contents::Same {
            let gone: HashSet<K> = keys[..kept / 2].iter().copied().collect();
            let expected: Vec<bool> = more.iter().map(|key| !gone.contains(key)).collect();
            assert!(set.contains_many(&more)? == expected);
        }
        contents.after(set.clear())?;
        contents.after(set.insert_many(&more))?;
        assert!(contents != Contents::Same || set.len() == more.len());
        Ok(())
    };
    Ok(Sample { name: format!("{what} of {} bits", K::BITS), bytes, uses: Box::new(uses) })
}
