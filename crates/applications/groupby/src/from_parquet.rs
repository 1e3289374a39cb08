//! Tables from the flat columns of Parquet files.

use super::column::{Cell, Use};
use super::query::Need;
use super::reading::{Options, Result, stopped};
use super::table::{Rows, Stop, Table};
use parquet::basic::{ConvertedType, LogicalType, SortOrder, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::path::Path;
use warpnest_applications_shared::parquet::{caught, check};
use warpnest_applications_shared::table::{self, FileError, Place};

/// The number of a column's rows decoded at once.
const BATCH: usize = 1 << 13;

/// Reads the required columns. Panics become errors.
pub fn read(path: &Path, file: File, needs: &[Need], options: Options, progress: &mut dyn FnMut(f64)) -> Result<Table> {
    caught(path, || read_whole(path, file, needs, options, progress))
}

/// Reads the required columns. Unnoticed damage may cause a panic.
fn read_whole(
    path: &Path,
    file: File,
    needs: &[Need],
    options: Options,
    progress: &mut dyn FnMut(f64),
) -> Result<Table> {
    let broken = |source| FileError::Parquet { path: path.to_owned(), source };
    let stopped = |stop: Stop| stopped(path, stop);
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let numbers = needs.iter().map(|need| table::column(path, &names, &need.name, ""));
    let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    let meanings =
        needs.iter().zip(&numbers).map(|(need, number)| meaning(path, schema.columns()[*number].as_ref(), need));
    let meanings = meanings.collect::<Result<Vec<_>>>()?;
    check(path, metadata, &numbers)?;

    let all_rows = metadata.file_metadata().num_rows().max(1) as f64;
    let mut rows = Rows::new(needs, options.strict);
    let mut done = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let length = group.metadata().num_rows();
        let mut columns = Vec::with_capacity(needs.len());
        for (number, meaning) in numbers.iter().zip(&meanings) {
            columns.push(open(path, group.as_ref(), *number, *meaning)?);
        }
        let mut left = usize::try_from(length)
            .map_err(|_| FileError::Damaged { path: path.to_owned(), what: format!("a group of {length} rows") })?;
        while left > 0 {
            let batch = left.min(BATCH);
            rows.reserve(Place::Row(done + 1), batch).map_err(stopped)?;
            for (need, column) in needs.iter().zip(&mut columns) {
                if column.decode(batch).map_err(broken)? < batch {
                    let what = format!("the column {:?} ends before row {}", need.name, done + batch as u64);
                    return Err(FileError::Damaged { path: path.to_owned(), what }.into());
                }
            }
            for _ in 0..batch {
                done += 1;
                let cells = &mut columns.iter_mut().map(PartOfColumn::cell).collect::<Vec<_>>();
                rows.push(Place::Row(done), cells).map_err(stopped)?;
            }
            left -= batch;
            progress(done as f64 / all_rows);
        }
    }
    Ok(rows.finish())
}

/// The meaning of a column's values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Signed,
    Unsigned,
    /// Integers to be divided by this number.
    Decimal(f64),
    Float,
    Text,
    /// Booleans: text as keys, and 0 and 1 as numbers.
    Truth(Use),
}

/// Returns the meaning of a column's values, or an error if they cannot be read.
fn meaning(path: &Path, column: &ColumnDescriptor, need: &Need) -> Result<Meaning> {
    let unsupported = |is: String, instead| {
        Err(FileError::Unsupported { path: path.to_owned(), column: need.name.clone(), is, instead }.into())
    };
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return unsupported("nested".to_owned(), "a flat column");
    }
    let is_decimal = column.converted_type() == ConvertedType::DECIMAL
        || matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    Ok(match column.physical_type() {
        Physical::INT32 | Physical::INT64 if is_decimal => Meaning::Decimal(10f64.powi(column.type_scale())),
        Physical::INT32 | Physical::INT64 if column.sort_order() == SortOrder::UNSIGNED => Meaning::Unsigned,
        Physical::INT32 | Physical::INT64 => Meaning::Signed,
        Physical::FLOAT | Physical::DOUBLE => Meaning::Float,
        Physical::BYTE_ARRAY if !is_decimal => Meaning::Text,
        Physical::BOOLEAN => Meaning::Truth(need.usage),
        Physical::INT96 => return unsupported("a time of 96 bits".to_owned(), "a timestamp of 64 bits"),
        other if is_decimal => return unsupported(format!("a decimal in {other}"), "a floating-point number"),
        other => return unsupported(other.to_string(), "a number or text"),
    })
}

/// Opens a column's part in a row group.
fn open(path: &Path, group: &dyn RowGroupReader, number: usize, meaning: Meaning) -> Result<PartOfColumn> {
    let reader = group.get_column_reader(number);
    let reader = reader.map_err(|source| FileError::Parquet { path: path.to_owned(), source })?;
    let defined = group.metadata().column(number).column_descr().max_def_level();
    Ok(PartOfColumn { reader, meaning, defined, levels: Vec::new(), values: Values::default(), row: 0, value: 0 })
}

/// A column's part in a row group, with its batch that is decoded.
struct PartOfColumn {
    reader: ColumnReader,
    meaning: Meaning,
    /// The definition level of a value that is not missing.
    defined: i16,
    levels: Vec<i16>,
    values: Values,
    /// The index of the next row of the batch.
    row: usize,
    /// The index of the batch's next value that is not missing.
    value: usize,
}

/// The values of a batch that are not missing, in the field for the column's type.
#[derive(Default)]
struct Values {
    truths: Vec<bool>,
    narrow: Vec<i32>,
    wide: Vec<i64>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    texts: Vec<ByteArray>,
}

impl PartOfColumn {
    /// Decodes the next batch, and returns its row count.
    fn decode(&mut self, rows: usize) -> std::result::Result<usize, ParquetError> {
        (self.row, self.value) = (0, 0);
        let (levels, values) = (&mut self.levels, &mut self.values);
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => decode(reader, rows, levels, &mut values.truths),
            ColumnReader::Int32ColumnReader(reader) => decode(reader, rows, levels, &mut values.narrow),
            ColumnReader::Int64ColumnReader(reader) => decode(reader, rows, levels, &mut values.wide),
            ColumnReader::FloatColumnReader(reader) => decode(reader, rows, levels, &mut values.floats),
            ColumnReader::DoubleColumnReader(reader) => decode(reader, rows, levels, &mut values.doubles),
            ColumnReader::ByteArrayColumnReader(reader) => decode(reader, rows, levels, &mut values.texts),
            // `meaning` refuses columns of these types.
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => Ok(0),
        }
    }

    /// Returns the cell of the next row of the batch.
    fn cell(&mut self) -> Cell<'_> {
        let is_missing = self.defined > 0 && self.levels.get(self.row).is_none_or(|level| *level < self.defined);
        self.row += 1;
        if is_missing {
            return Cell::Missing;
        }
        let value = self.value;
        self.value += 1;
        let values = &self.values;
        let cell = match &self.reader {
            ColumnReader::BoolColumnReader(_) => values.truths.get(value).map(|truth| self.meaning.truth(*truth)),
            ColumnReader::Int32ColumnReader(_) => values.narrow.get(value).map(|value| match self.meaning {
                Meaning::Unsigned => Cell::Integer(i64::from(value.cast_unsigned())),
                meaning => meaning.integer(i64::from(*value)),
            }),
            ColumnReader::Int64ColumnReader(_) => values.wide.get(value).map(|value| self.meaning.integer(*value)),
            ColumnReader::FloatColumnReader(_) => values.floats.get(value).map(|value| Cell::Number(f64::from(*value))),
            ColumnReader::DoubleColumnReader(_) => values.doubles.get(value).map(|value| Cell::Number(*value)),
            ColumnReader::ByteArrayColumnReader(_) => {
                values.texts.get(value).map(|text| text.as_utf8().map_or(Cell::NotText, Cell::Text))
            }
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => None,
        };
        cell.unwrap_or(Cell::Missing)
    }
}

impl Meaning {
    fn integer(self, value: i64) -> Cell<'static> {
        match self {
            Self::Decimal(unit) => Cell::Number(value as f64 / unit),
            // Unsigned integers of 64 bits that exceed `i64`.
            Self::Unsigned if value < 0 => Cell::Number(value.cast_unsigned() as f64),
            _ => Cell::Integer(value),
        }
    }

    fn truth(self, value: bool) -> Cell<'static> {
        match (self, value) {
            (Self::Truth(Use::Number), value) => Cell::Integer(i64::from(value)),
            (_, true) => Cell::Text("true"),
            (_, false) => Cell::Text("false"),
        }
    }
}

/// Decodes the next values of a column and the levels of its rows, and returns the row count.
fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> std::result::Result<usize, ParquetError> {
    levels.clear();
    values.clear();
    Ok(reader.read_records(rows, Some(levels), None, values)?.0)
}
