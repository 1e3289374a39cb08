//! Lookups in a table, and the output of all its pairs.

use super::table::PageTable;
use crate::error::same_length;
use crate::table::raw::{Outputs, ReadTable};
use crate::{Buffer, BufferSlice, Device, Key, Result, Stream};
use gpu_kernels::page::{Find, FindParams, Unpack, UnpackParams};
use gpu_kernels::primitives::flags::{FillAbsent, FillParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar, WordOf};

/// The device memory for the answers to a lookup, in the forms that other libraries have. What is
/// not wanted is `None`.
#[derive(Debug)]
pub struct PlainAnswers<'a, V> {
    /// The values.
    pub values: Option<&'a mut BufferSlice<V>>,
    /// The value of queries that were not found.
    pub absent: V,
    /// The found-bits, in words of 32: a query's bit is 1 if the query was found.
    pub bits: Option<&'a mut BufferSlice<u32>>,
    /// The found-flags: a query's byte is 1 if the query was found, else 0.
    pub flags: Option<&'a mut BufferSlice<u8>>,
}

/// Queues a lookup in one launch, whatever the forms of the answers. Does not wait, and allocates
/// nothing.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn find_plain<K: Key, V: Payload>(
    table: &PageTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
    answers: PlainAnswers<'_, WordOf<V>>,
) -> Result<()> {
    let PlainAnswers { values, absent, bits, flags } = answers;
    let (values, found) = (values.map(|values| &**values), bits.map(|bits| &**bits));
    let flags = flags.map(|flags| &**flags);
    let asked = queries.len();
    let check = |what, length: Option<usize>, wanted| match length {
        Some(length) => same_length(("the queries", wanted), (what, length)),
        None => Ok(()),
    };
    check("the values", values.map(|values| values.len()), asked)?;
    check("the found-words", found.map(|found| found.len()), asked.div_ceil(32))?;
    check("the flags", flags.map(|flags| flags.len()), asked)?;
    // SAFETY: the lengths were checked, and the caller borrows the outputs mutably.
    unsafe { table.queue_find(stream, queries.words(), PlainOutputs { values, absent, found, flags }) }
}

/// The buffers of [`PlainAnswers`].
struct PlainOutputs<'b, V> {
    values: Option<&'b Buffer<V>>,
    absent: V,
    found: Option<&'b Buffer<u32>>,
    flags: Option<&'b Buffer<u8>>,
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Queues a lookup.
    ///
    /// # Safety
    /// There are as many values and flags as queries, if they are wanted, and a found-word for
    /// every 32 queries. Nothing else uses the outputs.
    unsafe fn queue_find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        outputs: PlainOutputs<'_, WordOf<V>>,
    ) -> Result<()> {
        let PlainOutputs { values, absent, found, flags } = outputs;
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64, absent: absent.to_u64() };
        stream.batch(|batch| {
            if self.length == 0 {
                // The words that a failed change left must not be found, even if they could not be
                // overwritten.
                batch.reads(queries);
                found.map_or(Ok(()), |found| batch.zero(found, found.len()))?;
                flags.map_or(Ok(()), |flags| batch.zero(flags, flags.len()))?;
                let Some(values) = values else { return Ok(()) };
                let plan = FillParams { items: plan.queries, value: plan.absent };
                // SAFETY: the kernel's documentation allows null for the flags. There are as many
                // values as items.
                return unsafe {
                    let fill = FillAbsent { flags: Global::null(), values: batch.write(values), plan };
                    batch.launch(&fill, plan.items.div_ceil(32))
                };
            }
            // SAFETY: the kernel's documentation allows null for what is not wanted. The caller
            // guarantees the outputs. The table and its layout belong together.
            unsafe {
                let find = Find::<K, V> {
                    queries: batch.read(queries),
                    words: batch.read(&self.words).cast(),
                    values: batch.write_or_null(values),
                    found: batch.write_or_null(found),
                    flags: batch.write_or_null(flags),
                    plan,
                };
                batch.launch(&find, plan.queries)
            }
        })
    }
}

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
        let outputs = PlainOutputs { values, absent: WordOf::<V>::default(), found: Some(found), flags: None };
        // SAFETY: as the caller promises.
        unsafe { self.queue_find(stream, queries, outputs) }
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
