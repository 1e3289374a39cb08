//! What a multimap is to be like, and how it is built.

use super::MultiMap;
use crate::primitives::{Scratch, compact, mark_last_of_each, sort_pairs, sort_scratch_bytes, state_words};
use crate::{Buffer, Device, Key, PageConfig, Result, Stream, Value};
use gpu_kernels::multi::{Numbers, NumbersPlan};

/// The configuration of a [`MultiMap`].
///
/// ```
/// use warpnest::{Device, MultiConfig, MultiMap};
///
/// let device = Device::best()?;
/// let map: MultiMap<u32, u64> = MultiConfig::default().load(0.9).seed(7).build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiConfig {
    pages: PageConfig,
}

crate::config::page_config_methods! { MultiConfig }

impl MultiConfig {
    /// The most bytes that a map of `pairs` pairs keeps on the device: what it takes if no key is repeated.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], as far as they follow from the configuration and the number of pairs.
    pub fn memory_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        Ok(self.pages.memory_bytes::<K, u32>(pairs)? + pairs * (V::BITS / 8 + 4) as u64)
    }

    /// The most bytes that a build of `pairs` pairs takes on the device besides the map and its input.
    ///
    /// # Errors
    /// As for [`MultiConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        let keys = pairs * (K::BITS / 8) as u64;
        let sorting = keys + sort_scratch_bytes::<K, V>(pairs)?;
        // Sorted keys and their ends; the places of these and the different keys, each also compacted.
        let compacting =
            2 * keys + 8 * pairs + pairs.div_ceil(32) * 4 + 8 * state_words::<K>(pairs).max(state_words::<u32>(pairs));
        // The compacted arrays, cut to their lengths, the runs' numbers, and what the table of keys is built in.
        let building = 2 * keys + 8 * pairs + self.pages.scratch_bytes::<K, u32>(pairs)?;
        // And some counts.
        Ok(sorting.max(compacting).max(building) + 64)
    }

    /// Builds a map in which every key has all of its values, in the order of the input; returns when it stands.
    ///
    /// # Errors
    /// As for [`PageConfig::build`].
    pub fn build<K: Key, V: Value>(&self, device: &Device, keys: &[K], values: &[V]) -> Result<MultiMap<K, V>> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        self.memory_bytes::<K, V>(keys.len() as u64)?;
        let (keys, values) = (Buffer::from_slice(device, keys)?, Buffer::from_slice(device, values)?);
        self.build_on(device.default_stream(), device, &keys, &values)
    }

    /// [`MultiConfig::build`] from buffers, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn build_on<K: Key, V: Value>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<MultiMap<K, V>> {
        crate::error::check_pairs(device, stream, keys, values)?;
        let pairs = keys.len();
        self.memory_bytes::<K, V>(pairs as u64)?;
        // The chapter's algorithm 1: sort; find the runs of equal keys; a table from keys to their runs.
        let (mut sorted, mut grouped) = (Buffer::uninitialized(device, pairs)?, Buffer::uninitialized(device, pairs)?);
        sorted.copy_from(stream, keys)?;
        grouped.copy_from(stream, values)?;
        let mut scratch = Scratch::new(device);
        sort_pairs(stream, &mut scratch, &mut sorted, &mut grouped)?;
        scratch.release();
        let mut last = Buffer::uninitialized(device, pairs.div_ceil(32))?;
        mark_last_of_each(stream, &sorted, &mut last)?;
        let places = numbers(stream, device, pairs)?;
        let (lasts, _) = compacted(stream, device, &mut scratch, &places, &last)?;
        let (distinct, number) = compacted(stream, device, &mut scratch, &sorted, &last)?;
        drop((places, sorted, last));
        let (lasts, distinct) = (front(stream, device, lasts, number)?, front(stream, device, distinct, number)?);
        let runs = self.pages.clone().assume_unique().build_on(
            stream,
            device,
            &distinct,
            &numbers(stream, device, number)?,
        )?;
        Ok(MultiMap { device: device.clone(), runs, lasts, values: grouped })
    }
}

/// The numbers below `end`.
fn numbers(stream: &Stream, device: &Device, end: usize) -> Result<Buffer<u32>> {
    let output = Buffer::uninitialized(device, end)?;
    let numbers = Numbers { output: output.argument(), plan: NumbersPlan { end: end as u64 } };
    // SAFETY: as many elements.
    unsafe { stream.launch(&numbers, end as u64, &[], &[&output])? };
    Ok(output)
}

/// The kept elements of `input`, at the front of an array as long, and their number; waits for it.
fn compacted<T: gpu_kernels::types::Scalar>(
    stream: &Stream,
    device: &Device,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    keep: &Buffer<u32>,
) -> Result<(Buffer<T>, usize)> {
    let (mut output, mut count) = (Buffer::uninitialized(device, input.len())?, Buffer::uninitialized(device, 1)?);
    compact(stream, scratch, input, keep, &mut output, &mut count)?;
    let count = count.download(stream)?[0] as usize;
    Ok((output, count))
}

/// The first `length` elements of an array that may be much longer.
fn front<T: gpu_kernels::types::Scalar>(
    stream: &Stream,
    device: &Device,
    all: Buffer<T>,
    length: usize,
) -> Result<Buffer<T>> {
    if all.len() == length {
        return Ok(all);
    }
    let front = Buffer::<T>::uninitialized(device, length)?;
    stream.batch(&[&all], &[&front], |batch| {
        // SAFETY: both arrays have that many elements.
        unsafe { batch.copy(all.address(), front.address(), length * size_of::<T>()) }
    })?;
    Ok(front)
}
