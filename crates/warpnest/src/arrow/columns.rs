//! The columns of a record batch by their names, and the conversion of Arrow's errors.

use crate::{Error, InputError, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

/// Returns the index of the only column with the name `name`.
pub(super) fn column_number(table: &'static str, batch: &RecordBatch, name: &str) -> Result<usize> {
    let schema = batch.schema_ref();
    let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((number, _)), None) => Ok(number),
        (first, _) => {
            let held = schema.fields().iter().map(|field| field.name().clone()).collect();
            Err(InputError::ColumnName { table, name: name.to_owned(), several: first.is_some(), held }.into())
        }
    }
}

/// Returns the values of a dictionary's rows as an array, or any other array unchanged.
pub(super) fn unpacked(name: &str, array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            taken(name, dictionary.values(), dictionary.keys())
        }
        _ => Ok(array.clone()),
    }
}

/// Returns the elements of an array with these indices, and null where an index is null.
pub(super) fn taken(name: &str, array: &ArrayRef, rows: &dyn Array) -> Result<ArrayRef> {
    take(array, rows, None).map_err(of_arrow(name))
}

/// Returns a function that converts Arrow's errors.
pub(super) fn of_arrow(name: &str) -> impl FnOnce(ArrowError) -> Error {
    let what = format!("the column {name:?}");
    move |error| Error::Arrow { what, reason: error.to_string() }
}
