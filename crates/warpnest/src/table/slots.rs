//! Writes the pairs of a table that has slots and a cell: a cuckoo table or a two-level table.

use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::cuckoo::{Unpack, UnpackParams};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// Writes the pairs of the slots and of the cell to buffers, as
/// [`ReadTable::write`](super::raw::ReadTable::write) does.
///
/// # Safety
/// `words` has as many slots as the plan says, and `header` belongs to the same table. `keys` and
/// `values` meet the conditions of [`ReadTable::write`](super::raw::ReadTable::write).
pub(crate) unsafe fn write_slots<K: KeyWord, V: Payload>(
    (stream, device): (&Stream, &Device),
    (words, header): (&Buffer<u64>, &Buffer<u64>),
    plan: UnpackParams,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
) -> Result<u64> {
    let count = Buffer::<u64>::zeroed(device, 1)?;
    stream.batch(|batch| {
        let unpack = Unpack::<K, V> {
            words: batch.read(words).cast(),
            header: batch.read(header),
            keys_out: batch.write(keys),
            // SAFETY: the kernel's documentation allows null for values of a set.
            values_out: unsafe { batch.write_or_null(values) },
            count: batch.write(&count),
            plan,
        };
        // SAFETY: the caller guarantees the slots and the outputs; the plan has the outputs'
        // capacity.
        unsafe { batch.launch(&unpack, plan.slots + 1) }
    })?;
    count.download_at(stream, 0)
}
