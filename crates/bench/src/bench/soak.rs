//! A soak: calls of random kinds and sizes on several streams at once, all answers checked.

use super::input::key;
use super::lab::Bench;
use super::record::{Record, Subject};
use anyhow::{Context as _, ensure};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, Unique, isin_on};
use warpnest::{Buffer, Device, PageMap, Stream};

/// The count of host threads, each of which has a stream.
const STREAMS: u64 = 4;

/// The calls of all threads, and a map that they exchange with each other.
struct Soak {
    calls: AtomicU64,
    wrong: AtomicU64,
    /// The map that some thread built last, with its count of keys. The threads that look keys up
    /// in it and the thread that replaces it use different streams.
    shared: Mutex<Option<(PageMap<u32, u32>, u64)>>,
    end: Instant,
}

/// Calls operations for some time on inputs of up to `n` rows. The record has the count of calls as
/// its `n`. Fails if the pool holds more memory at the end than after a third of the time.
pub fn measure(at: Bench<'_>, seconds: u64) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, .. } = at;
    let (start, whole) = (Instant::now(), Duration::from_secs(seconds));
    let soak =
        Soak { calls: AtomicU64::new(0), wrong: AtomicU64::new(0), shared: Mutex::default(), end: start + whole };
    let early = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..STREAMS)
            .map(|seed| {
                let soak = &soak;
                scope.spawn(move || soak.run(device, seed, at.n))
            })
            .collect();
        std::thread::sleep(whole / 3);
        let early = device.pool().most_held;
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        anyhow::Ok(early)
    })?;
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    drop(soak.shared);
    device.trim_pool();
    let pool = device.pool();
    // Sizes are random, so the largest inputs may meet late.
    let limit = early + early / 4;
    ensure!(pool.most_held <= limit, "the pool held {} bytes early and {} at most", early, pool.most_held);
    let (calls, wrong) = (soak.calls.into_inner(), soak.wrong.into_inner());
    let subject = Subject { table: "calls".to_owned(), op: "soak", n: calls, load: 0.0, key_bits: 32, value_bits: 32 };
    Ok(vec![run.record(subject, elapsed, 0.0, wrong)])
}

impl Soak {
    /// Calls operations on a stream until the end.
    fn run(&self, device: &Device, seed: u64, n: u64) -> anyhow::Result<()> {
        let stream = device.stream()?;
        let device = stream.device();
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        let mut scratch = Scratch::new(&device);
        while Instant::now() < self.end {
            // Small and large inputs are about equally frequent.
            let bits = random.next_u64() % (u64::from(n.ilog2()) + 1);
            let rows = 1 + random.next_u64() % (1 << bits);
            let groups = 1 + random.next_u64() % rows;
            // A new scratch allocates and releases the memory of the call.
            let mut fresh = Scratch::new(&device);
            let scratch = if random.next_u64().is_multiple_of(2) { &mut scratch } else { &mut fresh };
            let wrong = match random.next_u64() % 5 {
                0 => self.exchange_maps(&device, rows)?,
                1 => self.look_up(&stream, rows)?,
                2 => unique(&stream, scratch, rows, groups)?,
                3 => group_by(&stream, scratch, rows, groups)?,
                _ => membership(&stream, scratch, rows, groups)?,
            };
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.wrong.fetch_add(wrong, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Builds a map and puts it in place of the shared one, which is dropped while other streams
    /// may still use it.
    fn exchange_maps(&self, device: &Device, rows: u64) -> anyhow::Result<u64> {
        let keys: Vec<u32> = (0..rows).map(key).collect();
        let values: Vec<u32> = (0..rows as u32).collect();
        let map = PageMap::build(device, &keys, &values)?;
        let wrong = u64::from(map.len() as u64 != rows);
        let mut shared = self.shared.lock().ok().context("another thread panicked")?;
        let before = shared.replace((map, rows));
        drop(shared);
        drop(before);
        Ok(wrong)
    }

    /// Looks keys up in the shared map, and keys that it does not contain.
    fn look_up(&self, stream: &Stream, rows: u64) -> anyhow::Result<u64> {
        let queries: Vec<u32> = (0..rows).map(|index| key(index * 2)).collect();
        let queries = Buffer::from_slice(&stream.device(), &queries)?;
        let shared = self.shared.lock().ok().context("another thread panicked")?;
        let Some((map, keys)) = shared.as_ref() else { return Ok(0) };
        let answers = map.get_many_on(stream, &queries)?;
        let keys = *keys;
        // The lookup may still run while another thread replaces and drops the map.
        drop(shared);
        let found = answers.download(stream)?;
        let expected = (0..rows).map(|index| (index * 2 < keys).then_some(index as u32 * 2));
        Ok(found.into_iter().zip(expected).filter(|(found, expected)| found != expected).count() as u64)
    }
}

/// Returns a column of `rows` rows with `groups` distinct keys.
fn column(stream: &Stream, rows: u64, groups: u64) -> warpnest::Result<Buffer<u32>> {
    Buffer::from_slice(&stream.device(), &(0..rows).map(|row| key(row % groups)).collect::<Vec<u32>>())
}

/// Returns the count of rows of a group.
fn rows_of(group: u64, rows: u64, groups: u64) -> u64 {
    rows / groups + u64::from(group < rows % groups)
}

/// Checks the distinct keys of a column with their ids and counts.
fn unique(stream: &Stream, scratch: &mut Scratch, rows: u64, groups: u64) -> anyhow::Result<u64> {
    let column = column(stream, rows, groups)?;
    let found = Unique::of(&column).ids().counts().run_on(stream, scratch)?;
    let keys = found.keys.download(stream)?;
    let (ids, counts) = (found.ids.download(stream)?, found.counts.download(stream)?);
    let mut wrong = (keys.len() as u64).abs_diff(groups);
    for (row, &id) in ids.iter().enumerate() {
        let group = row as u64 % groups;
        let is_right = keys.get(id as usize) == Some(&key(group))
            && u64::from(counts[id as usize]) == rows_of(group, rows, groups);
        wrong += u64::from(!is_right);
    }
    Ok(wrong)
}

/// Checks the sums of a group-by.
fn group_by(stream: &Stream, scratch: &mut Scratch, rows: u64, groups: u64) -> anyhow::Result<u64> {
    let column = column(stream, rows, groups)?;
    // The value of a row is its group.
    let values = (0..rows).map(|row| (row % groups) as u32).collect::<Vec<_>>();
    let values = Buffer::from_slice(&stream.device(), &values)?;
    let mut query = GroupBy::new(&column);
    let sum = query.sum(&values);
    let found = query.run_on(stream, scratch)?;
    let (keys, sums) = (found.keys().download(stream)?, found.column(sum)?.download(stream)?);
    let mut pairs: Vec<(u32, u64)> = keys.into_iter().zip(sums).collect();
    let mut expected: Vec<(u32, u64)> =
        (0..groups).map(|group| (key(group), group * rows_of(group, rows, groups))).collect();
    pairs.sort_unstable();
    expected.sort_unstable();
    Ok(u64::from(pairs != expected))
}

/// Checks which rows of a column have a key among others.
fn membership(stream: &Stream, scratch: &mut Scratch, rows: u64, groups: u64) -> anyhow::Result<u64> {
    let column = column(stream, rows, groups)?;
    let among = Buffer::from_slice(&stream.device(), &(0..groups.div_ceil(2)).map(key).collect::<Vec<u32>>())?;
    let bits = isin_on(stream, scratch, &column, &among)?.download(stream)?;
    let is_set = |row: u64| bits[(row / 32) as usize] >> (row % 32) & 1 != 0;
    Ok((0..rows).filter(|&row| is_set(row) != (row % groups < groups.div_ceil(2))).count() as u64)
}
