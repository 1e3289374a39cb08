//! Iota: fills an array with consecutive integers.

use super::check_items;
use crate::{BufferSlice, Result, Stream};
use gpu_kernels::primitives::iota::{Iota, IotaParams};

/// Queues setting `output[i]` to `i`.
///
/// If [`sort_pairs`](super::sort_pairs) sorts keys with these values, they become the order of the
/// keys. Then [`gather`](super::gather) brings rows of any size into that order:
///
/// ```
/// use warpnest::primitives::{Scratch, gather, iota, sort_pairs};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let mut keys = Buffer::from_slice(&device, &[30u32, 10, 20])?;
/// let names = Buffer::from_slice(&device, &['c', 'a', 'b'])?;
/// let (mut order, mut sorted) = (Buffer::zeroed(&device, 3)?, Buffer::zeroed(&device, 3)?);
/// iota(stream, &mut order)?;
/// sort_pairs(stream, &mut Scratch::new(&device), &mut keys, &mut order)?;
/// gather(stream, &names, &order, &mut sorted)?;
/// assert_eq!(sorted.download(stream)?, ['a', 'b', 'c']);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`InputError::Misaligned`](crate::InputError::Misaligned),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn iota(stream: &Stream, output: &mut BufferSlice<u32>) -> Result<()> {
    number_from(stream, 0, output)
}

/// Queues setting `output[i]` to `first + i`.
///
/// # Errors
/// As for [`iota`].
pub(crate) fn number_from(stream: &Stream, first: u32, output: &mut BufferSlice<u32>) -> Result<()> {
    let plan = IotaParams { items: check_items(output.len())?, first, padding: 0 };
    stream.batch(|batch| {
        let iota = Iota { output: batch.write(output), plan };
        // SAFETY: the output has `items` items.
        unsafe { batch.launch(&iota, plan.items) }
    })
}
