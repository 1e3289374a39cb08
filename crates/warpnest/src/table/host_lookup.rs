//! Lookups of queries in host memory whose answers go to host memory.

use super::raw::ReadTable;
use crate::error::same_length;
use crate::primitives::{expand_flags, fill_absent};
use crate::runtime::host_chunks::Chunks;
use crate::runtime::lent::Lent;
use crate::table::raw::Outputs;
use crate::{Buffer, Device, Key, Result, Stream, Value};
use gpu_kernels::types::ValueWord;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The host memory for the answers to a lookup. An array that is not wanted is empty.
#[derive(Debug)]
pub struct HostAnswers<'a, V> {
    /// The values. A query that was not found has the default, or 0.
    pub values: &'a mut [V],
    /// The value of queries that were not found.
    pub default: Option<V>,
    /// The found-bits, in words of 32: a query's bit is 1 if the query was found.
    pub bits: &'a mut [u32],
    /// The found-flags: a query's byte is 1 if the query was found, else 0.
    pub flags: &'a mut [u8],
    /// Whether the lookup counts the queries that were found.
    pub counted: bool,
}

impl<'a, V: Value> HostAnswers<'a, V> {
    fn check(&self, queries: usize) -> Result<()> {
        let check = |what, length: usize, wanted| match length {
            0 => Ok(()),
            _ => same_length(("the queries", wanted), (what, length)),
        };
        check("the values", self.values.len(), queries)?;
        check("the flags", self.flags.len(), queries)?;
        check("the found-words", self.bits.len(), queries.div_ceil(32))
    }

    /// Divides the arrays into parts, each for `rows` queries.
    fn chunks(mut self, rows: usize) -> impl Iterator<Item = Self> + use<'a, V> {
        std::iter::repeat_with(move || HostAnswers {
            values: front(&mut self.values, rows),
            bits: front(&mut self.bits, rows / 32),
            flags: front(&mut self.flags, rows),
            ..self
        })
    }
}

/// Takes the first `length` elements from a slice, or all elements if there are fewer.
fn front<'a, T>(slice: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let length = length.min(slice.len());
    let (front, rest) = mem::take(slice).split_at_mut(length);
    *slice = rest;
    front
}

/// A function that queues a lookup. The values that it writes have the user's type.
type Find<'a, K, V> = &'a (dyn Fn(&Stream, &Buffer<K>, Outputs<'_, V>) -> Result<()> + Sync);

/// The memory of answers on the device, for a chunk of queries.
struct Memory<V> {
    values: Buffer<V>,
    found: Buffer<u32>,
    flags: Buffer<u8>,
}

impl<V: Value> Memory<V> {
    fn new(device: &Device, rows: usize, wanted: &HostAnswers<'_, V>) -> Result<Self> {
        let rows_if = |is_wanted: bool| if is_wanted { rows } else { 0 };
        Ok(Self {
            values: Buffer::uninitialized(device, rows_if(!wanted.values.is_empty()))?,
            found: Buffer::uninitialized(device, rows.div_ceil(32))?,
            flags: Buffer::uninitialized(device, rows_if(!wanted.flags.is_empty()))?,
        })
    }

    /// Looks queries up, and writes the answers to host memory; returns the count of queries that
    /// were found, if they are counted.
    fn answer<K: Key>(
        &mut self,
        stream: &Stream,
        queries: &Buffer<K>,
        answers: HostAnswers<'_, V>,
        find: Find<'_, K, V>,
    ) -> Result<usize> {
        let Self { values, found, flags } = self;
        let HostAnswers { values: values_out, default, bits, flags: flags_out, counted } = answers;
        values.set_length(values_out.len());
        found.set_length(queries.len().div_ceil(32));
        flags.set_length(flags_out.len());
        find(stream, queries, (Some(&*values).filter(|values| !values.is_empty()), found))?;
        if !values.is_empty() {
            if let Some(default) = default {
                fill_absent(stream, found, default, values)?;
            }
            values.download_into(stream, values_out)?;
        }
        if !flags.is_empty() {
            expand_flags(stream, found, flags)?;
            flags.download_into(stream, flags_out)?;
        }
        if !bits.is_empty() {
            found.download_into(stream, bits)?;
        }
        let count = |words: &[u32]| words.iter().map(|word| word.count_ones() as usize).sum();
        match counted {
            true if bits.is_empty() => Ok(count(&found.download(stream)?)),
            true => Ok(count(bits)),
            false => Ok(0),
        }
    }
}

/// Looks queries up: in chunks where that is faster, and otherwise on `stream`. Returns the count
/// of queries that were found, if they are counted. The table's values must be of type `V`, which
/// the table does not record.
pub(super) fn get_on_host<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    stream: &Stream,
    queries: &[K],
    answers: HostAnswers<'_, V>,
) -> Result<usize> {
    // SAFETY: there are as many values as queries, if values are wanted, and enough found-words.
    // Nothing else uses the outputs.
    answer(table, stream, queries, answers, &|stream, queries, (values, found)| unsafe {
        table.find(stream, queries.words(), (values.map(Buffer::words), found))
    })
}

/// Looks up which of the queries are in a table, in chunks where that is faster.
pub fn contains_on_host<K: Key, W: ValueWord>(
    table: &dyn ReadTable<K::Word, W>,
    stream: &Stream,
    queries: &[K],
    bits: &mut [u32],
    flags: &mut [u8],
) -> Result<()> {
    let answers = HostAnswers::<u32> { values: &mut [], default: None, bits, flags, counted: false };
    // SAFETY: there are enough found-words, and nothing else uses them.
    let answered = answer(table, stream, queries, answers, &|stream, queries, (_, found)| unsafe {
        table.find(stream, queries.words(), (None, found))
    });
    answered.map(drop)
}

fn answer<K: Key, V: Value, W: ValueWord>(
    table: &dyn ReadTable<K::Word, W>,
    stream: &Stream,
    queries: &[K],
    answers: HostAnswers<'_, V>,
    find: Find<'_, K, V>,
) -> Result<usize> {
    answers.check(queries.len())?;
    table.check_usable()?;
    let device = table.device();
    let value = if answers.values.is_empty() { 0 } else { size_of::<V>() };
    let Some(chunks) = Chunks::of(device, queries.len(), value.max(size_of::<K>())) else {
        let queries = Lent::new(device, queries)?;
        return Memory::new(device, queries.len(), &answers)?.answer(stream, &queries, answers, find);
    };
    let (rows, number) = (chunks.rows, AtomicUsize::new(0));
    chunks.answer(
        queries,
        answers.chunks(rows),
        |stream, memory: &mut Option<(Buffer<K>, Memory<V>)>, queries, answers| {
            let (asked, memory) = match memory {
                Some(memory) => memory,
                None => memory.insert((Buffer::uninitialized(device, rows)?, Memory::new(device, rows, &answers)?)),
            };
            asked.set_length(queries.len());
            asked.upload(stream, queries)?;
            number.fetch_add(memory.answer(stream, asked, answers, find)?, Relaxed);
            Ok(())
        },
    )?;
    Ok(number.into_inner())
}
