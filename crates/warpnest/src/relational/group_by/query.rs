//! The query of a group-by.

use super::bounded::{Bounded, Rows};
use super::compute::{How, grouped};
use super::derived::derive;
use super::groups::{GroupReport, Groups, GroupsOnHost, Method};
use super::input::Columns;
use super::memory::Memory;
use super::on_chip::{Way, group_on_chip};
use super::recipe::Recipe;
use super::top::kept;
use super::unfiltered::{Unfiltered, without_filters};
use super::wanted::{Order, Query};
use crate::primitives::Scratch;
use crate::relational::columns::{IntoColumn, KeyColumns, Words, typed};
use crate::{Buffer, Device, Error, InputError, Key, Result, Stream};
use gpu_kernels::plain::PlainHalf;
use std::fmt;
use std::sync::Arc;

/// A group-by: rows with equal keys form a group, for which counts, and sums, least, greatest,
/// mean, first and last values are computed.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::GroupBy;
///
/// let mut query = GroupBy::new(&[7u32, 7, 7]);
/// let sum = query.sum(&[2.5f32, 1.0, 1.5]); // names a column of the groups
/// let groups = query.run(&Device::best()?)?;
/// assert_eq!(groups.keys, [7]);
/// assert_eq!(groups.column(sum)?, [5.0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The columns may be slices or buffers. On a GPU, a pass over the rows reads up to four columns of
/// values, or fewer if their aggregates take more than 40 bytes a group. More columns take further
/// passes, which also read the keys. Cores take one pass for all columns.
///
/// - **Sums** of integers are 64 bits wide and wrap. Sums of floating-point numbers are `f64`. They
///   are added in any order, so that the last bits may differ from run to run, unless
///   [`GroupBy::reproducible`] is called.
/// - **Least and greatest values.** A NaN is the result only if all values are NaNs
///   ([`GroupBy::skip_nans`]). −0 is less than 0.
/// - **Means** are `f64`. For integers it is the `f64` next to the exact mean, and for
///   floating-point numbers the sum divided by the count of rows.
/// - **First and last values** come from the group's first and last row.
/// - **Counts of distinct values, variances, quantiles** are derived: they take further passes over
///   the rows, after the groups are known.
/// - **Filters.** Each aggregate may have a mask of its rows ([`GroupBy::filter`]), for conditions
///   and for nulls, and so may the query ([`GroupBy::only_rows`]).
///
/// Rows are aggregated on chip, unless their keys are too skewed for it, or they are fewer than 256
/// and on cores; then they are sorted ([`Method`]). The scratch takes 24 to 36 bytes per row with
/// 32-bit keys and values, and up to three times the bytes of each further column. On cores it
/// takes the bytes of keys and columns, if there are many groups.
pub struct GroupBy<'q, K> {
    keys: KeyColumns<'q, K>,
    pub(super) query: Query<'q>,
    how: How,
}

impl<'q, K: Key> GroupBy<'q, K> {
    /// Returns a query for the groups of rows with equal `keys`. Without aggregates its result is
    /// the distinct keys.
    pub fn new(keys: impl IntoColumn<'q, K>) -> Self {
        Self::of(KeyColumns::One(keys.into_column()))
    }

    fn of(keys: KeyColumns<'q, K>) -> Self {
        let how = How { method: Method::Auto, seed: None, is_reproducible: false };
        Self { keys, query: Query::new(), how }
    }

    /// Sets the order of the groups; the default is [`Order::Any`].
    pub fn order(&mut self, order: Order) -> &mut Self {
        self.query.order = order;
        self
    }

    /// Sets whether least and greatest values skip NaNs, which is the default. If they do, the
    /// least and greatest values of a group are NaN only if all of its values are NaN. If they do
    /// not, a single NaN makes both NaN. A sum or mean with a NaN is always a NaN.
    pub fn skip_nans(&mut self, skip: bool) -> &mut Self {
        self.query.skips_nans = skip;
        self
    }

    /// Sets the count that is subtracted from the count of rows for all variances and standard
    /// deviations of the query; the default is 1. A group that has no more rows has a NaN.
    pub fn ddof(&mut self, ddof: u32) -> &mut Self {
        self.query.ddof = ddof;
        self
    }

    /// Requests that sums, means and variances of floating-point numbers have the same bits each
    /// time that the same rows are grouped on one device: queries with sums or means of such
    /// numbers then sort the rows ([`Method::Sort`]), because that adds them in a fixed order.
    /// Other queries take no longer.
    pub fn reproducible(&mut self) -> &mut Self {
        self.how.is_reproducible = true;
        self
    }

    /// Sets the method that computes the groups; the default is [`Method::Auto`]. Rows are sorted
    /// even with [`Method::Hash`] if that cannot answer the query, or if the rows are too many or
    /// their keys too skewed. The report tells the method that was used.
    pub fn method(&mut self, method: Method) -> &mut Self {
        self.how.method = method;
        self
    }

    /// Sets the seed of the sample and of the hash constants, which are random by default. With the
    /// same seed, the same rows are computed in the same way. But if several keys are equally rare,
    /// a different one of them may count as frequent.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.how.seed = Some(seed);
        self
    }

    /// Returns the groups on the host.
    ///
    /// # Errors
    /// As for [`GroupBy::run_on`].
    pub fn run(&self, device: &Device) -> Result<GroupsOnHost<K>> {
        let stream = device.default_stream();
        self.run_on(stream, &mut Scratch::new(device))?.on_host(stream, &self.query.downloads)
    }

    /// Returns the groups on the device, computed on `stream`; waits for their count. The scratch
    /// should be kept for later calls, because then only the groups, and columns that are copied to
    /// the device, need new memory.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns have
    /// equally many rows, and masks a word for each 32;
    /// [`InputError::ForeignAggregate`](crate::InputError::ForeignAggregate) if an aggregate of
    /// another query is filtered or names the top;
    /// [`InputError::Quantile`](crate::InputError::Quantile);
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<Groups<K>> {
        let memory = Memory::new(&self.query, scratch.device())?;
        self.run_with(stream, scratch, memory)
    }

    /// Computes the groups as [`GroupBy::run_on`] does, in the memory of an earlier result of this
    /// query. A buffer that is too small grows, and is in memory twice meanwhile. After an error
    /// `groups` is empty, unless it belongs to another query or device; then it is unchanged.
    ///
    /// # Errors
    /// The errors of [`GroupBy::run_on`], and
    /// [`InputError::ForeignAggregate`](crate::InputError::ForeignAggregate) if `groups` is from
    /// another query, or from this query before more aggregates were requested.
    pub fn run_into(&self, stream: &Stream, scratch: &mut Scratch, groups: &mut Groups<K>) -> Result<()> {
        self.check_own(groups)?;
        groups.keys.check_device("the groups", scratch.device())?;
        groups.set_length(0);
        // Even a small allocation would take as long as grouping millions of rows.
        *groups = self.run_in(stream, scratch, groups.take())?;
        Ok(())
    }

    fn check_own(&self, groups: &Groups<K>) -> Result<()> {
        let Query { number, wanted, derived, .. } = &self.query;
        let lengths = [groups.folded, groups.columns.len() - groups.folded];
        let is_own = groups.query == *number && lengths == [wanted.len(), derived.len()];
        if is_own { Ok(()) } else { Err(Error::Input(InputError::ForeignAggregate)) }
    }

    /// Queues computing at most `capacity` groups on `stream`, without waiting for their count,
    /// which stays on the device ([`Bounded`]). The scratch should be kept for later calls.
    ///
    /// ```
    /// use warpnest::relational::GroupBy;
    /// use warpnest::{Buffer, Device, primitives::Scratch};
    ///
    /// let device = Device::best()?;
    /// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    /// let keys = Buffer::from_slice(&device, &[7u32, 3, 7, 7])?;
    /// let values = Buffer::from_slice(&device, &[1i32, 5, -2, 3])?;
    /// let mut query = GroupBy::new(&keys);
    /// let sum = query.sum(&values);
    ///
    /// let mut groups = query.run_bounded(stream, &mut scratch, 100)?; // only queues work
    /// let groups = groups.finish(stream)?;
    /// let sums = groups.column(sum)?.download(stream)?;
    /// assert_eq!(groups.len(), 2);
    /// assert_eq!(sums.iter().sum::<i64>(), 7);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// All rows are added to one hash table in memory, whose slots are for the capacity, or for the
    /// rows if they are fewer. A slot takes 4 bytes and its aggregates, and there are two to four
    /// for each key. So a small capacity is faster. If there are more groups, most of the rows are
    /// left out, which is fast.
    ///
    /// # Errors
    /// [`InputError::NotBounded`](crate::InputError::NotBounded) unless the query is in
    /// [`Order::Any`], takes one pass over all rows, and may be hashed; and the errors of
    /// [`GroupBy::run_on`]. More groups than the capacity are an error only when
    /// [`Bounded::finish`] waits for their count.
    pub fn run_bounded(&self, stream: &Stream, scratch: &mut Scratch, capacity: usize) -> Result<Bounded<Groups<K>>> {
        let device = scratch.device().clone();
        let Memory { columns, .. } = Memory::<K::Word>::new(&self.query, &device)?;
        let keys = Buffer::zeroed(&device, capacity)?;
        let folded = columns.len();
        let report = GroupReport::of(Method::Hash);
        let recipe = Arc::new(Recipe::of(&self.query));
        let groups = Groups { keys, columns, folded, report, query: self.query.number, rows: 0, recipe };
        let rows = Rows { name: "groups", set_length: Groups::set_length };
        let mut groups = Bounded::new(&device, capacity, groups, rows)?;
        self.run_bounded_into(stream, scratch, &mut groups)?;
        Ok(groups)
    }

    /// Queues computing the groups as [`GroupBy::run_bounded`] does, in the memory of an earlier
    /// result of this query, with its capacity. If that and the scratch are large enough, no memory
    /// is allocated. If an input is refused, `groups` is unchanged; after any other error it has no
    /// groups.
    ///
    /// # Errors
    /// As for [`GroupBy::run_bounded`] and [`GroupBy::run_into`].
    pub fn run_bounded_into(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        groups: &mut Bounded<Groups<K>>,
    ) -> Result<()> {
        let Self { query, how, .. } = self;
        if how.method_for(query) == Method::Sort {
            return Err(InputError::NotBounded { what: "sorting the rows" }.into());
        }
        query.check_filters()?;
        query.check_bounded()?;
        Unfiltered::of(query).map_or(Ok(()), |unfiltered| unfiltered.query.check_bounded())?;
        self.check_own(groups.memory())?;
        groups.check_device(scratch.device())?;
        let columns = Columns::new(stream, scratch, &self.keys, query)?;
        let (input, masks) = (columns.input(), &columns.masks[..]);
        groups.refill(|groups, bound| {
            let (how, (memory, _)) = ((how.seed(), Way::Table(Some(bound))), groups.take());
            let memory = (memory, bound.capacity);
            let ((keys, columns), _, ()) =
                without_filters(stream, scratch, (query, masks), &input, memory, |scratch, query, input, memory| {
                    let (computed, _) = group_on_chip(stream, scratch, query, input, memory, how)?;
                    Ok((computed.expect("one table takes any rows"), ()))
                })?;
            (groups.keys, groups.columns, groups.rows) = (typed(keys), columns, input.rows);
            Ok(())
        })
    }

    /// Computes the groups in the given memory.
    pub(in crate::relational) fn run_with(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        memory: Memory<K::Word>,
    ) -> Result<Groups<K>> {
        let derived = self.query.derived.iter().map(|derived| derived.is_wide());
        let derived =
            derived.map(|is_wide| Words::uninitialized(scratch.device(), is_wide, 0)).collect::<Result<_>>()?;
        self.run_in(stream, scratch, (memory, derived))
    }

    /// Computes the groups in the given memory; the memory of derived aggregates is apart.
    fn run_in(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        (memory, derived): (Memory<K::Word>, Vec<Words>),
    ) -> Result<Groups<K>> {
        let Self { query, how, .. } = self;
        query.check_derived()?;
        query.check_filters()?;
        query.check_top()?;
        let rows = Columns::new(stream, scratch, &self.keys, query)?;
        let (input, masks) = (rows.input(), &rows.masks[..]);
        let ((mut keys, mut columns), of_top, report) =
            without_filters(stream, scratch, (query, masks), &input, (memory, 0), |scratch, query, input, memory| {
                grouped(stream, scratch, (query, *how), input, memory)
            })?;
        let derived = derive(stream, scratch, (query, masks, *how), &input, &keys, derived)?;
        let folded = columns.len();
        columns.extend(derived);
        let count = input.rows;
        rows.give_back(scratch);
        if let Some(top) = query.top {
            (keys, columns) = kept(stream, scratch, top, (keys, columns), (folded, of_top))?;
        }
        let recipe = Arc::new(Recipe::of(query));
        Ok(Groups { keys: typed(keys), columns, folded, report, query: query.number, rows: count, recipe })
    }
}

impl<'q, A, B> GroupBy<'q, (A, B)>
where
    A: Key<Word = u32> + PlainHalf,
    B: Key<Word = u32> + PlainHalf,
{
    /// Returns a query for the groups of rows whose keys are equal in two columns of 32 bits each.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::{GroupBy, Order};
    ///
    /// let device = Device::best()?;
    /// let (years, months) = ([2024, 2023, 2024, 2024], [5u32, 1, 5, 2]);
    /// let mut query = GroupBy::by_two(&years, &months);
    /// let rows = query.count();
    /// let groups = query.order(Order::ByKey).run(&device)?;
    /// assert_eq!(groups.keys, [(2023, 1), (2024, 2), (2024, 5)]);
    /// assert_eq!(groups.column(rows)?, [1, 1, 2]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    pub fn by_two(first: impl IntoColumn<'q, A>, second: impl IntoColumn<'q, B>) -> Self {
        Self::of(KeyColumns::Two(Box::new((first.into_column(), second.into_column()))))
    }
}

impl<K> fmt::Debug for GroupBy<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Query { columns, wanted, order, .. } = &self.query;
        write!(f, "GroupBy({wanted:?} of {} columns, {order:?})", columns.len())
    }
}
