//! The distinct keys of a sorted array.

use super::compact::{launch_compact, launch_flag, state_words};
use super::{Scratch, check_items};
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::types::KeyWord;

/// Queues writing the distinct keys of sorted `keys`, in their order, to the front of `output`, and
/// their number to `count[0]`. The elements behind them in `output` are left unchanged.
///
/// One key of each run of equal neighbours remains, so keys that are not sorted may remain several
/// times. Reads the keys twice. The scratch takes a bit for each key, and what
/// [`compact`](super::compact) takes.
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
    // The bits are behind the words that the compaction publishes in, aligned to 16 bytes.
    let state_words = state_words::<K>(items).next_multiple_of(2);
    let work = scratch.reserve(state_words + items.div_ceil(64))?;
    stream.batch(|batch| {
        batch.zero(work, state_words as usize)?;
        let (keys, output, count) = (batch.read(keys), batch.write(output), batch.write(count));
        let state = batch.write(work);
        let keep = state.offset(state_words).cast();
        // SAFETY: there are that many keys, and room for them in the output. `keep` has a bit for
        // each, and the words of the compaction are 0.
        unsafe {
            launch_flag::<K>(batch, items, keys, keep)?;
            launch_compact::<K>(batch, items, keys, keep, output, count, state)
        }
    })
}
