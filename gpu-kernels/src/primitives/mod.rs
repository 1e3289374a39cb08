//! Building blocks of the tables: scans, stream compaction, radix partition and search; and how blocks
//! append to an output, how a few words come to the host, and what the memory system allows.

pub mod append;
pub mod compact;
pub mod look_back;
pub mod radix;
pub mod readback;
pub mod roofline;
pub mod scan;
pub mod search;
