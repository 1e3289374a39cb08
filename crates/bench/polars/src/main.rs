//! Group-by of warpnest's CPU engine beside that of polars: the same rows, all threads on both
//! sides, runs interleaved. docs/cpu.md has the figures.

use clap::Parser;
use polars::prelude::{Column, DataFrame, DataType, IntoLazy, NamedFrom, Series, col};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};
use warpnest::Device;
use warpnest::relational::{GroupBy, Method};

/// Sums 32-bit values by 32-bit keys, on the CPU engine and by polars.
///
/// A ratio is the median time of polars divided by ours: above 1 ours is faster. All threads work
/// on both sides, and every result is checked.
#[derive(Parser)]
struct Args {
    /// The binary logarithm of the number of rows.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=28))]
    rows: u32,
    /// The binary logarithms of the numbers of groups. As many groups as rows are all distinct.
    #[arg(long, value_delimiter = ',', default_value = "10,16,20,22,24")]
    groups: Vec<u32>,
    /// The number of timed runs of each side. One more warms up.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// The sides: two of polars, then ours.
const SIDES: [&str; 4] = ["polars, u64", "polars, u32", "sort", "hash"];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let rows = 1usize << args.rows;
    println!("2^{} rows, threads: {}", args.rows, std::thread::available_parallelism()?);
    println!("milliseconds, and the times of polars (sums of 64 bits / of 32) divided by ours:");
    println!("groups  {}, {}, sort, hash; by sort; by hash", SIDES[0], SIDES[1]);
    for &bits in &args.groups {
        anyhow::ensure!(bits <= args.rows, "2^{bits} groups of 2^{} rows: give fewer groups", args.rows);
        let [with_64, with_32, sort, hash] = measured(rows, 1 << bits, args.runs)?;
        let ratios = |ours: f64| format!("{:.2} / {:.2}", with_64 / ours, with_32 / ours);
        let (by_sort, by_hash) = (ratios(sort), ratios(hash));
        println!("2^{bits:<5} {with_64:8.1} {with_32:8.1} {sort:8.1} {hash:8.1}  {by_sort:>13} {by_hash:>13}");
    }
    Ok(())
}

/// Returns the median milliseconds of the sides.
fn measured(rows: usize, groups: u64, runs: u32) -> anyhow::Result<[f64; 4]> {
    let (keys, values) = columns(rows, groups);
    let expected = expected(&keys, &values);
    let column = |name: &str, words: &[u32]| Column::from(Series::new(name.into(), words));
    let frame = DataFrame::new(rows, vec![column("key", &keys), column("value", &values)])?;
    let device = Device::cpu();
    let mut times: [Vec<f64>; 4] = Default::default();
    for run in 0..=runs {
        for (side, times) in times.iter_mut().enumerate() {
            let (time, found) = match side {
                0 => of_polars(&frame, DataType::UInt64)?,
                1 => of_polars(&frame, DataType::UInt32)?,
                2 => of_ours(&device, &keys, &values, Method::Sort)?,
                _ => of_ours(&device, &keys, &values, Method::Hash)?,
            };
            anyhow::ensure!(found == expected, "{} has wrong groups of {groups}", SIDES[side]);
            if run > 0 {
                times.push(time.as_secs_f64() * 1e3);
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}

/// Returns the keys and values. A group's key looks random, and values are so small that no sum of
/// 32 bits wraps.
fn columns(rows: usize, groups: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = Xoshiro256StarStar::seed_from_u64(1);
    // As many groups as rows are a permutation: the odd factor is invertible.
    let group = |row: usize, word: u32| match groups == rows as u64 {
        true => row as u32,
        // The product's high half: a random number below the second factor.
        false => ((word as u64 * groups) >> 32) as u32,
    };
    let key = |group: u32| {
        let mixed = group.wrapping_mul(0x9e37_79b1);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b)
    };
    let keys = (0..rows).map(|row| key(group(row, random.next_u32()))).collect();
    let most = (u32::MAX as usize / rows).max(1) as u32;
    (keys, (0..rows as u32).map(|row| row.wrapping_mul(0x9e37_79b1) % most + 1).collect())
}

/// What is compared of a result: the number of groups, and a sum over them that does not depend on
/// their order.
type Check = (usize, u64);

fn check(groups: impl ExactSizeIterator<Item = (u32, u64)>) -> Check {
    let number = groups.len();
    let mixed = |(key, sum): (u32, u64)| {
        let word = (sum ^ (key as u64) << 32 ^ key as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    (number, groups.fold(0, |sum, group| sum.wrapping_add(mixed(group))))
}

/// Returns the check of the right groups, which come from a sort of the rows.
fn expected(keys: &[u32], values: &[u32]) -> Check {
    let mut rows: Vec<(u32, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
    rows.sort_unstable();
    let sums: Vec<(u32, u64)> = rows
        .chunk_by(|one, other| one.0 == other.0)
        .map(|group| (group[0].0, group.iter().map(|row| row.1 as u64).sum()))
        .collect();
    check(sums.into_iter())
}

/// Groups by polars; a sum has the type of the values that are added.
fn of_polars(frame: &DataFrame, sums: DataType) -> anyhow::Result<(Duration, Check)> {
    let value = if sums == DataType::UInt32 { col("value") } else { col("value").cast(sums) };
    let query = frame.clone().lazy().group_by([col("key")]).agg([value.sum().alias("sum")]);
    let clock = Instant::now();
    let groups = query.collect()?;
    let time = clock.elapsed();
    let keys = groups.column("key")?.u32()?.into_no_null_iter().collect::<Vec<u32>>();
    let sums = groups.column("sum")?.cast(&DataType::UInt64)?;
    let sums = sums.u64()?.into_no_null_iter().collect::<Vec<u64>>();
    Ok((time, check(keys.into_iter().zip(sums))))
}

/// Groups by the CPU engine, with all of its memory allocated anew.
fn of_ours(device: &Device, keys: &[u32], values: &[u32], method: Method) -> anyhow::Result<(Duration, Check)> {
    let mut query = GroupBy::new(keys);
    let sum = query.sum(values);
    query.method(method).seed(1);
    let clock = Instant::now();
    let groups = query.run(device)?;
    let time = clock.elapsed();
    let stream = device.default_stream();
    let (keys, sums) = (groups.keys().download(stream)?, groups.column(sum)?.download(stream)?);
    anyhow::ensure!(groups.report().method == method, "{method:?} was asked for: {:?}", groups.report());
    Ok((time, check(keys.into_iter().zip(sums))))
}
