//! Reductions of the segments of an array, and of the rows of each key.

use super::unique::queue_runs;
use super::{Scratch, check_items, runs_words};
use crate::runtime::stream::Batch;
use crate::types::number::Number;
use crate::{Buffer, BufferSlice, Result, Stream, Value};
use gpu_kernels::primitives::reduce::{AddHeads, Combine, ReduceParams, ReduceSegments, TILE};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, ValueWord};

/// The function that combines the items of a segment: [`Sum`], [`Min`] or [`Max`].
pub trait Reduction<T: Number>: private::Combines<T> {
    /// The type of the results.
    type Output: Value;
}

mod private {
    use super::Combine;

    pub trait Combines<T> {
        const COMBINE: Combine;
    }
}
use private::Combines;

/// The sum, which is 0 for no items. Sums of integers wrap at 64 bits. Sums of floating-point
/// numbers are `f64`, and are added in an order that depends only on the segments, starting at 0.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// The least item. For no items it is the greatest value of the type, or a NaN if the type has
/// NaNs. A NaN is the least item only if all items are NaNs.
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The greatest item. For no items it is the least value of the type, or a NaN if the type has
/// NaNs. A NaN is the greatest item only if all items are NaNs.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl<T: Number> Combines<T> for Sum {
    const COMBINE: Combine = Combine::Sum;
}
impl<T: Number> Reduction<T> for Sum {
    type Output = T::Sum;
}
impl<T: Number> Combines<T> for Min {
    const COMBINE: Combine = Combine::Min;
}
impl<T: Number> Reduction<T> for Min {
    type Output = T;
}
impl<T: Number> Combines<T> for Max {
    const COMBINE: Combine = Combine::Max;
}
impl<T: Number> Reduction<T> for Max {
    type Output = T;
}

/// Queues reducing each segment `s` of `values`, which contains the items
/// `starts[s]..starts[s + 1]`, to `output[s]`.
///
/// `starts` has one element more than there are segments, and is in ascending order. Segments may
/// be empty. Items before the first start or after the last segment belong to no segment. If
/// `starts` does not ascend, or exceeds the count of items, the results are unspecified.
///
/// Reads each item and each start once. The scratch takes 12 bytes per 4,096 items.
///
/// ```
/// use warpnest::primitives::{Max, Scratch, Sum, segmented_reduce};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
/// let values = Buffer::from_slice(&device, &[5i32, -7, 1, 2])?;
/// let starts = Buffer::from_slice(&device, &[0, 2, 2, 4])?;
/// let (mut sums, mut greatest) = (Buffer::zeroed(&device, 3)?, Buffer::zeroed(&device, 3)?);
/// segmented_reduce(stream, &mut scratch, Sum, &values, &starts, &mut sums)?;
/// segmented_reduce(stream, &mut scratch, Max, &values, &starts, &mut greatest)?;
/// assert_eq!(sums.download(stream)?, [-2, 0, 3]);
/// assert_eq!(greatest.download(stream)?, [5, i32::MIN, 2]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `starts` has one element
/// more than `output`; [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn segmented_reduce<T: Number, R: Reduction<T>>(
    stream: &Stream,
    scratch: &mut Scratch,
    _reduction: R,
    values: &Buffer<T>,
    starts: &Buffer<u32>,
    output: &mut BufferSlice<R::Output>,
) -> Result<()> {
    crate::error::same_length(("one start more than outputs", output.len() + 1), ("the starts", starts.len()))?;
    let (items, segments) = (check_items(values.len())?, check_items(starts.len())? - 1);
    let work = scratch.reserve(heads_words(items))?;
    stream.batch(|batch| {
        let reduce = Reduce { column: T::COLUMN, combine: R::COMBINE, items, segments };
        let starts = Segments { starts: batch.read(starts), count: None };
        let (values, heads) = (batch.read(values).cast::<T::Word>(), batch.write(work));
        let output = batch.write(output).cast();
        // SAFETY: there are `items` values, one start more than results, and enough words for the
        // heads. The results have the type of the reduction's outputs.
        unsafe { reduce.queue(batch, values, starts, output, heads) }
    })
}

/// Queues reducing the values of each run of equal keys, for pairs that are sorted by key. Writes
/// the distinct keys in order to the front of `keys_out`, the reduced values to the front of
/// `output`, and the count of distinct keys to `count[0]`.
///
/// If [`sort_pairs`](super::sort_pairs) runs before it, the two group the pairs by key. Reads the
/// keys twice and the values once. The scratch takes 8 bytes per key, and the scratch of
/// [`runs_of_sorted`](super::runs_of_sorted).
///
/// ```
/// use warpnest::primitives::{Scratch, Sum, reduce_by_key};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let keys = Buffer::from_slice(&device, &[2u32, 2, 5])?;
/// let values = Buffer::from_slice(&device, &[0.5f32, 0.25, 3.0])?;
/// let (mut distinct, mut sums) = (Buffer::zeroed(&device, 3)?, Buffer::zeroed(&device, 3)?);
/// let mut count = Buffer::zeroed(&device, 1)?;
/// let mut scratch = Scratch::new(&device);
/// let pairs = (&keys, &values);
/// reduce_by_key(stream, &mut scratch, Sum, pairs, (&mut distinct, &mut sums), &mut count)?;
/// assert_eq!(count.download(stream)?, [2]);
/// assert_eq!(distinct.download(stream)?[..2], [2, 5]);
/// assert_eq!(sums.download(stream)?[..2], [0.75, 3.0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless values and outputs are as
/// long as `keys`, and `count` has one element;
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn reduce_by_key<K: KeyWord, T: Number, R: Reduction<T>>(
    stream: &Stream,
    scratch: &mut Scratch,
    _reduction: R,
    (keys, values): (&Buffer<K>, &Buffer<T>),
    (keys_out, output): (&mut BufferSlice<K>, &mut BufferSlice<R::Output>),
    count: &mut BufferSlice<u32>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
    crate::error::same_length(("the keys", keys.len()), ("the keys' output", keys_out.len()))?;
    crate::error::same_length(("the keys", keys.len()), ("the output", output.len()))?;
    crate::error::same_length(("one count", 1), ("the count", count.len()))?;
    let items = check_items(keys.len())?;
    if items == 0 {
        return stream.batch(|batch| {
            batch.reads(keys);
            batch.reads(values);
            batch.writes(&**keys_out);
            batch.writes(&**output);
            batch.zero(count, 1)
        });
    }
    // The scratch has the starts, the words for the runs, and the heads.
    let start_words = starts_words(items);
    let work = scratch.reserve(start_words + runs_words::<K>(items) + heads_words(items))?;
    stream.batch(|batch| {
        let (keys, values) = (batch.read(keys), batch.read(values).cast::<T::Word>());
        let (keys_out, output) = (batch.write(keys_out), batch.write(output).cast());
        let count = batch.write(count);
        let state = batch.write(work).offset(start_words);
        let starts = batch.write(work).cast::<u32>();
        let reduce = Reduce { column: T::COLUMN, combine: R::COMBINE, items, segments: items };
        // SAFETY: all arrays have `items` items, and `work` has the words that were reserved. There
        // are no more runs than items, and the results have the type of the outputs.
        unsafe {
            queue_runs::<K>(batch, (work, start_words), (items, items), keys, (keys_out, starts, count))?;
            let segments = Segments { starts, count: Some(count) };
            reduce.queue(batch, values, segments, output, state.offset(runs_words::<K>(items)))
        }
    })
}

/// Returns the count of 64-bit words that the starts of up to `items` segments take.
pub(crate) const fn starts_words(items: u64) -> u64 {
    (items + 1).div_ceil(4) * 2
}

/// Returns the count of 64-bit words that the heads of tiles take.
pub(crate) const fn heads_words(items: u64) -> u64 {
    let tiles = tiles(items);
    tiles + tiles.div_ceil(2)
}

const fn tiles(items: u64) -> u64 {
    let tiles = items.div_ceil(TILE);
    if tiles == 0 { 1 } else { tiles }
}

/// The segments of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct Segments {
    pub starts: Global<u32>,
    /// The count of segments, if only the device knows it.
    pub count: Option<Global<u32>>,
}

/// A reduction of words of any type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduce {
    pub column: gpu_kernels::column_values::ColumnParams,
    pub combine: Combine,
    pub items: u64,
    /// The most segments that there may be.
    pub segments: u64,
}

impl Reduce {
    /// Queues the reduction. `output` has a `u64` for each segment if the reduction is a sum, else
    /// a `W`.
    ///
    /// # Safety
    /// The conditions of the kernel's documentation hold. The arrays are from the batch, the last
    /// two for writing. `heads` has [`heads_words`] words.
    pub(crate) unsafe fn queue<W: ValueWord>(
        self,
        batch: &Batch<'_>,
        values: Global<W>,
        segments: Segments,
        output: Global<u64>,
        heads: Global<u64>,
    ) -> Result<()> {
        if self.segments == 0 {
            return Ok(());
        }
        let plan = ReduceParams {
            column: self.column,
            items: self.items,
            segments: self.segments,
            combine: self.combine as u32,
            padding: 0,
        };
        let tiles = tiles(self.items);
        // SAFETY: the kernels' documentation allows either `sums` or `results` to be null, and the
        // count, too.
        let null = unsafe { Global::null() };
        let (sums, results) =
            if self.combine == Combine::Sum { (output, null.cast::<W>()) } else { (null, output.cast::<W>()) };
        let head_ids = heads.offset(tiles).cast::<u32>();
        let reduce = ReduceSegments {
            values,
            starts: segments.starts,
            segments_on: segments.count.unwrap_or(null.cast()),
            sums,
            results,
            head_ids,
            heads,
            plan,
        };
        let add = AddHeads { starts: segments.starts, sums, results, head_ids, heads, plan };
        // SAFETY: the caller guarantees the conditions.
        unsafe {
            batch.launch_blocks(&reduce, tiles)?;
            // A single tile has no head to add.
            if tiles > 1 { batch.launch_blocks(&add, tiles) } else { Ok(()) }
        }
    }
}
