//! What batches work in.

use crate::primitives::Scratch;
use crate::{Buffer, Device, Key, Result, Stream, Value};
use gpu_kernels::extendible::counts;

/// What batches work in.
#[derive(Debug)]
pub(super) struct Work<K, V> {
    /// The mixed keys of the batch, in order, and their values.
    pub keys: Buffer<K>,
    pub values: Buffer<V>,
    /// A bit for each: whether it is the last pair of its key.
    pub last: Buffer<u32>,
    /// Whether it is that, and the key is not in the table.
    pub fresh: Buffer<u32>,
    /// The pairs of these keys, at the front.
    pub fresh_keys: Buffer<K>,
    pub fresh_values: Buffer<V>,
    /// A bit for each of them: whether it has its place, since its bucket was split.
    pub placed: Buffer<u32>,
    pub count: Buffer<u32>,
    /// Buckets that must be split; of their parts those that must be divided further, of two rounds; and what they are divided into.
    pub overflowing: Buffer<u64>,
    pub nodes: [Buffer<u64>; 2],
    pub leaves: Buffer<u64>,
    /// What bucket tables must become.
    pub needs: Buffer<u32>,
    /// Which bucket tables are to be copied. It stays after the launch that reads it: to give it back would be to wait for that.
    pub copies: Buffer<u64>,
    /// Buckets that were merged into others.
    pub merged: Buffer<u32>,
    pub counts: Buffer<u64>,
    pub scratch: Scratch,
}

impl<K: Key, V: Value> Work<K, V> {
    pub fn new(device: &Device) -> Result<Self> {
        let bits = || Buffer::uninitialized(device, 0);
        let words = || Buffer::uninitialized(device, 0);
        let (keys, fresh_keys) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let (values, fresh_values) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self {
            keys,
            values,
            last: bits()?,
            fresh: bits()?,
            fresh_keys,
            fresh_values,
            placed: bits()?,
            count: Buffer::uninitialized(device, 1)?,
            overflowing: words()?,
            nodes: [words()?, words()?],
            leaves: words()?,
            needs: bits()?,
            copies: words()?,
            merged: bits()?,
            counts: Buffer::uninitialized(device, counts::WORDS)?,
            scratch: Scratch::new(device),
        })
    }

    /// Makes room for the numbers of so many buckets.
    pub fn fit_merged(&mut self, device: &Device, buckets: usize) -> Result<()> {
        at_least(device, &mut self.merged, buckets)
    }

    pub fn fit(&mut self, device: &Device, pairs: usize) -> Result<()> {
        for keys in [&mut self.keys, &mut self.fresh_keys] {
            keys.fit(device, pairs)?;
        }
        for values in [&mut self.values, &mut self.fresh_values] {
            values.fit(device, pairs)?;
        }
        for bits in [&mut self.last, &mut self.fresh, &mut self.placed] {
            bits.fit(device, pairs.div_ceil(32))?;
        }
        Ok(())
    }
}

/// Makes a list at least `length` long, whatever it holds.
pub(super) fn at_least(device: &Device, list: &mut Buffer<u32>, length: usize) -> Result<()> {
    // As much more as it has, so that a table that grows does not ask each time.
    if list.len() < length { list.fit(device, length.max(2 * list.len())) } else { Ok(()) }
}

/// Makes a list at least `words` words long; its first `kept` stay.
pub(super) fn extend(device: &Device, stream: &Stream, list: &mut Buffer<u64>, kept: u64, words: u64) -> Result<()> {
    if list.len() as u64 >= words {
        return Ok(());
    }
    if kept == 0 {
        return list.fit(device, words as usize);
    }
    let longer = Buffer::uninitialized(device, words.max(2 * kept) as usize)?;
    stream.batch(&[&*list], &[&longer], |batch| {
        // SAFETY: the old list has that many words, and the new one is longer.
        unsafe { batch.copy(list.address(), longer.address(), 8 * kept as usize) }
    })?;
    *list = longer;
    Ok(())
}
