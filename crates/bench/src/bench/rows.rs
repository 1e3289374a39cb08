//! Benchmarks of maps with rows of any size.

use super::Bench;
use super::input::{Input, shuffle};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::design::Config;
use warpnest::design::{Changes, Linear, Page};
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, RowMap};
use warpnest_bench_kernels::roofline::Access;

/// The words of a row: 24 bytes, like a struct of a few fields.
const WORDS: usize = 6;
type Row = [u32; WORDS];

/// Measures maps of `n` rows of 24 bytes over the two maps that change in place.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let mut records = of_design::<K, Page>(&at)?;
    records.extend(of_design::<K, Linear>(&at)?);
    Ok(records)
}

/// Fills a map that has capacity for all rows, replaces all rows, looks up all rows, and replaces a
/// quarter of the keys.
fn of_design<K: Key, D: Changes>(at: &Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, n, runs, roofline } = *at;
    let stream = device.default_stream();
    let (rows, changed) = (n as usize, n as usize / 4);
    let Input { keys, present, absent, .. } = Input::<K, u32>::new(n);
    let row = |number: u32| -> Row { std::array::from_fn(|word| number ^ (word as u32) << 28) };
    let of_numbers = |numbers: Vec<u32>| Buffer::from_slice(device, &numbers.into_iter().map(row).collect::<Vec<_>>());
    let numbered: Vec<u32> = (0..n as u32).collect();
    let mut other_numbers = numbered.clone();
    shuffle(&mut other_numbers);
    let (values, others) = (of_numbers(numbered)?, of_numbers(other_numbers.clone())?);
    let [keys_in, queries] = [&keys, &present].map(|keys| Buffer::from_slice(device, keys));
    let (keys_in, queries) = (keys_in?, queries?);

    let mut map: RowMap<K, Row, D> = Config::default().create_rows(device)?;
    map.reserve(rows)?;
    let (mut wrong, mut fills, mut updates, mut changes) = (0, Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    let timed = |times: &mut Vec<f64>, expected: usize, work: &mut dyn FnMut() -> warpnest::Result<usize>| {
        let start = stream.record()?;
        let counted = work()?;
        times.push(stream.record()?.milliseconds_since(&start)?);
        anyhow::Ok(counted.abs_diff(expected) as u64)
    };
    for _ in 0..runs + 1 {
        map.clear()?;
        wrong += timed(&mut fills, rows, &mut || map.insert_many(&keys_in, &values))?;
        wrong += timed(&mut updates, 0, &mut || map.insert_many(&keys_in, &others))?;
    }
    let mut answers = Answers::new(device, rows)?;
    let ms = median_ms(stream, 2, runs, || map.get_many_into(stream, &queries, &mut answers))?;
    let expected = |i: usize| Some(row(other_numbers[i]));
    let in_order = map.get_many(&keys)?;
    wrong += in_order.iter().enumerate().filter(|&(i, found)| *found != expected(i)).count() as u64;
    drop((values, others, answers));

    let leaving = Buffer::from_slice(device, &keys[..changed])?;
    let (coming, of_coming) =
        (Buffer::from_slice(device, &absent[..changed])?, of_numbers((0..changed as u32).collect())?);
    let returning = of_numbers(other_numbers[..changed].to_vec())?;
    let mut gone = Answers::new(device, changed)?;
    for _ in 0..runs + 1 {
        wrong += timed(&mut changes[0], changed, &mut || map.remove_many_into(stream, &leaving, &mut gone))?;
        wrong += timed(&mut changes[1], changed, &mut || map.insert_many(&coming, &of_coming))?;
        wrong += map.erase_many(&coming)?.abs_diff(changed) as u64;
        wrong += map.insert_many(&leaving, &returning)?.abs_diff(changed) as u64;
    }
    // The rows of removed keys were reused, and the map is as before.
    wrong += map.rows().len().abs_diff(rows) as u64;
    let back = map.get_many(&keys)?;
    wrong += back.iter().enumerate().filter(|&(i, found)| *found != expected(i)).count() as u64;

    // A lookup reads a bucket and a row, which is in one or two sectors of 32 bytes, and writes a
    // row. A copy reads and writes each byte once.
    let row_bytes = size_of::<Row>() as u64;
    let words = (n * row_bytes / 8).next_multiple_of(2);
    let buckets = 1.0 / roofline.gops(Access::Find, (map.map().memory_bytes() / 8) as u64, n)?;
    let of_rows = 1.0 / roofline.gops(Access::Read, words, n)?;
    let written = row_bytes as f64 / roofline.copy_rate(words)?;
    let record = |op, n: usize, mut times: Vec<f64>, limit: f64| {
        // The first run warms up.
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let table = format!("RowMap<{}>", D::NAME);
        let subject = Subject { table, op, n: n as u64, load: 0.0, key_bits: K::BITS, value_bits: 32 * WORDS as u32 };
        run.record(subject, times[times.len() / 2], limit, wrong)
    };
    let [removals, additions] = changes;
    Ok(vec![
        record("rows_fill", rows, fills, 0.0),
        record("rows_replace", rows, updates, 0.0),
        record("rows_find", rows, vec![0.0, ms], 1.0 / (buckets + of_rows + written)),
        record("rows_remove_1/4", changed, removals, 0.0),
        record("rows_add_1/4", changed, additions, 0.0),
    ])
}
