//! Different keys with ids, counts and first rows on the cores of a CPU: dictionaries, or a sort
//! where most keys differ.

use super::super::query::Order;
use super::dictionary::{encode, is_sorting_faster};
use super::parts::{Parts, Wanted};
use super::sorted_rows::Encoded;
use crate::primitives::{Scratch, check_items};
use crate::table::hash::random_seed;
use crate::{Buffer, Device, Key, Result, Stream};

/// Returns whether dictionaries, or the sort in their place, give what is wanted sooner than a
/// group-by and a map. They know no order of keys.
pub(super) fn is_encoding_faster<K: Key>(stream: &Stream, keys: &Buffer<K>, wanted: &Wanted) -> Result<Option<usize>> {
    let Some(cores) = stream.cores().filter(|_| wanted.order != Order::ByKey) else { return Ok(None) };
    if needs_ids(wanted) {
        return Ok(Some(cores));
    }
    let seed = wanted.seed.unwrap_or_else(random_seed);
    Ok((!is_sorting_faster(stream, keys, seed)?).then_some(cores))
}

/// Returns whether the ids of rows are asked for, or follow from them what is.
fn needs_ids(wanted: &Wanted) -> bool {
    wanted.ids || wanted.first_rows || wanted.order == Order::FirstSeen
}

/// Encodes the rows in arrays that are as long; returns the number of keys, and the first row of
/// each if these are wanted.
pub(super) fn encoded<K: Key>(
    stream: &Stream,
    device: &Device,
    keys: &Buffer<K>,
    wanted: &Wanted,
    (arrays, cores): (Encoded<'_, K>, usize),
) -> Result<(usize, Vec<u32>)> {
    check_items(keys.len())?;
    let seed = wanted.seed.unwrap_or_else(random_seed);
    let in_order = wanted.order == Order::FirstSeen || wanted.first_rows;
    let length = encode(stream, device, keys, arrays, (cores, in_order), seed)?;
    let firsts = match wanted.first_rows {
        true => arrays.ids.with_elements(stream, |ids| first_rows(ids, length))?,
        false => Vec::new(),
    };
    Ok((length, firsts))
}

/// Returns the first row with each id, if ids are in the order of their first rows.
fn first_rows(ids: &[u32], length: usize) -> Vec<u32> {
    let mut firsts = Vec::with_capacity(length);
    for (row, &id) in (0u32..).zip(ids) {
        if id as usize == firsts.len() {
            firsts.push(row);
        }
    }
    firsts
}

/// Returns the different keys, and what else is wanted, in this memory.
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems) and those of [`encode`].
pub(super) fn on_cores<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    wanted: &Wanted,
    (memory, cores): (Parts<K>, usize),
) -> Result<Parts<K>> {
    let (device, rows) = (scratch.device().clone(), keys.len());
    let Parts { keys: mut keys_out, ids, counts, first_rows } = memory;
    keys_out.fit_at_least(&device, rows)?;
    let mut numbers = |held: Option<Buffer<u32>>| -> Result<Buffer<u32>> {
        let Some(mut held) = held else { return scratch.lend(rows) };
        held.fit_at_least(&device, rows)?;
        held.set_length(rows);
        Ok(held)
    };
    let (ids, mut counts) = (numbers(ids)?, numbers(counts)?);
    let arrays = Encoded { keys: &keys_out, counts: &counts, ids: &ids };
    let (length, firsts) = encoded(stream, &device, keys, wanted, (arrays, cores))?;
    keys_out.set_length(length);
    counts.set_length(length);
    let first_rows = match first_rows {
        Some(mut first_rows) => {
            first_rows.fit_at_least(&device, length)?;
            first_rows.set_length(length);
            first_rows.upload(stream, &firsts)?;
            Some(first_rows)
        }
        None => None,
    };
    let mut wanted_or_free = |numbers: Buffer<u32>, is_wanted: bool| {
        if is_wanted {
            Some(numbers)
        } else {
            scratch.give_back(numbers);
            None
        }
    };
    let (ids, counts) = (wanted_or_free(ids, wanted.ids), wanted_or_free(counts, wanted.counts));
    Ok(Parts { keys: keys_out, ids, counts, first_rows })
}
