//! Saved maps, and all operations on a map after it is loaded.

use super::sample::{Contents, Sample, name_of, pairs, save, value};
use crate::distinct_keys;
use std::collections::HashMap;
use warpnest::design::{Builds, Changes, Design};
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, Result};

/// The operations that only maps of one design have, run on every such map that was loaded.
pub type Own<K, V, D> = fn(&mut BulkMap<K, V, D>, Contents, &[K], &[V]) -> Result<()>;

/// Calls all queries that any map has.
fn ask<K: Key, V: Value, D: Design>(
    map: &BulkMap<K, V, D>,
    bytes: &[u8],
    reference: &HashMap<K, V>,
    contents: Contents,
) -> Result<()> {
    let absent = distinct_keys::<K>(40, 0xabc).into_iter();
    let queries: Vec<K> = reference.keys().copied().chain(absent).collect();
    let answers = map.get_many(&queries)?;
    let found = map.contains_many(&queries)?;
    let pairs = map.to_pairs()?;
    let copy = map.try_clone()?;
    let of_copy = copy.get_many(&queries)?;
    let saved = save(|to| map.save(to))?;
    if contents == Contents::Same {
        let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
        assert!(answers == expected && of_copy == expected, "the answers differ");
        assert!(found.iter().zip(&expected).all(|(&found, expected)| found == expected.is_some()));
        assert_eq!((map.len(), pairs.len()), (reference.len(), reference.len()));
        assert_eq!(&pairs.into_iter().collect::<HashMap<_, _>>(), reference);
        assert!(saved == bytes, "a table that is loaded and saved again has the same file");
    }
    Ok(())
}

/// Returns the sample of a map that is built in one call.
pub fn built<K: Key, V: Value, D: Builds>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    built_with::<K, V, D>(device, what, config, n, |_, _, _: &[K], _: &[V]| Ok(()))
}

/// Returns [`built`] with the operations that only maps of this design have.
pub fn built_with<K: Key, V: Value, D: Builds>(
    device: &Device,
    what: &str,
    config: Config<D>,
    n: usize,
    own: Own<K, V, D>,
) -> Result<Sample> {
    let (keys, values) = pairs::<K, V>(n);
    let map = config.build(device, &keys, &values)?;
    let bytes = save(|to| map.save(to))?;
    let report = map.report().clone();
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = BulkMap::<K, V, D>::load(device, bytes)?;
        let reference: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
        contents.after(ask(&map, bytes, &reference, contents))?;
        // The map can be rebuilt, as if it had been built here.
        let more: Vec<K> = distinct_keys(2 * n + 3, 5);
        let new: Vec<V> = (0..more.len()).map(value).collect();
        if contents == Contents::Same {
            assert_eq!(*map.report(), report);
            match map.rebuild(&more, &new) {
                Ok(()) => assert_eq!(map.get_many(&more)?, new.iter().copied().map(Some).collect::<Vec<_>>()),
                // A cuckoo map keeps its slots, so this rebuild is smaller.
                Err(Error::Config(_)) => map.rebuild(&more[..n], &new[..n])?,
                Err(error) => return Err(error),
            }
            return own(&mut map, contents, &keys, &values);
        }
        contents.after(own(&mut map, contents, &keys, &values))?;
        contents.after(map.shrink_to_fit())?;
        contents.after(map.to_pairs())?;
        for (keys, values) in [(&more[..], &new[..]), (&keys, &values), (&keys[..n / 2], &values[..n / 2])] {
            contents.after(map.rebuild(keys, values))?;
            contents.after(map.get_many(keys))?;
        }
        contents.after(map.shrink_to_fit())?;
        contents.after(map.to_pairs())?;
        Ok(())
    };
    Ok(Sample { name: name_of::<K, V>(what), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a map in which keys were inserted and removed, so it contains removed
/// keys.
pub fn changing<K: Key, V: Value, D: Changes>(
    device: &Device,
    what: &str,
    config: Config<D>,
    n: usize,
) -> Result<Sample> {
    changing_with::<K, V, D>(device, what, config, n, |_, _, _: &[K], _: &[V]| Ok(()))
}

/// Returns [`changing`] with the operations that only maps of this design have.
pub fn changing_with<K: Key, V: Value, D: Changes>(
    device: &Device,
    what: &str,
    config: Config<D>,
    n: usize,
    own: Own<K, V, D>,
) -> Result<Sample> {
    let (keys, values) = pairs::<K, V>(n);
    let mut map = config.create(device)?;
    // The keys are inserted in batches, so some of the tables grow.
    for (keys, values) in keys.chunks(n.div_ceil(3).max(1)).zip(values.chunks(n.div_ceil(3).max(1))) {
        map.insert_many(keys, values)?;
    }
    let gone = n / 4;
    map.remove_many(&keys[n - gone..])?;
    let bytes = save(|to| map.save(to))?;
    let kept = n - gone;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = BulkMap::<K, V, D>::load(device, bytes)?;
        let mut reference: HashMap<K, V> = keys[..kept].iter().copied().zip(values.iter().copied()).collect();
        contents.after(ask(&map, bytes, &reference, contents))?;
        // Some batches change single pairs, others rewrite the table; each kind comes first once.
        for order in [0, 1].into_iter().filter(|_| contents == Contents::Any) {
            let mut copy = map.try_clone()?;
            contents.after(change_any(&mut copy, order, &keys, &values))?;
            contents.after(own(&mut copy, contents, &keys, &values))?;
        }
        // The map is changed further: by enough new keys that it grows, by other values, and by
        // removals.
        let more: Vec<K> = distinct_keys(3 * n + 20, 1_234_567);
        let new: Vec<V> = (0..more.len()).map(|i| value(i + 1000)).collect();
        for (keys, values) in more.chunks(n + 7).zip(new.chunks(n + 7)) {
            contents.after(map.insert_many(keys, values))?;
            reference.extend(keys.iter().copied().zip(values.iter().copied()));
        }
        let leaving: Vec<K> = keys[..kept / 2].iter().chain(&more[n..]).copied().collect();
        let answers = contents.after(map.remove_many(&leaving))?;
        if contents == Contents::Same {
            let expected: Vec<Option<V>> = leaving.iter().map(|key| reference.remove(key)).collect();
            // If a key is removed twice, only one of the two removals returns its value.
            assert_eq!(answers.into_iter().flatten().flatten().count(), expected.iter().flatten().count());
            let queries: Vec<K> = keys.iter().chain(&more).copied().collect();
            let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
            assert!(map.get_many(&queries)? == expected && map.len() == reference.len());
        } else {
            contents.after(map.to_pairs())?;
        }
        contents.after(map.shrink_to_fit())?;
        let pairs = contents.after(map.to_pairs())?;
        if contents == Contents::Same {
            assert_eq!(pairs.into_iter().flatten().collect::<HashMap<_, _>>(), reference);
            own(&mut map, contents, &keys, &values)?;
        }
        contents.after(map.clear())?;
        contents.after(map.insert_many(&more, &new))?;
        assert!(contents != Contents::Same || map.len() == more.len());
        Ok(())
    };
    Ok(Sample { name: name_of::<K, V>(what), bytes, uses: Box::new(uses) })
}

/// Changes a map of any contents by every operation that changes it, in one of two orders.
fn change_any<K: Key, V: Value, D: Changes>(
    map: &mut BulkMap<K, V, D>,
    order: u32,
    keys: &[K],
    values: &[V],
) -> Result<()> {
    let any = Contents::Any;
    // 71 keys are enough to rewrite pages; a few keys are not.
    let absent = distinct_keys::<K>(71, 0xdead);
    let keep: Vec<bool> = (0..keys.len()).map(|i| i % 3 != 0).collect();
    let own: Vec<K> = any.after(map.to_pairs())?.into_iter().flatten().map(|pair| pair.0).collect();
    if order == 0 {
        any.after(map.erase_many(&absent))?;
        any.after(map.insert_many(keys, values))?;
        any.after(map.retain_many(keys, &keep))?;
        any.after(map.erase_many(&own[own.len() / 2..]))?;
    } else {
        for key in absent.iter().take(2).chain(own.iter().take(3)).chain(keys.iter().take(3)) {
            any.after(map.insert(*key, value(7)))?;
            any.after(map.remove(*key))?;
        }
        any.after(map.remove_many(&own[..own.len() / 3]))?;
        any.after(map.insert_many(&own, &(0..own.len()).map(value).collect::<Vec<V>>()))?;
        any.after(map.erase_many(&own))?;
    }
    any.after(map.shrink_to_fit())?;
    any.after(map.to_pairs())?;
    any.after(map.insert_many(keys, values))?;
    any.after(map.erase_many(keys))?;
    Ok(())
}
