//! The columns of a joined batch.

use super::columns::{of_arrow, taken, unpacked};
use crate::relational::JoinKind;
use crate::{InputError, Result};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{DataType, FieldRef, Schema};
use arrow_select::interleave::interleave;
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// The rows that a join of record batches returns, as row indices counted from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JoinedRows {
    /// The left row of each result row. It is null if a right row has no match.
    pub left: UInt32Array,
    /// The right row of each result row. It is null if a left row has no match. `None` after a semi
    /// or anti join.
    pub right: Option<UInt32Array>,
}

/// The columns of a joined batch: their fields, and the columns from which they are gathered.
pub(super) struct JoinedColumns {
    fields: Vec<FieldRef>,
    sources: Vec<Source>,
}

/// The source of a column of the result.
#[derive(Clone, Copy)]
enum Source {
    Left(usize),
    Right(usize),
    /// A left and a right key column, which have equal keys where rows match.
    Either(usize, usize),
}

impl JoinedColumns {
    /// Returns the columns of a join of two batches by pairs of key columns.
    ///
    /// # Errors
    /// [`InputError::SameName`].
    pub(super) fn new(
        [left, right]: [&RecordBatch; 2],
        keys: &[[usize; 2]],
        kind: JoinKind,
        suffix: &str,
    ) -> Result<Self> {
        let (lefts, rights) = (left.schema_ref().fields(), right.schema_ref().fields());
        // Key columns with the same name in both batches become one column.
        let shared = |[left, right]: &&[usize; 2]| lefts[*left].name() == rights[*right].name();
        let shared: Vec<[usize; 2]> = keys.iter().filter(shared).copied().collect();
        let (mut columns, mut names) = (Self { fields: Vec::new(), sources: Vec::new() }, HashSet::new());
        let has_right_rows = !matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let (lacks_left, lacks_right) =
            (matches!(kind, JoinKind::Right | JoinKind::Full), matches!(kind, JoinKind::Left | JoinKind::Full));
        for (number, field) in lefts.iter().enumerate() {
            match shared.iter().find(|[left, _]| *left == number) {
                Some(&[_, other]) if lacks_left => {
                    let is_nullable = field.is_nullable() || rights[other].is_nullable();
                    let mut either = field.as_ref().clone().with_nullable(is_nullable);
                    if field.data_type() != rights[other].data_type() {
                        either = either.with_data_type(value_type(field));
                    }
                    columns.add(Arc::new(either), Source::Either(number, other));
                }
                _ => columns.add(with_nulls(field, lacks_left), Source::Left(number)),
            }
            names.insert(field.name().clone());
        }
        for (number, field) in rights.iter().enumerate().filter(|_| has_right_rows) {
            if shared.iter().any(|[_, right]| *right == number) {
                continue;
            }
            let mut field = with_nulls(field, lacks_right);
            if names.contains(field.name()) {
                let name = format!("{}{suffix}", field.name());
                field = Arc::new(field.as_ref().clone().with_name(name));
            }
            columns.add(field, Source::Right(number));
        }
        let mut names = HashSet::new();
        match columns.fields.iter().find(|field| !names.insert(field.name())) {
            Some(field) => {
                let (name, remedy) = (field.name().clone(), "rename one of them, or give another suffix");
                Err(InputError::SameName { name, remedy }.into())
            }
            None => Ok(columns),
        }
    }

    fn add(&mut self, field: FieldRef, source: Source) {
        self.fields.push(field);
        self.sources.push(source);
    }
}

fn with_nulls(field: &FieldRef, may_be_null: bool) -> FieldRef {
    if !may_be_null || field.is_nullable() {
        field.clone()
    } else {
        Arc::new(field.as_ref().clone().with_nullable(true))
    }
}

/// Returns the type of a field's values. For a dictionary it is the type of the dictionary's
/// values.
fn value_type(field: &FieldRef) -> DataType {
    match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    }
}

/// Gathers the columns of a joined batch, using all cores.
pub(super) fn joined_batch(
    [left, right]: [&RecordBatch; 2],
    columns: &JoinedColumns,
    rows: &JoinedRows,
) -> Result<RecordBatch> {
    let gathered = |(field, source): (&FieldRef, &Source)| match (*source, &rows.right) {
        (Source::Right(number), Some(rows)) => taken(field.name(), right.column(number), rows),
        (Source::Either(of_left, of_right), Some(right_rows)) => {
            either(field, [left.column(of_left), right.column(of_right)], [&rows.left, right_rows])
        }
        (Source::Left(number) | Source::Right(number) | Source::Either(number, _), _) => {
            taken(field.name(), left.column(number), &rows.left)
        }
    };
    let arrays = columns.fields.par_iter().zip(&columns.sources).map(gathered).collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.left.len()));
    let schema = Arc::new(Schema::new(columns.fields.clone()));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(of_arrow("of the result"))
}

/// Gathers a key column that both batches have. Rows without a left row have the right key.
fn either(field: &FieldRef, keys: [&ArrayRef; 2], [left, right]: [&UInt32Array; 2]) -> Result<ArrayRef> {
    let name = field.name();
    if left.null_count() == 0 && keys[0].data_type() == field.data_type() {
        return taken(name, keys[0], left);
    }
    let is_packed = |array: &&ArrayRef| array.data_type() != field.data_type();
    let keys = match keys.iter().any(is_packed) {
        true => [unpacked(name, keys[0])?, unpacked(name, keys[1])?],
        false => keys.map(ArrayRef::clone),
    };
    let row = |number| match left.is_valid(number) {
        true => (0, left.value(number) as usize),
        false => (1, right.value(number) as usize),
    };
    let rows: Vec<(usize, usize)> = (0..left.len()).map(row).collect();
    interleave(&[&keys[0], &keys[1]], &rows).map_err(of_arrow(name))
}
