//! Joins of record batches.

use super::columns::column_number;
use super::keys::{KeyColumn, Part};
use super::memory::from_buffer;
use super::memory::valid_bits;
use super::result::{JoinedColumns, JoinedRows, joined_batch};
use crate::primitives::{Scratch, check_items};
use crate::relational::{Join, JoinKind, JoinMethod, JoinQuery, Joined, JoinsRows, NO_ROW};
use crate::relational::{TextColumn, WideJoin, WideKeys};
use crate::{Buffer, Device, InputError, Result, Stream};
use arrow_array::{RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

/// A join of two record batches by columns of any types, whose result is a record batch.
///
/// ```
/// use arrow_array::record_batch;
/// use warpnest::Device;
/// use warpnest::arrow::ArrowJoin;
/// use warpnest::relational::JoinKind;
///
/// let prices = vec![2.5, 4.0, 1.0];
/// let orders = record_batch!(("customer", UInt32, [30, 10, 99]), ("price", Float64, prices))?;
/// let names = vec!["Ada", "Bo", "Cy"];
/// let customers = record_batch!(("id", UInt32, [10, 20, 30]), ("name", Utf8, names))?;
///
/// let join = ArrowJoin::new(&orders, &customers).left_on(["customer"]).right_on(["id"]);
/// let joined = join.kind(JoinKind::Left).run(&Device::best()?)?;
/// assert_eq!(joined.num_rows(), 3); // in any order
/// let names: Vec<_> = joined.schema().fields().iter().map(|field| field.name().clone()).collect();
/// assert_eq!(names, ["customer", "price", "id", "name"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - **Columns of the result** are the left batch's columns, followed by the right batch's. Semi
///   and anti joins return only the left columns. A right column gets a suffix if the left batch
///   has a column with its name ([`ArrowJoin::suffix`]). Key columns with the same name in both
///   batches become one column, as by USING in SQL, in which an unmatched row has its own key. All
///   other columns of the unmatched side are null.
/// - **Null keys** match no row, as in SQL, even if only one of several key columns is null. So
///   left, right and full joins return rows with null keys unmatched, semi joins drop them, and
///   anti joins keep them, as NOT EXISTS does.
/// - **Key types** are numbers, decimals, times, texts, bytes, booleans, nulls, and dictionaries of
///   these types, which are compared by their values. Both columns must have the same type.
/// - **Keys** are equal if their bytes are equal: a NaN matches the same NaN, and −0 does not match
///   0.
/// - **Order.** Rows are in any order, which may differ from run to run.
/// - **Complexity.** Keys of up to 8 bytes, in one column or two of up to 4, are joined by
///   [`Join`]. On the CPU engine numbers and times of 4 or 8 bytes are not copied. Other keys are
///   joined by [`WideJoin`], which is exact: it compares the keys of all rows with equal hashes.
///   The host's cores gather the columns of the result. [`ArrowJoin::rows`] returns only row
///   indices.
#[derive(Clone, Debug)]
pub struct ArrowJoin<'q> {
    left: &'q RecordBatch,
    right: &'q RecordBatch,
    left_on: Vec<String>,
    right_on: Vec<String>,
    kind: JoinKind,
    method: JoinMethod,
    suffix: String,
    seed: Option<u64>,
}

impl<'q> ArrowJoin<'q> {
    /// Returns an inner join of the rows of two batches. Key columns must still be named.
    pub fn new(left: &'q RecordBatch, right: &'q RecordBatch) -> Self {
        Self {
            left,
            right,
            left_on: Vec::new(),
            right_on: Vec::new(),
            kind: JoinKind::Inner,
            method: JoinMethod::Auto,
            suffix: "_right".to_owned(),
            seed: None,
        }
    }

    /// Sets key columns that have the same names in both batches.
    #[must_use]
    pub fn on<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.left_on(names.clone()).right_on(names)
    }

    /// Sets the key columns of the left batch, in the order of the right batch's key columns.
    #[must_use]
    pub fn left_on<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.left_on = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the key columns of the right batch, in the order of the left ones.
    #[must_use]
    pub fn right_on<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.right_on = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which rows the join returns. The default is [`JoinKind::Inner`].
    #[must_use]
    pub fn kind(mut self, kind: JoinKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets how the join is computed. The default is [`JoinMethod::Auto`].
    #[must_use]
    pub fn method(mut self, method: JoinMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the suffix of the name of a right column if the left batch has a column with that name.
    /// The default is `_right`.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = suffix.into();
        self
    }

    /// Sets the seed of the hashes. By default it is random. Do not set it if people whom you do
    /// not trust choose the rows.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Returns the joined rows as a record batch.
    ///
    /// # Errors
    /// As for [`ArrowJoin::run_on`].
    pub fn run(&self, device: &Device) -> Result<RecordBatch> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the joined rows as a record batch, joined on `stream`. Reuse the scratch in later
    /// calls to avoid allocations.
    ///
    /// # Errors
    /// As for [`ArrowJoin::rows_on`]. [`InputError::SameName`] if two columns of the result would
    /// have the same name. [`Error::Arrow`](crate::Error::Arrow) if Arrow cannot gather a column,
    /// such as more bytes of text than its offsets count.
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<RecordBatch> {
        let columns = JoinedColumns::new([self.left, self.right], &self.numbers()?, self.kind, &self.suffix)?;
        let rows = self.rows_on(stream, scratch)?;
        joined_batch([self.left, self.right], &columns, &rows)
    }

    /// Returns the indices of the joined rows, for callers that gather columns themselves.
    ///
    /// ```
    /// use arrow_array::record_batch;
    /// use warpnest::Device;
    /// use warpnest::arrow::ArrowJoin;
    ///
    /// let cities = vec![Some("Ulm"), None];
    /// let visits = record_batch!(("city", Utf8, cities), ("year", Int32, [2024, 2024]))?;
    /// let fairs = record_batch!(("year", Int32, [2023, 2024]), ("city", Utf8, ["Ulm", "Ulm"]))?;
    /// let rows = ArrowJoin::new(&visits, &fairs).on(["city", "year"]).rows(&Device::best()?)?;
    /// assert_eq!(rows.left.values(), &[0]);
    /// assert_eq!(rows.right.unwrap().values(), &[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ArrowJoin::rows_on`].
    pub fn rows(&self, device: &Device) -> Result<JoinedRows> {
        self.rows_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the indices of the joined rows, joined on `stream`. On the CPU engine the indices
    /// are not copied.
    ///
    /// # Errors
    /// [`InputError::KeyColumns`] unless both batches have the same count of key columns, and at
    /// least one. [`InputError::ColumnName`] if a given name belongs to no column, or to several.
    /// [`InputError::ColumnType`] for columns that cannot be keys. [`InputError::KeyTypes`] if
    /// types differ. Also the errors of [`Join::run_on`] and [`WideJoin::run_on`].
    pub fn rows_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<JoinedRows> {
        let numbers = self.numbers()?;
        check_items(self.left.num_rows())?;
        check_items(self.right.num_rows())?;
        let (mut left, mut right) = (Side::default(), Side::default());
        for ([left_number, right_number], (left_name, right_name)) in
            numbers.into_iter().zip(self.left_on.iter().zip(&self.right_on))
        {
            let left_keys = KeyColumn::new(left_name, self.left.column(left_number))?;
            let right_keys = KeyColumn::new(right_name, self.right.column(right_number))?;
            if left_keys.of_type != right_keys.of_type {
                let [left_type, right_type] =
                    [left_keys.of_type, right_keys.of_type].map(|of_type| of_type.to_string());
                let (left, right) = (left_name.clone(), right_name.clone());
                return Err(InputError::KeyTypes { left, left_type, right, right_type }.into());
            }
            left.add(left_keys);
            right.add(right_keys);
        }
        let (left, right) = self.joined(stream, scratch, [&left, &right])?.into_rows();
        let row_numbers = |rows: Buffer<u32>, may_lack: bool| {
            let rows = from_buffer(stream, rows)?;
            let is_row = || NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), |row| rows[row] != NO_ROW));
            let nulls = may_lack.then(is_row).filter(|nulls| nulls.null_count() > 0);
            Ok::<_, crate::Error>(UInt32Array::new(rows, nulls))
        };
        let has_right_rows = !matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        Ok(JoinedRows {
            left: row_numbers(left, matches!(self.kind, JoinKind::Right | JoinKind::Full))?,
            right: has_right_rows
                .then(|| row_numbers(right, matches!(self.kind, JoinKind::Left | JoinKind::Full)))
                .transpose()?,
        })
    }

    /// Returns the indices of the key columns, as pairs of a left and a right one.
    fn numbers(&self) -> Result<Vec<[usize; 2]>> {
        let Self { left, right, left_on, right_on, .. } = self;
        if left_on.is_empty() || left_on.len() != right_on.len() {
            return Err(InputError::KeyColumns { left: left_on.len(), right: right_on.len() }.into());
        }
        let pair = |(left_name, right_name): (&String, &String)| {
            Ok([
                column_number("the left batch", left, left_name)?,
                column_number("the right batch", right, right_name)?,
            ])
        };
        left_on.iter().zip(right_on).map(pair).collect()
    }

    /// Joins the keys of both sides, by a join that supports their types.
    fn joined(&self, stream: &Stream, scratch: &mut Scratch, sides: [&Side; 2]) -> Result<Joined> {
        let valid = sides.map(Side::valid);
        match [&sides[0].parts[..], &sides[1].parts[..]] {
            [[Part::Narrow(left)], [Part::Narrow(right)]] => {
                self.run_join(stream, scratch, Join::new(&left[..], &right[..]), &valid)
            }
            [[Part::Wide(left)], [Part::Wide(right)]] => {
                self.run_join(stream, scratch, Join::new(&left[..], &right[..]), &valid)
            }
            [[Part::Narrow(a), Part::Narrow(b)], [Part::Narrow(c), Part::Narrow(d)]] => {
                let join = Join::<(u32, u32)>::by_two((&a[..], &b[..]), (&c[..], &d[..]));
                self.run_join(stream, scratch, join, &valid)
            }
            _ => {
                let texts = [sides[0].texts(scratch.device())?, sides[1].texts(scratch.device())?];
                let join = WideJoin::new(sides[0].wide_keys(&texts[0]), sides[1].wide_keys(&texts[1]));
                self.run_join(stream, scratch, join, &valid)
            }
        }
    }

    /// Runs `join` with the kind, the method and the seed of this join.
    fn run_join<'k, S: JoinsRows<'k>>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        mut join: JoinQuery<'k, S>,
        [left, right]: &'k [Option<Vec<u32>>; 2],
    ) -> Result<Joined> {
        join.kind(self.kind).method(self.method);
        if let Some(seed) = self.seed {
            join.seed(seed);
        }
        if let Some(left) = left {
            join.left_valid(left);
        }
        if let Some(right) = right {
            join.right_valid(right);
        }
        join.run_on(stream, scratch)
    }
}

/// The keys of a batch.
#[derive(Default)]
struct Side {
    parts: Vec<Part>,
    /// The rows that have a key in each column, or `None` for all.
    nulls: Option<NullBuffer>,
}

impl Side {
    fn add(&mut self, column: KeyColumn) {
        self.parts.extend(column.parts);
        self.nulls = NullBuffer::union(self.nulls.as_ref(), column.nulls.as_ref());
    }

    /// Returns a bit for each row that is set if it has a key, or `None` if all have.
    fn valid(&self) -> Option<Vec<u32>> {
        self.nulls.as_ref().map(valid_bits)
    }

    /// Returns the key columns of texts, on a device.
    fn texts(&self, device: &Device) -> Result<Vec<TextColumn>> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Texts(texts) => Some(TextColumn::new(device, texts)),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the keys, with `texts` as their columns of texts.
    fn wide_keys<'k>(&'k self, texts: &'k [TextColumn]) -> WideKeys<'k> {
        let mut texts = texts.iter();
        let add = |keys: Option<WideKeys<'k>>, part: &'k Part| match (keys, part) {
            (None, Part::Narrow(words)) => Some(WideKeys::of(&words[..])),
            (None, Part::Wide(words)) => Some(WideKeys::of(&words[..])),
            (None, Part::Texts(_)) => texts.next().map(WideKeys::of_text),
            (Some(keys), Part::Narrow(words)) => Some(keys.and(&words[..])),
            (Some(keys), Part::Wide(words)) => Some(keys.and(&words[..])),
            (Some(keys), Part::Texts(_)) => texts.next().map(|texts| keys.and_text(texts)),
        };
        // There is at least one column, and `texts` has all texts, so the default is never used.
        self.parts.iter().fold(None, add).unwrap_or_else(|| WideKeys::of(&[0u32; 0]))
    }
}
