//! Operations on the flags of a lookup's answers: expand them to bytes, fill in defaults, and count
//! them.

use super::Scratch;
use crate::types::to_word;
use crate::{Buffer, BufferSlice, Result, Stream, Value};
use gpu_kernels::primitives::flags::{COUNTED, CountFlags, EXPANDED, ExpandFlags, FillAbsent, FillParams, FlagsParams};
use gpu_kernels::types::Scalar;

/// The most blocks that count flags. All of them add to the same word.
const MAX_COUNTING_BLOCKS: u64 = 1024;
/// The most flags that a CPU counts on the calling thread, without a launch.
const COUNTED_IN_PLACE: usize = 1 << 16;

/// Queues writing a byte for each flag: byte `i` becomes 1 if bit `i % 32` of word `i / 32` of
/// `flags` is set, else 0. This is the layout of a `bool` in NumPy and torch, and of Arrow's 8-bit
/// booleans.
///
/// The output may have any length; memory after its end is not changed. The call does not wait and
/// allocates nothing.
///
/// ```
/// use warpnest::primitives::expand_flags;
/// use warpnest::{Buffer, Device, PageMap};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let map = PageMap::build(&device, &[7u32, 8], &[70u32, 80])?;
/// let answers = map.get_many_on(stream, &Buffer::from_slice(&device, &[8, 9, 7])?)?;
/// let mut found = Buffer::<u8>::zeroed(&device, 3)?;
/// expand_flags(stream, answers.found(), &mut found)?;
/// assert_eq!(found.download(stream)?, [1, 0, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `flags` has a word for
/// each 32 bytes of the output; [`InputError::Misaligned`](crate::InputError::Misaligned),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn expand_flags(stream: &Stream, flags: &Buffer<u32>, output: &mut BufferSlice<u8>) -> Result<()> {
    check_flags(output.len(), flags)?;
    let items = output.len() as u64;
    stream.batch(|batch| {
        let expand = ExpandFlags { flags: batch.read(flags), output: batch.write(output), plan: FlagsParams { items } };
        // SAFETY: the output has `items` bytes, and there is a flag for each byte.
        unsafe { batch.launch(&expand, items.div_ceil(EXPANDED)) }
    })
}

/// Queues setting `values[i]` to `value` if flag `i` is not set, so that queries that were not
/// found get a default.
///
/// Reads an eighth of a byte per value, and writes only the values of unset flags. The call does
/// not wait and allocates nothing.
///
/// ```
/// use warpnest::primitives::fill_absent;
/// use warpnest::{Buffer, Device, PageMap};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let map = PageMap::build(&device, &[7u32, 8], &[0.5f32, 0.25])?;
/// let answers = map.get_many_on(stream, &Buffer::from_slice(&device, &[8, 9, 7])?)?;
/// let mut values = Buffer::zeroed(&device, 3)?;
/// values.copy_from(stream, answers.values())?;
/// fill_absent(stream, answers.found(), -1.0, &mut values)?;
/// assert_eq!(values.download(stream)?, [0.25, -1.0, 0.5]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `flags` has a word for
/// each 32 values; [`InputError::Misaligned`](crate::InputError::Misaligned),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn fill_absent<V: Value>(
    stream: &Stream,
    flags: &Buffer<u32>,
    value: V,
    values: &mut BufferSlice<V>,
) -> Result<()> {
    check_flags(values.len(), flags)?;
    fill(stream, Some(flags), value, values)
}

/// Queues setting all `values` to `value`.
pub(crate) fn fill_all<V: Value>(stream: &Stream, value: V, values: &mut BufferSlice<V>) -> Result<()> {
    fill(stream, None, value, values)
}

fn fill<V: Value>(stream: &Stream, flags: Option<&Buffer<u32>>, value: V, values: &mut BufferSlice<V>) -> Result<()> {
    let plan = FillParams { items: values.len() as u64, value: to_word(value).to_u64() };
    stream.batch(|batch| {
        let values = batch.write(values).cast::<V::Word>();
        // SAFETY: there are `items` values, and a flag for each value or none. A word of the values
        // has the type of `value`'s word.
        unsafe {
            let flags = batch.read_or_null(flags);
            batch.launch(&FillAbsent { flags, values, plan }, plan.items.div_ceil(32))
        }
    })
}

/// Returns the count of set flags among the first `items` flags; waits for the count.
///
/// `flags` may be longer. The scratch takes 8 bytes.
///
/// ```
/// use warpnest::primitives::{Scratch, count_flags};
/// use warpnest::{Buffer, Device, PageMap};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let map = PageMap::build(&device, &[7u32, 8], &[70u32, 80])?;
/// let answers = map.get_many_on(stream, &Buffer::from_slice(&device, &[8, 9, 7])?)?;
/// let mut scratch = Scratch::new(&device);
/// assert_eq!(count_flags(stream, &mut scratch, answers.found(), 3)?, 2);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::Range`](crate::InputError::Range) if `flags` does not have a word for each 32
/// items; [`InputError::Misaligned`](crate::InputError::Misaligned),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn count_flags(stream: &Stream, scratch: &mut Scratch, flags: &Buffer<u32>, items: usize) -> Result<usize> {
    let flags = flags.slice(..items.div_ceil(32))?;
    if items <= COUNTED_IN_PLACE && stream.machine().runs_in_order() {
        return flags.with_elements(stream, |words| {
            let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
            let behind = words.last().filter(|_| !items.is_multiple_of(32)).map_or(0, |last| last >> (items % 32));
            (ones - behind.count_ones()) as usize
        });
    }
    let count = scratch.reserve(1)?;
    let plan = FlagsParams { items: items as u64 };
    stream.batch(|batch| {
        batch.zero(count, 1)?;
        let kernel = CountFlags { flags: batch.read(&flags), count: batch.write(count), plan };
        let rounds = plan.items.div_ceil(COUNTED * 256);
        // SAFETY: there are `items` flags, and the count is one word, which is 0.
        unsafe { batch.launch_blocks(&kernel, rounds.clamp(1, MAX_COUNTING_BLOCKS)) }
    })?;
    Ok(count.download_at(stream, 0)? as usize)
}

/// Fails unless there is a word of flags for each 32 items.
fn check_flags(items: usize, flags: &Buffer<u32>) -> Result<()> {
    crate::error::same_length(("the items, in words of 32,", items.div_ceil(32)), ("the flags", flags.len()))
}
