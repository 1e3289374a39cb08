//! Group-bys of record batches.

use super::aggregates::{Inputs, Settings, Wanted};
use super::columns::{column_number, of_arrow};
use super::ids::by_ids;
use super::keys::{elements, values};
use super::numbers::{Function, Numbers};
use crate::primitives::{Scratch, check_items};
use crate::relational::{GroupBy, Order};
use crate::{Device, InputError, Key, Result, Stream};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, FieldRef, Schema};
use std::collections::HashSet;
use std::sync::Arc;

/// A group-by of a record batch: rows with equal keys, in columns of any types, become one row of
/// the result.
///
/// ```
/// use arrow_array::record_batch;
/// use warpnest::Device;
/// use warpnest::arrow::ArrowGroupBy;
///
/// let batch = record_batch!(
///     ("city", Utf8, [Some("Ulm"), Some("Bonn"), Some("Ulm"), None]),
///     ("price", Float64, [Some(2.5), None, Some(1.5), Some(9.0)])
/// )?;
/// let query = ArrowGroupBy::new(&batch).by(["city"]).count_rows("rows").mean("price", "mean");
/// let groups = query.in_order_of_appearance().run(&Device::best()?)?;
/// let expected = record_batch!(
///     ("city", Utf8, [Some("Ulm"), Some("Bonn"), None]),
///     ("rows", Int64, [2, 1, 1]),
///     ("mean", Float64, [Some(2.0), None, Some(9.0)])
/// )?;
/// assert_eq!(groups.columns(), expected.columns());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - **Columns of the result** are the keys, followed by the aggregates in the order in which they
///   were requested.
/// - **Null keys** are equal: rows with a null key are one group, or one for each combination with
///   the other keys. Keys are equal if their bytes are. So each NaN equals itself, and −0 is not 0.
/// - **Null values** are ignored, as in SQL. An aggregate without values is null, but a count never
///   is.
/// - **Sums** of integers are `Int64` or `UInt64` and wrap. Sums of floating-point numbers are
///   `Float64`. **Least and greatest** values keep the column's type. They are no NaN if there is a
///   number, and −0 is less than 0. **Means** are `Float64`. The mean of integers is the value next
///   to the exact mean. **Counts** are `Int64`. **First and last** values are of any type.
/// - **Variances and quantiles** are `Float64`, of the values that are not null.
/// - **Order.** Groups are in any order, unless [`ArrowGroupBy::in_order_of_appearance`] is called.
/// - **Complexity.** A [`GroupBy`] reads Arrow's own memory if there is one key column, of numbers
///   or times of 4 or 8 bytes, without nulls. Other keys are first mapped to ids, exactly, by
///   [`Rows`](crate::relational::Rows) and [`strings::unique`](crate::strings::unique). Columns
///   with nulls are copied on the device ([`GroupBy::filter`]).
#[derive(Clone, Debug)]
pub struct ArrowGroupBy<'q> {
    batch: &'q RecordBatch,
    by: Vec<String>,
    wanted: Vec<Wanted>,
    order: Order,
    ddof: u32,
    is_reproducible: bool,
    /// The most groups, and the name of the aggregate by which they are kept.
    top: Option<(usize, String)>,
}

impl<'q> ArrowGroupBy<'q> {
    /// Returns a query for the groups of a batch. Key columns must still be named. Without
    /// aggregates the result has the distinct keys.
    pub fn new(batch: &'q RecordBatch) -> Self {
        let (order, ddof, is_reproducible, top) = (Order::Any, 1, false, None);
        Self { batch, by: Vec::new(), wanted: Vec::new(), order, ddof, is_reproducible, top }
    }

    /// Sets the key columns by their names.
    #[must_use]
    pub fn by<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.by = names.into_iter().map(Into::into).collect();
        self
    }

    /// Returns groups in the order in which their keys first appear, so that the order is the same
    /// in every run.
    #[must_use]
    pub fn in_order_of_appearance(mut self) -> Self {
        self.order = Order::FirstSeen;
        self
    }

    /// Requests the count of rows of each group, in a column `name`.
    #[must_use]
    pub fn count_rows(self, name: impl Into<String>) -> Self {
        self.want(Function::CountRows, String::new(), name)
    }

    /// Requests the count of rows of each group in which `column` is not null.
    #[must_use]
    pub fn count(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Count, column, name)
    }

    /// Requests the sum of `column` in each group. The column must have integers or floating-point
    /// numbers.
    #[must_use]
    pub fn sum(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Sum, column, name)
    }

    /// Requests the least value of `column` in each group. The column must have numbers, times, or
    /// decimals of up to 64 bits.
    #[must_use]
    pub fn min(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Min, column, name)
    }

    /// Requests the greatest value of `column` in each group. The types are the same as for
    /// [`ArrowGroupBy::min`].
    #[must_use]
    pub fn max(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Max, column, name)
    }

    /// Requests the mean of `column` in each group. The column must have integers or floating-point
    /// numbers.
    #[must_use]
    pub fn mean(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Mean, column, name)
    }

    /// Requests the first value of `column` in each group that is not null.
    #[must_use]
    pub fn first(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::First, column, name)
    }

    /// Requests the last value of `column` in each group that is not null.
    #[must_use]
    pub fn last(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Last, column, name)
    }

    /// Requests the count of distinct values of `column` in each group that are not null. They are
    /// equal as keys are. The column may have any type of up to 64 bits, or texts or bytes.
    #[must_use]
    pub fn count_distinct(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::CountDistinct, column, name)
    }

    /// Requests the variance of `column` in each group: the sum of squares of the deviations from
    /// the mean, divided by the count of values less 1 ([`ArrowGroupBy::ddof`]). A group with a
    /// single value has a NaN. The types are the same as for [`ArrowGroupBy::sum`].
    #[must_use]
    pub fn var(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Var, column, name)
    }

    /// Requests the standard deviation of `column` in each group: the square root of
    /// [`ArrowGroupBy::var`].
    #[must_use]
    pub fn std(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.want(Function::Std, column, name)
    }

    /// Sets the count that is subtracted from the count of values for all variances and standard
    /// deviations; the default is 1.
    #[must_use]
    pub fn ddof(mut self, ddof: u32) -> Self {
        self.ddof = ddof;
        self
    }

    /// Requests the median of `column` in each group.
    #[must_use]
    pub fn median(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.quantile(column, 0.5, name)
    }

    /// Requests a quantile of `column` in each group, from 0 to 1, as [`GroupBy::quantile`] does.
    /// The types are the same as for [`ArrowGroupBy::sum`].
    #[must_use]
    pub fn quantile(self, column: impl Into<String>, quantile: f64, name: impl Into<String>) -> Self {
        self.want(Function::Quantile(quantile), column, name)
    }

    /// Requests the same bits of sums, means and variances of floating-point numbers in every run,
    /// as [`GroupBy::reproducible`] does.
    #[must_use]
    pub fn reproducible(mut self) -> Self {
        self.is_reproducible = true;
        self
    }

    /// Keeps only the `count` groups with the greatest values of the aggregate `name`, in
    /// descending order of these. NaNs and nulls are last. The aggregate may be requested later; it
    /// must be a number, and so no first or last value.
    #[must_use]
    pub fn top(mut self, count: usize, name: impl Into<String>) -> Self {
        self.top = Some((count, name.into()));
        self
    }

    fn want(mut self, function: Function, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.wanted.push(Wanted { function, column: column.into(), name: name.into() });
        self
    }

    /// Returns the groups.
    ///
    /// # Errors
    /// As for [`ArrowGroupBy::run_on`].
    pub fn run(&self, device: &Device) -> Result<RecordBatch> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the groups, computed on `stream`. Reuse the scratch in later calls to avoid
    /// allocations.
    ///
    /// # Errors
    /// [`InputError::KeyColumns`] if no key column is named. [`InputError::ColumnName`] if a given
    /// name belongs to no column, or to several, or the name of a top to no aggregate.
    /// [`InputError::ColumnType`] for columns that cannot be keys, or do not support an aggregate
    /// or a top. [`InputError::SameName`] if two columns of the result would have the same name.
    /// [`Error::Arrow`](crate::Error::Arrow) if Arrow cannot gather a column. Also the errors of
    /// [`GroupBy::run_on`] and [`Rows::distinct_on`](crate::relational::Rows::distinct_on), and of
    /// [`strings::unique`](crate::strings::unique) for keys or distinct values that are texts.
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<RecordBatch> {
        let Self { batch, by, wanted, order, ddof, is_reproducible, .. } = self;
        stream.check_device(scratch.device())?;
        if by.is_empty() {
            return Err(InputError::KeyColumns { left: 0, right: 0 }.into());
        }
        let numbers = by.iter().map(|name| column_number("the batch", batch, name)).collect::<Result<Vec<_>>>()?;
        let mut names = HashSet::new();
        if let Some(name) = by.iter().chain(wanted.iter().map(|wanted| &wanted.name)).find(|name| !names.insert(*name))
        {
            let (name, remedy) = (name.clone(), "name each key once, and give each aggregate a name of its own");
            return Err(InputError::SameName { name, remedy }.into());
        }
        check_items(batch.num_rows())?;
        let settings = Settings { ddof: *ddof, is_reproducible: *is_reproducible, top: self.kept()? };
        let inputs = Inputs::new(scratch.device(), batch, wanted, settings)?;
        let keys: Vec<(&String, &ArrayRef)> =
            by.iter().zip(numbers.iter().map(|number| batch.column(*number))).collect();
        let (key_arrays, aggregates) = match &keys[..] {
            [(_, keys)] if is_word(keys) => {
                let (keys, aggregates) = by_words(stream, scratch, keys, &inputs, *order)?;
                (vec![keys], aggregates)
            }
            _ => by_ids(stream, scratch, &keys, &inputs, *order)?,
        };
        let key_fields = numbers.iter().map(|number| batch.schema_ref().fields()[*number].clone());
        let new_field = |(wanted, array): (&Wanted, &ArrayRef)| {
            let is_nullable = !wanted.function.is_count();
            FieldRef::new(Field::new(&wanted.name, array.data_type().clone(), is_nullable))
        };
        let fields: Vec<FieldRef> = key_fields.chain(wanted.iter().zip(&aggregates).map(new_field)).collect();
        let arrays = key_arrays.into_iter().chain(aggregates).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(of_arrow("of the groups"))
    }
}

impl ArrowGroupBy<'_> {
    /// Returns the most groups, and the index of the aggregate by which they are kept.
    fn kept(&self) -> Result<Option<(usize, usize)>> {
        let Some((count, name)) = self.top.clone() else { return Ok(None) };
        match self.wanted.iter().position(|wanted| wanted.name == name) {
            Some(by) if matches!(self.wanted[by].function, Function::First | Function::Last) => {
                let (what, remedy) = ("no top of first or last values", "name another aggregate");
                Err(InputError::ColumnType { column: name, of_type: "any type".to_owned(), what, remedy }.into())
            }
            Some(by) => Ok(Some((count, by))),
            None => {
                let held = self.wanted.iter().map(|wanted| wanted.name.clone()).collect();
                Err(InputError::ColumnName { table: "the aggregates", name, several: false, held }.into())
            }
        }
    }
}

/// Returns whether an array has words of 4 or 8 bytes, and no nulls.
fn is_word(keys: &ArrayRef) -> bool {
    keys.null_count() == 0 && matches!(keys.data_type().primitive_width(), Some(4 | 8))
}

/// Groups by a column of words. Returns the keys and the aggregates.
fn by_words(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &ArrayRef,
    inputs: &Inputs,
    order: Order,
) -> Result<(ArrayRef, Vec<ArrayRef>)> {
    let of_type = keys.data_type();
    let (keys, aggregates) = match of_type.primitive_width() {
        Some(4) => {
            let (keys, aggregates) = by_keys::<u32>(stream, scratch, &elements(&values(keys, 4)), inputs, order)?;
            (Numbers::U32(keys.into()), aggregates)
        }
        _ => {
            let (keys, aggregates) = by_keys::<u64>(stream, scratch, &elements(&values(keys, 8)), inputs, order)?;
            (Numbers::U64(keys.into()), aggregates)
        }
    };
    Ok((keys.into_array(of_type, None), aggregates))
}

fn by_keys<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &[K],
    inputs: &Inputs,
    order: Order,
) -> Result<(Vec<K>, Vec<ArrayRef>)> {
    let mut query = GroupBy::new(keys);
    query.order(order);
    let (groups, aggregates) = inputs.aggregates(stream, scratch, query)?;
    Ok((groups.keys().download(stream)?, aggregates))
}
