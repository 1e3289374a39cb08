//! The shape of an extendible table, and the sizes that follow from it.

use gpu_kernels::extendible::{PAGE, WordOf, bucket, page_words};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The shape of a table, which its configuration determines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The initial count of segments.
    pub groups: u32,
    /// The initial count of buckets.
    pub roots: u32,
    pub table_bits: u32,
    /// The count of lines of a bucket. `records` is the count of records in these lines.
    pub lines: u32,
    pub records: u32,
    /// The largest depth of the directory.
    pub max_depth: u32,
}

impl Shape {
    /// Returns the count of pages for `buckets` buckets.
    pub(super) fn pages(buckets: u64) -> usize {
        buckets.div_ceil(PAGE) as usize
    }

    /// Returns the count of slots of a bucket.
    pub(super) fn slots<K: KeyWord, V: ValueWord>(&self) -> u64 {
        self.lines as u64 * bucket::records_of_line::<WordOf<K, V>>() as u64
    }

    /// Returns the bytes of the lists of segments, pages and free indices of an empty map.
    pub(super) fn list_bytes(&self) -> u64 {
        let pages = Self::pages(self.roots as u64) as u64;
        8 * self.groups as u64 + 8 * pages + 4 * pages * PAGE
    }

    /// Returns the count of 64-bit words of a page.
    pub(super) fn page_words(&self) -> u64 {
        page_words(self.lines)
    }

    /// Returns the count of 64-bit words of a bucket's records.
    pub(super) fn bucket_words(&self) -> u64 {
        self.lines as u64 * bucket::LINE_WORDS
    }

    /// Returns the count of 64-bit words of a bucket table.
    pub(super) fn table_words(&self) -> u64 {
        (1 << self.table_bits) / 2
    }
}
