//! Filters: masks that leave rows out of an aggregate, or out of the query.

use super::query::GroupBy;
use super::wanted::{Aggregate, Filter, Place, Query, Wanted};
use crate::relational::columns::{Column, IntoColumn};
use crate::{Error, InputError, Key, Result};

impl<'q, K: Key> GroupBy<'q, K> {
    /// Leaves rows out of an aggregate of this query: the ones whose bit is 0, which is bit
    /// `i % 32` of `mask[i / 32]` for row `i`. So a mask is a condition, as a filter in SQL is, or
    /// tells which values are not null, as Arrow's bitmaps do. The last mask of an aggregate
    /// counts.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::{GroupBy, Order};
    ///
    /// let (cities, sold) = ([7u32, 3, 7, 7], [10i32, 40, 20, 90]);
    /// let is_paid = [0b0101u32]; // rows 0 and 2
    /// let mut query = GroupBy::new(&cities);
    /// let (rows, paid, mean) = (query.count(), query.count(), query.mean(&sold));
    /// query.filter(paid, &is_paid).filter(mean, &is_paid);
    /// let groups = query.order(Order::ByKey).run(&Device::best()?)?;
    /// assert_eq!(groups.keys, [3, 7]);
    /// assert_eq!(groups.column(rows)?, [1, 3]);
    /// assert_eq!(groups.column(paid)?, [0, 2]);
    /// assert!(groups.column(mean)?[0].is_nan());
    /// assert_eq!(groups.column(mean)?[1], 15.0);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// A group whose rows are all left out stays in the result. Its count and sum are 0, its first
    /// and last values have zeros in all bytes, and its mean, variance and quantile are NaNs. Its
    /// least value is the greatest value of the type, and its greatest value the least; for
    /// floating-point numbers it is a NaN, or an infinity if [`GroupBy::skip_nans`] is off.
    ///
    /// A filtered column is copied once for each mask and neutral value: sums and means share a
    /// copy, and so do the least and greatest floating-point numbers. Variances, quantiles and
    /// counts of distinct values also move the rows that are left.
    ///
    /// A mask that has not one word for each 32 rows, and an aggregate of another query, are
    /// refused when the query is run, by
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) and
    /// [`InputError::ForeignAggregate`](crate::InputError::ForeignAggregate).
    pub fn filter<T>(&mut self, aggregate: Aggregate<T>, mask: impl IntoColumn<'q, u32>) -> &mut Self {
        let mask = self.query.mask(mask.into_column());
        self.query.filters.push(Filter { query: aggregate.query, place: aggregate.place, mask });
        self
    }

    /// Leaves rows out of the query: the ones whose bit in the mask is 0, as for
    /// [`GroupBy::filter`]. A group without rows does not exist. So rows with null keys are left
    /// out.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::{GroupBy, Order};
    ///
    /// let mut query = GroupBy::new(&[7u32, 3, 7, 5]);
    /// let count = query.count();
    /// let groups = query.only_rows(&[0b0111u32]).order(Order::ByKey).run(&Device::best()?)?;
    /// assert_eq!(groups.keys, [3, 7]);
    /// assert_eq!(groups.column(count)?, [1, 2]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// All columns are compacted first, which waits for the count of rows that are left.
    /// [`GroupBy::run_bounded`] refuses this.
    pub fn only_rows(&mut self, mask: impl IntoColumn<'q, u32>) -> &mut Self {
        self.query.only = Some(mask.into_column());
        self
    }
}

impl<'q> Query<'q> {
    /// Returns the index of a mask, which is added unless the query has it already.
    fn mask(&mut self, mask: Column<'q, u32>) -> usize {
        // Empty masks are all alike.
        let same = |held: &Column<'_, u32>| {
            held.rows() == mask.rows() && (held.rows() == 0 || held.address() == mask.address())
        };
        if let Some(number) = self.masks.iter().position(same) {
            return number;
        }
        self.masks.push(mask);
        self.masks.len() - 1
    }
}

impl Query<'_> {
    /// Returns the index of the mask of an aggregate, if it has one.
    pub(super) fn mask_of(&self, place: Place) -> Option<usize> {
        self.filters.iter().rev().find(|filter| filter.place == place).map(|filter| filter.mask)
    }

    /// Returns whether first or last values of filtered rows are wanted.
    pub(super) fn picks_filtered(&self) -> bool {
        let picks = |wanted: &Wanted| matches!(wanted, Wanted::First(_) | Wanted::Last(_));
        let mut wanted = self.wanted.iter().enumerate();
        wanted.any(|(number, wanted)| picks(wanted) && self.mask_of(Place::Folded(number)).is_some())
    }

    /// Fails unless all filtered aggregates belong to the query.
    pub(super) fn check_filters(&self) -> Result<()> {
        match self.filters.iter().all(|filter| filter.query == self.number) {
            true => Ok(()),
            false => Err(Error::Input(InputError::ForeignAggregate)),
        }
    }
}
