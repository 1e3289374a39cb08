//! The comparisons of hash tables.

use std::sync::Arc;

use anyhow::{Result, ensure};
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use warpnest::relational::Unique;
use warpnest::{
    CuckooMap, ExtendibleConfig, ExtendibleMap, LinearConfig, LinearMap, MultiMap, PageMap, PageSet, TwoLevelMap,
};

use super::lab::{Hasher, Lab, filled, lookups};
use super::record::Comparison;
use super::timing::{timed, timed_with_drop};
use crate::bench::input::{Input, Repeats, key, repeated, shuffle};

/// The number of values or rows per repeated key.
const MULTIPLICITY: u64 = 8;

/// Makes keys that occur [`MULTIPLICITY`] times each, in random order.
fn multiplied(n: u64) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..n).map(|i| key(i / MULTIPLICITY)).collect();
    shuffle(&mut keys);
    keys
}

/// Compares the multimap with a `HashMap` of vectors.
pub fn multi<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let keys = multiplied(lab.n);
    let values: Vec<u32> = (0..lab.n as u32).collect();
    let mut rows = Vec::new();
    let mut ours = || {
        let (time, built) = timed(|| MultiMap::<u32, u32>::build(&lab.device, &keys, &values));
        let built = built?;
        ensure!(built.len() == keys.len(), "the map has {} values", built.len());
        Ok(time + timed_with_drop(|| built))
    };
    let mut theirs = || {
        let build = || {
            let mut map = HashMap::<u32, Vec<u32>, S>::default();
            keys.iter().zip(&values).for_each(|(&key, &value)| map.entry(key).or_default().push(value));
            map
        };
        Ok(timed_with_drop(build))
    };
    lab.row(&mut rows, ["MultiMap", "build, 8 values a key", "HashMap of Vec"], &mut ours, &mut theirs)?;
    Ok(rows)
}

/// Finds the distinct keys, each row's id and each key's count, with a `HashMap`.
fn unique_by_entries<S: Hasher>(keys: &[u32]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut ids_of = HashMap::<u32, u32, S>::default();
    let (mut distinct, mut counts) = (Vec::new(), Vec::new());
    let ids = keys.iter().map(|&key| {
        let id = *ids_of.entry(key).or_insert_with(|| {
            distinct.push(key);
            counts.push(0);
            distinct.len() as u32 - 1
        });
        counts[id as usize] += 1;
        id
    });
    let ids = ids.collect();
    (distinct, ids, counts)
}

/// Compares `unique` with entries of a `HashMap`.
fn unique_of<S: Hasher>(lab: &Lab<'_>, keys: &[u32], op: &'static str) -> Result<Vec<Comparison>> {
    let distinct = unique_by_entries::<S>(keys).0.len();
    let mut rows = Vec::new();
    let mut ours = || {
        let (time, unique) = timed(|| Unique::of(keys).ids().counts().run(&lab.device));
        let unique = unique?;
        ensure!(unique.keys.len() == distinct, "{} keys are different, not {distinct}", unique.keys.len());
        Ok(time + timed_with_drop(|| unique))
    };
    let mut theirs = || Ok(timed_with_drop(|| unique_by_entries::<S>(keys)));
    lab.row(&mut rows, ["unique", op, "HashMap entries"], &mut ours, &mut theirs)?;
    Ok(rows)
}

/// Compares the search for distinct keys, with an id for each row and a count for each key.
pub fn unique<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    unique_of::<S>(lab, &multiplied(lab.n), "unique, 8 rows a key")
}

/// Compares as [`unique`] does, with few keys in most rows, like the words of a text.
pub fn unique_skewed<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    unique_of::<S>(lab, &repeated(lab.n, Repeats::Zipf).0, "unique, Zipf 1.2")
}

/// Compares the linear map with a `HashMap`, and with maps that are shared by threads.
pub fn linear<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let n = input.keys.len();
    let mut rows = Vec::new();
    let mut ours = || {
        let build = || {
            let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(n).create(&lab.device)?;
            map.insert_many(&input.keys, &input.values).map(|new| (map, new))
        };
        let (time, built) = timed(build);
        let (map, new) = built?;
        ensure!(new == n, "{new} keys were new");
        Ok(time + timed_with_drop(|| map))
    };
    let mut theirs = || Ok(timed_with_drop(|| filled::<_, _, S>(&input.keys, &input.values)));
    let mut theirs_all = || {
        let build = || {
            let map = dashmap::DashMap::with_capacity_and_hasher(n, S::default());
            input.keys.par_iter().zip(&input.values).for_each(|(&key, &value)| {
                map.insert(key, value);
            });
            map
        };
        Ok(timed_with_drop(build))
    };
    let names = ["LinearMap", "insert into an empty map", "HashMap, DashMap"];
    lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;

    let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(n).create(&lab.device)?;
    map.insert_many(&input.keys, &input.values)?;
    let reference = filled::<_, _, S>(&input.keys, &input.values);
    let concurrent = papaya::HashMap::<u32, u32, S>::default();
    input.keys.iter().zip(&input.values).for_each(|(&key, &value)| {
        concurrent.pin().insert(key, value);
    });
    for (op, queries, expected) in [("look up present", &input.present, n), ("look up absent", &input.absent, 0)] {
        let in_parallel = || {
            let chunk = |queries: &[u32]| {
                let pinned = concurrent.pin();
                queries.iter().map(|query| pinned.get(query).copied()).collect::<Vec<_>>()
            };
            Ok(queries.par_chunks(1 << 12).flat_map_iter(chunk).collect())
        };
        lab.row_in_parallel(
            &mut rows,
            ["LinearMap", op, "HashMap, papaya"],
            &mut lookups(expected, || Ok(map.get_many(queries)?)),
            &mut lookups(expected, || Ok(queries.iter().map(|query| reference.get(query).copied()).collect())),
            Some(&mut lookups(expected, in_parallel)),
        )?;
    }
    let mut ours = || {
        let (time, removed) = timed(|| map.remove_many(&input.present));
        ensure!(removed?.iter().flatten().count() == n, "keys were missing");
        map.clear()?;
        map.insert_many(&input.keys, &input.values)?;
        Ok(time)
    };
    let mut filled = reference.clone();
    let mut theirs = || {
        let remove = || input.present.iter().map(|query| filled.remove(query)).collect::<Vec<_>>();
        let (time, removed) = timed(remove);
        ensure!(removed.iter().flatten().count() == n, "keys were missing");
        filled.clone_from(&reference);
        Ok(time)
    };
    lab.row(&mut rows, ["LinearMap", "remove", "HashMap"], &mut ours, &mut theirs)?;
    Ok(rows)
}

/// Compares the extendible map with a `HashMap` that grows.
pub fn extendible<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let mut rows = Vec::new();
    let mut ours = || {
        let build = || {
            let mut map: ExtendibleMap<u32, u32> = ExtendibleConfig::default().create(&lab.device)?;
            map.insert_many(&input.keys, &input.values).map(|new| (map, new))
        };
        let (time, built) = timed(build);
        let (map, new) = built?;
        ensure!(new == input.keys.len(), "{new} keys were new");
        Ok(time + timed_with_drop(|| map))
    };
    let mut theirs = || {
        let build = || {
            let mut map = HashMap::<u32, u32, S>::default();
            input.keys.iter().zip(&input.values).for_each(|(&key, &value)| {
                map.insert(key, value);
            });
            map
        };
        Ok(timed_with_drop(build))
    };
    lab.row(&mut rows, ["ExtendibleMap", "insert", "growing HashMap"], &mut ours, &mut theirs)?;
    let mut map: ExtendibleMap<u32, u32> = ExtendibleConfig::default().create(&lab.device)?;
    map.insert_many(&input.keys, &input.values)?;
    let reference = filled::<_, _, S>(&input.keys, &input.values);
    for (op, queries, expected) in
        [("look up present", &input.present, input.keys.len()), ("look up absent", &input.absent, 0)]
    {
        lab.row(
            &mut rows,
            ["ExtendibleMap", op, "HashMap"],
            &mut lookups(expected, || Ok(map.get_many(queries)?)),
            &mut lookups(expected, || Ok(queries.iter().map(|query| reference.get(query).copied()).collect())),
        )?;
    }
    Ok(rows)
}

/// Compares the papers' maps that are built at once.
pub fn built<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let build = |device: &_, keys: &_, values: &_| CuckooMap::build(device, keys, values);
    let mut rows = built_of::<_, S>(lab, "CuckooMap", build, |map, queries| map.get_many(queries))?;
    let build = |device: &_, keys: &_, values: &_| TwoLevelMap::build(device, keys, values);
    rows.extend(built_of::<_, S>(lab, "TwoLevelMap", build, |map, queries| map.get_many(queries))?);
    Ok(rows)
}

/// Compares the page map with a `HashMap`.
pub fn page<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let build = |device: &_, keys: &_, values: &_| PageMap::build(device, keys, values);
    built_of::<_, S>(lab, "PageMap", build, |map, queries| map.get_many(queries))
}

/// Compares a map that is built at once with a `HashMap`.
fn built_of<M: Send + Sync, S: Hasher>(
    lab: &Lab<'_>,
    table: &'static str,
    build: impl Fn(&warpnest::Device, &[u32], &[u32]) -> warpnest::Result<M> + Sync + Send,
    get_many: impl Fn(&M, &[u32]) -> warpnest::Result<Vec<Option<u32>>> + Sync + Send,
) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let mut rows = Vec::new();
    let map = build(&lab.device, &input.keys, &input.values)?;
    let mut ours = || {
        let (time, built) = timed(|| build(&lab.device, &input.keys, &input.values));
        let built = built?;
        Ok(time + timed_with_drop(|| built))
    };
    let mut theirs = || Ok(timed_with_drop(|| filled::<_, _, S>(&input.keys, &input.values)));
    lab.row(&mut rows, [table, "build", "HashMap"], &mut ours, &mut theirs)?;
    let reference = filled::<_, _, S>(&input.keys, &input.values);
    for (op, queries, expected) in
        [("look up present", &input.present, input.keys.len()), ("look up absent", &input.absent, 0)]
    {
        lab.row(
            &mut rows,
            [table, op, "HashMap"],
            &mut lookups(expected, || Ok(get_many(&map, queries)?)),
            &mut lookups(expected, || Ok(queries.iter().map(|query| reference.get(query).copied()).collect())),
        )?;
    }
    Ok(rows)
}

/// Compares operations on two sets that have half of their keys in common.
pub fn sets<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let half: Vec<u32> = input.keys.iter().step_by(2).chain(input.absent.iter().step_by(2)).copied().collect();
    let ours = [PageSet::build(&lab.device, &input.keys)?, PageSet::build(&lab.device, &half)?];
    let ours = Arc::new(ours);
    let theirs: [HashSet<u32, S>; 2] = [input.keys.iter().copied().collect(), half.iter().copied().collect()];
    type Theirs<S> = fn(&HashSet<u32, S>, &HashSet<u32, S>) -> HashSet<u32, S>;
    type Ours = fn(&PageSet<u32>, &PageSet<u32>) -> warpnest::Result<PageSet<u32>>;
    let operations: [(&str, Ours, Theirs<S>); 3] = [
        ("union", PageSet::union, |a, b| a | b),
        ("intersection", PageSet::intersection, |a, b| a & b),
        ("difference", PageSet::difference, |a, b| a - b),
    ];
    let mut rows = Vec::new();
    for (op, ours_op, theirs_op) in operations {
        let expected = theirs_op(&theirs[0], &theirs[1]).len();
        let mut ours = || {
            let (time, made) = timed(|| ours_op(&ours[0], &ours[1]));
            let made = made?;
            ensure!(made.len() == expected, "the set has {} keys and not {expected}", made.len());
            Ok(time + timed_with_drop(|| made))
        };
        let mut theirs = || Ok(timed_with_drop(|| theirs_op(&theirs[0], &theirs[1])));
        lab.row(&mut rows, ["PageSet", op, "HashSet"], &mut ours, &mut theirs)?;
    }
    Ok(rows)
}
