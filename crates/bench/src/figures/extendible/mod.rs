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

/// The segments and their buckets with which the experiments of (Hu 2015) begin (M and N).
const SEGMENTS: u32 = 8;
const BUCKETS: u32 = 1024;
/// The records of a bucket there (b).
const RECORDS: u32 = 64;
