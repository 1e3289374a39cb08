//! The settings of a device for queries in the host's memory.

/// How queries in the host's memory are answered in chunks.
#[derive(Clone, Copy, Debug)]
pub struct HostChunks {
    /// The bytes of the queries of a chunk, or of the values found for them if these are wider.
    /// More bytes than that are answered in chunks.
    pub bytes: usize,
    /// The count of threads. With fewer than two, no chunks are made.
    pub workers: usize,
}

impl Default for HostChunks {
    fn default() -> Self {
        Self { bytes: 128 << 20, workers: 3 }
    }
}
