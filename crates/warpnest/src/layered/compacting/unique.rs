//! The different keys of an input, with an id for each row and the number of rows of each key.

use super::CompactingConfig;
use super::dictionary::encode;
use super::sorted_rows::Encoded;
use crate::layered::id_table::Ids;
use crate::runtime::lent::{Lent, Output};
use crate::{Answers, Buffer, Device, Key, Result, Stream};
use gpu_kernels::layered::compacting::{CountIds, RowsParams};
use gpu_kernels::plain::Plain;

/// The different keys of an input: slices or buffers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unique<Keys, Ids> {
    /// The different keys.
    pub keys: Keys,
    /// The id of each row's key: `keys[ids[row]]` is the key of the row.
    pub ids: Ids,
    /// The number of rows of each key: `counts[id]` rows have the key `keys[id]`.
    pub counts: Ids,
}

impl<D: Ids> CompactingConfig<D> {
    /// Returns the different keys among `keys`, the id of each row's key, and the number of rows of
    /// each key.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`].
    #[doc(alias(
        "deduplicate",
        "dedup",
        "distinct",
        "dictionary_encode",
        "factorize",
        "group_ids",
        "value_counts",
        "bincount",
        "inverse"
    ))]
    pub fn unique<K: Key>(&self, device: &Device, keys: &[K]) -> Result<Unique<Vec<K>, Vec<u32>>> {
        self.memory_bytes::<K>(keys.len())?;
        let stream = device.default_stream();
        let keys = Lent::new(device, keys)?;
        if let Some(cores) = self.encoding_cores(device) {
            let rows = keys.len();
            let (ids, counts) = (Output::new(device, rows)?, Output::new(device, rows)?);
            let keys_out = Buffer::uninitialized(device, rows)?;
            let encoded = Encoded { keys: &keys_out, counts: &counts, ids: &ids };
            let length = encode(stream, device, &keys, encoded, (cores, self.in_order), self.ids.seed_or_random())?;
            let (keys, counts) = (keys_out.download_front(stream, length)?, counts.into_vec(stream, length)?);
            return Ok(Unique { keys, ids: ids.into_vec(stream, rows)?, counts });
        }
        let Unique { keys, ids, counts } = self.unique_on(stream, device, &keys)?;
        Ok(Unique { keys: keys.download(stream)?, ids: ids.download(stream)?, counts: counts.download(stream)? })
    }

    /// Returns the result of [`CompactingConfig::unique`] in buffers, on `stream`; waits until it
    /// is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build_on`].
    #[doc(alias("deduplicate", "dedup", "distinct", "dictionary_encode", "factorize", "group_ids", "value_counts"))]
    pub fn unique_on<K: Key>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
    ) -> Result<Unique<Buffer<K>, Buffer<u32>>> {
        if let Some(cores) = self.encoding_cores(device) {
            keys.check_device("the buffer of keys", device)?;
            stream.check_device(device)?;
            self.memory_bytes::<K>(keys.len())?;
            let rows = keys.len();
            let (ids, counts) = (Buffer::uninitialized(device, rows)?, Buffer::uninitialized(device, rows)?);
            let keys_out = Buffer::uninitialized(device, rows)?;
            let encoded = Encoded { keys: &keys_out, counts: &counts, ids: &ids };
            let length = encode(stream, device, keys, encoded, (cores, self.in_order), self.ids.seed_or_random())?;
            let (keys, counts) = (front(keys_out, stream, device, length)?, front(counts, stream, device, length)?);
            return Ok(Unique { keys, ids, counts });
        }
        let table = self.build_on(stream, device, keys)?;
        let Answers { values: ids, .. } = table.get_many_on(stream, keys)?;
        let counts = Buffer::zeroed(device, table.len())?;
        let plan = RowsParams { rows: ids.len() as u64 };
        stream.batch(|batch| {
            let count = CountIds { ids: batch.read(&ids), counts: batch.write(&counts), plan };
            // SAFETY: every row has a key of the table, so its id is below the number of counters.
            unsafe { batch.launch(&count, plan.rows) }
        })?;
        Ok(Unique { keys: table.keys, ids, counts })
    }

    /// Returns the number of cores that encode rows by dictionaries, if cores of a CPU do: they
    /// need no table then. If keys are promised to be unique there is a table, which is built
    /// without looking for repeats.
    fn encoding_cores(&self, device: &Device) -> Option<usize> {
        device.engine().cores().filter(|_| !self.ids.unique)
    }
}

/// Returns a buffer of the first `length` elements, in memory of that size.
fn front<T: Plain>(mut buffer: Buffer<T>, stream: &Stream, device: &Device, length: usize) -> Result<Buffer<T>> {
    if let Some(shrunk) = buffer.shrunk(stream, device, length)? {
        return Ok(shrunk);
    }
    buffer.resize(stream, length)?;
    Ok(buffer)
}
