//! The columns of rows, and words that differ for different rows.

use crate::primitives::{Scratch, check_items};
use crate::relational::columns::{Column, Lend, RowKeys, WordsOf};
use crate::types::KeyOrder;
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::types::Scalar;
use std::any::{TypeId, type_name};

/// A column of any type.
pub(super) struct RowColumn<'q> {
    pub rows: usize,
    pub of_type: ColumnType,
    lend: Lend<'q>,
}

impl<'q> RowColumn<'q> {
    pub(super) fn new<K: Key>(column: Column<'q, K>) -> Self {
        let rows = column.rows();
        Self {
            rows,
            of_type: ColumnType::of::<K>(),
            lend: Box::new(move |device| Ok(WordsOf::new::<K>(column.on_device(device)?))),
        }
    }
}

/// The type of a column's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColumnType {
    id: TypeId,
    pub name: &'static str,
    pub is_wide: bool,
}

impl ColumnType {
    pub(super) fn of<K: Key>() -> Self {
        Self { id: TypeId::of::<K>(), name: type_name::<K>(), is_wide: K::Word::BITS == 64 }
    }
}

/// Returns the columns on a device.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns have equally
/// many rows; [`InputError::TooManyItems`](crate::InputError::TooManyItems); errors of a copy.
pub(super) fn on_device<'q>(device: &Device, columns: &[RowColumn<'q>]) -> Result<Vec<WordsOf<'q>>> {
    if let [first, others @ ..] = columns {
        for column in others {
            crate::error::same_length(("the first column", first.rows), ("another column", column.rows))?;
        }
        check_items(first.rows)?;
    }
    columns.iter().map(|column| (column.lend)(device)).collect()
}

/// The columns whose combined words get ids in a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// One column of 64 bits.
    Column(usize),
    /// All columns up to the column of this index.
    UpTo(usize),
}

/// A function that returns the ids of words: equal words have equal ids.
pub(super) type IdsOf<'f> = dyn FnMut(&mut Scratch, Step, &Buffer<u64>) -> Result<Buffer<u32>> + 'f;

/// Returns a word for each row, in memory of the scratch. Different rows have different words.
///
/// Each column of 64 bits is replaced by the ids of its words. The lower half of a word is the id
/// of the columns so far, and the upper half is the next column.
pub(super) fn joined(
    stream: &Stream,
    scratch: &mut Scratch,
    (first, middle, last): (&WordsOf<'_>, &[WordsOf<'_>], &WordsOf<'_>),
    ids_of: &mut IdsOf<'_>,
) -> Result<Buffer<u64>> {
    let mut so_far = narrowed(scratch, (0, first), ids_of)?;
    for (number, column) in (1..).zip(middle) {
        let column = narrowed(scratch, (number, column), ids_of)?;
        let words = both(stream, scratch, so_far, column)?;
        so_far = Narrow::Ids(ids_of(scratch, Step::UpTo(number), &words)?);
        scratch.give_back(words);
    }
    let last = narrowed(scratch, (middle.len() + 1, last), ids_of)?;
    both(stream, scratch, so_far, last)
}

/// Returns words whose halves are the two columns.
fn both(stream: &Stream, scratch: &mut Scratch, so_far: Narrow<'_>, column: Narrow<'_>) -> Result<Buffer<u64>> {
    let joined = scratch.lend::<u64>(column.words().len())?;
    stream.batch(|batch| {
        let halves = RowKeys::Two([so_far.words(), column.words()]);
        // SAFETY: all three buffers have the same count of elements.
        unsafe { halves.encode(batch, KeyOrder::default(), batch.write(&joined)) }
    })?;
    for narrow in [so_far, column] {
        if let Narrow::Ids(ids) = narrow {
            scratch.give_back(ids);
        }
    }
    Ok(joined)
}

/// A column of 32 bits: words of the input, or ids in memory of the scratch.
enum Narrow<'w> {
    Words(&'w Buffer<u32>),
    Ids(Buffer<u32>),
}

impl Narrow<'_> {
    fn words(&self) -> &Buffer<u32> {
        match self {
            Self::Words(words) => words,
            Self::Ids(ids) => ids,
        }
    }
}

/// Returns a column as 32-bit words: its own, or their ids.
fn narrowed<'w>(
    scratch: &mut Scratch,
    (number, column): (usize, &'w WordsOf<'_>),
    ids_of: &mut IdsOf<'_>,
) -> Result<Narrow<'w>> {
    Ok(match column {
        WordsOf::Narrow(words) => Narrow::Words(words),
        WordsOf::Wide(words) => Narrow::Ids(ids_of(scratch, Step::Column(number), words)?),
    })
}
