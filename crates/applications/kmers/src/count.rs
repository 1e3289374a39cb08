//! Counting the k-mers of files: one thread reads and packs, while the device counts.

use super::bases::{Batch, Packer};
use super::counter::Counter;
use super::counts::Counts;
use super::read::{MAX_RECORD_BYTES, ReadError, Stop, read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use warpnest::Device;
use warpnest_applications_kernels::kmers::MAX_K;

/// The bases that are packed at once.
const BATCH: usize = 1 << 22;
/// The batches that wait for the device.
const WAITING: usize = 2;
/// The bases that a byte of a compressed file is expected to have.
const BASES_IN_COMPRESSED_BYTE: u64 = 4;

/// The reason why nothing is counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error("{k} bases are no k-mer that can be counted; give a k from 1 to {MAX_K}")]
    Length { k: u32 },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot count the k-mers: {0}; if memory is short, give a smaller --batch")]
    Device(#[from] warpnest::Error),
}

/// What is counted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of bases of a k-mer.
    pub k: u32,
    /// Whether a k-mer and its reverse complement are one, named by the smaller of both.
    pub canonical: bool,
    /// The most keys that are counted at once.
    pub keys_at_once: usize,
    /// The most bytes of memory that a record may take.
    pub max_record_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { k: 21, canonical: true, keys_at_once: 1 << 26, max_record_bytes: MAX_RECORD_BYTES }
    }
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub records: u64,
    /// The number of bases: A, C, G and T.
    pub bases: u64,
    /// The number of other letters.
    pub others: u64,
    pub kmers: u64,
}

/// The k-mers of files, and what they took.
#[derive(Debug)]
pub struct Counted {
    pub totals: Totals,
    pub counts: Counts,
    /// The time on the device, also while files were read.
    pub counting: Duration,
    /// The time of everything.
    pub total: Duration,
}

/// Counts the k-mers of files. `progress` is told the bytes of the files, as they are read.
///
/// # Errors
/// [`CountError`].
pub fn count(
    device: &Device,
    files: &[PathBuf],
    options: Options,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Counted, CountError> {
    let Options { k, canonical, keys_at_once, max_record_bytes } = options;
    if !(1..=MAX_K).contains(&k) {
        return Err(CountError::Length { k });
    }
    let start = Instant::now();
    let mut counter = Counter::new(device, k, canonical, keys_at_once.max(1), expected_bases(files))?;
    let (sender, receiver) = sync_channel(WAITING);
    let packing = move || {
        let mut packer = Packer::new(k, BATCH.min(keys_at_once));
        let read = read_all(files, max_record_bytes, &mut packer, &sender, progress);
        // The other end is told that no batch follows.
        drop(sender);
        read
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(packing);
        let mut totals = Totals::default();
        // Taken by value, so that a reader with nobody to read for ends.
        for batch in receiver {
            totals.kmers += batch.kmers as u64;
            counter.add(&batch)?;
        }
        let of_reader = match reader.join() {
            Ok(done) => done?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let (counts, counting) = counter.finish()?;
        let totals = Totals { kmers: totals.kmers, ..of_reader };
        Ok(Counted { totals, counts, counting, total: start.elapsed() })
    })
}

/// Reads all files, and sends their batches.
fn read_all(
    files: &[PathBuf],
    max_record_bytes: u64,
    packer: &mut Packer,
    sender: &SyncSender<Batch>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Totals, ReadError> {
    let mut full = |batch| sender.send(batch).map_err(|_| Stop::Unwanted);
    let mut totals = Totals::default();
    for path in files {
        match read(path, max_record_bytes, packer, &mut full, progress) {
            Ok(records) => totals.records += records,
            Err(Stop::Failed(error)) => return Err(error),
            // Whoever took the batches has an error of its own.
            Err(Stop::Unwanted) => break,
        }
    }
    (totals.bases, totals.others) = (packer.bases, packer.others);
    let last = std::mem::replace(packer, Packer::new(1, 0)).finish();
    let _ = last.map(full);
    Ok(totals)
}

/// Returns about how many bases files have.
fn expected_bases(files: &[PathBuf]) -> usize {
    let of_file = |path: &PathBuf| {
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        if is_compressed(path) { BASES_IN_COMPRESSED_BYTE * bytes } else { bytes }
    };
    usize::try_from(files.iter().map(of_file).sum::<u64>()).unwrap_or(usize::MAX)
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

#[cfg(test)]
mod tests;
