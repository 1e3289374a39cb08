//! Benchmarks of saving and loading, beside plain writes, reads and copies of equally many bytes.

use super::Bench;
use super::host_time::{median, median_after};
use super::input::Input;
use super::record::{Record, Subject};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use warpnest::design::BulkMap;
use warpnest::design::{Cuckoo, Design, Extendible, Linear, Page};
use warpnest::{Buffer, CuckooConfig, Device, ExtendibleConfig, LinearConfig, PageConfig};

/// The bytes that a plain write or read handles at once.
const PIECE: usize = 4 << 20;

/// Measures saving and loading maps of `n` pairs of 32-bit keys and values, in a folder. A record's
/// `n` is the bytes of its file, so its rate is in GB/s. Times are by the host's clock.
pub fn measure(at: Bench<'_>, folder: &Path) -> anyhow::Result<Vec<Record>> {
    let input = Input::<u32, u32>::new(at.n);
    let (device, keys, values) = (at.device, &input.keys, &input.values);
    let mut records = Vec::new();
    let page = PageConfig::default().load(0.8).assume_unique().build(device, keys, values)?;
    records.extend(of_map::<Page>(&at, &page, &input, folder)?);
    drop(page);
    let cuckoo = CuckooConfig::default().assume_unique().build(device, keys, values)?;
    records.extend(of_map::<Cuckoo>(&at, &cuckoo, &input, folder)?);
    drop(cuckoo);
    let mut linear = LinearConfig::default().pairs(keys.len()).create(device)?;
    linear.insert_many(keys, values)?;
    records.extend(of_map::<Linear>(&at, &linear, &input, folder)?);
    drop(linear);
    let mut extendible = ExtendibleConfig::default().create(device)?;
    extendible.insert_many(keys, values)?;
    extendible.shrink_to_fit()?;
    records.extend(of_map::<Extendible>(&at, &extendible, &input, folder)?);
    Ok(records)
}

fn of_map<D: Design>(
    at: &Bench<'_>,
    map: &BulkMap<u32, u32, D>,
    input: &Input<u32, u32>,
    folder: &Path,
) -> anyhow::Result<Vec<Record>> {
    let (device, runs) = (at.device, at.runs);
    let mut bytes = Vec::new();
    map.save(&mut bytes)?;
    let (ours, plain) = (tempfile::NamedTempFile::new_in(folder)?, tempfile::NamedTempFile::new_in(folder)?);
    let save = median(runs, || Ok(map.save_to(ours.path())?))?;
    let write = median(runs, || plain_write(plain.path(), &bytes))?;
    let load = median(runs, || Ok(BulkMap::<u32, u32, D>::load_from(device, ours.path())?))?;
    let read = median(runs, || plain_read(plain.path()))?;
    let found = BulkMap::<u32, u32, D>::load_from(device, ours.path())?.get_many(&input.keys)?;
    let wrong = found.iter().zip(&input.values).filter(|(found, value)| **found != Some(**value)).count() as u64;
    // The next two need no disk.
    let to_nowhere = median(runs, || Ok(map.save(io::sink())?))?;
    let from_memory = median(runs, || Ok(BulkMap::<u32, u32, D>::load(device, &bytes[..])?))?;
    let (up, down) = link(device, &bytes, runs)?;
    // A download to new memory may spend most of its time on page faults, which a save avoids.
    let (up_at_best, down_at_best) = (up.min(from_memory), down.min(to_nowhere));
    let file = bytes.len() as u64;
    let gb_s = |seconds: f64| file as f64 / seconds / 1e9;
    let record = |op: &'static str, seconds: f64, limit: f64, wrong| {
        let table = format!("{}Map", D::NAME);
        let subject = Subject { table, op, n: file, load: 0.0, key_bits: 32, value_bits: 32 };
        at.run.record(subject, 1e3 * seconds, limit, wrong)
    };
    #[cfg_attr(not(target_os = "linux"), allow(unused_mut, reason = "rows of Linux are added"))]
    let mut records = vec![
        record("save", save, gb_s(write).min(gb_s(down_at_best)), 0),
        record("load", load, gb_s(read).min(gb_s(up_at_best)), wrong),
        record("save_to_nowhere", to_nowhere, gb_s(down), 0),
        record("load_from_memory", from_memory, gb_s(up), 0),
        record("plain_write", write, 0.0, 0),
        record("plain_read", read, 0.0, 0),
        record("plain_download", down, 0.0, 0),
        record("plain_upload", up, 0.0, 0),
    ];
    #[cfg(target_os = "linux")]
    {
        let from_ours = || Ok(BulkMap::<u32, u32, D>::load_from(device, ours.path())?);
        let load = median_after(runs, || forget(ours.path()), from_ours)?;
        let read = median_after(runs, || forget(plain.path()), || plain_read(plain.path()))?;
        records.push(record("load_cold", load, gb_s(read), 0));
        records.push(record("plain_read_cold", read, 0.0, 0));
    }
    Ok(records)
}

/// Writes bytes to a new file beside `path`, forces it to the disk, and renames it to `path`.
fn plain_write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    bytes.chunks(PIECE).try_for_each(|piece| file.write_all(piece))?;
    file.sync_all()?;
    fs::rename(beside, path)?;
    Ok(())
}

/// Reads a file piece by piece into the same memory.
fn plain_read(path: &Path) -> anyhow::Result<()> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; PIECE]);
    while file.read(&mut piece)? != 0 {}
    Ok(())
}

/// Forces a file to the disk, and drops it from the system's memory.
#[cfg(target_os = "linux")]
fn forget(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Returns the seconds of a copy of bytes to new memory of the device, as by
/// [`Buffer::from_slice`], and back.
fn link(device: &Device, bytes: &[u8], runs: u32) -> anyhow::Result<(f64, f64)> {
    let words: Vec<u64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
    let stream = device.default_stream();
    let buffer = Buffer::from_slice(device, &words)?;
    let up = median(runs, || Ok(Buffer::from_slice(device, &words)?))?;
    let down = median(runs, || Ok(buffer.download(stream)?))?;
    Ok((up, down))
}
