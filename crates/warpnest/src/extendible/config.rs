//! The configuration of an extendible map, and the sizes that follow from it.

use super::shape::Shape;
use super::work::{Batch, Kept};
use crate::table::config::Config;
use crate::{ConfigError, Error, Result};
use gpu_kernels::extendible::{MAX_DEPTH, MAX_RECORDS, WordOf, bucket};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The configuration of an [`ExtendibleMap`](crate::ExtendibleMap).
///
/// By default, a map begins with 8 segments of 1024 buckets of 64 records each, as in the
/// experiments of (Hu 2015), and has at most 2^22 segments.
///
/// ```
/// use warpnest::{Device, ExtendibleConfig};
///
/// let config = ExtendibleConfig::default().segments(1).buckets(16).records(32).seed(7);
/// let mut map = config.create::<u64, u32>(&Device::best()?)?;
/// assert_eq!(map.insert_many(&[1, 1 << 40], &[10, 20])?, 2);
/// assert_eq!(map.table().report().buckets, 16);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type ExtendibleConfig = Config<Extendible>;

/// The design of [`ExtendibleMap`](crate::ExtendibleMap), with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Extendible {
    pub(super) segments: u32,
    pub(super) buckets: u32,
    pub(super) records: u32,
    pub(super) max_segments: u64,
}

impl Default for Extendible {
    fn default() -> Self {
        Self { segments: 8, buckets: 1024, records: 64, max_segments: 1 << 22 }
    }
}

/// The fewest entries of a bucket table, because a kernel copies 16 bytes at once.
const MIN_BUCKETS: u32 = 4;
/// The largest initial count of buckets.
const MAX_ROOTS: u64 = 1 << 31;

impl Config<Extendible> {
    /// Sets the initial count of segments of the directory (M in Hu 2015).
    #[must_use]
    pub fn segments(mut self, segments: u32) -> Self {
        self.design.segments = segments;
        self
    }

    /// Sets the count of buckets to which a bucket table points (N in Hu 2015). It must be a power
    /// of two and at least 4. A segment that splits gets a bucket table of its own, so smaller
    /// bucket tables let the directory grow in smaller steps.
    #[must_use]
    pub fn buckets(mut self, buckets: u32) -> Self {
        self.design.buckets = buckets;
        self
    }

    /// Sets the count of records that a bucket can hold (b in Hu 2015). It must be a multiple of 8
    /// and at most 256.
    #[must_use]
    pub fn records(mut self, records: u32) -> Self {
        self.design.records = records;
        self
    }

    /// Sets the largest count of segments to which the directory may grow. A batch that would need
    /// more, because too many hashes agree in their first bits, is refused
    /// ([`FullError::TooDeep`](crate::FullError::TooDeep)).
    #[must_use]
    pub fn max_segments(mut self, segments: u64) -> Self {
        self.design.max_segments = segments;
        self
    }

    /// Returns the bytes that an empty map takes on the device. The map grows with its keys.
    ///
    /// Buckets alone take 13.3 bytes for each pair of 32-bit keys and values with the default
    /// configuration, and 26.3 with keys or values of 64 bits. They are filled to ln 2 on average,
    /// and have one extra slot for every eight records. A map also has the directory, pages that
    /// were allocated ahead of their buckets, and split buckets that are not reused yet. A whole
    /// map was measured after growth to 2^20, 2^24 and 2^27 pairs. It took 18.7, 18.2 and 15.8
    /// bytes per pair, and 35.6 if keys and values have 64 bits (2^24 pairs).
    ///
    /// # Errors
    /// [`ConfigError::Directory`] if no map can have this configuration.
    pub fn initial_memory_bytes<K: KeyWord, V: ValueWord>(&self) -> Result<usize> {
        let shape = self.shape::<K, V>()?;
        let pages = Shape::pages(shape.roots as u64) as u64;
        let tables = 8 * shape.table_words() * shape.groups as u64;
        Ok((8 * shape.page_words() * pages + tables + shape.list_bytes()) as usize)
    }

    /// Returns the most device bytes that the first batch of `pairs` insertions takes in addition
    /// to its input and to the grown map. Most of these bytes stay allocated for the next batch.
    /// The method of the same name of [`ExtendibleTable`](super::ExtendibleTable) returns the bytes
    /// for any other batch.
    ///
    /// The result is right for keys whose hashes are spread evenly, except for one in a million
    /// batches of such keys. If too many hashes agree in their first bits, the directory becomes
    /// deeper than expected. A batch then takes up to 112 bytes more for each further halving of a
    /// bucket, and 4 bytes more for each further segment.
    ///
    /// # Errors
    /// [`ConfigError::Directory`], [`InputError::TooManyItems`](crate::InputError::TooManyItems).
    pub fn batch_scratch_bytes<K: KeyWord, V: ValueWord>(&self, pairs: usize) -> Result<usize> {
        let pairs = pairs as u64;
        let shape = self.shape::<K, V>()?;
        let batch = Batch { pairs, records: pairs, buckets: shape.roots as u64, depth: 0, lists: shape.list_bytes() };
        Ok(batch.scratch_bytes::<K, V>(&shape, Kept::default())? as usize)
    }

    pub(super) fn shape<K: KeyWord, V: ValueWord>(&self) -> Result<Shape> {
        let Extendible { segments, buckets, records, max_segments } = self.design;
        let roots = segments as u64 * buckets as u64;
        let sensible = segments != 0
            && buckets.is_power_of_two()
            && buckets >= MIN_BUCKETS
            && roots <= MAX_ROOTS
            && records != 0
            && records.is_multiple_of(8)
            && records <= MAX_RECORDS
            && max_segments >= segments as u64;
        if !sensible {
            return Err(Error::Config(ConfigError::Directory { segments, buckets, records, max_segments }));
        }
        let of_line = bucket::records_of_line::<WordOf<K, V>>();
        let max_depth = (max_segments / segments as u64).ilog2().min(MAX_DEPTH);
        let table_bits = buckets.ilog2();
        Ok(Shape {
            groups: segments,
            roots: roots as u32,
            table_bits,
            lines: bucket::lines_for(records, of_line),
            records,
            max_depth,
        })
    }

    /// Returns the most records that a bucket and its buddy may have together if they are merged.
    /// It is a quarter less than a bucket can hold. So a few insertions after a merge cause no
    /// split, and a few removals after a split no merge.
    pub(super) fn max_merged(&self) -> u64 {
        self.design.records as u64 * 3 / 4
    }
}
