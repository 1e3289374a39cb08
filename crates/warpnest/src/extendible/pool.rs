//! A pool of memory units of one size, at addresses that do not change, which grows by chunks.

use crate::runtime::stream::Batch;
use crate::{Buffer, Device, Error, Result};

/// A pool of memory units of one size. The first chunk is there from the beginning. Later ones are
/// an eighth of the whole, or as large as they must be.
#[derive(Debug)]
pub(super) struct Pool {
    device: Device,
    unit_words: u64,
    chunks: Vec<Buffer<u64>>,
    addresses: Vec<u64>,
}

/// The smallest share of the existing chunks that a new chunk has, if there is memory for it, so
/// that chunks stay few.
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

    /// Makes capacity for `units` units in all; returns whether units were added. The others stay
    /// where they are.
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

    /// Returns the chunk of each unit, and the index of the unit's first word there.
    pub(super) fn places(&self) -> Vec<(&Buffer<u64>, u64)> {
        let of =
            |chunk| (0..Buffer::len(chunk) as u64 / self.unit_words).map(move |unit| (chunk, unit * self.unit_words));
        self.chunks.iter().flat_map(of).collect()
    }

    /// Resets the pool to `units` units, in the chunk that it had at the beginning, or in a new one
    /// if all have moved since. If this fails, it has none.
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

    /// Records that the batch reads the units, through their addresses.
    pub(super) fn read<'b>(&'b self, batch: &Batch<'b>) {
        self.chunks.iter().for_each(|chunk| batch.reads(chunk));
    }

    /// Records that the batch writes the units, through their addresses.
    pub(super) fn write<'b>(&'b self, batch: &Batch<'b>) {
        self.chunks.iter().for_each(|chunk| batch.writes(chunk));
    }

    /// Returns the bytes of all units.
    pub(super) fn memory_bytes(&self) -> u64 {
        8 * self.unit_words * self.units() as u64
    }
}
