//! Stream compaction.

use super::{Scratch, check_items};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::primitives::compact::{Compact, CompactParams, Invert, LastOfEach, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Scalar};

pub(crate) use gpu_kernels::primitives::compact::state_words;

/// Queues the compaction of `input`. Each element `i` whose bit `i % 32` of `keep[i / 32]` is set
/// is written to the front of `output`, in the order of the input. The count of these elements is
/// written to `count[0]`. The remaining elements of `output` are left unchanged.
///
/// `keep` has the layout of [`Answers::found`](crate::Answers::found). One pass reads all elements
/// and writes the kept elements. The scratch takes 8 bytes per 7,168 elements of `u32`, or per
/// 3,584 of `u64`.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `keep` has a word for
/// each 32 elements, `output` is as long as `input`, and `count` has one element;
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn compact<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    keep: &Buffer<u32>,
    output: &mut BufferSlice<T>,
    count: &mut BufferSlice<u32>,
) -> Result<()> {
    check_keep(input.len(), keep)?;
    crate::error::same_length(("the input", input.len()), ("the output", output.len()))?;
    crate::error::same_length(("one count", 1), ("the count", count.len()))?;
    if input.is_empty() {
        return stream.batch(|batch| {
            batch.reads(input);
            batch.reads(keep);
            batch.writes(&**output);
            batch.zero(count, 1)
        });
    }
    let items = check_items(input.len())?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        batch.zero(state, state_words::<T>(items) as usize)?;
        let (input, keep) = (batch.read(input), batch.read(keep));
        let (output, count, state) = (batch.write(output), batch.write(count), batch.write(state));
        // SAFETY: input and output have `items` items, `keep` has a bit for each item, and the
        // state is large enough and zero.
        unsafe { launch_compact::<T>(batch, items, input, keep, output, count, state) }
    })
}

/// Queues the compaction of `items` items.
///
/// # Safety
/// The conditions of the kernel's documentation hold. The arrays are from the batch, the last three
/// of them for writing. `state` has [`state_words`] words, which are 0.
pub(crate) unsafe fn launch_compact<T: Scalar>(
    batch: &Batch<'_>,
    items: u64,
    input: Global<T>,
    keep: Global<u32>,
    output: Global<T>,
    count: Global<u32>,
    state: Global<u64>,
) -> Result<()> {
    let compact = Compact { input, keep, output, count, state, plan: CompactParams { items } };
    // SAFETY: the caller guarantees the conditions.
    unsafe { batch.launch_blocks(&compact, items.div_ceil(tile::<T>())) }
}

/// Queues setting the bits in `keep` of the last key of each run of equal `keys`. If
/// [`sort_pairs`](super::sort_pairs) runs before it and [`compact`] after it, only the last pair of
/// each key in the order of the input remains.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `keep` has a word for
/// each 32 keys; [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn flag_last_of_each<K: KeyWord>(stream: &Stream, keys: &Buffer<K>, keep: &mut BufferSlice<u32>) -> Result<()> {
    check_keep(keys.len(), keep)?;
    let items = check_items(keys.len())?;
    stream.batch(|batch| {
        // SAFETY: there are `items` keys, and `keep` has a bit for each key.
        unsafe { launch_flag::<K>(batch, items, batch.read(keys), batch.write(keep)) }
    })
}

/// Queues setting the bits of the last key of each run of equal keys, among `items` keys.
///
/// # Safety
/// The conditions of the kernel's documentation hold. The arrays are from the batch, `keep` for
/// writing.
pub(crate) unsafe fn launch_flag<K: KeyWord>(
    batch: &Batch<'_>,
    items: u64,
    keys: Global<K>,
    keep: Global<u32>,
) -> Result<()> {
    // SAFETY: the caller guarantees the conditions.
    unsafe { batch.launch(&LastOfEach { keys, keep, plan: CompactParams { items } }, items) }
}

/// Queues inverting the flags of `items` items.
pub(crate) fn invert(stream: &Stream, flags: &Buffer<u32>, items: u64) -> Result<()> {
    stream.batch(|batch| {
        let invert = Invert { keep: batch.write(flags), plan: CompactParams { items } };
        // SAFETY: there is a bit for each item.
        unsafe { batch.launch(&invert, items.div_ceil(32)) }
    })
}

/// Queues compacting the flagged items of `input` to `output`, starting at element `first`. The
/// count of items is stored in the lower half of the scratch's first word, until the scratch is
/// used again.
pub(crate) fn select<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    keep: &Buffer<u32>,
    (output, first): (&Buffer<T>, usize),
) -> Result<()> {
    let items = input.len() as u64;
    let words = 1 + state_words::<T>(items);
    let state = scratch.reserve(words)?;
    stream.batch(|batch| {
        batch.zero(state, words as usize)?;
        let (input, keep) = (batch.read(input), batch.read(keep));
        let (output, state) = (batch.write(output).offset(first as u64), batch.write(state));
        // SAFETY: there is a bit for each item. Starting at element `first`, the output has an
        // element for each set bit. The scratch has a word for the count, and then the state.
        unsafe { launch_compact::<T>(batch, items, input, keep, output, state.cast(), state.offset(1)) }
    })
}

/// Returns the count of items that [`select`] has compacted; waits until the count is known.
pub(crate) fn selected(stream: &Stream, scratch: &mut Scratch) -> Result<u32> {
    Ok(scratch.reserve(1)?.download_at(stream, 0)? as u32)
}

fn check_keep(items: usize, keep: &Buffer<u32>) -> Result<()> {
    crate::error::same_length(("the items, in words of 32,", items.div_ceil(32)), ("the words to keep", keep.len()))
}
