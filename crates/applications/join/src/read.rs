//! Record batches from CSV and Parquet files.

use crate::error::{FileError, Result};
use crate::format::Format;
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::Seek;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

/// The rows that are decoded at once, and the fields of CSV, for each of which memory is taken
/// whatever the size of the file.
const BATCH: usize = 1 << 16;
const MAX_FIELDS: usize = 1 << 20;

/// How key columns are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeysAs {
    /// As what the file has, or what the fields of CSV look like.
    #[default]
    TheyAre,
    /// As text, exactly as it is written in CSV.
    Text,
}

/// Reads a file: CSV, whose first line names the columns, or Parquet, by the end of its name. Each
/// of the `keys` must be the name of one column. Types of CSV are inferred from all rows, and empty
/// fields are null.
///
/// # Errors
/// [`FileError`], which names the file.
pub fn read(path: &Path, keys: &[String], keys_as: KeysAs) -> Result<RecordBatch> {
    let format = Format::of(path)?;
    let in_path = |source| FileError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(in_path)?;
    if file.metadata().map_err(in_path)?.is_dir() {
        return Err(FileError::Folder { path: path.to_owned() });
    }
    // The crate `parquet` panics at some damage of a file (60.1.0 at a dictionary that is cut
    // short). What a panic leaves half done is dropped: nothing outside refers to it.
    let read = AssertUnwindSafe(|| match format {
        Format::Csv(delimiter) => read_csv(path, file, delimiter, keys, keys_as),
        Format::Parquet => read_parquet(path, file, keys, keys_as),
    });
    panic::catch_unwind(read).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
        Err(FileError::Damaged { path: path.to_owned(), what: text.to_owned() })
    })
}

fn read_csv(path: &Path, mut file: File, delimiter: u8, keys: &[String], keys_as: KeysAs) -> Result<RecordBatch> {
    let csv = |columns: String| move |source| FileError::Csv { path: path.to_owned(), columns, source };
    let read = |source| FileError::Read { path: path.to_owned(), source };
    let format = arrow_csv::reader::Format::default().with_header(true).with_delimiter(delimiter);
    let (schema, _) = format.infer_schema(&mut file, None).map_err(csv("of its first line".to_owned()))?;
    if schema.fields().is_empty() {
        return Err(FileError::NoNames { path: path.to_owned() });
    }
    check_keys(path, &schema, keys)?;
    let field = |field: &Arc<Field>| match field.data_type() {
        _ if keys_as == KeysAs::Text && keys.contains(field.name()) => Field::new(field.name(), DataType::Utf8, true),
        // A column whose fields are all empty, which is of any type.
        DataType::Null => Field::new(field.name(), DataType::Utf8, true),
        _ => field.as_ref().clone(),
    };
    let schema = SchemaRef::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()));
    file.rewind().map_err(read)?;
    let csv = csv(names(&schema));
    let batch = (MAX_FIELDS / schema.fields().len()).clamp(1, BATCH);
    let builder = arrow_csv::ReaderBuilder::new(schema.clone()).with_format(format).with_batch_size(batch);
    let batches = builder.build(file).and_then(|batches| batches.collect::<Result<Vec<_>, ArrowError>>());
    batches.and_then(|batches| concat_batches(&schema, &batches)).map_err(csv)
}

fn read_parquet(path: &Path, file: File, keys: &[String], keys_as: KeysAs) -> Result<RecordBatch> {
    let parquet = |source| FileError::Parquet { path: path.to_owned(), source };
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(parquet)?;
    let schema = builder.schema().clone();
    check_keys(path, &schema, keys)?;
    let batches = builder.with_batch_size(BATCH).build().map_err(parquet)?;
    let batches = batches.collect::<Result<Vec<_>, ArrowError>>();
    let whole = batches.and_then(|batches| concat_batches(&schema, &batches));
    let batch = whole.map_err(|source| FileError::Batches { path: path.to_owned(), source })?;
    if keys_as == KeysAs::Text { with_texts(path, &batch, keys) } else { Ok(batch) }
}

/// Makes the key columns text.
fn with_texts(path: &Path, batch: &RecordBatch, keys: &[String]) -> Result<RecordBatch> {
    let schema = batch.schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        if !keys.contains(field.name()) {
            fields.push(field.clone());
            columns.push(column.clone());
            continue;
        }
        let no_text = |source| {
            let (name, of_type) = (field.name().clone(), field.data_type().to_string());
            FileError::NoText { path: path.to_owned(), name, of_type, source }
        };
        columns.push(cast(column, &DataType::Utf8).map_err(no_text)?);
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    batch.map_err(|source| FileError::Batches { path: path.to_owned(), source })
}

/// Fails unless each key is the name of one column.
fn check_keys(path: &Path, schema: &Schema, keys: &[String]) -> Result<()> {
    for name in keys {
        match schema.fields().iter().filter(|field| field.name() == name).count() {
            1 => {}
            0 => {
                let (path, name, there) = (path.to_owned(), name.clone(), names(schema));
                return Err(FileError::NoColumn { path, name, there });
            }
            _ => return Err(FileError::SameName { path: path.to_owned(), name: name.clone() }),
        }
    }
    Ok(())
}

/// Returns the names of columns, as far as a message holds them.
fn names(schema: &Schema) -> String {
    const MOST: usize = 30;
    let shown = schema.fields().iter().take(MOST).map(|field| {
        // A name may have what a terminal obeys.
        field.name().chars().take(40).flat_map(char::escape_debug).collect::<String>()
    });
    let shown: Vec<String> = shown.collect();
    let more = schema.fields().len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
