//! The steps by which rows of several columns get ids. Each step is a map from words to ids.

use super::key_ids::KeyIds;
use super::row_columns::{ColumnType, Step, joined};
use crate::primitives::Scratch;
use crate::relational::columns::{Cast, Words, WordsOf, cast_words};
use crate::{Answers, Buffer, Device, Result, Stream};
use gpu_kernels::types::Scalar;

/// The steps for rows of certain columns.
pub(super) struct Steps {
    columns: Vec<Column>,
    rows: KeyIds,
}

/// The steps of a column.
struct Column {
    of_type: ColumnType,
    /// The ids of the column's words, if these have 64 bits.
    words: Option<KeyIds>,
    /// The ids of all columns up to this column, unless it is the first or the last column.
    up_to: Option<KeyIds>,
}

impl Steps {
    pub(super) fn new(stream: &Stream, device: &Device, types: Vec<ColumnType>) -> Result<Self> {
        let last = types.len() - 1;
        let columns = types.into_iter().enumerate().map(|(number, of_type)| {
            // The ids of a single column's words, and of all columns, are in `rows`.
            let step = |is_one: bool| is_one.then(|| KeyIds::new(stream, device, true)).transpose();
            Ok(Column {
                of_type,
                words: step(of_type.is_wide && last != 0)?,
                up_to: step(number != 0 && number != last)?,
            })
        });
        Ok(Self { columns: columns.collect::<Result<_>>()?, rows: KeyIds::new(stream, device, false)? })
    }

    /// Returns the types of the columns.
    pub(super) fn types(&self) -> impl Iterator<Item = ColumnType> {
        self.columns.iter().map(|column| column.of_type)
    }

    /// Returns the count of distinct rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    fn all(&self) -> impl Iterator<Item = &KeyIds> {
        let of_columns = self.columns.iter().flat_map(|column| [&column.words, &column.up_to]).flatten();
        of_columns.chain([&self.rows])
    }

    /// Returns whether all steps still have all of their ids.
    pub(super) fn is_whole(&self) -> bool {
        self.all().all(KeyIds::is_whole)
    }

    /// Returns the bytes on the device.
    pub(super) fn memory_bytes(&self) -> usize {
        self.all().map(KeyIds::memory_bytes).sum()
    }

    /// Returns the ids of rows, in memory of the scratch. New rows get the next ids.
    pub(super) fn get_or_insert(
        &mut self,
        stream: &Stream,
        scratch: &mut Scratch,
        columns: &[WordsOf<'_>],
    ) -> Result<Buffer<u32>> {
        let Self { columns: steps, rows } = self;
        let words = words_of(stream, scratch, columns, |scratch, step, words| {
            let step = match step {
                Step::Column(number) => &mut steps[number].words,
                Step::UpTo(number) => &mut steps[number].up_to,
            };
            step.as_mut().expect(A_STEP_EACH).get_or_insert(stream, scratch, words)
        })?;
        let ids = rows.get_or_insert(stream, scratch, words.words());
        words.give_back(scratch);
        ids
    }

    /// Looks up the ids of rows, in memory of the scratch.
    pub(super) fn get(&self, stream: &Stream, scratch: &mut Scratch, columns: &[WordsOf<'_>]) -> Result<Answers<u32>> {
        let words = words_of(stream, scratch, columns, |scratch, step, words| {
            let step = match step {
                Step::Column(number) => &self.columns[number].words,
                Step::UpTo(number) => &self.columns[number].up_to,
            };
            let Answers { values, found, .. } = step.as_ref().expect(A_STEP_EACH).get(stream, scratch, words)?;
            scratch.give_back(found);
            Ok(values)
        })?;
        let ids = self.rows.get(stream, scratch, words.words());
        words.give_back(scratch);
        ids
    }

    /// Returns a column of the rows with the given ids, in memory of the scratch.
    pub(super) fn column(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        number: usize,
        ids: &Buffer<u32>,
    ) -> Result<Words> {
        let words = self.rows.keys_of(stream, scratch, ids)?;
        match &self.columns[..] {
            [Column { of_type: ColumnType { is_wide: true, .. }, .. }] => return Ok(Words::Wide(words)),
            [_] => return resized(stream, scratch, &words, Cast::Bits).map(Words::Narrow),
            _ => {}
        }
        let (mut words, mut upper) = (words, self.columns.len() - 1);
        loop {
            let halves = resized(stream, scratch, &words, if number == upper { Cast::Upper } else { Cast::Bits })?;
            scratch.give_back(words);
            // In the words of the second column, the lower half is the first column.
            if number == upper || upper == 1 {
                return Ok(match &self.columns[number].words {
                    Some(step) => {
                        let words = step.keys_of(stream, scratch, &halves)?;
                        scratch.give_back(halves);
                        Words::Wide(words)
                    }
                    None => Words::Narrow(halves),
                });
            }
            upper -= 1;
            words = self.columns[upper].up_to.as_ref().expect(A_STEP_EACH).keys_of(stream, scratch, &halves)?;
            scratch.give_back(halves);
        }
    }
}

const A_STEP_EACH: &str = "there is a step for each time that ids are asked for";

/// A word for each row, which differs for different rows.
enum RowWords<'w> {
    Column(&'w Buffer<u64>),
    Lent(Buffer<u64>),
}

impl RowWords<'_> {
    fn words(&self) -> &Buffer<u64> {
        match self {
            Self::Column(words) => words,
            Self::Lent(words) => words,
        }
    }

    fn give_back(self, scratch: &mut Scratch) {
        if let Self::Lent(words) = self {
            scratch.give_back(words);
        }
    }
}

/// Returns a word for each row, which differs for different rows.
fn words_of<'w>(
    stream: &Stream,
    scratch: &mut Scratch,
    columns: &'w [WordsOf<'_>],
    mut ids_of: impl FnMut(&mut Scratch, Step, &Buffer<u64>) -> Result<Buffer<u32>>,
) -> Result<RowWords<'w>> {
    match columns {
        [WordsOf::Wide(words)] => Ok(RowWords::Column(words)),
        [WordsOf::Narrow(words)] => resized(stream, scratch, words, Cast::Bits).map(RowWords::Lent),
        [first, middle @ .., last] => joined(stream, scratch, (first, middle, last), &mut ids_of).map(RowWords::Lent),
        [] => scratch.lend(0).map(RowWords::Lent),
    }
}

/// Returns words converted to another size, in memory of the scratch.
fn resized<A: Scalar, B: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    from: &Buffer<A>,
    kind: Cast,
) -> Result<Buffer<B>> {
    let memory = scratch.lend(from.len())?;
    cast_words(stream, from, memory, kind)
}
