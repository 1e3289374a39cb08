//! Combines values with the values of a table that cannot combine them in place.

use super::input::{Input, Known};
use super::raw::RawTable;
use crate::primitives::Scratch;
use crate::relational::group_by::combined::combined;
use crate::{Buffer, Result, Stream};
use gpu_kernels::table::combine::{CombineFound, CombineFoundParams};
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, ValueWord};

/// Combines the values of each key, or the count of its rows if no values are given, with the value
/// that the key has. Merges the rows of each key, looks the keys up, and inserts the results.
/// Returns the count of new keys, as `insert` does.
pub(super) fn combine_found<K: KeyWord, V: ValueWord, T: RawTable<K, V>>(
    table: &mut T,
    stream: &Stream,
    keys: &Buffer<K>,
    values: Option<&Buffer<V>>,
    fold: Fold,
    insert: impl FnOnce(&mut T, &Stream, Input<'_, K, V>) -> Result<u64>,
) -> Result<u64> {
    table.check_usable()?;
    if keys.is_empty() {
        return Ok(0);
    }
    let device = table.device().clone();
    let (keys, values) = combined(stream, &mut Scratch::new(&device), keys, values, fold)?;
    let held = Buffer::uninitialized(&device, keys.len())?;
    let found = Buffer::uninitialized(&device, keys.len().div_ceil(32))?;
    // SAFETY: there are as many values as keys and a found-word for every 32 keys, and both buffers
    // are new.
    unsafe { table.find(stream, &keys, (Some(&held), &found))? };
    let plan = CombineFoundParams { items: keys.len() as u64, fold, padding: 0 };
    stream.batch(|batch| {
        let combine =
            CombineFound { held: batch.read(&held), found: batch.read(&found), values: batch.write(&values), plan };
        // SAFETY: there are as many held values as new values, and a found-word for every 32
        // values.
        unsafe { batch.launch(&combine, plan.items) }
    })?;
    drop((held, found));
    insert(table, stream, Input { keys: &keys, values: Some(&values), pairs: keys.len() as u64, known: Known::Unique })
}
