//! Finds the distinct keys of a sorted array.

use super::compact::{launch_compact, launch_flag, state_words};
use super::{Scratch, check_items};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::primitives::compact::{SortedRuns, SortedRunsParams, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::KeyWord;

/// Queues writing the distinct keys of sorted `keys`, in their order, to the front of `output`, and
/// their count to `count[0]`. The remaining elements of `output` are left unchanged.
///
/// One key of each run of equal neighbours remains, so if the keys are not sorted, a key may remain
/// several times. The keys are read twice. The scratch takes a bit for each key, and the scratch of
/// [`compact`](super::compact).
///
/// ```
/// use warpnest::primitives::{Scratch, unique_of_sorted};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let keys = Buffer::from_slice(&device, &[2u32, 2, 5, 7, 7, 7])?;
/// let mut distinct = Buffer::zeroed(&device, 6)?;
/// let mut count = Buffer::zeroed(&device, 1)?;
/// unique_of_sorted(stream, &mut Scratch::new(&device), &keys, &mut distinct, &mut count)?;
/// assert_eq!(count.download(stream)?, [3]);
/// assert_eq!(distinct.download(stream)?[..3], [2, 5, 7]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `output` is as long as
/// `keys`, and `count` has one element;
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn unique_of_sorted<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    output: &mut BufferSlice<K>,
    count: &mut BufferSlice<u32>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the output", output.len()))?;
    crate::error::same_length(("one count", 1), ("the count", count.len()))?;
    if keys.is_empty() {
        return stream.batch(|batch| {
            batch.reads(keys);
            batch.writes(&**output);
            batch.zero(count, 1)
        });
    }
    let items = check_items(keys.len())?;
    // The bits follow the compaction's state, and are aligned to 16 bytes.
    let state_words = state_words::<K>(items).next_multiple_of(2);
    let work = scratch.reserve(state_words + items.div_ceil(64))?;
    stream.batch(|batch| {
        batch.zero(work, state_words as usize)?;
        let (keys, output, count) = (batch.read(keys), batch.write(output), batch.write(count));
        let state = batch.write(work);
        let keep = state.offset(state_words).cast();
        // SAFETY: there are `items` keys, and the output has as many elements. `keep` has a bit for
        // each key, and the words of the compaction are 0.
        unsafe {
            launch_flag::<K>(batch, items, keys, keep)?;
            launch_compact::<K>(batch, items, keys, keep, output, count, state)
        }
    })
}

/// Queues [`unique_of_sorted`], and also writes the positions of the keys: distinct key `i` is in
/// `keys[starts[i]..starts[i + 1]]`. `starts` has one element more than `keys`, and its elements
/// after the end of the last run are left unchanged.
///
/// If [`segmented_reduce`](super::segmented_reduce) runs after it, or a [`gather`](super::gather)
/// of the first row of each run, the two group rows that are sorted by key. The scratch is the same
/// as in [`unique_of_sorted`].
///
/// ```
/// use warpnest::primitives::{Scratch, runs_of_sorted};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let keys = Buffer::from_slice(&device, &[2u32, 2, 5])?;
/// let (mut distinct, mut starts) = (Buffer::zeroed(&device, 3)?, Buffer::zeroed(&device, 4)?);
/// let mut count = Buffer::zeroed(&device, 1)?;
/// let mut scratch = Scratch::new(&device);
/// runs_of_sorted(stream, &mut scratch, &keys, &mut distinct, &mut starts, &mut count)?;
/// assert_eq!(count.download(stream)?, [2]);
/// assert_eq!(starts.download(stream)?[..3], [0, 2, 3]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// The errors of [`unique_of_sorted`], and an error if `starts` has another length.
pub fn runs_of_sorted<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    output: &mut BufferSlice<K>,
    starts: &mut BufferSlice<u32>,
    count: &mut BufferSlice<u32>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the output", output.len()))?;
    crate::error::same_length(("one start more than keys", keys.len() + 1), ("the starts", starts.len()))?;
    crate::error::same_length(("one count", 1), ("the count", count.len()))?;
    let items = check_items(keys.len())?;
    let work = scratch.reserve(runs_words::<K>(items))?;
    stream.batch(|batch| {
        if items == 0 {
            batch.reads(keys);
            batch.writes(&**output);
            batch.zero(starts, 1)?;
            return batch.zero(count, 1);
        }
        let keys = batch.read(keys);
        let outputs = (batch.write(output), batch.write(starts), batch.write(count));
        // SAFETY: there are `items` keys, as many outputs, one start more, and the words of
        // scratch.
        unsafe { queue_runs::<K>(batch, (work, 0), (items, items), keys, outputs) }
    })
}

/// Returns the count of 64-bit words of scratch that [`queue_runs`] takes for `items` keys: the
/// compaction's state, and the flags.
pub(crate) const fn runs_words<K: KeyWord>(items: u64) -> u64 {
    state_words::<K>(items).next_multiple_of(2) + items.div_ceil(128) * 2
}

/// Queues finding the runs of `items` sorted keys, at least one: writes the distinct keys, the
/// starts of the runs, and their count. At most `capacity` runs are written, but all are counted.
/// The scratch begins at word `first` of `work`, which is even.
///
/// # Safety
/// There are `items` keys, `capacity` elements of output, and one start more. `work` has
/// [`runs_words`] words, starting at word `first`. The arrays are from the batch, the outputs for
/// writing.
pub(crate) unsafe fn queue_runs<'b, K: KeyWord>(
    batch: &Batch<'b>,
    (work, first): (&'b Buffer<u64>, u64),
    (items, capacity): (u64, u64),
    keys: Global<K>,
    (output, starts, count): (Global<K>, Global<u32>, Global<u32>),
) -> Result<()> {
    let state_words = state_words::<K>(items).next_multiple_of(2);
    batch.zero_range(work, first as usize..(first + state_words) as usize)?;
    let state = batch.write(work).offset(first);
    let keep = state.offset(state_words).cast();
    let plan = SortedRunsParams { items, capacity };
    let runs = SortedRuns { input: keys, keep, output, starts, count, state, plan };
    // SAFETY: the caller guarantees the arrays; the words of the compaction are 0, and `keep` has a
    // bit for each key.
    unsafe {
        launch_flag::<K>(batch, items, keys, keep)?;
        batch.launch_blocks(&runs, items.div_ceil(tile::<K>()))
    }
}
