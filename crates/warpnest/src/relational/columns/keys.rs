//! The key column, or two key columns, and the order of the keys.

use super::column::{Column, OnDevice};
use crate::runtime::stream::Batch;
use crate::types::KeyOrder;
use crate::{Buffer, Device, Key, Result};
use gpu_kernels::plain::PlainHalf;
use gpu_kernels::relational::keys::{EncodeKeys, EncodeParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::KeyWord;
use std::mem::offset_of;

/// The one or two columns of the keys.
pub(in crate::relational) enum KeyColumns<'q, K> {
    /// One column.
    One(Column<'q, K>),
    /// Two columns: the lower halves and the upper halves of the keys' words.
    Two(Box<dyn Halves<'q> + 'q>),
}

/// Two columns, which are the halves of keys.
pub(in crate::relational) trait Halves<'q>: Send + Sync {
    fn rows(&self) -> [usize; 2];
    /// Returns the halves on `device`, first the lower halves.
    fn on_device(&self, device: &Device) -> Result<[OnDevice<'q, u32>; 2]>;
}

impl<'q, A, B> Halves<'q> for (Column<'q, A>, Column<'q, B>)
where
    A: Key<Word = u32> + PlainHalf,
    B: Key<Word = u32> + PlainHalf,
{
    fn rows(&self) -> [usize; 2] {
        [self.0.rows(), self.1.rows()]
    }

    fn on_device(&self, device: &Device) -> Result<[OnDevice<'q, u32>; 2]> {
        let halves = [self.0.on_device(device)?, self.1.on_device(device)?];
        // The compiler decides which half of a pair comes first in memory.
        let [first, second] = halves;
        Ok(if offset_of!((A, B), 0) == 0 { [first, second] } else { [second, first] })
    }
}

/// The keys on a device.
pub(in crate::relational) enum KeysOnDevice<'q, W> {
    One(OnDevice<'q, W>),
    Two([OnDevice<'q, u32>; 2]),
}

impl<'q, K: Key> KeyColumns<'q, K> {
    /// Returns the count of rows; fails unless both columns have the same count.
    pub(crate) fn rows(&self) -> Result<usize> {
        match self {
            Self::One(column) => Ok(column.rows()),
            Self::Two(halves) => {
                let [first, second] = halves.rows();
                crate::error::same_length(("the first key column", first), ("the second key column", second))?;
                Ok(first)
            }
        }
    }

    pub(crate) fn on_device(&self, device: &Device) -> Result<KeysOnDevice<'q, K::Word>> {
        Ok(match self {
            Self::One(column) => KeysOnDevice::One(column.on_device(device)?),
            Self::Two(halves) => KeysOnDevice::Two(halves.on_device(device)?),
        })
    }
}

impl<W: KeyWord> KeysOnDevice<'_, W> {
    /// Returns the count of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::One(keys) => keys.len(),
            Self::Two([lower, _]) => lower.len(),
        }
    }

    /// Queues encoding the keys to `output`, as words that have the keys' order.
    ///
    /// # Safety
    /// `output` is an array of the batch, for writing, and has `items` elements.
    pub(crate) unsafe fn encode<'b>(
        &'b self,
        batch: &Batch<'b>,
        order: KeyOrder,
        items: u64,
        output: Global<W>,
    ) -> Result<()> {
        match self {
            // SAFETY: there are `items` keys, and the caller guarantees the output.
            Self::One(keys) => unsafe { recode(batch, (order, Recoding::Encode), items, batch.read(keys), output) },
            // SAFETY: there are `items` lower and upper halves, and the caller guarantees the
            // output.
            Self::Two([lower, upper]) => unsafe {
                join(batch, order, items, [batch.read(lower), batch.read(upper)], output)
            },
        }
    }
}

/// Queues joining two columns of 32-bit words to one column, and encoding it.
///
/// # Safety
/// All arrays are from the batch, `output` for writing, and have `items` elements.
pub(in crate::relational) unsafe fn join<W: KeyWord>(
    batch: &Batch<'_>,
    order: KeyOrder,
    items: u64,
    [lower, upper]: [Global<u32>; 2],
    output: Global<W>,
) -> Result<()> {
    let plan = EncodeParams { items, flip_before: order.flip, flip_after: 0, rotate: order.rotate, padding: 0 };
    // SAFETY: the kernel's documentation allows `keys` to be null.
    let keys = unsafe { Global::null() };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&EncodeKeys { keys, lower, upper, output, plan }, items) }
}

/// The direction of a conversion between keys and words that have the keys' order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::relational) enum Recoding {
    Encode,
    Decode,
}

/// Queues encoding or decoding keys.
///
/// # Safety
/// Both arrays are from the batch, `output` for writing, and have `items` elements.
pub(in crate::relational) unsafe fn recode<W: KeyWord>(
    batch: &Batch<'_>,
    (order, how): (KeyOrder, Recoding),
    items: u64,
    keys: Global<W>,
    output: Global<W>,
) -> Result<()> {
    let (flip_before, flip_after) = if how == Recoding::Encode { (order.flip, 0) } else { (0, order.flip) };
    let plan = EncodeParams { items, flip_before, flip_after, rotate: order.rotate, padding: 0 };
    // SAFETY: the kernel's documentation allows the halves to be null.
    let null = unsafe { Global::null() };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&EncodeKeys { keys, lower: null, upper: null, output, plan }, items) }
}

/// Returns a buffer of key words as a buffer of keys.
pub(in crate::relational) fn typed<K: Key>(words: Buffer<K::Word>) -> Buffer<K> {
    // SAFETY: the words come from keys of type `K`, and have the same size.
    unsafe { words.reinterpreted() }
}
