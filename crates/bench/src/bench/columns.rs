//! Benchmarks of functions of whole columns: distinct keys with ids and counts, and membership.

use super::input::{Repeats, key, repeated};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use super::{Bench, is_cpu};
use warpnest::primitives::Scratch;
use warpnest::relational::{OnDevice, Order, Part, Unique, isin_into};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Result, Stream};

/// The number of distinct keys if these are few.
const FEW: u64 = 1 << 10;

/// The keys of a column.
#[derive(Clone, Copy)]
enum Input {
    Different,
    Repeated(Repeats),
    /// [`FEW`] distinct keys.
    Few,
}

/// The names of the operations on one column.
struct Names {
    unique: &'static str,
    counts: &'static str,
    factorize: &'static str,
}

/// The columns, each with the names of the operations on it.
const NAMES: [(Input, Names); 5] = [
    (Input::Different, Names { unique: "unique", counts: "counts", factorize: "factorize" }),
    (
        Input::Repeated(Repeats::Half),
        Names { unique: "unique_half_repeated", counts: "counts_half_repeated", factorize: "factorize_half_repeated" },
    ),
    (
        Input::Repeated(Repeats::Million),
        Names {
            unique: "unique_million_copies",
            counts: "counts_million_copies",
            factorize: "factorize_million_copies",
        },
    ),
    (
        Input::Repeated(Repeats::Zipf),
        Names { unique: "unique_zipf_1.2", counts: "counts_zipf_1.2", factorize: "factorize_zipf_1.2" },
    ),
    (Input::Few, Names { unique: "unique_few", counts: "counts_few", factorize: "factorize_few" }),
];

/// Measures the distinct keys of `n` rows with ids and counts, with counts alone, and with ids in
/// the order of appearance; then the test which of `n` rows have one of n / 8 keys. Every result is
/// checked.
///
/// A call reuses the scratch memory and the result's memory of an earlier call.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, n, .. } = at;
    let mut records = Vec::new();
    for (input, names) in NAMES {
        let (keys, groups) = match input {
            Input::Different => ((0..n).map(key).collect(), n),
            Input::Repeated(repeats) => repeated::<K>(n, repeats),
            Input::Few => {
                let keys: Vec<K> = (0..n).map(|row| key(row % FEW)).collect();
                (keys, FEW.min(n))
            }
        };
        let column = Column { at, keys: &keys, on_device: Buffer::from_slice(device, &keys)?, groups };
        let skew = matches!(input, Input::Repeated(Repeats::Zipf)).then_some(1.2);
        let mut keep = |op, (ms, wrong)| {
            let record = run.record(subject::<K>(op, n), ms, 0.0, wrong);
            records.push(Record { groups: Some(groups), skew, ..record });
        };
        keep(names.unique, column.unique()?);
        keep(names.counts, column.counts()?);
        keep(names.factorize, column.factorize()?);
    }
    let (ms, wrong) = isin::<K>(at)?;
    records.push(Record { groups: Some(n.div_ceil(8)), ..run.record(subject::<K>("isin", n), ms, 0.0, wrong) });
    Ok(records)
}

fn subject<K: Key>(op: &str, n: u64) -> Subject<'_> {
    Subject { table: "columns".to_owned(), op, n, load: 0.0, key_bits: K::BITS, value_bits: 0 }
}

/// A column, and the number of its distinct keys.
struct Column<'c, K> {
    at: Bench<'c>,
    keys: &'c [K],
    on_device: Buffer<K>,
    groups: u64,
}

impl<K: Key> Column<'_, K> {
    /// Returns the median time of a query, and its result.
    fn timed<I: Part, C: Part>(&self, query: &Unique<'_, K, I, C>) -> Result<(f64, OnDevice<K, I, C, ()>)> {
        let (device, stream) = (self.at.device, self.at.device.default_stream());
        let mut scratch = Scratch::new(device);
        let mut found = query.run_on(stream, &mut scratch)?;
        let warm_ups = if is_cpu(device) { 1 } else { 3 };
        let ms = median_ms(stream, warm_ups, self.at.runs, || query.run_into(stream, &mut scratch, &mut found))?;
        Ok((ms, found))
    }

    fn stream(&self) -> &Stream {
        self.at.device.default_stream()
    }

    fn unique(&self) -> Result<(f64, u64)> {
        let (ms, found) = self.timed(&Unique::of(&self.on_device).ids().counts())?;
        let (keys, ids) = (found.keys.download(self.stream())?, found.ids.download(self.stream())?);
        let mut counts = found.counts.download(self.stream())?;
        let mut wrong = (keys.len() as u64).abs_diff(self.groups) + self.wrong_ids(&keys, &ids);
        if wrong == 0 {
            ids.iter().for_each(|&id| counts[id as usize] = counts[id as usize].wrapping_sub(1));
            wrong = counts.iter().filter(|&&count| count != 0).count() as u64;
        }
        Ok((ms, wrong))
    }

    fn counts(&self) -> Result<(f64, u64)> {
        let (ms, found) = self.timed(&Unique::of(&self.on_device).counts())?;
        let counts = found.counts.download(self.stream())?;
        let rows: u64 = counts.iter().map(|&count| count as u64).sum();
        let wrong = (found.keys.len() as u64).abs_diff(self.groups) + rows.abs_diff(self.keys.len() as u64);
        Ok((ms, wrong))
    }

    fn factorize(&self) -> Result<(f64, u64)> {
        let (ms, found) = self.timed(&Unique::of(&self.on_device).ids().order(Order::FirstSeen))?;
        let (keys, ids) = (found.keys.download(self.stream())?, found.ids.download(self.stream())?);
        let mut wrong = (keys.len() as u64).abs_diff(self.groups) + self.wrong_ids(&keys, &ids);
        let mut seen = 0;
        for id in ids {
            wrong += (id > seen) as u64;
            seen = seen.max(id + 1);
        }
        Ok((ms, wrong))
    }

    /// Returns the number of rows whose id is not the id of their key.
    fn wrong_ids(&self, keys: &[K], ids: &[u32]) -> u64 {
        let is_wrong = |(key, id): &(&K, &u32)| keys.get(**id as usize) != Some(*key);
        let missing = self.keys.len().abs_diff(ids.len()) as u64;
        missing + self.keys.iter().zip(ids).filter(is_wrong).count() as u64
    }
}

/// Measures which of `n` rows have one of the keys of every eighth row.
fn isin<K: Key>(at: Bench<'_>) -> Result<(f64, u64)> {
    let Bench { device, n, runs, .. } = at;
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let keys = Buffer::from_slice(device, &(0..n).map(key).collect::<Vec<K>>())?;
    let among = Buffer::from_slice(device, &(0..n).step_by(8).map(key).collect::<Vec<K>>())?;
    let mut found = Buffer::zeroed(device, keys.len().div_ceil(32))?;
    let warm_ups = if is_cpu(device) { 1 } else { 3 };
    let ms = median_ms(stream, warm_ups, runs, || isin_into(stream, &mut scratch, &keys, &among, &mut found))?;
    let words = found.download(stream)?;
    let is_found = |row: u64| words[row as usize / 32] >> (row % 32) & 1 != 0;
    Ok((ms, (0..n).filter(|&row| is_found(row) != row.is_multiple_of(8)).count() as u64))
}
