//! The k-mers of files as packed bases in bins, on the host.

use super::bases::Batch;
use super::minimizer::BINS;
use super::pack::Packer;
use super::read::{MAX_RECORD_BYTES, ReadError, read};
use std::path::PathBuf;
use warpnest_applications_kernels::kmers::MAX_K;

/// The bases of a batch, if there are many bins: each has one in the making.
const BATCH_OF_MANY: usize = 1 << 16;
/// The same if there is one bin.
const BATCH_OF_ONE: usize = 1 << 22;

/// The reason why nothing is packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("{k} bases are no k-mer that can be counted; give a k from 1 to {MAX_K}")]
    Length { k: u32 },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What is packed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of bases of a k-mer.
    pub k: u32,
    /// Whether a k-mer and its reverse complement are one, named by the smaller of both.
    pub canonical: bool,
    /// The most bytes of memory that a record may take.
    pub max_record_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { k: 21, canonical: true, max_record_bytes: MAX_RECORD_BYTES }
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

/// The k-mers of files. All that are equal are in one bin, also those that count as one with their
/// reverse complements.
#[derive(Clone, Debug)]
pub struct Packed {
    pub options: Options,
    pub totals: Totals,
    /// The batches of each bin.
    pub bins: Vec<Vec<Batch>>,
}

impl Packed {
    /// Reads files one after the other. `progress` is told the bytes of the files, as they are read.
    pub fn read(files: &[PathBuf], options: Options, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, PackError> {
        let k = options.k;
        if !(1..=MAX_K).contains(&k) {
            return Err(PackError::Length { k });
        }
        let capacity = if Packer::has_bins(k) { BATCH_OF_MANY } else { BATCH_OF_ONE };
        let mut packer = Packer::new(k, capacity);
        let mut packed = Self { options, totals: Totals::default(), bins: vec![Vec::new(); BINS] };
        let mut full = |bin: usize, batch| packed.bins[bin].push(batch);
        for path in files {
            packed.totals.records += read(path, options.max_record_bytes, &mut packer, &mut full, progress)?;
        }
        packer.finish(&mut full);
        (packed.totals.bases, packed.totals.others) = (packer.bases, packer.others);
        packed.totals.kmers = packed.bins.iter().map(|bin| kmers(bin)).sum::<usize>() as u64;
        Ok(packed)
    }

    /// Returns the bytes of the packed bases.
    pub fn memory_bytes(&self) -> usize {
        let of_batch = |batch: &Batch| 8 * batch.bases.len() + 8 * batch.starts.len();
        self.bins.iter().flatten().map(of_batch).sum()
    }
}

/// Returns the number of k-mers of batches.
pub fn kmers<'b>(batches: impl IntoIterator<Item = &'b Batch>) -> usize {
    batches.into_iter().map(|batch| batch.kmers).sum()
}
