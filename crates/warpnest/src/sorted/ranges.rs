//! The operations of a sorted map that use the order of its keys, which are bounds and ranges.

use super::SortedMap;
use crate::relational::{Column, IntoColumn};
use crate::table::input::keys_on;
use crate::types::{OrderedKey, to_word};
use crate::{Buffer, BufferSlice, Error, InputError, Key, Result, Stream, Value};
use gpu_kernels::sorted::{Bounds, BoundsParams, CountRanges, RangesParams};
use gpu_kernels::types::Scalar;
use std::ops::{Bound, Range, RangeBounds};

/// The keys that a bound counts for a query.
#[derive(Clone, Copy)]
enum Side {
    /// The keys that are less than the query.
    Lower,
    /// The keys that are not greater than the query.
    Upper,
}

// Each method has the bound `OrderedKey`, because rustc then says which keys have an order. If the
// `impl` had the bound, rustc would say that the method does not exist.
impl<K: Key, V: Value> SortedMap<K, V> {
    /// Returns, for each of `queries`, the count of keys less than it. That is its rank, whether or
    /// not it is in the map.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    #[doc(alias("searchsorted", "lower_bound"))]
    pub fn lower_bound_many<'c>(&self, queries: impl IntoColumn<'c, K>) -> Result<Vec<u32>>
    where
        K: OrderedKey,
    {
        self.bounds(queries.into_column(), Side::Lower)
    }

    /// Returns, for each of `queries`, the count of keys that are not greater than it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    #[doc(alias("searchsorted", "upper_bound"))]
    pub fn upper_bound_many<'c>(&self, queries: impl IntoColumn<'c, K>) -> Result<Vec<u32>>
    where
        K: OrderedKey,
    {
        self.bounds(queries.into_column(), Side::Upper)
    }

    /// Queues the lookup of [`SortedMap::lower_bound_many`] without waiting.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn lower_bound_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>>
    where
        K: OrderedKey,
    {
        self.bounds_on(stream, queries.words(), Side::Lower)
    }

    /// Queues writing the count of keys less than `queries[i]` to `ranks[i]`. Neither waits nor
    /// allocates.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn lower_bound_many_into(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        ranks: &mut BufferSlice<u32>,
    ) -> Result<()>
    where
        K: OrderedKey,
    {
        self.bounds_into(stream, queries.words(), ranks, Side::Lower)
    }

    /// Queues the lookup of [`SortedMap::upper_bound_many`] without waiting.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn upper_bound_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>>
    where
        K: OrderedKey,
    {
        self.bounds_on(stream, queries.words(), Side::Upper)
    }

    /// Queues writing the count of keys that are not greater than `queries[i]` to `ranks[i]`.
    /// Neither waits nor allocates.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn upper_bound_many_into(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        ranks: &mut BufferSlice<u32>,
    ) -> Result<()>
    where
        K: OrderedKey,
    {
        self.bounds_into(stream, queries.words(), ranks, Side::Upper)
    }

    fn bounds(&self, queries: Column<'_, K>, side: Side) -> Result<Vec<u32>> {
        let queries = keys_on(self.device(), queries)?;
        self.bounds_of_words(queries.words(), side)
    }

    fn bounds_of_words(&self, queries: &Buffer<K::Word>, side: Side) -> Result<Vec<u32>> {
        let stream = self.device().default_stream();
        self.bounds_on(stream, queries, side)?.download(stream)
    }

    fn bounds_on(&self, stream: &Stream, queries: &Buffer<K::Word>, side: Side) -> Result<Buffer<u32>> {
        let mut ranks = Buffer::uninitialized(self.device(), queries.len())?;
        self.bounds_into(stream, queries, &mut ranks, side)?;
        Ok(ranks)
    }

    fn bounds_into(
        &self,
        stream: &Stream,
        queries: &Buffer<K::Word>,
        ranks: &mut BufferSlice<u32>,
        side: Side,
    ) -> Result<()> {
        crate::error::same_length(("the queries", queries.len()), ("the ranks", ranks.len()))?;
        let plan = BoundsParams {
            layout: self.table.layout,
            queries: queries.len() as u64,
            upper: matches!(side, Side::Upper) as u32,
            padding: 0,
        };
        stream.batch(|batch| {
            let (queries, keys) = (batch.read(queries), batch.read(&self.table.keys));
            let bounds = Bounds::<K::Word> { queries, keys, ranks: batch.write(ranks), plan };
            // SAFETY: there is a rank for each query, and the keys and their layout belong
            // together.
            unsafe { batch.launch(&bounds, plan.queries) }
        })
    }

    /// Returns the ranks of the keys in `range`, from the rank of the first key to one more than
    /// the rank of the last key. If no key is in the range, `start` and `end` are both the rank
    /// that such a key would have. A range whose end is before its start has no keys, and is no
    /// error.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn range(&self, range: impl RangeBounds<K>) -> Result<Range<u32>>
    where
        K: OrderedKey,
    {
        // The bounds are the least key in the range, and the least key above the range. A bound is
        // `None` if all keys are below it.
        let next = |key: K::Word| (key != K::Word::ALL_ONES).then(|| K::Word::from_u64(key.to_u64() + 1));
        let from = match range.start_bound() {
            Bound::Included(key) => Some(to_word(*key)),
            Bound::Excluded(key) => next(to_word(*key)),
            Bound::Unbounded => Some(K::Word::default()),
        };
        let to = match range.end_bound() {
            Bound::Included(key) => next(to_word(*key)),
            Bound::Excluded(key) => Some(to_word(*key)),
            Bound::Unbounded => None,
        };
        let words = [from, to].map(Option::unwrap_or_default);
        let bounds = self.bounds_of_words(&Buffer::from_slice(self.device(), &words)?, Side::Lower)?;
        let rank = |key: Option<K::Word>, bound: u32| if key.is_some() { bound } else { self.len() as u32 };
        let (start, end) = (rank(from, bounds[0]), rank(to, bounds[1]));
        Ok(start..end.max(start))
    }

    /// Returns the pairs whose keys are in `range`, in the order of the keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    #[doc(alias("between", "range_query"))]
    pub fn range_pairs(&self, range: impl RangeBounds<K>) -> Result<Vec<(K, V)>>
    where
        K: OrderedKey,
    {
        self.pairs_at(self.range(range)?)
    }

    /// Returns the pairs at `ranks`, which come from [`SortedMap::range`].
    ///
    /// # Errors
    /// As for [`SortedMap::pairs_at_on`].
    pub fn pairs_at(&self, ranks: Range<u32>) -> Result<Vec<(K, V)>>
    where
        K: OrderedKey,
    {
        let stream = self.device().default_stream();
        let (keys, values) = self.pairs_at_on(stream, ranks)?;
        Ok(keys.download(stream)?.into_iter().zip(values.download(stream)?).collect())
    }

    /// Queues a copy of the pairs at `ranks` to buffers of keys and values, without waiting.
    ///
    /// # Errors
    /// [`InputError::Ranks`] if the map does not have all of these ranks, [`Error::OutOfMemory`],
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn pairs_at_on(&self, stream: &Stream, ranks: Range<u32>) -> Result<(Buffer<K>, Buffer<V>)>
    where
        K: OrderedKey,
    {
        self.check_ranks(&ranks)?;
        let mut keys = Buffer::uninitialized(self.device(), ranks.len())?;
        let mut values = Buffer::uninitialized(self.device(), ranks.len())?;
        self.pairs_at_into(stream, ranks, &mut keys, &mut values)?;
        Ok((keys, values))
    }

    /// Queues a copy of the pairs at `ranks`, which come from [`SortedMap::range`], to `keys` and
    /// `values`. Neither waits nor allocates.
    ///
    /// # Errors
    /// [`InputError::Ranks`] if the map does not have all of these ranks,
    /// [`InputError::LengthsDiffer`] unless `keys` and `values` have exactly one element for each
    /// rank, [`Error::WrongDevice`], [`Error::Driver`].
    pub fn pairs_at_into(
        &self,
        stream: &Stream,
        ranks: Range<u32>,
        keys: &mut BufferSlice<K>,
        values: &mut BufferSlice<V>,
    ) -> Result<()>
    where
        K: OrderedKey,
    {
        self.check_ranks(&ranks)?;
        let Range { start, end } = ranks;
        let pairs = (end - start) as usize;
        crate::error::same_length(("the ranks", pairs), ("the keys", keys.len()))?;
        crate::error::same_length(("the ranks", pairs), ("the values", values.len()))?;
        // SAFETY: the map has pairs at all of the ranks, and the outputs have an element for each
        // rank.
        unsafe { self.table.copy(stream, start as u64..end as u64, keys.words(), values.words()) }
    }

    /// Fails unless the map has these ranks.
    fn check_ranks(&self, &Range { start, end }: &Range<u32>) -> Result<()> {
        if start <= end && end as usize <= self.len() {
            return Ok(());
        }
        Err(Error::Input(InputError::Ranks { start, end, length: self.len() as u64 }))
    }

    /// Returns, for each of `ranges`, the count of keys that are not less than its start and less
    /// than its end.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn count_ranges_many(&self, ranges: &[Range<K>]) -> Result<Vec<u32>>
    where
        K: OrderedKey,
    {
        let stream = self.device().default_stream();
        let (from, to): (Vec<K>, Vec<K>) = ranges.iter().map(|range| (range.start, range.end)).unzip();
        let (from, to) = (keys_on(self.device(), &from)?, keys_on(self.device(), &to)?);
        self.count_ranges_many_on(stream, &from, &to)?.download(stream)
    }

    /// Queues the count of [`SortedMap::count_ranges_many`], for the ranges from `from[i]` to
    /// `to[i]`, without waiting.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`], [`Error::OutOfMemory`], [`Error::WrongDevice`],
    /// [`Error::Driver`].
    pub fn count_ranges_many_on(&self, stream: &Stream, from: &Buffer<K>, to: &Buffer<K>) -> Result<Buffer<u32>>
    where
        K: OrderedKey,
    {
        let mut counts = Buffer::uninitialized(self.device(), from.len())?;
        self.count_ranges_many_into(stream, from, to, &mut counts)?;
        Ok(counts)
    }

    /// Queues counting, for each `i`, the keys that are at least `from[i]` and less than `to[i]`.
    /// Neither waits nor allocates. (No range contains the largest value of the key type. To count
    /// ranges that include their ends, subtract lower bounds from upper bounds.)
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn count_ranges_many_into(
        &self,
        stream: &Stream,
        from: &Buffer<K>,
        to: &Buffer<K>,
        counts: &mut BufferSlice<u32>,
    ) -> Result<()>
    where
        K: OrderedKey,
    {
        crate::error::same_length(("the starts", from.len()), ("the ends", to.len()))?;
        crate::error::same_length(("the ranges", from.len()), ("the counts", counts.len()))?;
        let plan = RangesParams { layout: self.table.layout, ranges: from.len() as u64 };
        stream.batch(|batch| {
            let count = CountRanges::<K::Word> {
                from: batch.read(from.words()),
                to: batch.read(to.words()),
                keys: batch.read(&self.table.keys),
                counts: batch.write(counts),
                plan,
            };
            // SAFETY: there are an end and a count for each start, and the keys and their layout
            // belong together.
            unsafe { batch.launch(&count, plan.ranges) }
        })
    }
}
