//! Benchmarks of scan, compaction, histogram, partition and sort.

use super::Bench;
use super::input::Input;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::Buffer;
use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, histogram, partition_pairs, sort_keys, sort_pairs,
};
use warpnest::types::{WordKey as Key, WordValue as Value};

/// Measures all primitives on `n` items. The limit of each is what a copy of as many bytes takes,
/// read and written once.
pub fn measure<K: Key, V: Value>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, roofline, n, runs } = at;
    let stream = device.default_stream();
    let input = Input::<K, V>::new(n);
    let (key_bytes, value_bytes) = (K::BITS as u64 / 8, V::BITS as u64 / 8);
    let words = (n * (key_bytes + value_bytes) / 8).next_multiple_of(2);
    let copy_rate = roofline.copy_rate(words)?;
    let limit = |bytes: f64| copy_rate / bytes;
    let subject = |table: &str, op, value_bits| Subject {
        table: table.to_owned(),
        op,
        n,
        load: 0.0,
        key_bits: K::BITS,
        value_bits,
    };
    let mut scratch = Scratch::new(device);
    let mut records = Vec::new();

    let keys = Buffer::from_slice(device, &input.keys)?;
    let mut keys_out = Buffer::<K>::zeroed(device, n as usize)?;
    let scan_ms = median_ms(stream, 2, runs, || exclusive_scan(stream, &mut scratch, &keys, &mut keys_out))?;
    let mut sum = 0u64;
    let mut wrong = 0;
    for (scanned, key) in keys_out.download(stream)?.into_iter().zip(&input.keys) {
        wrong += (scanned != K::from_u64(sum)) as u64;
        sum = sum.wrapping_add(key.to_u64());
    }
    records.push(run.record(subject("exclusive_scan", "scan", 0), scan_ms, limit(2.0 * key_bytes as f64), wrong));

    let keep_words: Vec<u32> =
        (0..n.div_ceil(32)).map(|i| (i as u32).wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995).collect();
    let keep = Buffer::from_slice(device, &keep_words)?;
    let mut count = Buffer::<u32>::zeroed(device, 1)?;
    let compact_ms =
        median_ms(stream, 2, runs, || compact(stream, &mut scratch, &keys, &keep, &mut keys_out, &mut count))?;
    let kept: Vec<K> =
        (0..n as usize).filter(|&i| keep_words[i / 32] >> (i % 32) & 1 != 0).map(|i| input.keys[i]).collect();
    let found = keys_out.download(stream)?;
    let wrong = kept.iter().zip(&found).filter(|(kept, found)| kept != found).count() as u64;
    let wrong = wrong + (kept.len() as u64).abs_diff(count.download(stream)?[0] as u64);
    // Everything is read, since half of the items of each sector are kept; half is written.
    let bytes = key_bytes as f64 * (1.0 + kept.len() as f64 / n as f64) + 0.125;
    records.push(run.record(subject("compact", "compact", 0), compact_ms, limit(bytes), wrong));

    let values = Buffer::from_slice(device, &input.values)?;
    let mut values_out = Buffer::<V>::zeroed(device, n as usize)?;
    let partitions = ["partition_6", "partition_7", "partition_8", "partition_9", "partition_10"];
    for (bits, op) in (6..).zip(partitions) {
        let field = BitField { shift: K::BITS - bits, bits };
        let mut starts = Buffer::<u32>::zeroed(device, 1 << bits)?;
        if bits == 8 {
            let ms = median_ms(stream, 2, runs, || histogram(stream, &keys, field, &mut starts))?;
            let counted: u64 = starts.download(stream)?.iter().map(|&count| count as u64).sum();
            let limit = limit(key_bytes as f64);
            records.push(run.record(subject("histogram", "histogram", 0), ms, limit, counted.abs_diff(n)));
        }
        let ms = median_ms(stream, 2, runs, || {
            let (input, scratch) = ((&keys, &values), &mut scratch);
            partition_pairs(stream, scratch, input, field, (&mut keys_out, &mut values_out), &mut starts)
        })?;
        let mut expected: Vec<(K, V)> = input.keys.iter().copied().zip(input.values.iter().copied()).collect();
        expected.sort_by_key(|(key, _)| key.to_u64() >> field.shift);
        let found = keys_out.download(stream)?.into_iter().zip(values_out.download(stream)?);
        let wrong = found.zip(&expected).filter(|(found, expected)| found != *expected).count() as u64;
        let limit = limit((3 * key_bytes + 2 * value_bytes) as f64);
        records.push(run.record(subject("partition_pairs", op, V::BITS), ms, limit, wrong));
    }

    // Fields that are counted in memory, of keys that all differ; and of equal keys.
    let wide = [("histogram_12", 12, false), ("histogram_16", 16, false), ("histogram_20", 20, false)];
    for (op, bits, equal) in wide.into_iter().chain([("histogram_24", 24, false), ("histogram_20_equal", 20, true)]) {
        let field = BitField { shift: K::BITS - bits, bits };
        let mut expected = vec![0u32; 1 << bits];
        let of_first = vec![input.keys[0]; if equal { n as usize } else { 0 }];
        let all = if equal { &of_first } else { &input.keys };
        all.iter().for_each(|key| expected[(key.to_u64() >> field.shift) as usize] += 1);
        let keys = Buffer::from_slice(device, all)?;
        let mut counts = Buffer::<u32>::zeroed(device, 1 << bits)?;
        let ms = median_ms(stream, 2, runs, || histogram(stream, &keys, field, &mut counts))?;
        let wrong = counts.download(stream)?.iter().zip(&expected).filter(|(found, right)| found != right).count();
        records.push(run.record(subject("histogram", op, 0), ms, limit(key_bytes as f64), wrong as u64));
    }

    let mut keys_sorted = Buffer::from_slice(device, &input.keys)?;
    let mut values_sorted = Buffer::from_slice(device, &input.values)?;
    let ms = median_of_sorts(runs, || {
        keys_sorted.copy_from(stream, &keys)?;
        values_sorted.copy_from(stream, &values)?;
        median_ms(stream, 0, 1, || sort_pairs(stream, &mut scratch, &mut keys_sorted, &mut values_sorted))
    })?;
    let mut expected: Vec<(K, V)> = input.keys.iter().copied().zip(input.values.iter().copied()).collect();
    expected.sort_unstable();
    let found = keys_sorted.download(stream)?.into_iter().zip(values_sorted.download(stream)?);
    let wrong = found.zip(&expected).filter(|(found, expected)| found != *expected).count() as u64;
    let passes = K::BITS as u64 / 8;
    let of_pairs = limit((key_bytes + passes * 2 * (key_bytes + value_bytes)) as f64);
    records.push(run.record(subject("sort_pairs", "sort", V::BITS), ms, of_pairs, wrong));

    let ms = median_of_sorts(runs, || {
        keys_sorted.copy_from(stream, &keys)?;
        median_ms(stream, 0, 1, || sort_keys(stream, &mut scratch, &mut keys_sorted))
    })?;
    let found = keys_sorted.download(stream)?.into_iter();
    let wrong = found.zip(&expected).filter(|(found, expected)| *found != expected.0).count() as u64;
    let of_keys = limit((key_bytes + passes * 2 * key_bytes) as f64);
    records.push(run.record(subject("sort_keys", "sort_keys", 0), ms, of_keys, wrong));
    Ok(records)
}

/// Returns the median of the milliseconds that `sort` says its sort took, each time of fresh input.
/// The first two do not count.
fn median_of_sorts(runs: u32, mut sort: impl FnMut() -> warpnest::Result<f64>) -> warpnest::Result<f64> {
    let times = (0..runs.max(1) + 2).map(|_| sort()).collect::<warpnest::Result<Vec<f64>>>()?;
    let mut times = times[2..].to_vec();
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
