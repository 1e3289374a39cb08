//! Benchmarks of scan, compaction, histogram, partition and sort.

use super::Bench;
use super::input::Input;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, histogram, partition_pairs, sort_keys, sort_pairs,
};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Stream};

/// Measures all primitives on `n` items. The limit of each is the time of a copy that reads and
/// writes equally many bytes once.
pub fn measure<K: Key, V: Value>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let input = &Input::new(at.n);
    let mut on = Primitives::<K, V>::new(at, input)?;
    let mut records = vec![on.scan()?, on.compaction()?, on.partition("partition_6", 6)?];
    records.extend([on.partition("partition_7", 7)?, on.histogram()?, on.partition("partition_8", 8)?]);
    records.extend([on.partition("partition_9", 9)?, on.partition("partition_10", 10)?]);
    // Wide fields, which are counted in global memory: first of distinct keys, then of equal keys.
    for (op, bits) in [("histogram_12", 12), ("histogram_16", 16), ("histogram_20", 20), ("histogram_24", 24)] {
        records.push(on.wide_histogram(op, bits, &input.keys)?);
    }
    records.push(on.wide_histogram("histogram_20_equal", 20, &vec![input.keys[0]; at.n as usize])?);
    records.extend(on.sorts()?);
    Ok(records)
}

/// The input of the primitives, on the host and on the device, and their output.
struct Primitives<'a, K, V> {
    at: Bench<'a>,
    stream: &'a Stream,
    input: &'a Input<K, V>,
    scratch: Scratch,
    keys: Buffer<K>,
    values: Buffer<V>,
    keys_out: Buffer<K>,
    values_out: Buffer<V>,
    /// The rate of a copy, in 10^9 bytes read and written per second.
    copy_rate: f64,
}

impl<'a, K: Key, V: Value> Primitives<'a, K, V> {
    const KEY_BYTES: u64 = K::BITS as u64 / 8;
    const PAIR_BYTES: u64 = Self::KEY_BYTES + V::BITS as u64 / 8;

    fn new(at: Bench<'a>, input: &'a Input<K, V>) -> anyhow::Result<Self> {
        let device = at.device;
        Ok(Self {
            at,
            stream: device.default_stream(),
            input,
            scratch: Scratch::new(device),
            keys: Buffer::from_slice(device, &input.keys)?,
            values: Buffer::from_slice(device, &input.values)?,
            keys_out: Buffer::zeroed(device, at.n as usize)?,
            values_out: Buffer::zeroed(device, at.n as usize)?,
            copy_rate: at.roofline.copy_rate((at.n * Self::PAIR_BYTES / 8).next_multiple_of(2))?,
        })
    }

    /// Returns the record of an operation that moves `bytes` bytes for each item.
    fn record(&self, (table, op): (&str, &str), value_bits: u32, ms: f64, bytes: f64, wrong: usize) -> Record {
        let n = self.at.n;
        let subject = Subject { table: table.to_owned(), op, n, load: 0.0, key_bits: K::BITS, value_bits };
        self.at.run.record(subject, ms, self.copy_rate / bytes, wrong as u64)
    }

    fn scan(&mut self) -> anyhow::Result<Record> {
        let Self { stream, scratch, keys, keys_out, .. } = self;
        let ms = median_ms(stream, 2, self.at.runs, || exclusive_scan(stream, scratch, keys, keys_out))?;
        let mut sum = 0u64;
        let mut wrong = 0;
        for (scanned, key) in keys_out.download(stream)?.into_iter().zip(&self.input.keys) {
            wrong += (scanned != K::from_u64(sum)) as usize;
            sum = sum.wrapping_add(key.to_u64());
        }
        Ok(self.record(("exclusive_scan", "scan"), 0, ms, (2 * Self::KEY_BYTES) as f64, wrong))
    }

    fn compaction(&mut self) -> anyhow::Result<Record> {
        let Self { stream, scratch, keys, keys_out, .. } = self;
        let (device, n) = (self.at.device, self.at.n);
        let keep_words: Vec<u32> =
            (0..n.div_ceil(32)).map(|i| (i as u32).wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995).collect();
        let keep = Buffer::from_slice(device, &keep_words)?;
        let mut count = Buffer::<u32>::zeroed(device, 1)?;
        let ms = median_ms(stream, 2, self.at.runs, || compact(stream, scratch, keys, &keep, keys_out, &mut count))?;
        let is_kept = |i: &usize| keep_words[i / 32] >> (i % 32) & 1 != 0;
        let kept: Vec<K> = (0..n as usize).filter(is_kept).map(|i| self.input.keys[i]).collect();
        let wrong = kept.len().abs_diff(count.download(stream)?[0] as usize);
        let wrong = wrong + differences(&kept, keys_out.download(stream)?);
        // All items are read, because half of the items of each sector are kept; half are written.
        let bytes = Self::KEY_BYTES as f64 * (1.0 + kept.len() as f64 / n as f64) + 0.125;
        Ok(self.record(("compact", "compact"), 0, ms, bytes, wrong))
    }

    fn histogram(&mut self) -> anyhow::Result<Record> {
        let Self { stream, keys, .. } = self;
        let mut counts = Buffer::<u32>::zeroed(self.at.device, 1 << 8)?;
        let ms = median_ms(stream, 2, self.at.runs, || histogram(stream, keys, upper::<K>(8), &mut counts))?;
        let counted: u64 = counts.download(stream)?.iter().map(|&count| count as u64).sum();
        let wrong = counted.abs_diff(self.at.n) as usize;
        Ok(self.record(("histogram", "histogram"), 0, ms, Self::KEY_BYTES as f64, wrong))
    }

    /// Measures a partition by `bits` bits.
    fn partition(&mut self, op: &str, bits: u32) -> anyhow::Result<Record> {
        let Self { stream, scratch, keys, values, keys_out, values_out, .. } = self;
        let field = upper::<K>(bits);
        let mut starts = Buffer::<u32>::zeroed(self.at.device, 1 << bits)?;
        let ms = median_ms(stream, 2, self.at.runs, || {
            partition_pairs(stream, scratch, (keys, values), field, (keys_out, values_out), &mut starts)
        })?;
        let mut expected = pairs(self.input);
        expected.sort_by_key(|(key, _)| key.to_u64() >> field.shift);
        let found = keys_out.download(stream)?.into_iter().zip(values_out.download(stream)?);
        let wrong = differences(&expected, found);
        let bytes = Self::KEY_BYTES + 2 * Self::PAIR_BYTES;
        Ok(self.record(("partition_pairs", op), V::BITS, ms, bytes as f64, wrong))
    }

    /// Measures a histogram of `bits` bits of `keys`.
    fn wide_histogram(&mut self, op: &str, bits: u32, keys: &[K]) -> anyhow::Result<Record> {
        let (stream, field) = (self.stream, upper::<K>(bits));
        let mut expected = vec![0u32; 1 << bits];
        keys.iter().for_each(|key| expected[(key.to_u64() >> field.shift) as usize] += 1);
        let keys = Buffer::from_slice(self.at.device, keys)?;
        let mut counts = Buffer::<u32>::zeroed(self.at.device, 1 << bits)?;
        let ms = median_ms(stream, 2, self.at.runs, || histogram(stream, &keys, field, &mut counts))?;
        let wrong = differences(&expected, counts.download(stream)?);
        Ok(self.record(("histogram", op), 0, ms, Self::KEY_BYTES as f64, wrong))
    }

    /// Measures sorts of pairs, and of keys alone.
    fn sorts(&mut self) -> anyhow::Result<[Record; 2]> {
        let Self { stream, scratch, keys, values, keys_out, values_out, .. } = self;
        let runs = self.at.runs;
        let pairs_ms = median_of_sorts(runs, || {
            keys_out.copy_from(stream, keys)?;
            values_out.copy_from(stream, values)?;
            median_ms(stream, 0, 1, || sort_pairs(stream, scratch, keys_out, values_out))
        })?;
        let mut expected = pairs(self.input);
        expected.sort_unstable();
        let found = keys_out.download(stream)?.into_iter().zip(values_out.download(stream)?);
        let wrong_pairs = differences(&expected, found);
        let keys_ms = median_of_sorts(runs, || {
            keys_out.copy_from(stream, keys)?;
            median_ms(stream, 0, 1, || sort_keys(stream, scratch, keys_out))
        })?;
        let sorted: Vec<K> = expected.into_iter().map(|(key, _)| key).collect();
        let wrong_keys = differences(&sorted, keys_out.download(stream)?);
        // The keys are read once for the counts of all digits. Then each byte of a key takes one
        // pass.
        let bytes = |item: u64| (Self::KEY_BYTES + Self::KEY_BYTES * 2 * item) as f64;
        Ok([
            self.record(("sort_pairs", "sort"), V::BITS, pairs_ms, bytes(Self::PAIR_BYTES), wrong_pairs),
            self.record(("sort_keys", "sort_keys"), 0, keys_ms, bytes(Self::KEY_BYTES), wrong_keys),
        ])
    }
}

/// Returns the field of the upper bits of a key.
fn upper<K: Key>(bits: u32) -> BitField {
    BitField { shift: K::BITS - bits, bits }
}

fn pairs<K: Key, V: Value>(input: &Input<K, V>) -> Vec<(K, V)> {
    input.keys.iter().copied().zip(input.values.iter().copied()).collect()
}

/// Returns the number of items that differ from the expected items.
fn differences<T: PartialEq>(expected: &[T], found: impl IntoIterator<Item = T>) -> usize {
    expected.iter().zip(found).filter(|(expected, found)| *expected != found).count()
}

/// Returns the median of the milliseconds that `sort` returns; it sorts fresh input each time. The
/// first two calls are warm-ups.
fn median_of_sorts(runs: u32, mut sort: impl FnMut() -> warpnest::Result<f64>) -> warpnest::Result<f64> {
    let times = (0..runs.max(1) + 2).map(|_| sort()).collect::<warpnest::Result<Vec<f64>>>()?;
    let mut times = times[2..].to_vec();
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
