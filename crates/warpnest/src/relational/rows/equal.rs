//! Tests pairs of rows of two tables for equality.

use super::on_device::{ColumnOn, KeysOn};
use super::text_column::Eight;
use super::wide_keys::WideKeys;
use crate::primitives::{Scratch, check_items, select};
use crate::relational::columns::{Words as Offsets, WordsOf};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::relational::rows::{CompareParams, CompareTexts, CompareWords};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// Queues flagging the pairs of a left row and a right row that are equal in all columns. Bit
/// `i % 32` of `keep[i / 32]` is set if pair `i` is equal. Bits past the last pair become 0. The
/// call does not wait.
///
/// A pair is not flagged if a row index is out of bounds, so pairs with
/// [`NO_ROW`](super::super::NO_ROW) are not flagged. [`compact`](crate::primitives::compact) can
/// apply the flags to the pairs and to other columns.
///
/// **Complexity.** There is one launch for each column, in which each thread compares a pair, if
/// the pair is still flagged. The scratch takes one word.
///
/// # Errors
/// [`InputError::KeysDiffer`](crate::InputError::KeysDiffer) unless the columns of both tables have
/// the same types, [`InputError::ColumnLength`](crate::InputError::ColumnLength) unless all columns
/// of a table have equally many rows;
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless there are as many left
/// rows as right rows, and a word for each 32 pairs;
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more of a table;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn flag_equal_rows(
    stream: &Stream,
    scratch: &mut Scratch,
    (left, right): (&WideKeys<'_>, &WideKeys<'_>),
    (left_rows, right_rows): (&Buffer<u32>, &Buffer<u32>),
    keep: &mut BufferSlice<u32>,
) -> Result<()> {
    stream.check_device(scratch.device())?;
    left.check_types(right)?;
    crate::error::same_length(("the left rows", left_rows.len()), ("the right rows", right_rows.len()))?;
    let words = left_rows.len().div_ceil(32);
    crate::error::same_length(("the pairs, in words of 32,", words), ("the words to keep", keep.len()))?;
    let keys = [left.on_device(scratch.device())?, right.on_device(scratch.device())?];
    let header = scratch.lend(1)?;
    let pairs = Pairs { rows: [left_rows, right_rows], keeps_alone: false };
    let done = queue_flags(stream, [&keys[0], &keys[1]], pairs, (keep, &header));
    scratch.give_back(header);
    done
}

/// Keeps the pairs of a left row and a right row that are equal in all columns, in their order, and
/// removes the other pairs from both buffers. Waits for the count of pairs.
///
/// ```
/// use warpnest::primitives::Scratch;
/// use warpnest::relational::{TextColumn, WideKeys, retain_equal_rows};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
/// let ours = TextColumn::new(&device, &["oak", "elm"])?;
/// let theirs = TextColumn::new(&device, &["elm", "ash", "oak"])?;
/// let keys = (&WideKeys::of_text(&ours), &WideKeys::of_text(&theirs));
/// let mut left = Buffer::from_slice(&device, &[0u32, 0, 1])?;
/// let mut right = Buffer::from_slice(&device, &[1u32, 2, 0])?;
/// retain_equal_rows(stream, &mut scratch, keys, (&mut left, &mut right))?;
/// assert_eq!(left.download(stream)?, [0, 1]);
/// assert_eq!(right.download(stream)?, [2, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// After a join by [`hash_rows`](super::hash_rows), it removes the pairs whose hashes are equal but
/// whose rows differ. If all pairs are equal, as is usual then, nothing is moved. The scratch takes
/// a bit for each pair, and 8 bytes per pair if pairs are removed. After an error both buffers are
/// unchanged.
///
/// # Errors
/// The errors of [`flag_equal_rows`], and
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems) if pairs must be removed from 2^32
/// pairs or more.
pub fn retain_equal_rows(
    stream: &Stream,
    scratch: &mut Scratch,
    (left, right): (&WideKeys<'_>, &WideKeys<'_>),
    (left_rows, right_rows): (&mut Buffer<u32>, &mut Buffer<u32>),
) -> Result<()> {
    stream.check_device(scratch.device())?;
    left.check_types(right)?;
    crate::error::same_length(("the left rows", left_rows.len()), ("the right rows", right_rows.len()))?;
    let keys = [left.on_device(scratch.device())?, right.on_device(scratch.device())?];
    let pairs = Pairs { rows: [left_rows, right_rows], keeps_alone: false };
    let (keep, removed) = flags(stream, scratch, [&keys[0], &keys[1]], pairs)?;
    if removed != 0 {
        let kept =
            [compacted(stream, scratch, left_rows, &keep, 0)?, compacted(stream, scratch, right_rows, &keep, 0)?];
        let length = left_rows.len() - removed as usize;
        for (rows, mut kept) in [left_rows, right_rows].into_iter().zip(kept) {
            kept.set_length(length);
            scratch.give_back(std::mem::replace(rows, kept));
        }
    }
    scratch.give_back(keep);
    Ok(())
}

/// Pairs of rows.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'p> {
    /// The left and the right rows; there are equally many.
    pub rows: [&'p Buffer<u32>; 2],
    /// Whether pairs with [`NO_ROW`](super::super::NO_ROW) are kept.
    pub keeps_alone: bool,
}

/// Returns a bit for each pair, set if the pair is equal, in memory of the scratch, and the count
/// of the other pairs. Waits for the count.
pub(super) fn flags(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: [&KeysOn<'_>; 2],
    pairs: Pairs<'_>,
) -> Result<(Buffer<u32>, u64)> {
    let keep = scratch.lend(pairs.rows[0].len().div_ceil(32))?;
    let header = scratch.lend(1)?;
    queue_flags(stream, keys, pairs, (&keep, &header))?;
    let others = header.download_at(stream, 0)?;
    scratch.give_back(header);
    Ok((keep, others))
}

/// Returns a buffer of the scratch with the kept rows at its front. Its length is the count of all
/// rows plus `besides`.
pub(super) fn compacted(
    stream: &Stream,
    scratch: &mut Scratch,
    rows: &Buffer<u32>,
    keep: &Buffer<u32>,
    besides: usize,
) -> Result<Buffer<u32>> {
    check_items(rows.len())?;
    let kept = scratch.lend::<u32>(rows.len() + besides)?;
    select(stream, scratch, rows, keep, (&kept, 0))?;
    Ok(kept)
}

/// Queues flagging pairs: `keep` has a word for each 32 pairs, and the header becomes the count of
/// pairs that are not flagged.
fn queue_flags(
    stream: &Stream,
    [left, right]: [&KeysOn<'_>; 2],
    pairs: Pairs<'_>,
    (keep, header): (&Buffer<u32>, &Buffer<u64>),
) -> Result<()> {
    stream.batch(|batch| {
        batch.writes(keep);
        batch.zero(header, 1)?;
        for (number, columns) in left.columns.iter().zip(&right.columns).enumerate() {
            let plan = CompareParams {
                pairs: pairs.rows[0].len() as u64,
                left_rows: left.rows,
                right_rows: right.rows,
                is_first: (number == 0) as u32,
                keeps_alone: pairs.keeps_alone as u32,
            };
            let [left_rows, right_rows] = pairs.rows.map(|rows| batch.read(rows));
            let arrays = Arrays { rows: [left_rows, right_rows], keep: batch.write(keep), header: batch.write(header) };
            use {ColumnOn::*, Offsets as O, WordsOf as W};
            // SAFETY: there are as many left rows as right rows, and a bit for each pair. The
            // columns have as many rows as the plan says.
            unsafe {
                match columns {
                    (Words(W::Narrow(ours)), Words(W::Narrow(theirs))) => words(batch, [ours, theirs], arrays, plan)?,
                    (Words(W::Wide(ours)), Words(W::Wide(theirs))) => words(batch, [ours, theirs], arrays, plan)?,
                    (Texts { offsets: ours, bytes: a }, Texts { offsets: theirs, bytes: b }) => match (ours, theirs) {
                        (O::Narrow(ours), O::Narrow(theirs)) => texts(batch, (ours, a), (theirs, b), arrays, plan)?,
                        (O::Narrow(ours), O::Wide(theirs)) => texts(batch, (ours, a), (theirs, b), arrays, plan)?,
                        (O::Wide(ours), O::Narrow(theirs)) => texts(batch, (ours, a), (theirs, b), arrays, plan)?,
                        (O::Wide(ours), O::Wide(theirs)) => texts(batch, (ours, a), (theirs, b), arrays, plan)?,
                    },
                    _ => unreachable!("the types of columns were compared"),
                }
            }
        }
        Ok(())
    })
}

/// The kernel arguments that describe pairs.
#[derive(Clone, Copy)]
struct Arrays {
    rows: [Global<u32>; 2],
    keep: Global<u32>,
    header: Global<u64>,
}

/// Queues comparing a column of words.
///
/// # Safety
/// The arrays are from the batch. The arrays and the columns are as long as the plan says.
unsafe fn words<'b, W: Scalar>(
    batch: &Batch<'b>,
    [ours, theirs]: [&'b Buffer<W>; 2],
    Arrays { rows: [left, right], keep, header }: Arrays,
    plan: CompareParams,
) -> Result<()> {
    let (left_words, right_words) = (batch.read(ours), batch.read(theirs));
    let compare = CompareWords { left_words, right_words, left, right, keep, header, plan };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&compare, plan.pairs) }
}

/// The offsets and the bytes of a column of texts.
type Column<'b, O> = (&'b Buffer<O>, &'b Buffer<Eight>);

/// Queues comparing a column of texts.
///
/// # Safety
/// The conditions of [`words`] hold. The offsets are from a [`TextColumn`](super::TextColumn), so
/// they are in bounds.
unsafe fn texts<'b, L: Scalar, R: Scalar>(
    batch: &Batch<'b>,
    ours: Column<'b, L>,
    theirs: Column<'b, R>,
    Arrays { rows: [left, right], keep, header }: Arrays,
    plan: CompareParams,
) -> Result<()> {
    let compare = CompareTexts {
        left_offsets: batch.read(ours.0),
        left_bytes: batch.read(ours.1).cast(),
        right_offsets: batch.read(theirs.0),
        right_bytes: batch.read(theirs.1).cast(),
        left,
        right,
        keep,
        header,
        plan,
    };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&compare, plan.pairs) }
}
