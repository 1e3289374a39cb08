//! Building blocks of the tables: scans, stream compaction, radix partition, gather and scatter,
//! histograms of many values, reductions.
//! Also how blocks append to an output, and how a few words are read back to the host.

pub mod append;
pub mod compact;
pub mod flags;
pub mod gather;
pub mod iota;
pub mod look_back;
pub mod radix;
pub mod readback;
pub mod reduce;
pub mod scan;
pub mod scatter;
pub mod wide_histogram;
