//! Building a multimap: a sort, the runs of equal keys, and a page map of these.

use super::{MultiConfig, MultiMap};
use crate::primitives::{Scratch, compact, mark_last_of_each, sort_pairs};
use crate::{Buffer, Device, Key, Result, Stream, Value};
use gpu_kernels::multi::{Numbers, NumbersPlan};
use gpu_kernels::types::Scalar;

impl<K: Key, V: Value> MultiMap<K, V> {
    pub(super) fn create(
        config: &MultiConfig,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self> {
        crate::error::check_pairs(device, stream, keys, values)?;
        let pairs = keys.len();
        config.memory_bytes::<K, V>(pairs as u64)?;
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
        let runs = config.pages.clone().assume_unique().build_on(
            stream,
            device,
            &distinct,
            &numbers(stream, device, number)?,
        )?;
        Ok(Self { device: device.clone(), runs, lasts, values: grouped })
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
fn compacted<T: Scalar>(
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
fn front<T: Scalar>(stream: &Stream, device: &Device, all: Buffer<T>, length: usize) -> Result<Buffer<T>> {
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
