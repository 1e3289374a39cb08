//! Distinct keys with ids, counts and first rows on the cores of a CPU, by dictionaries.

use super::dictionary::encode;
use super::parts::{Encoded, Parts, Wanted};
use crate::hash::random_seed;
use crate::primitives::{Scratch, check_items};
use crate::relational::Order;
use crate::{Buffer, Key, Result, Stream};

/// Returns the count of cores, if dictionaries can compute what is wanted. They cannot sort keys.
pub(super) fn encoding_cores(stream: &Stream, wanted: &Wanted) -> Option<usize> {
    stream.machine().cores().filter(|_| wanted.order != Order::ByKey)
}

/// Returns whether the ids of rows are needed. They are also needed to find first rows.
pub(super) fn needs_ids(wanted: &Wanted) -> bool {
    wanted.ids || wanted.first_rows
}

/// Encodes the rows to arrays as long as the rows. Returns the count of keys, and the first row of
/// each if wanted.
pub(super) fn encoded<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    wanted: &Wanted,
    (arrays, cores): (Encoded<'_, K>, usize),
) -> Result<(usize, Vec<u32>)> {
    check_items(keys.len())?;
    let seed = wanted.seed.unwrap_or_else(random_seed);
    let in_order = wanted.order == Order::FirstSeen || wanted.first_rows;
    let length = encode(stream, scratch, keys, arrays, (cores, in_order), seed)?;
    let firsts = match arrays.ids.filter(|_| wanted.first_rows) {
        Some(ids) => ids.with_elements(stream, |ids| first_rows(ids, length))?,
        None => Vec::new(),
    };
    Ok((length, firsts))
}

/// Returns the first row of each id; ids must be in the order of their first rows.
fn first_rows(ids: &[u32], length: usize) -> Vec<u32> {
    let mut firsts = Vec::with_capacity(length);
    for (row, &id) in (0u32..).zip(ids) {
        if id as usize == firsts.len() {
            firsts.push(row);
        }
    }
    firsts
}

/// Returns the distinct keys and the other wanted parts, in the given memory.
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems) and the errors of [`encode`].
pub(super) fn on_cores<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    wanted: &Wanted,
    (memory, cores): (Parts<K>, usize),
) -> Result<Parts<K>> {
    let (device, rows) = (scratch.device().clone(), keys.len());
    let Parts { keys: mut keys_out, mut ids, mut counts, first_rows } = memory;
    keys_out.fit_at_least(&device, rows)?;
    for numbers in [&mut ids, &mut counts].into_iter().flatten() {
        numbers.fit_at_least(&device, rows)?;
        numbers.set_length(rows);
    }
    let lent = (ids.is_none() && needs_ids(wanted)).then(|| scratch.lend(rows)).transpose()?;
    let arrays = Encoded { keys: &keys_out, counts: counts.as_ref(), ids: ids.as_ref().or(lent.as_ref()) };
    let (length, firsts) = encoded(stream, scratch, keys, wanted, (arrays, cores))?;
    if let Some(lent) = lent {
        scratch.give_back(lent);
    }
    keys_out.set_length(length);
    if let Some(counts) = &mut counts {
        counts.set_length(length);
    }
    let first_rows = match first_rows {
        Some(mut first_rows) => {
            first_rows.fit_at_least(&device, length)?;
            first_rows.set_length(length);
            first_rows.upload(stream, &firsts)?;
            Some(first_rows)
        }
        None => None,
    };
    Ok(Parts { keys: keys_out, ids, counts, first_rows })
}
