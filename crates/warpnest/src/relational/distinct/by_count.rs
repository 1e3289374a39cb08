//! Keys sorted by the count of their rows.

use super::query::Unique;
use crate::primitives::Scratch;
use crate::relational::columns::{Recoding, Words, recode, typed};
use crate::relational::group_by::memory::permuted;
use crate::runtime::lent::Lent;
use crate::types::KeyOrder;
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::types::KeyWord;

/// Returns the distinct keys of a column and the count of rows of each, in two columns. The most
/// frequent keys come first, and equally frequent keys are in ascending order.
///
/// ```
/// use warpnest::{relational::value_counts, Device};
///
/// let (keys, counts) = value_counts(&Device::best()?, &[7, -3, 5, 7, 5, 7])?;
/// assert_eq!(keys, [7, 5, -3]);
/// assert_eq!(counts, [3, 2, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The order is the same in every run. (In pandas and polars, equally frequent keys have no defined
/// order.) Keys are compared as in [`Order::ByKey`](super::super::Order::ByKey). It takes as much
/// as [`Unique`], and two sorts of the distinct keys. Without the order, [`Unique::counts`] is
/// cheaper.
///
/// # Errors
/// As for [`Unique::run_on`].
#[doc(alias("bincount", "histogram", "counter", "most_common", "group_count"))]
pub fn value_counts<K: Key>(device: &Device, keys: &[K]) -> Result<(Vec<K>, Vec<u32>)> {
    top_k(device, keys, usize::MAX)
}

/// Returns the result of [`value_counts`] on the device, computed on `stream`.
///
/// # Errors
/// As for [`Unique::run_on`].
pub fn value_counts_on<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
) -> Result<(Buffer<K>, Buffer<u32>)> {
    top_k_on(stream, scratch, keys, usize::MAX)
}

/// Returns the `k` most frequent keys of a column and the count of rows of each, or all keys if
/// there are fewer. These are the first `k` keys of [`value_counts`].
///
/// ```
/// use warpnest::{relational::top_k, Device};
///
/// let (keys, counts) = top_k(&Device::best()?, &['x', 'a', 'b', 'x', 'a', 'x'], 2)?;
/// assert_eq!((keys, counts), (vec!['x', 'a'], vec![3, 2]));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// If several keys are as frequent as the last returned key, the smaller keys are returned. It
/// takes as long as [`value_counts`].
///
/// # Errors
/// As for [`Unique::run_on`].
#[doc(alias("most_common", "heavy_hitters", "nlargest", "head"))]
pub fn top_k<K: Key>(device: &Device, keys: &[K], k: usize) -> Result<(Vec<K>, Vec<u32>)> {
    let stream = device.default_stream();
    let by_count = ByCount::new(stream, &mut Scratch::new(device), &*Lent::new(device, keys)?)?;
    Ok((by_count.keys.download_front(stream, k)?, by_count.counts.download_front(stream, k)?))
}

/// Returns the result of [`top_k`] on the device, computed on `stream`.
///
/// # Errors
/// As for [`Unique::run_on`].
pub fn top_k_on<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    k: usize,
) -> Result<(Buffer<K>, Buffer<u32>)> {
    let mut by_count = ByCount::new(stream, scratch, keys)?;
    let length = by_count.keys.len().min(k);
    by_count.keys.resize(stream, length)?;
    by_count.counts.resize(stream, length)?;
    Ok((by_count.keys, by_count.counts))
}

/// Returns the most frequent key of a column. If several keys are equally frequent, returns all of
/// them in ascending order. Returns no key for a column without rows.
///
/// ```
/// use warpnest::{relational::mode, Device};
///
/// let device = Device::best()?;
/// assert_eq!(mode(&device, &[4u32, 2, 4, 3])?, [4]);
/// assert_eq!(mode(&device, &[4u32, 2, 4, 2, 3])?, [2, 4]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The function `mode` of pandas returns the same; polars returns the same keys in any order. It
/// takes as long as [`value_counts`].
///
/// # Errors
/// As for [`Unique::run_on`].
#[doc(alias("most_common", "modes"))]
pub fn mode<K: Key>(device: &Device, keys: &[K]) -> Result<Vec<K>> {
    let stream = device.default_stream();
    let by_count = ByCount::new(stream, &mut Scratch::new(device), &*Lent::new(device, keys)?)?;
    by_count.keys.download_front(stream, by_count.most_frequent(stream)?)
}

/// Returns the result of [`mode`] on the device, computed on `stream`.
///
/// # Errors
/// As for [`Unique::run_on`].
pub fn mode_on<K: Key>(stream: &Stream, scratch: &mut Scratch, keys: &Buffer<K>) -> Result<Buffer<K>> {
    let mut by_count = ByCount::new(stream, scratch, keys)?;
    let length = by_count.most_frequent(stream)?;
    by_count.keys.resize(stream, length)?;
    Ok(by_count.keys)
}

/// The distinct keys, starting with the most frequent, and the count of rows of each.
struct ByCount<K> {
    keys: Buffer<K>,
    counts: Buffer<u32>,
}

/// The encoding of counts that reverses their order.
const DESCENDING: KeyOrder = KeyOrder { flip: u32::MAX as u64, rotate: 0 };

impl<K: Key> ByCount<K> {
    /// Counts the rows of each key and sorts the keys: the most frequent keys come first, and
    /// equally frequent keys are in ascending order.
    fn new(stream: &Stream, scratch: &mut Scratch, keys: &Buffer<K>) -> Result<Self> {
        let found = Unique::of(keys).counts().run_on(stream, scratch)?;
        let (keys, counts) = (found.keys.into_words(), vec![Words::Narrow(found.counts)]);
        // The sorts are stable, so equally frequent keys stay in order.
        let by_key = encoded(stream, scratch.device(), K::ORDER, &keys)?;
        let (_, keys, counts) = permuted(stream, scratch, by_key, keys, counts)?;
        let counts: Buffer<u32> = counts_of(counts, scratch.device())?;
        let by_count = encoded(stream, scratch.device(), DESCENDING, &counts)?;
        let (_, keys, counts) = permuted(stream, scratch, by_count, keys, vec![Words::Narrow(counts)])?;
        Ok(Self { keys: typed(keys), counts: counts_of(counts, scratch.device())? })
    }

    /// Returns the count of keys that are as frequent as the first key. These keys come before the
    /// other keys.
    fn most_frequent(&self, stream: &Stream) -> Result<usize> {
        if self.counts.is_empty() {
            return Ok(0);
        }
        let most = self.counts.download_at(stream, 0)?;
        let (mut frequent, mut rarer) = (1, self.counts.len());
        while frequent < rarer {
            let middle = frequent + (rarer - frequent) / 2;
            if self.counts.download_at(stream, middle)? == most {
                frequent = middle + 1;
            } else {
                rarer = middle;
            }
        }
        Ok(frequent)
    }
}

/// Returns the only column of `columns`.
fn counts_of(columns: Vec<Words>, device: &Device) -> Result<Buffer<u32>> {
    match columns.into_iter().next() {
        Some(counts) => Ok(counts.into_buffer()),
        None => Buffer::uninitialized(device, 0),
    }
}

/// Returns words whose ascending order is the given order of `words`.
fn encoded<W: KeyWord>(stream: &Stream, device: &Device, order: KeyOrder, words: &Buffer<W>) -> Result<Buffer<W>> {
    let encoded = Buffer::uninitialized(device, words.len())?;
    stream.batch(|batch| {
        let (from, to) = (batch.read(words), batch.write(&encoded));
        // SAFETY: both buffers have the same count of words.
        unsafe { recode(batch, (order, Recoding::Encode), words.len() as u64, from, to) }
    })?;
    Ok(encoded)
}
