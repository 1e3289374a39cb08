//! The aggregates of a group-by of a record batch.

use super::columns::{column_number, taken, unpacked};
use super::numbers::{Asked, Fill, Numbers};
use crate::primitives::Scratch;
use crate::relational::{GroupBy, Groups};
use crate::{InputError, Key, Result, Stream};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// A function of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    CountRows,
    Count,
    Sum,
    Min,
    Max,
    Mean,
    First,
    Last,
}

/// An aggregate that the caller requested.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub function: Function,
    /// The name of the aggregated column, or an empty string.
    pub column: String,
    /// The name of the aggregate's column in the result.
    pub name: String,
}

/// The inputs of the aggregates of a batch.
pub(super) struct Inputs {
    columns: Vec<(Content, Numbers)>,
    computed: Vec<Computed>,
}

/// The content of a column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The values of the column with this index.
    Values(usize, Fill),
    /// 1 where the column with this index is not null, and 0 elsewhere.
    Valid(usize),
    /// The indices of the rows, with the fill where the column is null, if one is given.
    Rows(Option<(usize, Fill)>),
}

/// The computation of an aggregate.
struct Computed {
    name: String,
    function: Function,
    /// The column of the batch that is aggregated.
    array: Option<ArrayRef>,
    /// The index of the input that is aggregated.
    of: Option<usize>,
    /// The index of the input that tells which rows have a value, if some rows have none.
    valid: Option<usize>,
}

impl Inputs {
    /// Returns the inputs of all aggregates.
    ///
    /// # Errors
    /// [`InputError::ColumnName`], [`InputError::ColumnType`].
    pub(super) fn new(batch: &RecordBatch, wanted: &[Wanted]) -> Result<Self> {
        let mut inputs = Self { columns: Vec::new(), computed: Vec::new() };
        for Wanted { function, column, name } in wanted {
            let (function, name) = (*function, name.clone());
            if function == Function::CountRows {
                inputs.computed.push(Computed { name, function, array: None, of: None, valid: None });
                continue;
            }
            let number = column_number("the batch", batch, column)?;
            let array = batch.column(number);
            let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            let valid = nulls
                .as_ref()
                .map(|nulls| {
                    inputs.input(Content::Valid(number), || Ok(Numbers::U32(nulls.iter().map(u32::from).collect())))
                })
                .transpose()?;
            let mut values = |fill| {
                let values = || {
                    let values = numbers_of(column, array, function)?;
                    Ok(nulls.as_ref().map(|nulls| values.filled(nulls, fill)).unwrap_or(values))
                };
                // The type is checked even if another aggregate has the same input.
                check_function(column, array.data_type(), function)?;
                inputs.input(Content::Values(number, fill), values).map(Some)
            };
            let of = match function {
                Function::CountRows | Function::Count => None,
                Function::Sum | Function::Mean => values(Fill::Zero)?,
                Function::Min => values(Fill::Greatest)?,
                Function::Max => values(Fill::Least)?,
                Function::First | Function::Last => {
                    let fill = if function == Function::First { Fill::Greatest } else { Fill::Least };
                    let content = Content::Rows(nulls.as_ref().map(|_| (number, fill)));
                    let rows = || {
                        let rows = Numbers::U32((0..batch.num_rows() as u32).collect());
                        Ok(nulls.as_ref().map(|nulls| rows.filled(nulls, fill)).unwrap_or(rows))
                    };
                    Some(inputs.input(content, rows)?)
                }
            };
            inputs.computed.push(Computed { name, function, array: Some(array.clone()), of, valid });
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

    /// Runs a query that has keys and order, and returns the groups and their aggregates.
    pub(super) fn aggregates<'q, K: Key>(
        &'q self,
        stream: &Stream,
        scratch: &mut Scratch,
        mut query: GroupBy<'q, K>,
    ) -> Result<(Groups<K>, Vec<ArrayRef>)> {
        let asked: Vec<_> = self.computed.iter().map(|computed| self.ask(computed, &mut query)).collect();
        let groups = query.run_on(stream, scratch)?;
        let download = |asked: Option<Asked>| asked.map(|asked| asked.download(stream, &groups)).transpose();
        let arrays = self.computed.iter().zip(asked).map(|(computed, parts)| {
            let [of, upper, valid] = parts.map(download);
            let counts = match valid? {
                Some(Numbers::U64(counts)) => Some(counts),
                _ => None,
            };
            computed.array_of(of?, upper?, counts)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok((groups, arrays))
    }

    /// Adds an aggregate to a query. If some rows have no value, also adds the count of rows that
    /// have one, which is the third element. The sum for a mean may then wrap, so the sum of the
    /// values' upper halves is added as the second element.
    fn ask<'q, K: Key>(&'q self, computed: &Computed, query: &mut GroupBy<'q, K>) -> [Option<Asked>; 3] {
        let input = |number: usize| &self.columns[number].1;
        let of = match (computed.of.map(input), computed.function) {
            (None, Function::Count) if computed.valid.is_some() => None,
            (None, _) => Some(Asked::U32(query.count())),
            (Some(numbers), Function::Mean) if computed.valid.is_none() => Some(numbers.mean(query)),
            (Some(numbers), Function::Min | Function::First) => Some(numbers.min(query)),
            (Some(numbers), Function::Max | Function::Last) => Some(numbers.max(query)),
            (Some(numbers), _) => Some(numbers.sum(query)),
        };
        let valid = computed.valid.map(|valid| input(valid).sum(query));
        let has_upper = computed.function == Function::Mean && valid.is_some();
        let upper = computed.of.filter(|_| has_upper).and_then(|of| input(of).sum_of_upper(query));
        [of, upper, valid]
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
        Function::Sum | Function::Mean if !is_number => Err(no_aggregate(name, of_type, function)),
        _ => Ok(()),
    }
}

fn no_aggregate(name: &str, of_type: &DataType, function: Function) -> crate::Error {
    let (what, remedy) = match function {
        Function::Sum => ("no sum", "cast the column to integers or floating-point numbers of up to 64 bits"),
        Function::Mean => ("no mean", "cast the column to integers or floating-point numbers of up to 64 bits"),
        _ => (
            "no least or greatest value",
            "take numbers of 8 to 64 bits, dates, times or durations, or cast the column to one of these",
        ),
    };
    InputError::ColumnType { column: name.to_owned(), of_type: of_type.to_string(), what, remedy }.into()
}

impl Computed {
    /// Returns the array of the aggregate. `upper` has the sums of upper halves. `counts` has the
    /// count of rows with a value in each group, if some rows have none.
    fn array_of(
        &self,
        of: Option<Numbers>,
        upper: Option<Numbers>,
        counts: Option<ScalarBuffer<u64>>,
    ) -> Result<ArrayRef> {
        let nulls = counts.as_ref().map(|counts| counts.iter().map(|count| *count != 0).collect::<NullBuffer>());
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let count = || -> ArrayRef {
            Arc::new(match (&of, &counts) {
                (_, Some(counts)) => Int64Array::from_iter_values(counts.iter().map(|count| *count as i64)),
                (Some(Numbers::U32(counts)), _) => {
                    Int64Array::from_iter_values(counts.iter().map(|count| i64::from(*count)))
                }
                _ => Int64Array::from(Vec::<i64>::new()),
            })
        };
        let (Some(array), Some(of)) = (&self.array, of.clone()) else { return Ok(count()) };
        Ok(match self.function {
            Function::CountRows | Function::Count => count(),
            Function::Sum => {
                let of_type = match &of {
                    Numbers::U64(_) => DataType::UInt64,
                    Numbers::I64(_) => DataType::Int64,
                    _ => DataType::Float64,
                };
                of.into_array(&of_type, nulls)
            }
            Function::Mean => {
                let means = match counts {
                    Some(counts) => Numbers::F64(of.means(upper.as_ref(), &counts)),
                    None => of,
                };
                means.into_array(&DataType::Float64, nulls)
            }
            Function::Min | Function::Max => {
                let values = match array.data_type() {
                    DataType::Dictionary(_, values) => values,
                    other => other,
                };
                of.into_array(values, nulls)
            }
            Function::First | Function::Last => match of {
                Numbers::U32(rows) => taken(&self.name, array, &UInt32Array::new(rows, nulls))?,
                _ => count(),
            },
        })
    }
}
