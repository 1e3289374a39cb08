//! Functions for the distinct keys of a column, and for the rows whose keys are in another column.

use super::query::Unique;
use crate::page::{PageConfig, PageSet, PageTable, PlainAnswers, find_plain};
use crate::primitives::Scratch;
use crate::relational::Order;
use crate::table::host_lookup::contains_on_host;
use crate::table::input::{Input, check_keys};
use crate::table::raw::ReadTable;
use crate::{Buffer, BufferSlice, Device, Key, Result, Stream};
use gpu_kernels::types::Nothing;

/// Returns the distinct keys of a column, in no particular order.
///
/// ```
/// use warpnest::{relational::unique, Device};
///
/// let mut keys = unique(&Device::best()?, &[30u32, 10, 30, 20])?;
/// keys.sort();
/// assert_eq!(keys, [10, 20, 30]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The query [`Unique`] can also return them in the order of their first rows or in ascending
/// order, with the id of each row's key, counts and first rows.
///
/// # Errors
/// As for [`Unique::run_on`].
#[doc(alias("deduplicate", "dedup", "distinct", "drop_duplicates"))]
pub fn unique<K: Key>(device: &Device, keys: &[K]) -> Result<Vec<K>> {
    Ok(Unique::of(keys).run(device)?.keys)
}

/// Returns the result of [`unique`] on the device, computed on `stream`.
///
/// # Errors
/// As for [`Unique::run_on`].
pub fn unique_on<K: Key>(stream: &Stream, scratch: &mut Scratch, keys: &Buffer<K>) -> Result<Buffer<K>> {
    Ok(Unique::of(keys).run_on(stream, scratch)?.keys)
}

/// Returns the id of each row's key, and the distinct keys. Ids start at 0, in the order of first
/// appearance.
///
/// ```
/// use warpnest::{relational::factorize, Device};
///
/// let (ids, keys) = factorize(&Device::best()?, &['b', 'a', 'b', 'c'])?;
/// assert_eq!(ids, [0, 1, 0, 2]);
/// assert_eq!(keys, ['b', 'a', 'c']);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The same rows have the same ids in every run. If this does not matter, [`Unique::ids`] is
/// faster. [`RowIds`](crate::relational::RowIds) keeps the ids over many batches.
///
/// # Errors
/// As for [`Unique::run_on`].
#[doc(alias("dictionary_encode", "encode", "codes", "categorical", "label_encode", "group_ids", "rle"))]
pub fn factorize<K: Key>(device: &Device, keys: &[K]) -> Result<(Vec<u32>, Vec<K>)> {
    let found = Unique::of(keys).ids().order(Order::FirstSeen).run(device)?;
    Ok((found.ids, found.keys))
}

/// Returns the result of [`factorize`] on the device, computed on `stream`. To reuse the memory of
/// an earlier result, use [`Unique::run_into`].
///
/// # Errors
/// As for [`Unique::run_on`].
pub fn factorize_on<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
) -> Result<(Buffer<u32>, Buffer<K>)> {
    let found = Unique::of(keys).ids().order(Order::FirstSeen).run_on(stream, scratch)?;
    Ok((found.ids, found.keys))
}

/// Returns for each of `keys` whether it is among the keys of another column, which may be
/// repeated.
///
/// ```
/// use warpnest::{relational::isin, Device};
///
/// let among = [3u64, 5, 3];
/// assert_eq!(isin(&Device::best()?, &[5, 6, 3], &among)?, [true, false, true]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// It builds a [`PageSet`] of `among`. To test against the same keys more than once, build the set
/// yourself and keep it.
///
/// # Errors
/// As for [`Config::build`](crate::Config::build).
#[doc(alias("in1d", "is_in", "contains", "membership", "semi_join"))]
pub fn isin<K: Key>(device: &Device, keys: &[K], among: &[K]) -> Result<Vec<bool>> {
    PageSet::build(device, among)?.contains_many(keys)
}

/// Returns the result of [`isin`] on the device, computed on `stream`: bit `i % 32` of word
/// `i / 32` answers key `i`. Bits past the last key are 0.
///
/// # Errors
/// As for [`Config::build`](crate::Config::build), and
/// [`Error::WrongDevice`](crate::Error::WrongDevice).
pub fn isin_on<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    among: &Buffer<K>,
) -> Result<Buffer<u32>> {
    let mut found = Buffer::uninitialized(scratch.device(), keys.len().div_ceil(32))?;
    isin_into(stream, scratch, keys, among, &mut found)?;
    Ok(found)
}

/// Writes the result of [`isin_on`] to existing words. If the scratch is large enough from an
/// earlier call, no memory is allocated.
///
/// # Errors
/// As for [`isin_on`], and [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless
/// `found` has a word for each 32 keys.
pub fn isin_into<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    among: &Buffer<K>,
    found: &mut BufferSlice<u32>,
) -> Result<()> {
    let words = keys.len().div_ceil(32);
    crate::error::same_length(("the keys, in words of 32,", words), ("the found-words", found.len()))?;
    keys.check_device("the buffer of keys", scratch.device())?;
    // SAFETY: there are enough found-words, and the caller borrows the words mutably.
    with_set(stream, scratch, among, |set| unsafe { set.find(stream, keys.words(), (None, found)) })
}

/// Writes the result of [`isin`] to host memory: a bit for each key to `bits`, and a byte for each
/// key to `flags`. An empty slice is not written.
#[doc(hidden)]
pub fn isin_on_host<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &[K],
    among: &Buffer<K>,
    bits: &mut [u32],
    flags: &mut [u8],
) -> Result<()> {
    with_set(stream, scratch, among, |set| contains_on_host(set, stream, keys, bits, flags))
}

/// Writes the result of [`isin_on`] as a byte for each key, which is 1 if the key is among the
/// other ones, else 0.
#[doc(hidden)]
pub fn isin_flags_into<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    among: &Buffer<K>,
    flags: &mut BufferSlice<u8>,
) -> Result<()> {
    keys.check_device("the buffer of keys", scratch.device())?;
    let answers = PlainAnswers { values: None, absent: 0, bits: None, flags: Some(flags) };
    with_set(stream, scratch, among, |set| find_plain(set, stream, keys, answers))
}

/// Runs `work` with a set of keys that is built in memory of the scratch.
fn with_set<K: Key, R>(
    stream: &Stream,
    scratch: &mut Scratch,
    among: &Buffer<K>,
    work: impl FnOnce(&PageTable<K::Word, Nothing>) -> Result<R>,
) -> Result<R> {
    check_keys(scratch.device(), stream, among)?;
    let input = Input::of_keys(among.words());
    let set = PageTable::<K::Word, Nothing>::build_in(PageConfig::default(), stream, scratch, input)?;
    let done = work(&set);
    set.give_back(scratch);
    done
}
