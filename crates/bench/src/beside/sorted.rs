//! The comparisons of sorts and of the sorted map.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use warpnest::primitives::{Scratch, sort_pairs};
use warpnest::{Buffer, SortedMap};

use super::lab::{Lab, lookups};
use super::record::Comparison;
use super::timing::{timed, timed_with_drop};
use crate::bench::input::Input;

/// A pair, in the form that `rdst` sorts.
#[derive(Clone, Copy)]
struct Pair(u32, #[expect(dead_code, reason = "it is moved with the key")] u32);

impl rdst::RadixKey for Pair {
    const LEVELS: usize = 4;
    fn get_level(&self, level: usize) -> u8 {
        (self.0 >> (8 * level)) as u8
    }
}

/// Compares `sort_pairs` with the sorts of `std`, `rayon` and `rdst`, which sort a vector of pairs.
pub fn sorts(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let stream = lab.device.default_stream();
    let pairs: Vec<(u32, u32)> = input.keys.iter().copied().zip(input.values.iter().copied()).collect();
    let radix_pairs: Vec<Pair> = pairs.iter().map(|&(key, value)| Pair(key, value)).collect();
    let mut sorted = input.keys.clone();
    sorted.sort_unstable();
    let mut keys = Buffer::from_slice(&lab.device, &input.keys)?;
    let mut values = Buffer::from_slice(&lab.device, &input.values)?;
    let mut scratch = Scratch::new(&lab.device);
    let mut ours = || {
        keys.upload(stream, &input.keys)?;
        values.upload(stream, &input.values)?;
        let (time, result) = timed(|| sort_pairs(stream, &mut scratch, &mut keys, &mut values));
        result?;
        ensure!(keys.download(stream)? == sorted, "the keys are not in order");
        Ok(time)
    };
    let (mut work, mut radix_work) = (pairs.clone(), radix_pairs.clone());
    let mut rows = Vec::new();
    let mut theirs_all = {
        let mut work = pairs.clone();
        let pairs = &pairs;
        move || {
            work.copy_from_slice(pairs);
            Ok(timed(|| work.par_sort_unstable_by_key(|pair| pair.0)).0)
        }
    };
    let mut theirs = || {
        work.copy_from_slice(&pairs);
        Ok(timed(|| work.sort_unstable_by_key(|pair| pair.0)).0)
    };
    let names = ["sort_pairs", "sort", "std, rayon: unstable sort"];
    lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
    let mut theirs_all = {
        let mut work = radix_pairs.clone();
        let pairs = &radix_pairs;
        move || {
            work.copy_from_slice(pairs);
            Ok(timed(|| rdst::RadixSort::radix_sort_unstable(&mut work[..])).0)
        }
    };
    let mut theirs = || {
        radix_work.copy_from_slice(&radix_pairs);
        let sort = || {
            let builder = rdst::RadixSort::radix_sort_builder(&mut radix_work[..]);
            builder.with_single_threaded_tuner().with_parallel(false).sort();
        };
        Ok(timed(sort).0)
    };
    let names = ["sort_pairs", "sort", "rdst"];
    lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
    Ok(rows)
}

/// Compares the sorted map with a sorted vector of pairs.
pub fn map(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let input = Input::<u32, u32>::new(lab.n);
    let pairs = || -> Vec<(u32, u32)> { input.keys.iter().copied().zip(input.values.iter().copied()).collect() };
    let mut sorted = pairs();
    sorted.sort_by_key(|pair| pair.0);
    let map = SortedMap::build(&lab.device, &input.keys, &input.values)?;
    let mut rows = Vec::new();
    let mut ours = || {
        let (time, built) = timed(|| SortedMap::build(&lab.device, &input.keys, &input.values));
        let built: SortedMap<u32, u32> = built?;
        ensure!(built.len() == input.keys.len(), "the map has {} pairs", built.len());
        Ok(time + timed_with_drop(|| built))
    };
    let mut theirs = || {
        let sort = || {
            let mut pairs = pairs();
            pairs.sort_by_key(|pair| pair.0);
            pairs
        };
        Ok(timed_with_drop(sort))
    };
    let mut theirs_all = || {
        let sort = || {
            let mut pairs = pairs();
            pairs.par_sort_by_key(|pair| pair.0);
            pairs
        };
        Ok(timed_with_drop(sort))
    };
    let names = ["SortedMap", "build", "std, rayon: stable sort"];
    lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
    for (op, queries, expected) in
        [("look up present", &input.present, input.present.len()), ("look up absent", &input.absent, 0)]
    {
        let search = |query: &u32| {
            let found = sorted.binary_search_by_key(query, |pair| pair.0);
            found.ok().map(|index| sorted[index].1)
        };
        lab.row(
            &mut rows,
            ["SortedMap", op, "binary_search"],
            &mut lookups(expected, || Ok(map.get_many(queries)?)),
            &mut lookups(expected, || Ok(queries.iter().map(search).collect())),
        )?;
    }
    Ok(rows)
}
