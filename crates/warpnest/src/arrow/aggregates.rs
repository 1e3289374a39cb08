//! The aggregates of a group-by of a record batch.

use super::columns::{column_number, taken, unpacked};
use super::keys::{KeyColumn, Part};
use super::memory::valid_bits;
use super::numbers::{Asked, Function, Numbers};
use crate::primitives::Scratch;
use crate::relational::{Aggregate, GroupBy, Groups};
use crate::{Device, InputError, Key, Result, Stream, strings};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// An aggregate that the caller requested.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub function: Function,
    /// The name of the aggregated column, or an empty string.
    pub column: String,
    /// The name of the aggregate's column in the result.
    pub name: String,
}

/// The settings of a group-by besides its keys and order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub ddof: u32,
    pub is_reproducible: bool,
    /// The most groups, and the index of the aggregate by which they are kept.
    pub top: Option<(usize, usize)>,
}

/// The inputs of the aggregates of a batch.
pub(super) struct Inputs {
    columns: Vec<(Content, Numbers)>,
    /// The indices of columns with nulls, and a bit for each row, which is set if it is not null.
    masks: Vec<(usize, Vec<u32>)>,
    computed: Vec<Computed>,
    settings: Settings,
}

/// The content of a column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The values of the column with this index.
    Values(usize),
    /// Words that are equal where the values of the column with this index are.
    Words(usize),
    /// The indices of the rows.
    Rows,
}

/// The computation of an aggregate.
struct Computed {
    name: String,
    function: Function,
    /// The column of the batch that is aggregated.
    array: Option<ArrayRef>,
    /// The index of the input that is aggregated; none for a count.
    of: Option<usize>,
    /// The index of the mask, if some rows have no value.
    mask: Option<usize>,
}

impl Inputs {
    /// Returns the inputs of all aggregates.
    ///
    /// # Errors
    /// [`InputError::ColumnName`], [`InputError::ColumnType`], errors of mapping texts to ids.
    pub(super) fn new(device: &Device, batch: &RecordBatch, wanted: &[Wanted], settings: Settings) -> Result<Self> {
        let mut inputs = Self { columns: Vec::new(), masks: Vec::new(), computed: Vec::new(), settings };
        for Wanted { function, column, name } in wanted {
            let (function, name) = (*function, name.clone());
            if function == Function::CountRows {
                inputs.computed.push(Computed { name, function, array: None, of: None, mask: None });
                continue;
            }
            let number = column_number("the batch", batch, column)?;
            let array = batch.column(number);
            // The type is checked even if another aggregate has the same input.
            check_function(column, array.data_type(), function)?;
            let of = match function {
                Function::CountRows | Function::Count => None,
                Function::CountDistinct => {
                    Some(inputs.input(Content::Words(number), || words_of(device, column, array))?)
                }
                Function::First | Function::Last => {
                    let rows = || Ok(Numbers::U32((0..batch.num_rows() as u32).collect()));
                    Some(inputs.input(Content::Rows, rows)?)
                }
                _ => Some(inputs.input(Content::Values(number), || numbers_of(column, array, function))?),
            };
            let mask = inputs.mask(number, array);
            inputs.computed.push(Computed { name, function, array: Some(array.clone()), of, mask });
        }
        Ok(inputs)
    }

    /// Returns the index of an input, and adds the input if it is missing.
    fn input(&mut self, content: Content, numbers: impl FnOnce() -> Result<Numbers>) -> Result<usize> {
        if let Some(number) = self.columns.iter().position(|(held, _)| *held == content) {
            return Ok(number);
        }
        self.columns.push((content, numbers()?));
        Ok(self.columns.len() - 1)
    }

    /// Returns the index of the mask of a column, or `None` if it has no nulls.
    fn mask(&mut self, number: usize, array: &ArrayRef) -> Option<usize> {
        if let Some(mask) = self.masks.iter().position(|(held, _)| *held == number) {
            return Some(mask);
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
        self.masks.push((number, valid_bits(&nulls)));
        Some(self.masks.len() - 1)
    }

    /// Runs a query that has keys and order, and returns the groups and their aggregates.
    pub(super) fn aggregates<'q, K: Key>(
        &'q self,
        stream: &Stream,
        scratch: &mut Scratch,
        mut query: GroupBy<'q, K>,
    ) -> Result<(Groups<K>, Vec<ArrayRef>)> {
        let Settings { ddof, is_reproducible, top } = self.settings;
        query.ddof(ddof);
        if is_reproducible {
            query.reproducible();
        }
        let asked: Vec<_> = self.computed.iter().map(|computed| self.ask(computed, &mut query)).collect();
        if let Some((count, by)) = top {
            asked[by].0.top(&mut query, count);
        }
        let groups = query.run_on(stream, scratch)?;
        let arrays = self.computed.iter().zip(asked).map(|(computed, (of, valid))| {
            let counts = valid.map(|valid| groups.column(valid)?.download(stream)).transpose()?;
            let is_valid = |counts: Vec<u32>| counts.iter().map(|count| *count != 0).collect::<NullBuffer>();
            let nulls = counts.map(is_valid).filter(|nulls| nulls.null_count() > 0);
            computed.array_of(of.download(stream, &groups)?, nulls)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok((groups, arrays))
    }

    /// Adds an aggregate to a query. If some rows have no value, also adds the count of rows that
    /// have one, unless the aggregate is never null.
    fn ask<'q, K: Key>(&'q self, computed: &Computed, query: &mut GroupBy<'q, K>) -> (Asked, Option<Aggregate<u32>>) {
        let asked = match computed.of {
            Some(of) => self.columns[of].1.ask(query, computed.function),
            None => query.count().into(),
        };
        let Some(mask) = computed.mask.map(|mask| &self.masks[mask].1[..]) else { return (asked, None) };
        asked.filter(query, mask);
        if computed.function.is_count() {
            return (asked, None);
        }
        let valid = query.count();
        query.filter(valid, mask);
        (asked, Some(valid))
    }
}

/// Returns words that are equal where the values of a column are equal, and anything where it is
/// null.
fn words_of(device: &Device, name: &str, array: &ArrayRef) -> Result<Numbers> {
    let KeyColumn { parts, of_type, .. } = KeyColumn::new(name, array)?;
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Part::Narrow(words)), None) => Ok(words.into()),
        (Some(Part::Wide(words)), None) => Ok(words.into()),
        (Some(Part::Texts(texts)), None) => Ok(ScalarBuffer::<u32>::from(strings::unique(device, &texts)?.ids).into()),
        _ => Err(no_aggregate(name, &of_type, Function::CountDistinct)),
    }
}

/// Returns the numbers of a column for an aggregate.
fn numbers_of(name: &str, array: &ArrayRef, function: Function) -> Result<Numbers> {
    let array = unpacked(name, array)?;
    Numbers::new(&array).ok_or_else(|| no_aggregate(name, array.data_type(), function))
}

/// Fails if a type does not support an aggregate.
fn check_function(name: &str, of_type: &DataType, function: Function) -> Result<()> {
    let values = match of_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let is_number = values.is_integer() || matches!(values, DataType::Float32 | DataType::Float64);
    match function {
        Function::Sum | Function::Mean | Function::Var | Function::Std | Function::Quantile(_) if !is_number => {
            Err(no_aggregate(name, of_type, function))
        }
        _ => Ok(()),
    }
}

fn no_aggregate(name: &str, of_type: &DataType, function: Function) -> crate::Error {
    let cast = "cast the column to integers or floating-point numbers of up to 64 bits";
    let (what, remedy) = match function {
        Function::Sum => ("no sum", cast),
        Function::Mean => ("no mean", cast),
        Function::Var | Function::Std => ("no variance", cast),
        Function::Quantile(_) => ("no quantile", cast),
        Function::CountDistinct => ("no count of distinct values", "take values of up to 64 bits, texts or bytes"),
        _ => (
            "no least or greatest value",
            "take numbers of 8 to 64 bits, dates, times or durations, or cast the column to one of these",
        ),
    };
    InputError::ColumnType { column: name.to_owned(), of_type: of_type.to_string(), what, remedy }.into()
}

impl Computed {
    /// Returns the array of the aggregate, from its value for each group.
    fn array_of(&self, of: Numbers, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let of_type = match (&of, self.function, &self.array) {
            (Numbers::U32(counts), function, _) if function.is_count() => {
                let counts = counts.iter().map(|count| i64::from(*count));
                return Ok(Arc::new(Int64Array::from_iter_values(counts)));
            }
            (Numbers::U32(rows), Function::First | Function::Last, Some(array)) => {
                return taken(&self.name, array, &UInt32Array::new(rows.clone(), nulls));
            }
            (_, Function::Min | Function::Max, Some(array)) => match array.data_type() {
                DataType::Dictionary(_, values) => &**values,
                other => other,
            },
            (Numbers::U64(_), ..) => &DataType::UInt64,
            (Numbers::I64(_), ..) => &DataType::Int64,
            _ => &DataType::Float64,
        };
        Ok(of.into_array(of_type, nulls))
    }
}
