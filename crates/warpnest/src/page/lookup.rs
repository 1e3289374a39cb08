//! Lookups in a table, and the output of all its pairs.

use super::table::PageTable;
use crate::table::raw::{Outputs, ReadTable};
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::page::{Find, FindParams, Unpack, UnpackParams};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

impl<K: KeyWord, V: Payload> ReadTable<K, WordOf<V>> for PageTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, WordOf<V>>) -> Result<()> {
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            if self.length == 0 {
                // The words that a failed change left must not be found, even if they could not be
                // overwritten.
                batch.reads(queries);
                values.map_or(Ok(()), |values| batch.zero(values, values.len()))?;
                return batch.zero(found, found.len());
            }
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
                // SAFETY: the kernel's documentation allows null values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. The table and its layout belong together.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<WordOf<V>>>) -> Result<u64> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        stream.batch(|batch| {
            let unpack = Unpack::<K, V> {
                words: batch.read(&self.words).cast(),
                keys_out: batch.write(keys),
                // SAFETY: the kernel's documentation allows null for the values of a set.
                values_out: unsafe { batch.write_or_null(values) },
                count: batch.write(&count),
                plan: UnpackParams { layout: self.layout, capacity: keys.len() as u64 },
            };
            // SAFETY: the caller guarantees a value for each key, if the table has values. The
            // table and its layout belong together.
            unsafe { batch.launch(&unpack, self.buckets_with_pairs()) }
        })?;
        count.download_at(stream, 0)
    }
}
