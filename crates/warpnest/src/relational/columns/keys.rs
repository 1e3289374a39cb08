//! The key column, or two key columns, and the order of the keys.

use super::column::{Column, OnDevice};
use crate::primitives::Scratch;
use crate::runtime::stream::Batch;
use crate::types::KeyOrder;
use crate::{Buffer, Device, Key, Result, Stream};
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

/// The keys on a device, in columns of a query.
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
    pub(crate) fn lent(&self) -> RowKeys<'_, W> {
        match self {
            Self::One(keys) => RowKeys::One(keys),
            Self::Two([lower, upper]) => RowKeys::Two([lower, upper]),
        }
    }
}

/// The keys of rows in buffers: words, or the lower and upper halves of words.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational) enum RowKeys<'k, W> {
    One(&'k Buffer<W>),
    Two([&'k Buffer<u32>; 2]),
}

impl<W> RowKeys<'_, W> {
    /// Returns the count of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(keys) => keys.len(),
            Self::Two([lower, _]) => lower.len(),
        }
    }
}

impl<'b, W: KeyWord> RowKeys<'b, W> {
    /// Returns the keys, or their lower halves, and the upper halves or null, as kernels take them.
    pub(crate) fn read(&self, batch: &Batch<'b>) -> (Global<W>, Global<u32>) {
        match self {
            // SAFETY: kernels allow the upper halves to be null.
            Self::One(keys) => (batch.read(keys), unsafe { Global::null() }),
            Self::Two([lower, upper]) => (batch.read(lower).cast(), batch.read(upper)),
        }
    }

    /// Queues encoding the keys to `output`, as words that have the keys' order.
    ///
    /// # Safety
    /// `output` is an array of the batch, for writing, and has an element for each key.
    pub(crate) unsafe fn encode(&self, batch: &Batch<'b>, order: KeyOrder, output: Global<W>) -> Result<()> {
        // SAFETY: the caller guarantees the output, and the keys are from the batch.
        unsafe { recoded(batch, (order, Recoding::Encode), self.len() as u64, self.read(batch), output) }
    }
}

/// Returns the keys as one column. Halves are joined in memory of the scratch, unless they are
/// `joined` already.
pub(in crate::relational) fn one_column<'k, W: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: RowKeys<'k, W>,
    joined: &'k mut Option<Buffer<W>>,
) -> Result<&'k Buffer<W>> {
    match (keys, joined) {
        (RowKeys::One(keys), _) => Ok(keys),
        (RowKeys::Two(_), Some(joined)) => Ok(joined),
        (RowKeys::Two(_), joined) => {
            let words = scratch.lend(keys.len())?;
            // SAFETY: there is a word for each key.
            stream.batch(|batch| unsafe { keys.encode(batch, KeyOrder::default(), batch.write(&words)) })?;
            Ok(joined.insert(words))
        }
    }
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
    how: (KeyOrder, Recoding),
    items: u64,
    keys: Global<W>,
    output: Global<W>,
) -> Result<()> {
    // SAFETY: the kernel's documentation allows the upper halves to be null, and the caller
    // guarantees the rest.
    unsafe { recoded(batch, how, items, (keys, Global::null()), output) }
}

/// Queues encoding or decoding keys, whose upper halves are apart unless these are null.
///
/// # Safety
/// As for [`recode`]. There are as many upper halves.
unsafe fn recoded<W: KeyWord>(
    batch: &Batch<'_>,
    (order, how): (KeyOrder, Recoding),
    items: u64,
    (keys, upper): (Global<W>, Global<u32>),
    output: Global<W>,
) -> Result<()> {
    let (flip_before, flip_after) = if how == Recoding::Encode { (order.flip, 0) } else { (0, order.flip) };
    let plan = EncodeParams { items, flip_before, flip_after, rotate: order.rotate, padding: 0 };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&EncodeKeys { keys, upper, output, plan }, items) }
}

/// Returns a buffer of key words as a buffer of keys.
pub(in crate::relational) fn typed<K: Key>(words: Buffer<K::Word>) -> Buffer<K> {
    // SAFETY: the words come from keys of type `K`, and have the same size.
    unsafe { words.reinterpreted() }
}
