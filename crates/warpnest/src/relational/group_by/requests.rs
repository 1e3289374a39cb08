//! The aggregates that a query can request.

use super::query::GroupBy;
use super::wanted::{Aggregate, Derived, Top, Wanted};
use crate::primitives::Number;
use crate::relational::columns::{Column, IntoColumn};
use crate::{Buffer, Key, Value};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;

impl<'q, K: Key> GroupBy<'q, K> {
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

    /// Requests the count of distinct `values` in each group, which may be of any type. Values are
    /// equal as keys are, if their bytes are: −0 is not 0, and a NaN equals the NaNs with its bits.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::{GroupBy, Order};
    ///
    /// let (users, pages) = ([7u32, 3, 7, 7], ['a', 'a', 'b', 'a']);
    /// let mut query = GroupBy::new(&users);
    /// let distinct = query.count_distinct(&pages);
    /// let groups = query.order(Order::ByKey).run(&Device::best()?)?;
    /// assert_eq!(groups.keys, [3, 7]);
    /// assert_eq!(groups.column(distinct)?, [1, 2]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// On a GPU, pairs of key and value take a second group-by, values of 64 bits one more before
    /// that, and keys and values of 64 bits each a binary search. Cores take one more pass, from
    /// 1,024 groups on.
    pub fn count_distinct<T: Value>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<u32> {
        let column = self.query.column(values.into_column(), None);
        self.query.derive(Derived::CountDistinct(column))
    }

    /// Requests the variance of `values` in each group: the sum of the squares of the deviations
    /// from the mean, divided by the count of rows less 1 ([`GroupBy::ddof`]). A group with one row
    /// has a NaN, and so has a group with a NaN or an infinity.
    ///
    /// The rows are read once more. Large means do not cancel the digits, because deviations are
    /// from the mean on a GPU, and from the group's first value on cores. Integers are rounded to
    /// `f64`. On a GPU each row also takes a binary search for its group.
    pub fn var<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<f64> {
        self.spread(values.into_column(), false)
    }

    /// Requests the standard deviation of `values` in each group: the square root of
    /// [`GroupBy::var`].
    pub fn std<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<f64> {
        self.spread(values.into_column(), true)
    }

    /// Requests the median of `values` in each group: [`GroupBy::quantile`] of .5.
    pub fn median<T: Number>(&mut self, values: impl IntoColumn<'q, T>) -> Aggregate<f64> {
        self.quantile(values, 0.5)
    }

    /// Requests a quantile of `values` in each group, from 0, which is the least value, to 1. It is
    /// interpolated linearly between the two values beside it, as NumPy does by default. If a value
    /// is a NaN, the quantile is. Integers are rounded to `f64`.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::GroupBy;
    ///
    /// let (lines, delays) = ([7u32, 7, 7, 7], [1.0f32, 4.0, 2.0, 9.0]);
    /// let mut query = GroupBy::new(&lines);
    /// let (median, high) = (query.median(&delays), query.quantile(&delays, 0.75));
    /// let groups = query.run(&Device::best()?)?;
    /// assert_eq!(groups.column(median)?, [3.0]);
    /// assert_eq!(groups.column(high)?, [5.25]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// The rows are sorted by value and by key, once for all quantiles of a column that are
    /// requested one after the other. If `quantile` is not from 0 to 1, the query is refused when
    /// it is run.
    pub fn quantile<T: Number>(&mut self, values: impl IntoColumn<'q, T>, quantile: f64) -> Aggregate<f64> {
        let column = self.numbers(values.into_column());
        self.query.derive(Derived::Quantile { column, quantile })
    }

    /// Keeps only the `count` groups that have the greatest values of an aggregate of this query,
    /// in descending order of these values. Groups with equal values are in the order of
    /// [`GroupBy::order`]. NaNs are last, and so are groups without rows of the aggregate
    /// ([`GroupBy::filter`]).
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::GroupBy;
    ///
    /// let mut query = GroupBy::new(&[7u32, 3, 7, 5]);
    /// let sum = query.sum(&[1i32, 9, 4, 2]);
    /// let groups = query.top(2, sum).run(&Device::best()?)?;
    /// assert_eq!(groups.keys, [3, 7]);
    /// assert_eq!(groups.column(sum)?, [9, 5]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// All groups are sorted by the aggregate. An aggregate of another query is refused when the
    /// query is run, by [`InputError::ForeignAggregate`](crate::InputError::ForeignAggregate).
    pub fn top<T: Number>(&mut self, count: usize, by: Aggregate<T>) -> &mut Self {
        self.query.top = Some(Top { count, query: by.query, place: by.place, column: T::COLUMN });
        self
    }

    fn spread<T: Number>(&mut self, values: Column<'q, T>, is_root: bool) -> Aggregate<f64> {
        let column = self.numbers(values);
        self.query.derive(Derived::Spread { column, is_root })
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
}
