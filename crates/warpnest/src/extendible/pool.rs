//! A pool of memory units of one size. Their addresses do not change, and the pool grows by chunks.

use crate::runtime::allocation::Tracked;
use crate::runtime::stream::Batch;
use crate::{Buffer, Device, Error, Result};

/// A pool of memory units of one size. The first chunk is allocated initially. A later chunk has an
/// eighth of the existing units, or more if requested.
#[derive(Debug)]
pub(super) struct Pool {
    device: Device,
    unit_words: u64,
    chunks: Vec<Buffer<u64>>,
    addresses: Vec<u64>,
}

/// The divisor of the existing units that gives the usual size of a new chunk, so that there are
/// few chunks.
const SHARE: usize = 8;

impl Pool {
    /// Makes a pool of `units` units of `unit_words` 64-bit words.
    pub(super) fn new(device: &Device, unit_words: u64, units: usize) -> Result<Self> {
        let mut pool = Self::empty(device, unit_words);
        pool.add(units)?;
        Ok(pool)
    }

    /// Makes a pool of no units.
    pub(super) fn empty(device: &Device, unit_words: u64) -> Self {
        Self { device: device.clone(), unit_words, chunks: Vec::new(), addresses: Vec::new() }
    }

    /// Makes a pool of the units in a buffer.
    pub(super) fn of(device: &Device, unit_words: u64, chunk: Buffer<u64>) -> Self {
        let mut pool = Self::empty(device, unit_words);
        pool.push(chunk);
        pool
    }

    /// Ensures that the pool has at least `units` units, and returns whether units were added.
    /// Existing units keep their addresses.
    pub(super) fn reserve(&mut self, units: usize) -> Result<bool> {
        let Some(missing) = units.checked_sub(self.units()).filter(|&missing| missing != 0) else { return Ok(false) };
        let generous = missing.max(self.units() / SHARE);
        match self.add(generous) {
            Err(Error::OutOfMemory { .. }) if generous > missing => self.add(missing)?,
            added => added?,
        }
        Ok(true)
    }

    fn add(&mut self, units: usize) -> Result<()> {
        let words = units.saturating_mul(self.unit_words as usize);
        let chunk = Buffer::uninitialized(&self.device, words)?;
        self.push(chunk);
        Ok(())
    }

    fn push(&mut self, chunk: Buffer<u64>) {
        let (first, units) = (chunk.at() as u64, chunk.len() as u64 / self.unit_words);
        self.addresses.extend((0..units).map(|unit| first + 8 * self.unit_words * unit));
        self.chunks.push(chunk);
    }

    /// Returns, for each unit, its chunk and the index of its first word in the chunk.
    pub(super) fn places(&self) -> Vec<(&Buffer<u64>, u64)> {
        let of =
            |chunk| (0..Buffer::len(chunk) as u64 / self.unit_words).map(move |unit| (chunk, unit * self.unit_words));
        self.chunks.iter().flat_map(of).collect()
    }

    /// Resets the pool to `units` units. It keeps its first chunk if that has this size, and
    /// otherwise allocates a new one. If the allocation fails, the pool has no units.
    pub(super) fn restart(&mut self, units: usize) -> Result<()> {
        if self.chunks.first().is_some_and(|chunk| chunk.len() == units * self.unit_words as usize) {
            self.chunks.truncate(1);
            self.addresses.truncate(units);
            return Ok(());
        }
        self.chunks.clear();
        self.addresses.clear();
        self.add(units)
    }

    /// Returns the count of units.
    pub(super) fn units(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the address of each unit.
    pub(super) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Returns the chunks of the pool's memory.
    pub(super) fn chunks(&self) -> &[Buffer<u64>] {
        &self.chunks
    }

    /// Waits, on the host, until no work uses the units.
    pub(super) fn quiesce(&self) -> Result<()> {
        self.chunks.iter().try_for_each(|chunk| chunk.allocation().quiesce())
    }

    /// Records that the batch reads the units, through their addresses.
    pub(super) fn read<'b>(&'b self, batch: &Batch<'b>) {
        self.chunks.iter().for_each(|chunk| batch.reads(chunk));
    }

    /// Records that the batch writes the units, through their addresses.
    pub(super) fn write<'b>(&'b self, batch: &Batch<'b>) {
        self.chunks.iter().for_each(|chunk| batch.writes(chunk));
    }

    /// Returns the count of bytes of all units.
    pub(super) fn memory_bytes(&self) -> u64 {
        8 * self.unit_words * self.units() as u64
    }
}
