//! Record batches from CSV and Parquet files.

use crate::error::{JoinFileError, Result};
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;
use std::sync::Arc;
use warpnest_applications_shared::csv::{CheckedText, Records, strict};
use warpnest_applications_shared::memory;
use warpnest_applications_shared::parquet::{caught, check};
use warpnest_applications_shared::table::{FileError, Format, Place, column, listed, open};

/// The number of rows decoded at once.
const BATCH: usize = 1 << 16;
/// The maximum CSV fields of a batch, because each takes memory.
const MAX_FIELDS: usize = 1 << 20;

/// The type as which key columns are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeysAs {
    /// The type in the file, or the type that the fields of CSV look like.
    #[default]
    TheyAre,
    /// Text, exactly as it is written in CSV.
    Text,
}

/// The options for reading a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The type as which key columns are read.
    pub keys_as: KeysAs,
    /// The delimiter of CSV fields. The default is a tab in files named `.tsv`, and a comma in
    /// others.
    pub delimiter: Option<u8>,
}

/// Reads a CSV or Parquet file, by the end of its name. Each of the `keys` must be the name of one
/// column. In CSV, the first line names the columns, types are inferred from all rows, and empty
/// fields are null.
///
/// # Errors
/// [`JoinFileError`], which names the file.
pub fn read(path: &Path, keys: &[String], options: Options) -> Result<RecordBatch> {
    let (format, file) = open(path)?;
    match format.with_delimiter(options.delimiter) {
        Format::Csv(delimiter) => read_csv(path, file, delimiter, keys, options.keys_as),
        Format::Parquet => caught(path, || read_parquet(path, file, keys, options.keys_as)),
    }
}

/// Reads a CSV file in three passes: first it looks for errors, for which Arrow has poor messages
/// or none, then it infers the types, and then it reads the values.
fn read_csv(path: &Path, mut file: File, delimiter: u8, keys: &[String], keys_as: KeysAs) -> Result<RecordBatch> {
    let in_path = |source| FileError::Read { path: path.to_owned(), source };
    let mut records = Records::open(path, file.try_clone().map_err(in_path)?, delimiter)?;
    let keys = keys.iter().map(|key| records.column(key)).collect::<Result<Vec<_>, _>>()?;
    strict(&mut records)?;
    let columns = listed(records.names());
    let csv = |source| JoinFileError::Csv { path: path.to_owned(), columns: columns.clone(), source };
    file.rewind().map_err(in_path)?;
    let text = |file: &File| {
        Ok::<_, FileError>(CheckedText::new(BufReader::new(file.try_clone().map_err(in_path)?), delimiter).0)
    };
    let format = arrow_csv::reader::Format::default().with_header(true).with_delimiter(delimiter);
    let (schema, _) = format.infer_schema(text(&file)?, None).map_err(csv)?;
    let field = |(index, (field, name)): (usize, (&Arc<Field>, &String))| match field.data_type() {
        _ if keys_as == KeysAs::Text && keys.contains(&index) => Field::new(name, DataType::Utf8, true),
        // All fields of the column are empty, so it may be of any type.
        DataType::Null => Field::new(name, DataType::Utf8, true),
        of_type => Field::new(name, of_type.clone(), true),
    };
    let fields = schema.fields().iter().zip(records.names()).enumerate().map(field);
    let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()));
    file.rewind().map_err(in_path)?;
    let batch = (MAX_FIELDS / schema.fields().len()).clamp(1, BATCH);
    let builder = arrow_csv::ReaderBuilder::new(schema.clone()).with_format(format).with_batch_size(batch);
    let mut batches = Batches::new(path, schema);
    for batch in builder.build(text(&file)?).map_err(csv)? {
        batches.push(batch.map_err(csv)?)?;
    }
    batches.concat()
}

fn read_parquet(path: &Path, file: File, keys: &[String], keys_as: KeysAs) -> Result<RecordBatch> {
    let parquet = |source| FileError::Parquet { path: path.to_owned(), source };
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(parquet)?;
    let schema = builder.schema().clone();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    keys.iter().try_for_each(|key| column(path, &names, key, "").map(|_| ()))?;
    let metadata = builder.metadata().clone();
    let leaves: Vec<usize> = (0..builder.parquet_schema().num_columns()).collect();
    check(path, &metadata, &leaves)?;
    let mut batches = Batches::new(path, schema);
    for batch in builder.with_batch_size(BATCH).build().map_err(parquet)? {
        batches.push(batch.map_err(|source| parquet(of_parquet(source)))?)?;
    }
    let (rows, of_file) = (batches.rows, metadata.file_metadata().num_rows());
    if rows as i64 != of_file {
        let what = format!("its columns end behind row {rows}, and it says that it has {of_file}");
        return Err(FileError::Damaged { path: path.to_owned(), what }.into());
    }
    let batch = batches.concat()?;
    if keys_as == KeysAs::Text { with_texts(path, &batch, keys) } else { Ok(batch) }
}

/// Returns the Parquet error that Arrow passes on as a text.
fn of_parquet(error: ArrowError) -> ParquetError {
    match error {
        ArrowError::ParquetError(text) => {
            ParquetError::General(text.strip_prefix("Parquet error: ").unwrap_or(&text).to_owned())
        }
        error => ParquetError::ArrowError(error.to_string()),
    }
}

/// The batches of a file, which must fit in memory with one batch made of all of them.
struct Batches<'p> {
    path: &'p Path,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: u64,
}

impl<'p> Batches<'p> {
    fn new(path: &'p Path, schema: SchemaRef) -> Self {
        Self { path, schema, batches: Vec::new(), rows: 0, bytes: 0 }
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let bytes = batch.get_array_memory_size() as u64;
        self.bytes += bytes;
        // This includes the next batch and a copy of all batches.
        memory::check(self.bytes + 2 * bytes).map_err(|no_memory| {
            let place = Place::Row(self.rows as u64 + 1);
            FileError::NoMemory { path: self.path.to_owned(), place, no_memory }
        })?;
        self.rows += batch.num_rows();
        self.batches.push(batch);
        Ok(())
    }

    fn concat(self) -> Result<RecordBatch> {
        let whole = concat_batches(&self.schema, &self.batches);
        whole.map_err(|source| JoinFileError::Batches { path: self.path.to_owned(), source })
    }
}

/// Converts the key columns to text.
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
            JoinFileError::NoText { path: path.to_owned(), name, of_type, source }
        };
        columns.push(cast(column, &DataType::Utf8).map_err(no_text)?);
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    batch.map_err(|source| JoinFileError::Batches { path: path.to_owned(), source })
}
