//! Distinct keys with ids and counts, and membership tests.

use crate::array::Array;
use crate::call::{self, Call, Column, FlagColumn, Target};
use crate::kinds::{with_key, with_word};
use pyo3::prelude::*;
use warpnest::low_level::{isin_flags_into, isin_on_host};
use warpnest::relational::{Distinct, Order, Part, Unique, factorize_on, isin_into, value_counts_on};
use warpnest::{Buffer, Key, Result};

/// The distinct keys, and the requested outputs: ids, counts and first rows.
type Found = (Array, [Option<Array>; 3]);

/// An output of integers, which may not have been requested.
trait Numbers {
    fn array(self, call: &Call) -> Option<Array>;
}

impl Numbers for () {
    fn array(self, _call: &Call) -> Option<Array> {
        None
    }
}

impl Numbers for Buffer<u32> {
    fn array(self, call: &Call) -> Option<Array> {
        Some(Array::of(call, self))
    }
}

/// Returns the distinct keys of a column. If requested, also returns the id of each row's key, the
/// count of each key's rows, and each key's first row.
#[pyfunction]
pub fn unique(
    py: Python<'_>,
    target: Target,
    keys: Column,
    kind: &str,
    sorted: bool,
    wanted: (bool, bool, bool),
) -> PyResult<Found> {
    // Only sorting depends on the type of the keys. Otherwise their size is enough.
    if !sorted {
        let bytes = if matches!(kind, "u4" | "i4") { 4 } else { 8 };
        return with_word!(bytes, K => call::run(py, target, |call| asked::<K>(call, keys, Order::Any, wanted)));
    }
    with_key!(kind, K => call::run(py, target, |call| asked::<K>(call, keys, Order::ByKey, wanted)))
}

fn asked<K: Key>(call: &Call, keys: Column, order: Order, wanted: (bool, bool, bool)) -> Result<Found> {
    let keys = call.read::<K>(keys)?;
    let query = Unique::of(&*keys).order(order);
    match wanted {
        (false, false, false) => found(call, query),
        (true, false, false) => found(call, query.ids()),
        (false, true, false) => found(call, query.counts()),
        (true, true, false) => found(call, query.ids().counts()),
        (false, false, true) => found(call, query.first_rows()),
        (true, false, true) => found(call, query.ids().first_rows()),
        (false, true, true) => found(call, query.counts().first_rows()),
        (true, true, true) => found(call, query.ids().counts().first_rows()),
    }
}

fn found<K: Key, I: Part, C: Part, F: Part>(call: &Call, query: Unique<'_, K, I, C, F>) -> Result<Found>
where
    I::OnDevice: Numbers,
    C::OnDevice: Numbers,
    F::OnDevice: Numbers,
{
    let Distinct { keys, ids, counts, first_rows, .. } =
        call.with_scratch(|scratch| query.run_on(&call.stream, scratch))?;
    Ok((Array::of(call, keys), [ids.array(call), counts.array(call), first_rows.array(call)]))
}

/// Returns the id of each row's key, and the distinct keys in the order of their first rows.
#[pyfunction]
pub fn factorize(py: Python<'_>, target: Target, keys: Column, bytes: usize) -> PyResult<(Array, Array)> {
    with_word!(bytes, K => call::run(py, target, |call| {
        let keys = call.read::<K>(keys)?;
        let (ids, keys) = call.with_scratch(|scratch| factorize_on(&call.stream, scratch, &keys))?;
        Ok((Array::of(call, ids), Array::of(call, keys)))
    }))
}

/// Returns the distinct keys and the count of each key's rows, with the largest count first.
#[pyfunction]
pub fn value_counts(py: Python<'_>, target: Target, keys: Column, kind: &str) -> PyResult<(Array, Array)> {
    with_key!(kind, K => call::run(py, target, |call| {
        let keys = call.read::<K>(keys)?;
        let (keys, counts) = call.with_scratch(|scratch| value_counts_on(&call.stream, scratch, &keys))?;
        Ok((Array::of(call, keys), Array::of(call, counts)))
    }))
}

/// Writes a byte per key that says whether `among` contains it, or a bit if there is no array of
/// bytes.
#[pyfunction]
pub fn isin(
    py: Python<'_>,
    target: Target,
    keys: Column,
    among: Column,
    bytes: usize,
    outputs: FlagColumn,
) -> PyResult<()> {
    with_word!(bytes, K => call::run(py, target, |call| {
        let (stream, among) = (&call.stream, call.read::<K>(among)?);
        if call.is_of_host([keys], Some(outputs)) {
            // SAFETY: the call runs. The arrays for answers were made for it, and nobody writes the
            // keys, as the documentation says.
            let (keys, (bits, flags)) = unsafe { (keys.elements::<K>(), outputs.elements_mut()) };
            return call.with_scratch(|scratch| isin_on_host(stream, scratch, keys, &among, bits, flags));
        }
        let keys = call.read::<K>(keys)?;
        call.flags(outputs, |bits, flags| call.with_scratch(|scratch| match (bits, flags) {
            (Some(bits), _) => isin_into(stream, scratch, &keys, &among, bits),
            (_, Some(flags)) => isin_flags_into(stream, scratch, &keys, &among, flags),
            _ => Ok(()),
        }))
    }))
}
