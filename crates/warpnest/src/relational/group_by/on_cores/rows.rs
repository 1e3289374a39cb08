//! Rows in the memory of the host, and their groups by one thread.

use super::states::{Fold, States, Values};
use super::table::{AT_ONCE, Hash, Table};
use crate::relational::columns::WordsRef;
use crate::{Buffer, Result, Stream};
use gpu_kernels::plain::Plain;
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, ValueWord};
use std::ops::Range;

/// The rows of a group-by.
#[derive(Clone, Debug)]
pub(super) struct Rows<'r, K> {
    pub keys: &'r [K],
    pub columns: Vec<Values<'r>>,
}

impl<'r, K: KeyWord + ValueWord> Rows<'r, K> {
    /// Waits for the columns and returns their rows, or `None` if the host does not share the
    /// device's memory, or if there are no rows. A column without words has the numbers of the
    /// rows.
    pub(super) fn of(
        stream: &Stream,
        keys: &'r Buffer<K>,
        words: impl Iterator<Item = Option<WordsRef<'r>>>,
    ) -> Result<Option<Self>> {
        let Some(keys) = elements(stream, keys)? else { return Ok(None) };
        let mut columns = Vec::new();
        for words in words {
            let values = match words {
                Some(WordsRef::Narrow(words)) => elements(stream, words)?.map(Values::Narrow),
                Some(WordsRef::Wide(words)) => elements(stream, words)?.map(Values::Wide),
                None => Some(Values::RowNumbers(0)),
            };
            let Some(values) = values else { return Ok(None) };
            columns.push(values);
        }
        Ok(Some(Self { keys, columns }))
    }
}

/// Waits for a buffer and returns its elements, or `None` as [`Rows::of`] does.
pub(super) fn elements<'b, T: Plain>(stream: &Stream, buffer: &'b Buffer<T>) -> Result<Option<&'b [T]>> {
    let first = buffer.in_place(stream)?;
    // SAFETY: the memory is host memory with this count of elements, which were initialized to
    // zeros. No work that writes them is in progress, and safe code needs exclusive access to the
    // buffer to queue such work.
    Ok(first.map(|first| unsafe { std::slice::from_raw_parts(first.as_ptr(), buffer.len()) }))
}

/// The groups of some rows, and their aggregates.
#[derive(Debug)]
pub(super) struct Grouped<'f, K> {
    table: Table<K>,
    states: States<'f>,
}

impl<'f, K: KeyWord> Grouped<'f, K> {
    pub(super) fn new(hash: Hash, folds: &'f [Fold]) -> Self {
        Self { table: Table::new(hash), states: States::new(folds) }
    }

    /// Removes all groups, and makes slots for about as many groups as are expected.
    pub(super) fn clear(&mut self, expected: usize) {
        self.table.clear(expected);
        self.states.clear();
    }

    /// Returns the count of groups.
    pub(super) fn len(&self) -> usize {
        self.table.keys.len()
    }

    /// Adds rows to their groups.
    pub(super) fn add(&mut self, rows: &Rows<'_, K>, range: Range<usize>) {
        let (mut groups, mut columns) = ([0; AT_ONCE], Vec::new());
        for first in range.clone().step_by(AT_ONCE) {
            let keys = &rows.keys[first..range.end.min(first + AT_ONCE)];
            self.table.find(keys, &mut groups);
            columns.clear();
            columns.extend(rows.columns.iter().map(|column| column.from(first)));
            self.states.add(&groups[..keys.len()], self.table.keys.len(), &columns);
        }
    }

    /// Adds groups of other rows.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut groups = [0; AT_ONCE];
        for (number, keys) in other.table.keys.chunks(AT_ONCE).enumerate() {
            self.table.find(keys, &mut groups);
            let others = (&other.states, number * AT_ONCE);
            self.states.combine(&groups[..keys.len()], self.table.keys.len(), others);
        }
    }

    /// Writes keys and aggregates to the outputs, starting at index `first`.
    pub(super) fn write(&self, (keys, outputs): (Global<K>, &[Global<u64>]), first: usize) {
        for (&key, at) in self.table.keys.iter().zip(first as u64..) {
            keys.store(at, key);
        }
        self.states.write(outputs, first as u64..);
    }
}
