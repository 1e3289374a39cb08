//! The aggregates of a group-by of a record batch.

use super::columns::{column_number, taken, unpacked};
use super::keys::{KeyColumn, Part};
use super::numbers::{Asked, Fill, Numbers, of_any_type};
use crate::primitives::Scratch;
use crate::relational::{GroupBy, Groups};
use crate::{Device, InputError, Key, Result, Stream, strings};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// A function of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    CountRows,
    Count,
    Sum,
    Min,
    Max,
    Mean,
    First,
    Last,
    CountDistinct,
    Var,
    Std,
    Quantile(f64),
}

impl Function {
    /// Returns whether the aggregate is derived from the rows that have a value, not folded.
    fn is_derived(self) -> bool {
        matches!(self, Self::CountDistinct | Self::Var | Self::Std | Self::Quantile(_))
    }
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
    ddof: u32,
}

/// The content of a column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The values of the column with this index.
    Values(usize, Fill),
    /// The values of the column with this index, and anything where it is null.
    Unfilled(usize),
    /// Words that are equal where the values of the column with this index are.
    Words(usize),
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
    /// The rows of a derived aggregate, a bit for each, if some rows have no value.
    mask: Option<Vec<u32>>,
}

impl Inputs {
    /// Returns the inputs of all aggregates. For variances, `ddof` is subtracted from the count of
    /// values.
    ///
    /// # Errors
    /// [`InputError::ColumnName`], [`InputError::ColumnType`], errors of mapping texts to ids.
    pub(super) fn new(device: &Device, batch: &RecordBatch, wanted: &[Wanted], ddof: u32) -> Result<Self> {
        let mut inputs = Self { columns: Vec::new(), computed: Vec::new(), ddof };
        for Wanted { function, column, name } in wanted {
            let (function, name) = (*function, name.clone());
            if function == Function::CountRows {
                let of_rows = Computed { name, function, array: None, of: None, valid: None, mask: None };
                inputs.computed.push(of_rows);
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
            if function.is_derived() {
                let of = Some(inputs.derived((device, column, array), number, function, nulls.is_some())?);
                let mask = nulls.as_ref().map(bits_of);
                inputs.computed.push(Computed { name, function, array: Some(array.clone()), of, valid, mask });
                continue;
            }
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
                Function::CountDistinct | Function::Var | Function::Std | Function::Quantile(_) => None,
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
            inputs.computed.push(Computed { name, function, array: Some(array.clone()), of, valid, mask: None });
        }
        Ok(inputs)
    }

    /// Returns the index of the input of a derived aggregate.
    fn derived(
        &mut self,
        (device, name, array): (&Device, &str, &ArrayRef),
        number: usize,
        function: Function,
        has_nulls: bool,
    ) -> Result<usize> {
        if function == Function::CountDistinct {
            return self.input(Content::Words(number), || words_of(device, name, array));
        }
        check_function(name, array.data_type(), function)?;
        // Without nulls, sums have the same input.
        let content = if has_nulls { Content::Unfilled(number) } else { Content::Values(number, Fill::Zero) };
        self.input(content, || numbers_of(name, array, function))
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
        query.ddof(self.ddof);
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
    fn ask<'q, K: Key>(&'q self, computed: &'q Computed, query: &mut GroupBy<'q, K>) -> [Option<Asked>; 3] {
        let input = |number: usize| &self.columns[number].1;
        let of = match (computed.of.map(input), computed.function) {
            (None, Function::Count) if computed.valid.is_some() => None,
            (None, _) => Some(Asked::U32(query.count())),
            (Some(numbers), Function::Mean) if computed.valid.is_none() => Some(numbers.mean(query)),
            (Some(numbers), function) if function.is_derived() => {
                let asked = numbers.derived(query, function);
                if let Some(mask) = &computed.mask {
                    query.only(mask);
                }
                Some(asked)
            }
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

/// Returns a bit for each row, which is set if the row is valid.
fn bits_of(nulls: &NullBuffer) -> Vec<u32> {
    let mut bits = vec![0; nulls.len().div_ceil(32)];
    nulls.iter().enumerate().for_each(|(row, is_valid)| bits[row / 32] |= u32::from(is_valid) << (row % 32));
    bits
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

impl Numbers {
    /// Adds a derived aggregate of the numbers to a query.
    fn derived<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>, function: Function) -> Asked {
        of_any_type!(Self, self, values => {
            let values = &values[..];
            match function {
                Function::Var => query.var(values).into(),
                Function::Std => query.std(values).into(),
                Function::Quantile(quantile) => query.quantile(values, quantile).into(),
                _ => query.count_distinct(values).into(),
            }
        })
    }
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
            Function::CountDistinct => match of {
                Numbers::U32(counts) => {
                    Arc::new(Int64Array::from_iter_values(counts.iter().map(|count| i64::from(*count))))
                }
                _ => count(),
            },
            Function::Var | Function::Std | Function::Quantile(_) => of.into_array(&DataType::Float64, nulls),
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
