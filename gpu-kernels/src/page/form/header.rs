//! The header: the words beside the pages that contain the results of a build.

pub use crate::split::header::{DROPPED, LEVELS, OVERFLOW};

/// The count of pages that could not be built.
pub const FAILED: u64 = 6;
/// The count of keys.
pub const LENGTH: u64 = 7;
/// The count of pairs that found all of their candidates full. Other pairs were evicted to store
/// them, unless an earlier eviction had already inserted their key.
pub const LEFT: u64 = 8;
/// The count of sampled keys that were already drawn before.
pub const SAMPLED: u64 = 9;
/// The count of repeated keys that did not fit in their page's own part of the list. It includes
/// the keys that found the common part full.
pub const REPEATED: u64 = 10;
/// The count of repeated keys in the pages' own parts of the list.
pub const LISTED: u64 = 11;
/// Not 0 if a pair was removed from a full bucket.
pub const HOLES: u64 = 12;
/// The count of words.
pub const WORDS: usize = 14;
