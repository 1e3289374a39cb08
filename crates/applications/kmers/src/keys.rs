//! The keys of k-mers, made on the device from packed bases.

use super::bases::Batch;
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Result};
use warpnest_applications_kernels::kmers::{Kmers, KmersParams};

/// A maker of keys from batches, with memory for one batch on the device.
#[derive(Debug)]
pub struct KeyMaker {
    device: Device,
    bases: Buffer<u64>,
    starts: Buffer<u32>,
    before: Buffer<u32>,
    k: u32,
    canonical: bool,
}

impl KeyMaker {
    /// Returns a maker of the keys of k-mers, and loads the kernels. Keys of 32 bits hold k-mers of
    /// 16 bases at most.
    pub fn new(device: &Device, k: u32, canonical: bool) -> Result<Self> {
        device.load(&crate::KERNELS)?;
        let (starts, before) = (Buffer::zeroed(device, 0)?, Buffer::zeroed(device, 0)?);
        Ok(Self { device: device.clone(), bases: Buffer::zeroed(device, 0)?, starts, before, k, canonical })
    }

    /// Queues the kernel that writes the keys of a batch to `keys`, starting at index `first`.
    /// `keys` must be long enough.
    pub fn write<K: WordKey>(&mut self, batch: &Batch, keys: &mut Buffer<K>, first: usize) -> Result<()> {
        if batch.kmers == 0 {
            return Ok(());
        }
        // This fails if `keys` is too short.
        keys.slice(first..first + batch.kmers)?;
        let Self { device, bases, starts, before, k, canonical } = self;
        let stream = device.default_stream();
        bases.resize(stream, batch.bases.len())?;
        bases.upload(stream, &batch.bases)?;
        starts.resize(stream, batch.starts.len())?;
        starts.upload(stream, &batch.starts)?;
        before.resize(stream, batch.before.len())?;
        before.upload(stream, &batch.before)?;
        let plan =
            KmersParams { bases: batch.length as u64, first: first as u64, k: *k, canonical: u32::from(*canonical) };
        // SAFETY: a batch has words for all its bases and one more, and its bits flag only complete
        // k-mers. `keys` has an element for each of these k-mers.
        unsafe {
            stream.launch(batch.length, |uses| Kmers::<K> {
                bases: uses.read(bases),
                starts: uses.read(starts),
                before: uses.read(before),
                keys: uses.write(keys),
                plan,
            })
        }
    }
}
