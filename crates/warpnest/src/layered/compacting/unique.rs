//! The different keys of an input, with an id for each row and the number of rows of each key.

use super::CompactingConfig;
use crate::layered::id_table::Ids;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, Device, Key, Result, Stream};
use gpu_kernels::layered::compacting::{CountIds, RowsParams};

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
}
