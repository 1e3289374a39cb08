//! The query of a group-by.

use super::bounded::{Bounded, Rows};
use super::groups::{GroupReport, Groups, GroupsOnHost, Method};
use super::memory::Memory;
use super::on_chip::{Way, group_on_chip};
use super::sort::{SortInput, group_sorted};
use super::table::fits_table;
use super::wanted::{Aggregate, Order, Query, Wanted};
use crate::hash::random_seed;
use crate::primitives::{Number, Scratch, check_items};
use crate::relational::columns::{Column, IntoColumn, KeyColumns, KeysOnDevice, WordsOf, typed};
use crate::{Buffer, Device, Error, InputError, Key, Result, Stream, Value};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::plain::PlainHalf;
use gpu_kernels::primitives::reduce::SumKind;
use std::fmt;

/// The fewest rows that are aggregated on chip where they do not go to one table: on cores. With
/// fewer rows, the sample alone takes as long as sorting.
const MIN_HASHED_ROWS: u64 = 1 << 16;

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
/// The columns may be slices or buffers. A pass over the rows reads up to four columns of values,
/// or fewer if their aggregates take more than 40 bytes a group. More columns take further passes,
/// which also read the keys.
///
/// - **Sums** of integers are 64 bits wide and wrap. Sums of floating-point numbers are `f64`. They
///   are added in any order, so that the last bits may differ from run to run, except with
///   [`Method::Sort`]: that adds in the same order in every run on one device.
/// - **Least and greatest values.** A NaN is the result only if all values are NaNs
///   ([`GroupBy::skip_nans`]). −0 is less than 0.
/// - **Means** are `f64`. For integers it is the `f64` next to the exact mean, and for
///   floating-point numbers the sum divided by the count of rows.
/// - **First and last values** come from the group's first and last row.
///
/// Rows are aggregated on chip, unless they are few and on cores, or their keys are too skewed for
/// it; then they are sorted ([`Method`]). The scratch takes 24 to 36 bytes per row with 32-bit keys
/// and values, and up to three times the bytes of each further column.
pub struct GroupBy<'q, K> {
    keys: KeyColumns<'q, K>,
    query: Query<'q>,
    method: Method,
    seed: Option<u64>,
}

impl<'q, K: Key> GroupBy<'q, K> {
    /// Returns a query for the groups of rows with equal `keys`. Without aggregates its result is
    /// the distinct keys.
    pub fn new(keys: impl IntoColumn<'q, K>) -> Self {
        Self::of(KeyColumns::One(keys.into_column()))
    }

    fn of(keys: KeyColumns<'q, K>) -> Self {
        Self { keys, query: Query::new(), method: Method::Auto, seed: None }
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

    /// Requests the count of rows of each group.
    pub fn count(&mut self) -> Aggregate<u32> {
        self.query.add(Wanted::Count)
    }

    /// Requests the sum of `values` in each group.
    pub fn sum<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T::Sum> {
        let column = self.numbers(values.into_column());
        self.query.add(Wanted::Sum(column))
    }

    /// Requests the least of `values` in each group.
    pub fn min<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T> {
        let column = self.numbers(values.into_column());
        self.query.add(Wanted::Min(column))
    }

    /// Requests the greatest of `values` in each group.
    pub fn max<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T> {
        let column = self.numbers(values.into_column());
        self.query.add(Wanted::Max(column))
    }

    /// Requests the sum of the upper halves of `values`. Together with the wrapping sum, it
    /// determines the exact sum.
    #[cfg(feature = "arrow")]
    pub(crate) fn sum_of_upper<T: Number<Word = u64>>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T::Sum> {
        let column = self.numbers(values.into_column());
        self.query.add(Wanted::SumOfUpper(column))
    }

    /// Requests the mean of `values` in each group.
    pub fn mean<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<f64> {
        let column = self.numbers(values.into_column());
        self.query.add(Wanted::Mean(column))
    }

    /// Requests the value of each group's first row.
    pub fn first<T: Value>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T> {
        let column = self.query.column(values.into_column(), None);
        self.query.add(Wanted::First(column))
    }

    /// Requests the value of each group's last row.
    pub fn last<T: Value>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<T> {
        let column = self.query.column(values.into_column(), None);
        self.query.add(Wanted::Last(column))
    }

    /// Requests an aggregate of words that represent numbers of another type.
    pub(super) fn of_words<T: Value>(
        &mut self,
        values: &'q Buffer<T>,
        numbers: (ColumnParams, SumKind),
        wanted: fn(usize) -> Wanted,
    ) {
        let column = self.query.column(values.into_column(), Some(numbers));
        self.query.add::<T>(wanted(column));
    }

    fn numbers<T: Number>(&mut self, values: Column<'q, T>) -> usize {
        self.query.column(values, Some((T::COLUMN, T::SUM_KIND)))
    }

    /// Sets the method that computes the groups; the default is [`Method::Auto`]. Rows are sorted
    /// even with [`Method::Hash`] if that cannot answer the query, or if the rows are too many or
    /// their keys too skewed. The report tells the method that was used.
    pub fn method(&mut self, method: Method) -> &mut Self {
        self.method = method;
        self
    }

    /// Sets the seed of the sample and of the hash constants, which are random by default. With the
    /// same seed, the same rows are computed in the same way. But if several keys are equally rare,
    /// a different one of them may count as frequent.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = Some(seed);
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
    /// equally many rows; [`InputError::TooManyItems`](crate::InputError::TooManyItems),
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
        *groups = self.run_with(stream, scratch, groups.take())?;
        Ok(())
    }

    fn check_own(&self, groups: &Groups<K>) -> Result<()> {
        let is_own = groups.query == self.query.number && groups.columns.len() == self.query.wanted.len();
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
    /// [`Order::Any`], takes one pass over the rows, and may be hashed; and the errors of
    /// [`GroupBy::run_on`]. More groups than the capacity are an error only when
    /// [`Bounded::finish`] waits for their count.
    pub fn run_bounded(&self, stream: &Stream, scratch: &mut Scratch, capacity: usize) -> Result<Bounded<Groups<K>>> {
        let device = scratch.device().clone();
        let Memory { columns, .. } = Memory::<K::Word>::new(&self.query, &device)?;
        let keys = Buffer::zeroed(&device, capacity)?;
        let groups = Groups { keys, columns, report: GroupReport::of(Method::Hash), query: self.query.number };
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
        let Self { query, method, seed, .. } = self;
        if *method == Method::Sort {
            return Err(InputError::NotBounded { what: "sorting the rows" }.into());
        }
        query.check_bounded()?;
        self.check_own(groups.memory())?;
        groups.check_device(scratch.device())?;
        let columns = self.columns_on(stream, scratch.device())?;
        groups.refill(|groups, bound| {
            let (how, memory) = ((seed.unwrap_or_else(random_seed), Way::Table(Some(bound))), groups.take());
            let (computed, _) = group_on_chip(stream, scratch, query, &columns.input(), memory, how)?;
            if let Some((keys, columns)) = computed {
                (groups.keys, groups.columns) = (typed(keys), columns);
            }
            Ok(())
        })
    }

    /// Returns the columns on `device`.
    fn columns_on(&self, stream: &Stream, device: &Device) -> Result<Columns<'q, K>> {
        stream.check_device(device)?;
        let rows = self.keys.rows()?;
        for column in &self.query.columns {
            crate::error::same_length(("the keys", rows), ("a column of values", column.rows))?;
        }
        let rows = check_items(rows)?;
        let keys = self.keys.on_device(device)?;
        let values = self.query.columns.iter().map(|column| (column.lend)(device)).collect::<Result<_>>()?;
        Ok(Columns { keys, values, rows })
    }

    /// Computes the groups in the given memory.
    pub(in crate::relational) fn run_with(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        mut memory: Memory<K::Word>,
    ) -> Result<Groups<K>> {
        let Self { query, method, seed, .. } = self;
        let device = scratch.device().clone();
        let columns = self.columns_on(stream, &device)?;
        let (input, rows) = (columns.input(), columns.rows);
        let mut report = GroupReport::of(Method::Sort);
        let way = match method {
            Method::Auto if fits_table(stream.machine(), rows) => Some(Way::Table(None)),
            Method::Auto => (rows >= MIN_HASHED_ROWS).then_some(Way::HotAndBins),
            Method::Hash => (rows != 0).then_some(Way::HotAndBins),
            Method::Sort => None,
        };
        if let Some(way) = way {
            let seed = seed.unwrap_or_else(random_seed);
            let (computed, of_chip) = group_on_chip(stream, scratch, query, &input, memory, (seed, way))?;
            report.estimated_groups = Some(of_chip.estimated_groups);
            report.overflowed = of_chip.overflowed;
            if let Some((keys, columns)) = computed {
                report = GroupReport { method: Method::Hash, hot_rows: of_chip.hot_rows, ..report };
                return Ok(Groups { keys: typed(keys), columns, report, query: query.number });
            }
            memory = Memory::new(query, &device)?;
        }
        let (keys, columns) = group_sorted(stream, scratch, query, input, memory)?;
        Ok(Groups { keys: typed(keys), columns, report, query: query.number })
    }
}

/// The columns of a query on a device.
struct Columns<'q, K: Key> {
    keys: KeysOnDevice<'q, K::Word>,
    values: Vec<WordsOf<'q>>,
    rows: u64,
}

impl<'q, K: Key> Columns<'q, K> {
    fn input(&self) -> SortInput<'_, 'q, K::Word> {
        let Self { keys, values, rows } = self;
        SortInput { keys, values, rows: *rows, order: K::ORDER }
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
