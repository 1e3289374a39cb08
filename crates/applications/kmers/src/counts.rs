//! The counts of k-mers, once all are counted.

use warpnest::primitives::{Scratch, sort_pairs};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Result};

/// The number of k-mers that are copied to the host at once.
const CHUNK: usize = 1 << 16;

/// The different k-mers and how often each occurs, on a device. Keys and counts have 32 or 64 bits.
#[derive(Debug)]
pub struct Counts(Box<dyn Columns>);

impl Counts {
    /// Returns the counts in two columns of the same length.
    pub fn new<K, C>(device: &Device, keys: Buffer<K>, counts: Buffer<C>) -> Self
    where
        K: WordKey + Into<u64>,
        C: WordKey + Into<u64>,
    {
        Self(Box::new(Pairs { device: device.clone(), keys, counts }))
    }

    /// Returns the number of different k-mers.
    pub fn distinct(&self) -> usize {
        self.0.len()
    }

    /// Sorts the k-mers by their texts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](warpnest::Error::OutOfMemory),
    /// [`Error::Driver`](warpnest::Error::Driver).
    pub fn sort(&mut self) -> Result<()> {
        self.0.sort()
    }

    /// Hands all k-mers to `work`, by their keys and with their counts, some at a time. The first
    /// error of `work` ends it.
    ///
    /// # Errors
    /// [`Error::Driver`](warpnest::Error::Driver).
    pub fn each<E>(&self, work: &mut dyn FnMut(&[(u64, u64)]) -> Result<(), E>) -> Result<Result<(), E>> {
        let mut pairs = Vec::new();
        for first in (0..self.distinct()).step_by(CHUNK) {
            self.0.copy(first, &mut pairs)?;
            if let Err(error) = work(&pairs) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

/// The columns, whatever their types.
trait Columns: std::fmt::Debug {
    fn len(&self) -> usize;
    fn sort(&mut self) -> Result<()>;
    /// Copies the pairs from number `first` on, at most [`CHUNK`] of them.
    fn copy(&self, first: usize, pairs: &mut Vec<(u64, u64)>) -> Result<()>;
}

#[derive(Debug)]
struct Pairs<K, C> {
    device: Device,
    keys: Buffer<K>,
    counts: Buffer<C>,
}

impl<K: WordKey + Into<u64>, C: WordKey + Into<u64>> Columns for Pairs<K, C> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn sort(&mut self) -> Result<()> {
        let mut scratch = Scratch::new(&self.device);
        sort_pairs(self.device.default_stream(), &mut scratch, &mut self.keys, &mut self.counts)
    }

    fn copy(&self, first: usize, pairs: &mut Vec<(u64, u64)>) -> Result<()> {
        let (stream, end) = (self.device.default_stream(), self.len().min(first + CHUNK));
        let keys = self.keys.slice(first..end)?.download(stream)?;
        let counts = self.counts.slice(first..end)?.download(stream)?;
        pairs.clear();
        pairs.extend(keys.into_iter().zip(counts).map(|(key, count)| (key.into(), count.into())));
        Ok(())
    }
}
