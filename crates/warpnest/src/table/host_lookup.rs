//! Lookups of queries in the host's memory whose answers go to memory of the host.

use super::raw::RawTable;
use crate::error::same_length;
use crate::runtime::host_chunks::{Chunked, Find};
use crate::runtime::lent::Lent;
use crate::{Buffer, Key, Result, Stream, Value};
use gpu_kernels::types::ValueWord;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The program's memory for the answers to a lookup. An array that is not wanted is empty.
#[derive(Debug)]
pub struct HostAnswers<'a, V> {
    /// The values; where nothing was found the default, or else 0.
    pub values: &'a mut [V],
    /// The value of queries that were not found.
    pub default: Option<V>,
    /// A bit for each query, in words of 32: whether it was found.
    pub bits: &'a mut [u32],
    /// A byte for each query: 1 if it was found, else 0.
    pub flags: &'a mut [u8],
}

impl<V> HostAnswers<'_, V> {
    fn check(&self, queries: usize) -> Result<()> {
        let check = |what, length: usize, wanted| match length {
            0 => Ok(()),
            _ => same_length(("the queries", wanted), (what, length)),
        };
        check("the values", self.values.len(), queries)?;
        check("the flags", self.flags.len(), queries)?;
        check("the found-words", self.bits.len(), queries.div_ceil(32))
    }
}

impl<'a, V: Value> HostAnswers<'a, V> {
    /// Divides the memory into parts for so many rows each.
    fn chunks(mut self, rows: usize) -> impl Iterator<Item = Self> + use<'a, V> {
        std::iter::repeat_with(move || HostAnswers {
            values: front(&mut self.values, rows),
            default: self.default,
            bits: front(&mut self.bits, rows / 32),
            flags: front(&mut self.flags, rows),
        })
    }

    /// Writes answers to the memory, and returns how many queries were found.
    fn give(self, values: &[V], found: &[u32]) -> usize {
        self.values.copy_from_slice(values);
        self.give_found(found)
    }

    /// Writes the rest of the answers, beside the values of what was found.
    fn give_found(self, found: &[u32]) -> usize {
        self.bits.iter_mut().zip(found).for_each(|(to, &from)| *to = from);
        write_flags(self.flags, found);
        if let Some(default) = self.default {
            fill_absent(self.values, found, default);
        }
        found.iter().map(|found| found.count_ones() as usize).sum()
    }
}

/// Takes the first elements from a slice, or all if there are fewer.
fn front<'a, T>(slice: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let length = length.min(slice.len());
    let (front, rest) = mem::take(slice).split_at_mut(length);
    *slice = rest;
    front
}

/// Writes a byte for each bit.
fn write_flags(flags: &mut [u8], found: &[u32]) {
    for (flags, found) in flags.chunks_mut(32).zip(found) {
        // The loop over a whole word has a constant length.
        match <&mut [u8; 32]>::try_from(&mut *flags) {
            Ok(flags) => (0..32).for_each(|i| flags[i] = (found >> i & 1) as u8),
            Err(_) => flags.iter_mut().enumerate().for_each(|(i, flag)| *flag = (found >> i & 1) as u8),
        }
    }
}

/// Sets the values of what was not found.
fn fill_absent<V: Copy>(values: &mut [V], found: &[u32], default: V) {
    for (values, &found) in values.chunks_mut(32).zip(found) {
        let absent = values.iter_mut().enumerate().filter(|(i, _)| found >> i & 1 == 0);
        // Most words have all bits set if most keys are found.
        if found != u32::MAX {
            absent.for_each(|(_, value)| *value = default);
        }
    }
}

/// Looks queries up, and returns how many were found: in chunks where that is faster, and otherwise
/// on `stream`.
pub fn get_on_host<K: Key, V: Value>(
    table: &impl RawTable<K::Word, V::Word>,
    stream: &Stream,
    queries: &[K],
    answers: HostAnswers<'_, V>,
) -> Result<usize> {
    // SAFETY: there are as many values, if any, and enough found-words, which nothing else uses.
    answer(table, stream, queries, answers, |stream, queries, values, found| unsafe {
        table.find(stream, queries.words(), values.map(Buffer::words), found)
    })
}

/// Looks up which of the queries are in a table, as [`get_on_host`] does.
pub fn contains_on_host<K: Key, W: ValueWord>(
    table: &impl RawTable<K::Word, W>,
    stream: &Stream,
    queries: &[K],
    bits: &mut [u32],
    flags: &mut [u8],
) -> Result<usize> {
    let answers = HostAnswers::<u32> { values: &mut [], default: None, bits, flags };
    // SAFETY: there are enough found-words, which nothing else uses.
    answer(table, stream, queries, answers, |stream, queries, _, found| unsafe {
        table.find(stream, queries.words(), None, found)
    })
}

fn answer<K: Key, V: Value, W: ValueWord>(
    table: &impl RawTable<K::Word, W>,
    stream: &Stream,
    queries: &[K],
    answers: HostAnswers<'_, V>,
    find: impl Find<K, V> + Sync,
) -> Result<usize> {
    answers.check(queries.len())?;
    table.check_usable()?;
    let (device, has_values, number) = (table.device(), !answers.values.is_empty(), AtomicUsize::new(0));
    if let Some(chunked) = Chunked::begin::<K, V>(device, queries.len(), has_values) {
        let answers = answers.chunks(chunked.rows());
        chunked.answer(queries, answers, find, |answers, values, found| {
            number.fetch_add(answers.give(values, found), Relaxed);
        })?;
        return Ok(number.into_inner());
    }
    let queries = Lent::new(device, queries)?;
    let values = has_values.then(|| Buffer::uninitialized(device, queries.len())).transpose()?;
    let found = Buffer::uninitialized(device, queries.len().div_ceil(32))?;
    find(stream, &queries, values.as_ref(), &found)?;
    let found = found.download(stream)?;
    if let Some(values) = values {
        values.download_into(stream, answers.values)?;
    }
    Ok(answers.give_found(&found))
}
