//! Queries in host memory, answered in chunks. While one chunk is copied to the device, a second
//! chunk is answered there, and the answers of a third chunk are copied back.
//!
//! The caller is one of the workers. Each worker has a stream, and does all steps for a chunk one
//! after the other. A device makes one large copy in each direction at a time
//! (`engine/cuda/staged.rs`), so workers get to different steps by themselves.

use crate::Result;
use crate::runtime::chunk_settings::HostChunks;
use crate::runtime::device::Device;
use crate::runtime::stream::Stream;
use crate::runtime::units::{Units, lock};

/// Changes how a device answers later queries in host memory.
pub(crate) fn set(device: &Device, settings: HostChunks) {
    *lock(device.host_chunks()) = settings;
}

/// The chunks of a call's queries.
pub(crate) struct Chunks<'d> {
    device: &'d Device,
    /// The count of rows of each chunk except the last one, a multiple of 32.
    pub rows: usize,
    workers: usize,
}

impl<'d> Chunks<'d> {
    /// Returns the chunks of `queries` queries of `bytes` bytes each. Returns `None` if one launch
    /// for all queries is as fast: if the queries are few, and on a CPU.
    pub(crate) fn of(device: &'d Device, queries: usize, bytes: usize) -> Option<Self> {
        let HostChunks { bytes: bytes_of_chunk, workers } = *lock(device.host_chunks());
        let rows = (bytes_of_chunk / bytes.max(1)).max(1).next_multiple_of(32);
        let is_worth_it = workers > 1 && queries > rows && !device.machine().runs_in_order();
        is_worth_it.then_some(Self { device, rows, workers: workers.min(queries.div_ceil(rows)) })
    }

    /// Answers the queries. For each chunk, `work` gets a stream, the worker's scratch (which it
    /// keeps between chunks), the queries and an item of `outputs`. It returns when the outputs are
    /// written.
    ///
    /// # Errors
    /// The first error of a chunk. No further chunk is then begun.
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
