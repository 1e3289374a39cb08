//! The CPU engine beside `hashbrown::HashMap` on one thread, from few pairs to many.

use std::hint::black_box;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use warpnest::{Answers, Buffer, Device, PageConfig, PageMap};

use super::Lab;
use super::figure::{Axis, Figure, Series};
use super::scale::Scale;
use crate::bench::input::{Input, shuffle, value, wrong_hits};

/// The fewest pairs.
const MIN_PAIRS: u64 = 1 << 6;
/// The pairs to build in all repetitions together, if these are not fewer than asked for or more
/// than the most.
const PAIRS_TIMED: u64 = 1 << 22;
const MAX_REPETITIONS: u64 = 501;
/// The pairs of several tables that are timed at once, if each has fewer, since reading the clock
/// takes as long as some.
const PAIRS_AT_ONCE: u64 = 1 << 12;

/// The names of the measurements; each stands beside one of [`hashbrown_nanoseconds`].
const SERIES: [&str; 7] = [
    "build, unique keys promised",
    "rebuild, unique keys promised",
    "build",
    "lookups, into answers",
    "lookups, from slice to Vec",
    "lookups, into answers, load .8",
    "lookups, from slice to Vec, load .8",
];
/// The load of the last two series: `hashbrown` has half of its slots taken if the number of pairs
/// is a power of two, and so has a small `PageMap` unless asked.
const HIGHER_LOAD: f64 = 0.8;

/// Returns the quotients of the two times, over the number of pairs: with one thread, and with as
/// many as there are cores.
pub fn figures(lab: &Lab) -> anyhow::Result<Vec<Figure>> {
    let sizes: Vec<u64> =
        std::iter::successors(Some(MIN_PAIRS), |n| Some(2 * n)).take_while(|&n| n <= lab.largest).collect();
    lab.begin("beside hashbrown", sizes.len());
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    let all = ThreadPoolBuilder::new().build()?;
    let mut lines: [[Vec<(f64, f64)>; 7]; 2] = Default::default();
    for &n in &sizes {
        lab.step(format!("{n} pairs"));
        for (lines, ratios) in lines.iter_mut().zip(ratios(&lab.device, n, lab.runs, [&one, &all])?) {
            lines.iter_mut().zip(ratios).for_each(|(line, ratio)| line.push((n as f64, ratio)));
        }
    }
    let threads = [1, all.current_num_threads()];
    let names = ["cpu_one_thread", "cpu_all_threads"];
    Ok(names.into_iter().zip(threads).zip(lines).map(|((name, threads), lines)| figure(name, threads, lines)).collect())
}

fn figure(name: &'static str, threads: usize, lines: [Vec<(f64, f64)>; 7]) -> Figure {
    let series = SERIES.into_iter().zip(lines).map(|(name, points)| Series { name, points, cited: None });
    Figure {
        name,
        title: format!("PageMap on the CPU engine, threads: {threads}, beside hashbrown::HashMap on one"),
        note: "Times of hashbrown divided by those of PageMap, medians of interleaved runs: above 1 PageMap is the faster one"
            .to_owned(),
        x: Axis { label: "pairs", scale: Scale::Log2 },
        y: Axis { label: "hashbrown's time / PageMap's time", scale: Scale::Log10 },
        series: series.collect(),
        end: None,
    }
}

/// Returns the quotients for each pool of threads and each of [`SERIES`], of `n` pairs.
fn ratios(device: &Device, n: u64, runs: u32, pools: [&ThreadPool; 2]) -> anyhow::Result<[[f64; 7]; 2]> {
    let mut input = Input::<u32, u32>::new(n);
    let repetitions = (PAIRS_TIMED / n).clamp(runs as u64, MAX_REPETITIONS.max(runs as u64));
    let at_once = (PAIRS_AT_ONCE / n).max(1);
    let mut ours: [[Vec<f64>; 7]; 2] = Default::default();
    let mut theirs: [Vec<f64>; 3] = Default::default();
    // The first repetition warms up.
    for repetition in 0..=repetitions {
        // In another order each time: a processor learns the branches of a sequence that is
        // repeated.
        shuffle(&mut input.present);
        input.keys.copy_from_slice(&input.present);
        shuffle(&mut input.present);
        input.values.iter_mut().zip(&input.keys).for_each(|(of, &key)| *of = value(key));
        // On the thread that runs ours alone: the allocator gives each thread memory of its own.
        let theirs_now = pools[0].install(|| hashbrown_nanoseconds(&input, at_once));
        for (ours, pool) in ours.iter_mut().zip(pools) {
            let now = pool.install(|| page_map_nanoseconds(device, &input, at_once))?;
            ours.iter_mut().zip(now).filter(|_| repetition > 0).for_each(|(times, time)| times.push(time));
        }
        theirs.iter_mut().zip(theirs_now).filter(|_| repetition > 0).for_each(|(times, time)| times.push(time));
    }
    let [insertions, lookups, collected] = theirs.map(median);
    let references = [insertions, insertions, insertions, lookups, collected, lookups, collected];
    Ok(ours.map(|ours| std::array::from_fn(|i| references[i] / median(ours[i].clone()))))
}

/// Returns the nanoseconds of inserting all pairs into a map reserved for them, of getting all keys
/// into a vector, and into a new one.
///
/// The first includes the allocation of the map and its release; the second is into a vector that
/// is there.
fn hashbrown_nanoseconds(input: &Input<u32, u32>, at_once: u64) -> [f64; 3] {
    let build = || {
        let mut map = hashbrown::HashMap::<u32, u32>::with_capacity(input.keys.len());
        for (key, value) in input.keys.iter().zip(&input.values) {
            map.insert(*key, *value);
        }
        map
    };
    let map = build();
    // Its memory has been written, as that of our answers has.
    let mut answers = vec![Some(0); input.keys.len()];
    let insertions = nanoseconds(at_once, || used(build()));
    let lookups = nanoseconds(at_once, || {
        answers.clear();
        answers.extend(input.present.iter().map(|key| map.get(key).copied()));
        black_box(&answers);
    });
    let collected = nanoseconds(at_once, || {
        used(input.present.iter().map(|key| map.get(key).copied()).collect::<Vec<_>>());
    });
    [insertions, lookups, collected]
}

/// Returns the nanoseconds of each of [`SERIES`], on this thread's pool.
fn page_map_nanoseconds(device: &Device, input: &Input<u32, u32>, at_once: u64) -> anyhow::Result<[f64; 7]> {
    let (stream, unique) = (device.default_stream(), PageConfig::default().assume_unique());
    let map: PageMap<u32, u32> = unique.build(device, &input.keys, &input.values)?;
    let (keys, values) = (Buffer::from_slice(device, &input.keys)?, Buffer::from_slice(device, &input.values)?);
    let mut rebuilt = unique.build_on(stream, device, &keys, &values)?;
    let wide: PageMap<u32, u32> = PageConfig::default().load(HIGHER_LOAD).build(device, &input.keys, &input.values)?;
    let queries = Buffer::from_slice(device, &input.present)?;
    let mut answers = Answers::new(device, input.present.len())?;
    let mut failed = None;
    let mut timed = |work: &mut dyn FnMut() -> warpnest::Result<()>| {
        nanoseconds(at_once, || failed = work().err().or(failed.take()))
    };
    let times = [
        timed(&mut || unique.build(device, &input.keys, &input.values).map(used::<PageMap<u32, u32>>)),
        timed(&mut || rebuilt.rebuild_on(stream, &keys, &values)),
        timed(&mut || PageMap::build(device, &input.keys, &input.values).map(used::<PageMap<u32, u32>>)),
        timed(&mut || map.get_many_into(stream, &queries, &mut answers)),
        timed(&mut || map.get_many(&input.present).map(used)),
        timed(&mut || wide.get_many_into(stream, &queries, &mut answers)),
        timed(&mut || wide.get_many(&input.present).map(used)),
    ];
    if let Some(error) = failed {
        return Err(error.into());
    }
    let wrong = wrong_hits(&input.present, &answers.download(stream)?);
    anyhow::ensure!(wrong == 0, "{wrong} answers were wrong");
    Ok(times)
}

/// Drops a result, which the compiler must not leave out.
fn used<T>(made: T) {
    black_box(&made);
}

/// Returns the nanoseconds of one of `at_once` times `work`.
fn nanoseconds(at_once: u64, mut work: impl FnMut()) -> f64 {
    let clock = Instant::now();
    (0..at_once).for_each(|_| work());
    clock.elapsed().as_nanos() as f64 / at_once as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
