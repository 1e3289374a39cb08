//! The experiments of Hu, Xi and Lin, *Extendible Hashing Method Based on GPU* (gEHT, 2015, section
//! 4): docs/papers/extendible-experiments.md.

mod batches;
mod directory;
mod expansion;
mod host;
mod maps;
mod mixed;
mod placed;

pub use directory::directory;
pub use mixed::mixed;

/// The number of segments with which the experiments of (Hu 2015) begin (M).
const SEGMENTS: u32 = 8;
/// The number of buckets per segment with which they begin (N).
const BUCKETS: u32 = 1024;
/// The number of records per bucket in these experiments (b).
const RECORDS: u32 = 64;
