//! The settings of a device for queries in host memory.

/// The settings for answering queries in host memory in chunks.
#[derive(Clone, Copy, Debug)]
pub struct HostChunks {
    /// The size in bytes of a chunk of queries, or of the values found for it if the values are
    /// wider. A call with more bytes than this is answered in chunks.
    pub bytes: usize,
    /// The count of threads. With fewer than two threads, a call is not divided into chunks.
    pub workers: usize,
}

impl Default for HostChunks {
    fn default() -> Self {
        Self { bytes: 128 << 20, workers: 3 }
    }
}
