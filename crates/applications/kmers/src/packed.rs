//! The k-mers of files as packed bases in bins, on the host. One thread reads, and others pack.

use super::bases::Batch;
use super::minimizer::BINS;
use super::pack::Packer;
use super::read::{MAX_RECORD_BYTES, ReadError, read};
use super::texts::{Text, Texts};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use warpnest_applications_kernels::kmers::MAX_K;

/// The number of bases of a batch if there are many bins, each with a batch in the making.
const BATCH_OF_MANY: usize = 1 << 16;
/// The number of bases of a batch if there is one bin.
const BATCH_OF_ONE: usize = 1 << 22;

/// The maximum number of packing threads, which one reading thread can keep busy.
const MAX_PACKERS: usize = 8;

/// The reason why packing fails.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("{k} bases are no k-mer that can be counted; give a k from 1 to {MAX_K}")]
    Length { k: u32 },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The options of packing.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of bases of a k-mer.
    pub k: u32,
    /// Whether a k-mer and its reverse complement count as one, named by the smaller of the two.
    pub canonical: bool,
    /// The maximum bytes of memory that a record may take.
    pub max_record_bytes: u64,
    /// The bytes of sequences that are packed at once.
    pub text_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { k: 21, canonical: true, max_record_bytes: MAX_RECORD_BYTES, text_bytes: 1 << 20 }
    }
}

/// The totals over all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub records: u64,
    /// The number of bases: A, C, G and T.
    pub bases: u64,
    /// The number of letters that are not bases.
    pub others: u64,
    pub kmers: u64,
}

/// The k-mers of files. All equal k-mers are in the same bin, also with their reverse complements
/// if the two count as one.
#[derive(Clone, Debug)]
pub struct Packed {
    pub options: Options,
    pub totals: Totals,
    /// The batches of each bin.
    pub bins: Vec<Vec<Batch>>,
}

impl Packed {
    /// Reads files one after the other. `progress` is called with the bytes as they are read.
    ///
    /// # Errors
    /// [`PackError`]. Nothing is kept in this case.
    pub fn read(files: &[PathBuf], options: Options, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, PackError> {
        let k = options.k;
        if !(1..=MAX_K).contains(&k) {
            return Err(PackError::Length { k });
        }
        let packers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_PACKERS);
        let (sender, receiver) = sync_channel(2 * packers);
        let (receiver, mut texts) = (Arc::new(Mutex::new(receiver)), Texts::new(k, options.text_bytes, sender));
        std::thread::scope(|scope| {
            let pack = |receiver: Arc<Mutex<Receiver<Text>>>| scope.spawn(move || Self::pack(options, &receiver));
            // Only the packers hold the receiver, so the reader ends if all of them panic.
            let packers: Vec<_> = std::iter::repeat_n(receiver, packers).map(pack).collect();
            let records: Result<u64, ReadError> =
                files.iter().map(|path| read(path, options.max_record_bytes, &mut texts, progress)).sum();
            texts.send();
            // This ends the packers, because no more texts can come.
            drop(texts);
            let mut packed = Self { options, totals: Totals::default(), bins: vec![Vec::new(); BINS] };
            for packer in packers {
                packed.add(packer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            packed.totals.records = records?;
            Ok(packed)
        })
    }

    /// Packs texts until the channel is closed.
    fn pack(options: Options, texts: &Mutex<Receiver<Text>>) -> Self {
        let capacity = if Packer::has_bins(options.k) { BATCH_OF_MANY } else { BATCH_OF_ONE };
        let mut packer = Packer::new(options.k, capacity);
        let mut packed = Self { options, totals: Totals::default(), bins: vec![Vec::new(); BINS] };
        let mut full = |bin: usize, batch| packed.bins[bin].push(batch);
        let next = || texts.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let mut of_others = [0, 0];
        while let Ok(text) = next() {
            packer.add(&text.letters, &mut full);
            let [bases, others] = text.of_others();
            of_others = [of_others[0] + bases, of_others[1] + others];
        }
        packer.finish(&mut full);
        let kmers = packed.bins.iter().map(kmers).sum::<usize>() as u64;
        let (bases, others) = (packer.bases - of_others[0], packer.others - of_others[1]);
        packed.totals = Totals { records: 0, bases, others, kmers };
        packed
    }

    /// Adds the k-mers and totals of another packer.
    fn add(&mut self, mut other: Self) {
        self.bins.iter_mut().zip(&mut other.bins).for_each(|(bin, batches)| bin.append(batches));
        self.totals.bases += other.totals.bases;
        self.totals.others += other.totals.others;
        self.totals.kmers += other.totals.kmers;
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
