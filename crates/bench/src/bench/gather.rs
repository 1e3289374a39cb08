//! Benchmarks of gathering rows.

use super::Bench;
use super::input::shuffle;
use super::record::{Record, Subject};
use super::roofline::{Roofline, median_ms};
use bytemuck::{Pod, Zeroable};
use warpnest::Buffer;
use warpnest::primitives::gather;
use warpnest::types::{Plain, Proof, pod};
use warpnest_bench_kernels::roofline::Access;

/// A row of `WORDS` words.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Row<const WORDS: usize>([u32; WORDS]);
// SAFETY: a row is an array of words, for which zero is a valid value.
unsafe impl<const WORDS: usize> Zeroable for Row<WORDS> {}
// SAFETY: a row is an array of words, without padding.
unsafe impl<const WORDS: usize> Pod for Row<WORDS> {}
impl<const WORDS: usize> Plain for Row<WORDS> {
    const PROOF: Proof<Self> = pod();
}

/// The minimum bytes that a GPU's memory reads at once.
const SECTOR: u64 = 32;

/// Measures a gather of `n` rows of 16, 32 and 64 bytes in random order.
pub fn measure(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let mut numbers: Vec<u32> = (0..at.n as u32).collect();
    shuffle(&mut numbers);
    Ok(vec![
        of_rows::<4>(&at, "gather_16", &numbers)?,
        of_rows::<8>(&at, "gather_32", &numbers)?,
        of_rows::<16>(&at, "gather_64", &numbers)?,
    ])
}

/// Measures a gather of rows of `WORDS` words. The limit is the lower rate of two: random reads of
/// one word per row, and a copy of the bytes that are read in whole sectors and written.
fn of_rows<const WORDS: usize>(at: &Bench<'_>, op: &'static str, numbers: &[u32]) -> anyhow::Result<Record> {
    let Bench { device, run, n, runs, .. } = *at;
    let roofline: &Roofline<'_> = at.roofline;
    let stream = device.default_stream();
    let row = |number: u32| Row(std::array::from_fn::<u32, WORDS, _>(|word| number ^ (word as u32) << 28));
    let source = Buffer::from_slice(device, &(0..n as u32).map(row).collect::<Vec<_>>())?;
    let numbers_in = Buffer::from_slice(device, numbers)?;
    let mut output = Buffer::<Row<WORDS>>::zeroed(device, n as usize)?;
    let ms = median_ms(stream, 2, runs, || gather(stream, &source, &numbers_in, &mut output))?;
    let found = output.download(stream)?;
    let wrong = found.iter().zip(numbers).filter(|&(found, &number)| *found != row(number)).count() as u64;
    drop((source, output));

    let row_bytes = 4 * WORDS as u64;
    let words = (n * row_bytes / 8).next_multiple_of(2);
    let bytes = 4 + row_bytes.max(SECTOR) + row_bytes;
    let limit = (roofline.copy_rate(words)? / bytes as f64).min(roofline.gops(Access::Read, words, n)?);
    let subject =
        Subject { table: "gather".to_owned(), op, n, load: 0.0, key_bits: u32::BITS, value_bits: 32 * WORDS as u32 };
    Ok(run.record(subject, ms, limit, wrong))
}
