//! Queries in the host's memory, answered in chunks: while one chunk goes to the device, another
//! one is answered there, and the answers of a third come back.
//!
//! Each worker, the caller is one, has a stream and does all steps for a chunk one after the other.
//! Of the large copies of a device one in each direction goes at a time (`engine/cuda/staged.rs`),
//! so workers come to be at different steps by themselves.

use crate::Result;
use crate::runtime::chunk_settings::HostChunks;
use crate::runtime::device::Device;
use crate::runtime::stream::Stream;
use crate::runtime::units::{Units, lock};

/// Changes how queries in the host's memory are answered on a device from now on.
pub(crate) fn set(device: &Device, settings: HostChunks) {
    *lock(device.host_chunks()) = settings;
}

/// Chunks of queries.
pub(crate) struct Chunks<'d> {
    device: &'d Device,
    /// The count of rows of each chunk but the last one, a multiple of 32.
    pub rows: usize,
    workers: usize,
}

impl<'d> Chunks<'d> {
    /// Returns the chunks of so many queries, if each one takes so many bytes. Returns `None` where
    /// all of them at once are as fast: if they are few, and on a CPU.
    pub(crate) fn of(device: &'d Device, queries: usize, bytes: usize) -> Option<Self> {
        let HostChunks { bytes: bytes_of_chunk, workers } = *lock(device.host_chunks());
        let rows = (bytes_of_chunk / bytes.max(1)).max(1).next_multiple_of(32);
        let is_worth_it = workers > 1 && queries > rows && !device.machine().runs_in_order();
        is_worth_it.then_some(Self { device, rows, workers: workers.min(queries.div_ceil(rows)) })
    }

    /// Answers the queries. For each chunk `work` gets a stream and what the worker keeps from
    /// chunk to chunk, the queries, and an item of `outputs`; it returns when these are written.
    ///
    /// # Errors
    /// The first one. No other chunk is begun then.
    pub(crate) fn answer<K: Sync, O: Send, M: Default>(
        &self,
        queries: &[K],
        outputs: impl Iterator<Item = O> + Send,
        work: impl Fn(&Stream, &mut M, &[K], O) -> Result<()> + Sync,
    ) -> Result<()> {
        let units = Units::new(queries.chunks(self.rows).zip(outputs));
        units.share(0..self.workers, |_| {
            let stream = self.device.stream()?;
            let mut kept = M::default();
            while let Some((queries, output)) = units.next() {
                work(&stream, &mut kept, queries, output)?;
            }
            Ok(())
        })
    }
}
