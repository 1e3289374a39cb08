//! Saved tables that are built on maps, and all operations on such a table after it is loaded.

use super::sample::{Contents, Sample, name_of, pairs, save, value};
use crate::distinct_keys;
use crate::rows::{Row, check, rows_of};
use std::collections::HashMap;
use warpnest::design::Config;
use warpnest::design::{Changes, Ids};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{CompactingConfig, CompactingTable, Device, MultiConfig, MultiMap, Result, RowMap};

/// Returns the sample of a compacting table.
pub fn compacting<K: Key, D: Ids>(
    device: &Device,
    what: &str,
    config: CompactingConfig<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    // Half of the rows repeat keys of earlier rows.
    let rows: Vec<K> = keys.iter().chain(&keys[..n / 2]).copied().collect();
    let table = config.build(device, &rows)?;
    let bytes = save(|to| table.save(to))?;
    let ids = table.get_many(&keys)?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut table = CompactingTable::<K, D>::load(device, bytes)?;
        let (found, all) = (table.get_many(&keys)?, table.to_pairs()?);
        let asked: Vec<u32> = (0..n as u32 + 5).chain([u32::MAX]).collect();
        let back = table.keys_of_many(&asked)?;
        let saved = save(|to| table.save(to))?;
        if contents == Contents::Any {
            for keys in [&distinct_keys::<K>(2 * n + 3, 5)[..], &keys, &keys[..n / 2]] {
                contents.after(table.rebuild(keys))?;
                contents.after(table.get_many(keys))?;
            }
            contents.after(table.keys_of_many(&asked))?;
            contents.after(table.to_pairs())?;
        }
        if contents == Contents::Same {
            assert!(found == ids && all.len() == n && saved == bytes);
            for (key, id) in keys.iter().zip(&ids) {
                let id = id.expect("each key has an id") as usize;
                assert_eq!((back[id], all[id].0), (Some(*key), *key));
            }
            assert!(back[n..].iter().all(Option::is_none));
            table.rebuild(&keys[..n / 2])?;
            assert_eq!(table.len(), n / 2);
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what} of {} bits", K::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a row map in which keys were inserted and removed, so some rows are free.
pub fn rows<K: Key, R: Row, D: Changes>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    let mut map: RowMap<K, R, D> = config.create_rows(device)?;
    map.insert_many(&keys, &rows_of(n, 5))?;
    map.erase_many(&keys[n - n / 4..])?;
    let bytes = save(|to| map.save(to))?;
    let kept = n - n / 4;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = RowMap::<K, R, D>::load(device, bytes)?;
        let mut reference: HashMap<K, R> = keys[..kept].iter().copied().zip(rows_of(n, 5)).collect();
        let copy = map.try_clone()?;
        let saved = save(|to| map.save(to))?;
        let right = |map: &RowMap<K, R, D>, reference: &HashMap<K, R>, queries: &[K]| {
            if contents == Contents::Same {
                check(map, reference, queries).unwrap();
            }
        };
        right(&map, &reference, &keys);
        assert!(contents != Contents::Same || saved == bytes, "a map that is loaded and saved again has the same file");
        if contents == Contents::Any {
            let mut copy = copy;
            any_rows(&mut copy, &keys)?;
        }
        // The new keys first reuse the free rows; then further rows are added.
        let more: Vec<K> = distinct_keys(n / 2 + 3, 1_234_567);
        let new = rows_of(more.len(), 77);
        contents.after(map.insert_many(&more, &new))?;
        reference.extend(more.iter().copied().zip(new));
        right(&map, &reference, &keys);
        assert!(contents != Contents::Same || map.rows().len() == map.len().max(n));
        contents.after(map.remove_many(&more[2..]))?;
        for key in &more[2..] {
            reference.remove(key);
        }
        contents.after(map.shrink_to_fit())?;
        right(&map, &reference, &keys);
        contents.after(map.to_pairs())?;
        contents.after(map.clear())?;
        contents.after(map.insert_many(&keys, &rows_of(n, 9)))?;
        assert!(contents != Contents::Same || map.len() == n);
        Ok(())
    };
    Ok(Sample { name: format!("{what}, {} bits and {} bytes", K::BITS, size_of::<R>()), bytes, uses: Box::new(uses) })
}

/// Changes a row map of any contents by every operation that changes it.
fn any_rows<K: Key, R: Row, D: Changes>(map: &mut RowMap<K, R, D>, keys: &[K]) -> Result<()> {
    let any = Contents::Any;
    let absent = distinct_keys::<K>(71, 0xdead);
    any.after(map.get_many(keys))?;
    any.after(map.erase_many(&absent))?;
    let own: Vec<K> = any.after(map.to_pairs())?.into_iter().flatten().map(|pair| pair.0).collect();
    any.after(map.erase_many(&own[own.len() / 2..]))?;
    any.after(map.shrink_to_fit())?;
    any.after(map.get_many(&own))?;
    any.after(map.insert_many(&own, &rows_of(own.len(), 3)))?;
    for key in absent.iter().take(2).chain(own.iter().take(2)) {
        any.after(map.insert(*key, R::from_seed(1)))?;
        any.after(map.remove(*key))?;
    }
    any.after(map.insert_many(keys, &rows_of(keys.len(), 4)))?;
    any.after(map.remove_many(&own))?;
    any.after(map.shrink_to_fit())?;
    any.after(map.get_many(keys))?;
    any.after(map.to_pairs())?;
    Ok(())
}

/// Returns the sample of a multimap, where key `i` has `1 + i mod 3` values.
pub fn multi<K: Key, V: Value, D: Ids>(
    device: &Device,
    what: &str,
    config: MultiConfig<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, _) = pairs::<K, V>(n);
    let of_all: Vec<(K, V)> =
        keys.iter().enumerate().flat_map(|(i, &key)| (0..1 + i % 3).map(move |j| (key, value(3 * i + j)))).collect();
    let (all_keys, values): (Vec<K>, Vec<V>) = of_all.into_iter().unzip();
    let map = config.build(device, &all_keys, &values)?;
    let bytes = save(|to| map.save(to))?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = MultiMap::<K, V, D>::load(device, bytes)?;
        let absent = distinct_keys::<K>(40, 0xabc).into_iter().filter(|key| !keys.contains(key));
        let queries: Vec<K> = keys.iter().copied().chain(absent).collect();
        let counts = map.count_many(&queries)?;
        let saved = save(|to| map.save(to))?;
        let found = map.retrieve_many(&queries)?;
        let pairs = map.to_pairs()?;
        if contents == Contents::Same {
            for (i, of_key) in found.iter().enumerate() {
                let expected: Vec<V> = match i {
                    i if i < n => (0..1 + i % 3).map(|j| value(3 * i + j)).collect(),
                    _ => Vec::new(),
                };
                assert_eq!((of_key, counts[i] as usize), (&expected[..], expected.len()));
            }
            assert!(pairs.len() == all_keys.len() && saved == bytes);
            map.rebuild(&all_keys[..n / 2], &values[..n / 2])?;
            assert_eq!(map.len(), n / 2);
        } else {
            for end in [all_keys.len(), n / 2] {
                contents.after(map.rebuild(&all_keys[..end], &values[..end]))?;
                contents.after(map.retrieve_many(&queries))?;
            }
            contents.after(map.to_pairs())?;
        }
        Ok(())
    };
    Ok(Sample { name: name_of::<K, V>(what), bytes, uses: Box::new(uses) })
}
