//! Benchmarks of group-by of few groups and of skewed keys: the sample and the hot pass, whose
//! missed rows are left as they are.

use super::Bench;
use super::input::key;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::HashMap;
use std::thread::{available_parallelism, scope};
use warpnest::Buffer;
use warpnest::low_level::kernels::relational::column::ColumnParams;
use warpnest::low_level::{FewBuffers, group_few};
use warpnest::primitives::Scratch;
use warpnest::types::WordKey as Key;

/// The exponent of the skewed case, and its number of keys, if there are as many rows.
const SKEW: f64 = 1.2;
const SKEWED_KEYS: u64 = 1 << 24;
/// The most groups that are written.
const CAPACITY: usize = 1 << 16;

/// Measures sums of `n` values, of 32 bits, by keys of one to 2^14 groups, and of a Zipf
/// distribution.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let uniform = [0, 5, 10, 11, 12, 13, 14].map(|bits| (1 << bits, None));
    uniform
        .into_iter()
        .chain([(SKEWED_KEYS.min(at.n), Some(SKEW))])
        .map(|(groups, skew)| of_groups::<K>(&at, groups, skew))
        .collect()
}

/// Returns the number of the group of each of `n` rows.
fn groups_of_rows(n: u64, groups: u64, skew: Option<f64>) -> Vec<u32> {
    let mut rows = vec![0; n as usize];
    let threads = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        for (part, seed) in rows.chunks_mut((n as usize).div_ceil(threads)).zip(1..) {
            scope.spawn(move || {
                let mut random = Xoshiro256StarStar::seed_from_u64(seed);
                match skew.map(|skew| Zipf::new(groups as f64, skew).expect("a positive number and exponent")) {
                    Some(zipf) => part.iter_mut().for_each(|row| *row = zipf.sample(&mut random) as u32 - 1),
                    // The product's high half: a random number below the second factor.
                    None => part.iter_mut().for_each(|row| *row = ((random.next_u32() as u64 * groups) >> 32) as u32),
                }
            });
        }
    });
    rows
}

fn of_groups<K: Key>(at: &Bench<'_>, groups: u64, skew: Option<f64>) -> anyhow::Result<Record> {
    let Bench { device, run, n, runs, .. } = *at;
    let stream = device.default_stream();
    let rows = groups_of_rows(n, groups, skew);
    let value = |i: usize| (i as u32).wrapping_mul(0x9e37_79b1);
    let keys = Buffer::from_slice(device, &rows.iter().map(|&group| key(group as u64)).collect::<Vec<K>>())?;
    let values = Buffer::from_slice(device, &(0..rows.len()).map(value).collect::<Vec<u32>>())?;
    let mut out = FewBuffers {
        keys: Buffer::<K>::zeroed(device, CAPACITY)?,
        counts: None,
        sums: Some(Buffer::zeroed(device, CAPACITY)?),
        minima: None,
        maxima: None,
        missed_keys: Buffer::zeroed(device, rows.len())?,
        missed_values: Buffer::zeroed(device, rows.len())?,
    };
    let mut scratch = Scratch::new(device);
    let mut found = None;
    let ms = median_ms(stream, 2, runs, || {
        let column = ColumnParams::unsigned();
        found = Some(group_few::<K, u32>(stream, &mut scratch, &keys, Some(&values), column, &mut out, 1)?);
        Ok(())
    })?;
    let mut wrong = 0;
    if let Some(found) = found {
        let mut expected = vec![0u64; groups as usize];
        rows.iter().enumerate().for_each(|(i, &group)| expected[group as usize] += value(i) as u64);
        let keys_out = out.keys.download(stream)?;
        let sums = out.sums.map_or(Ok(Vec::new()), |sums| sums.download(stream))?;
        let mut sums: HashMap<K, u64> = keys_out.into_iter().zip(sums).take(found.groups as usize).collect();
        let missed_keys = out.missed_keys.download(stream)?;
        let missed_values = out.missed_values.download(stream)?;
        for (&key, &value) in missed_keys.iter().zip(&missed_values).take(found.missed as usize) {
            *sums.entry(key).or_default() += value as u64;
        }
        for (group, &expected) in expected.iter().enumerate() {
            wrong += (sums.remove(&key(group as u64)).unwrap_or(0) != expected) as u64;
        }
        wrong += sums.len() as u64;
    }
    let bytes = n * (K::BITS as u64 + 32) / 8;
    let limit = at.roofline.copies(n, K::BITS + 32)?.gops(bytes);
    let subject =
        Subject { table: "group-by".to_owned(), op: "group_few", n, load: 0.0, key_bits: K::BITS, value_bits: 32 };
    Ok(Record { groups: Some(groups), skew, ..run.record(subject, ms, limit, wrong) })
}
