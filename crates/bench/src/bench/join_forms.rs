//! Benchmarks of joins with null keys, by wide keys, and in chunks.

use super::input::key;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use super::{Bench, is_cpu};
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, Joined, TextColumn, WideJoin, WideKeys, flag_equal_rows};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Error};

/// The steps of the left and right key ids: row `r` has the id `r` times a prime, modulo the row
/// count.
const STEPS: [u64; 2] = [2_654_435_761, 2_147_483_647];

/// The maximum rows per key in joins in chunks.
const MAX_MULTIPLICITY: u64 = 1 << 14;
/// The maximum pairs of a chunk.
const MAX_CHUNK: u64 = 1 << 28;

/// Measures joins with null keys and in chunks. A record's `n` is the number of rows of both sides,
/// or the number of pairs for joins in chunks.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    Ok(vec![nulls::<K>(&at)?, chunks::<K>(&at)?])
}

/// Measures joins by wide keys: two columns of 64 bits each, and texts of 16 bytes.
pub fn measure_wide(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    Ok(vec![words(&at)?, texts(&at)?])
}

fn warm_ups(device: &Device) -> u32 {
    if is_cpu(device) { 0 } else { 2 }
}

/// Returns the key ids of the rows of a side, which are all different.
fn numbers(rows: u64, side: usize) -> impl Iterator<Item = u64> {
    (0..rows).map(move |row| row * STEPS[side] % rows)
}

/// Returns the number of rows that were not found, found twice, or joined with another key.
fn wrong(device: &Device, joined: &Joined, keys: [&WideKeys<'_>; 2], expected: u64) -> anyhow::Result<u64> {
    let stream = device.default_stream();
    let pairs = joined.len();
    let mut keep = Buffer::zeroed(device, pairs.div_ceil(32))?;
    let rows = (joined.left_rows(), joined.right_rows());
    flag_equal_rows(stream, &mut Scratch::new(device), (keys[0], keys[1]), rows, &mut keep)?;
    let equal: u64 = keep.download(stream)?.into_iter().map(|word| u64::from(word.count_ones())).sum();
    let mut wrong = (pairs as u64 - equal) + expected.abs_diff(pairs as u64);
    for rows in [rows.0, rows.1] {
        let mut rows = rows.download(stream)?;
        rows.sort_unstable();
        wrong += rows.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    }
    Ok(wrong)
}

/// An operation: its rows or pairs, the bits of its keys, the bytes that it moves, and rows per
/// key.
struct Measured {
    op: &'static str,
    n: u64,
    key_bits: u32,
    bytes: u64,
    multiplicity: u64,
}

impl Measured {
    /// Returns the record, whose limit is a copy of the bytes, extrapolated if too many.
    fn record(self, at: &Bench<'_>, ms: f64, wrong: u64) -> anyhow::Result<Record> {
        let Self { op, n, key_bits, bytes, multiplicity } = self;
        eprintln!("{op}, {n}: {ms:.3} ms, {:.1} G/s", n as f64 / ms / 1e6);
        let copied = bytes.min(16 * MAX_CHUNK);
        let copy_ms = at.roofline.copy_milliseconds((copied / 16).next_multiple_of(2).max(2))?;
        let limit = n as f64 / (copy_ms * bytes as f64 / copied as f64) / 1e6;
        let subject = Subject { table: "join".to_owned(), op, n, load: 0.0, key_bits, value_bits: 32 };
        Ok(Record { multiplicity: Some(multiplicity), ..at.run.record(subject, ms, limit, wrong) })
    }
}

/// Measures an inner join of unique keys; an eighth of the keys on each side are null.
fn nulls<K: Key>(at: &Bench<'_>) -> anyhow::Result<Record> {
    let Bench { device, n, runs, .. } = *at;
    let stream = device.default_stream();
    let column = |side: usize| Buffer::from_slice(device, &numbers(n, side).map(key::<K>).collect::<Vec<_>>());
    let columns = [column(0)?, column(1)?];
    // Bit 3 of each byte is clear, so every eighth row is null.
    let valid = Buffer::from_slice(device, &vec![0xf7f7_f7f7u32; n.div_ceil(32) as usize])?;
    let mut has_key = vec![false; n as usize];
    numbers(n, 1).zip(0u64..).for_each(|(number, row)| has_key[number as usize] = row % 8 != 3);
    let both = numbers(n, 0).zip(0u64..).filter(|(number, row)| row % 8 != 3 && has_key[*number as usize]);
    let expected = both.count() as u64;

    let (mut scratch, mut joined) = (Scratch::new(device), Joined::new(device)?);
    let mut join = Join::new(&columns[0], &columns[1]);
    join.left_valid(&valid).right_valid(&valid).seed(1);
    let ms = median_ms(stream, warm_ups(device), runs, || join.run_into(stream, &mut scratch, &mut joined))?;
    let keys = columns.each_ref().map(|column| WideKeys::of(column));
    let mut wrong = wrong(device, &joined, keys.each_ref(), expected)?;
    for rows in [joined.left_rows(), joined.right_rows()] {
        wrong += rows.download(stream)?.into_iter().filter(|row| row % 8 == 3).count() as u64;
    }
    let bytes = 2 * n * u64::from(K::BITS) / 8 + 8 * expected;
    Measured { op: "join_nulls", n: 2 * n, key_bits: K::BITS, bytes, multiplicity: 1 }.record(at, ms, wrong)
}

/// Measures a join whose keys have many rows on both sides, so that there are many more pairs than
/// fit in a chunk.
fn chunks<K: Key>(at: &Bench<'_>) -> anyhow::Result<Record> {
    let Bench { device, n, runs, .. } = *at;
    let stream = device.default_stream();
    let rows = n.min(1 << 20);
    let multiplicity = (rows / 8).clamp(1, if is_cpu(device) { 1 << 8 } else { MAX_MULTIPLICITY });
    let rows = rows / multiplicity * multiplicity;
    let column = |side| numbers(rows, side).map(|number| key(number / multiplicity)).collect::<Vec<K>>();
    let columns = [Buffer::from_slice(device, &column(0))?, Buffer::from_slice(device, &column(1))?];
    let keys = columns.each_ref().map(|column| WideKeys::of(column));
    let (pairs, mut scratch) = (rows * multiplicity, Scratch::new(device));
    let most = (pairs / 16).clamp(1, MAX_CHUNK) as usize;
    let mut join = Join::new(&columns[0], &columns[1]);
    join.seed(1);
    let (mut wrong, mut chunks, mut sums) = (0, 0, [0u64; 2]);
    let found = join.run_in_chunks(stream, &mut scratch, most, |chunk| {
        let mut keep = Buffer::zeroed(device, chunk.len().div_ceil(32))?;
        let rows = (chunk.left_rows(), chunk.right_rows());
        flag_equal_rows(stream, &mut Scratch::new(device), (&keys[0], &keys[1]), rows, &mut keep)?;
        let equal: u64 = keep.download(stream)?.into_iter().map(|word| u64::from(word.count_ones())).sum();
        wrong += chunk.len() as u64 - equal;
        chunks += 1;
        for (sum, rows) in sums.iter_mut().zip([rows.0, rows.1]) {
            *sum += rows.download(stream)?.into_iter().map(u64::from).sum::<u64>();
        }
        Ok::<(), Error>(())
    })?;
    // Each row is in as many pairs as the other side has rows with its key.
    let expected = rows * (rows - 1) / 2 * multiplicity;
    wrong += found.abs_diff(pairs) + sums.into_iter().filter(|sum| *sum != expected).count() as u64;
    eprintln!("{pairs} pairs in {chunks} chunks of at most {most}");
    let ms = median_ms(stream, 0, runs.min(3), || {
        join.run_in_chunks(stream, &mut scratch, most, |_| Ok::<(), Error>(())).map(|_| ())
    })?;
    let bytes = 8 * pairs;
    Measured { op: "join_chunks", n: pairs, key_bits: K::BITS, bytes, multiplicity }.record(at, ms, wrong)
}

/// Measures a join by two columns of 64 bits.
fn words(at: &Bench<'_>) -> anyhow::Result<Record> {
    let Bench { device, n, .. } = *at;
    let rows = (n / 2).max(1);
    let column = |side, high: u64| -> Vec<u64> { numbers(rows, side).map(|number| key(number / high)).collect() };
    let columns = [0, 1].map(|side| [column(side, 1), column(side, 8)]);
    let on_device = |column: &Vec<u64>| Buffer::from_slice(device, column);
    let [left, right] = [
        [on_device(&columns[0][0])?, on_device(&columns[0][1])?],
        [on_device(&columns[1][0])?, on_device(&columns[1][1])?],
    ];
    wide(at, "join_wide", rows, 16, || [&left, &right].map(|[first, second]| WideKeys::of(first).and(second)))
}

/// Measures a join by texts of 16 bytes.
fn texts(at: &Bench<'_>) -> anyhow::Result<Record> {
    let Bench { device, n, .. } = *at;
    let rows = (n / 8).max(1);
    let texts = |side| numbers(rows, side).map(|number| format!("{:016x}", key::<u64>(number))).collect::<Vec<_>>();
    let [left, right] = [TextColumn::new(device, &texts(0))?, TextColumn::new(device, &texts(1))?];
    wide(at, "join_texts", rows, 16, || [&left, &right].map(WideKeys::of_text))
}

/// Measures an inner join by distinct keys of `key_bytes` bytes.
fn wide<'k>(
    at: &Bench<'_>,
    op: &'static str,
    rows: u64,
    key_bytes: u64,
    keys: impl Fn() -> [WideKeys<'k>; 2],
) -> anyhow::Result<Record> {
    let Bench { device, runs, .. } = *at;
    let stream = device.default_stream();
    let (mut scratch, mut joined) = (Scratch::new(device), Joined::new(device)?);
    let [left, right] = keys();
    let mut join = WideJoin::new(left, right);
    join.seed(1);
    let ms = median_ms(stream, warm_ups(device), runs, || join.run_into(stream, &mut scratch, &mut joined))?;
    let wrong = wrong(device, &joined, keys().each_ref(), rows)?;
    let bytes = 2 * rows * key_bytes + 8 * rows;
    Measured { op, n: 2 * rows, key_bits: 8 * key_bytes as u32, bytes, multiplicity: 1 }.record(at, ms, wrong)
}
