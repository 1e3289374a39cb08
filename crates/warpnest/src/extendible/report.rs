//! The sizes of an extendible map.

use super::ExtendibleTable;
use super::table::Table;
use crate::table::raw::ReadTable;
use gpu_kernels::types::{KeyWord, ValueWord};

/// The sizes of a map, and its average fill.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExtendibleReport {
    /// The global depth, which is how often the segment table has doubled.
    pub global_depth: u32,
    /// The count of entries of the segment table.
    pub segments: u64,
    /// The count of bucket tables. Several segments may share a bucket table.
    pub bucket_tables: u64,
    /// The count of entries of each bucket table.
    pub buckets_of_table: u64,
    /// The count of buckets.
    pub buckets: u64,
    /// The count of records that a bucket can hold.
    pub records_of_bucket: u64,
    /// The count of records.
    pub records: u64,
    /// The count of entries of Fagin's directory for the same buckets. It has one level and doubles
    /// as a whole.
    pub one_level_entries: u64,
    /// The bytes of the buckets in use.
    pub bucket_bytes: u64,
    /// The bytes of the segment table and the bucket tables in use.
    pub directory_bytes: u64,
    /// The bytes that the map takes on the device, including memory that is kept for later batches.
    pub memory_bytes: u64,
}

impl ExtendibleReport {
    /// Returns the count of entries of the directory: the entries of the segment table and of all
    /// bucket tables.
    pub fn directory_entries(&self) -> u64 {
        self.segments + self.bucket_tables * self.buckets_of_table
    }

    /// Returns the average share of a bucket's capacity that is taken. With many keys it is about
    /// ln 2, .69. It is 0 if clearing the map failed.
    pub fn fill(&self) -> f64 {
        self.records as f64 / (self.buckets * self.records_of_bucket).max(1) as f64
    }
}

impl<K: KeyWord, V: ValueWord> ExtendibleTable<K, V> {
    /// Returns the sizes of the map, and its average fill.
    pub fn report(&self) -> ExtendibleReport {
        let (Table { directory, shape, .. }, records_of_bucket) = (&self.table, self.table.shape.records as u64);
        let (segments, bucket_tables) = (directory.segments().len() as u64, directory.table_count() as u64);
        let (buckets, buckets_of_table) = (self.table.buckets(), 1 << shape.table_bits);
        // A line of a bucket has 64 bytes, and the header of a bucket has 16.
        let of_bucket = 64 * shape.lines as u64 + 16;
        ExtendibleReport {
            global_depth: directory.depth(),
            segments,
            bucket_tables,
            buckets_of_table,
            buckets,
            records_of_bucket,
            records: self.length,
            one_level_entries: (shape.roots as u64) << directory.depth(),
            bucket_bytes: buckets * of_bucket,
            directory_bytes: 8 * segments + 4 * buckets_of_table * bucket_tables,
            memory_bytes: self.memory_bytes(),
        }
    }
}
