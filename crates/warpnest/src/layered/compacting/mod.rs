//! [`CompactingTable`]: different keys and dense ids, both ways. docs/unique.md has layout,
//! guarantees and figures.

mod build;
mod config;
mod file;
mod work;

pub use config::CompactingConfig;

use crate::page::Page;
use crate::runtime::lent::Lent;
use crate::table::id_table::Ids;
use crate::{Answers, Buffer, BufferSlice, BulkMap, Device, Key, Result, Stream};
use gpu_kernels::layered::compacting::{KeysOf, KeysOfParams};
use std::fmt;
use work::Work;

/// A table that gives each different key of its input an id from 0 on: key to id and id to key,
/// both in constant time.
///
/// Source: the compacting hash table (Alcantara 2011, §4.4); the two-way index (Alcantara 2009).
///
/// * **The map under it**, from keys to ids, is a [`PageMap`](crate::PageMap) by default.
///   [`CompactingConfig::on`] makes it a [`CuckooMap`](crate::CuckooMap), as in (Alcantara 2011).
///   [`CompactingTable::ids`] lends it.
/// * **Keys** are of any [`Key`](crate::Key) type; all are legal, and may be repeated. Ids are
///   `u32`, without gaps.
/// * **Order.** By default ids are in no particular order, and may differ between two builds of the
///   same keys, also with the same seed. [`CompactingConfig::in_order_of_appearance`] gives the
///   same ids in every build: the first row's key has id 0, and so on.
/// * **Complexity.** A build takes the map's build, and one more pass over the table. A key is
///   looked up as in the map; an id by one access to an array.
/// * **Memory.** The table keeps the map and an array of the keys.
///   [`CompactingConfig::memory_bytes`] says beforehand how much it is at most.
/// * **Concurrent use.** A table does not change after its build, so any number of streams may look
///   up at the same time. [`CompactingTable::rebuild`] takes the table exclusively and waits for
///   running lookups by itself.
///
/// ```
/// use warpnest::{CompactingTable, Device};
///
/// let table = CompactingTable::build(&Device::best()?, &[50u64, 70, 50])?;
/// assert_eq!(table.len(), 2);
/// let ids = table.get_many(&[70, 71])?;
/// assert_eq!(ids[1], None);
/// assert_eq!(table.keys_of_many(&[ids[0].unwrap(), 2])?, [Some(70), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("dictionary", "dictionary_encode", "encode", "factorize", "group_ids", "interner", "renumber", "unique"))]
pub struct CompactingTable<K: Key, D: Ids = Page> {
    config: CompactingConfig<D>,
    ids: BulkMap<K, u32, D>,
    keys: Buffer<K>,
    work: Work<K::Word>,
}

impl<K: Key, D: Ids> CompactingTable<K, D> {
    /// Returns the ids of `queries`, in their order.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many`].
    pub fn get_many(&self, queries: &[K]) -> Result<Vec<Option<u32>>> {
        self.ids.get_many(queries)
    }

    /// Queues the lookup of the ids of `queries`; waits for nothing, copies nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_on`].
    pub fn get_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Answers<u32>> {
        self.ids.get_many_on(stream, queries)
    }

    /// Queues [`CompactingTable::get_many_on`] into existing answers; allocates nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_into`].
    pub fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<u32>) -> Result<()> {
        self.ids.get_many_into(stream, queries, answers)
    }

    /// Returns the id of one key; for a look at a few keys, as [`BulkMap::get`] is.
    ///
    /// # Errors
    /// As for [`BulkMap::get`].
    pub fn get(&self, key: K) -> Result<Option<u32>> {
        self.ids.get(key)
    }

    /// Returns whether one key is in the table; for a look at a few keys.
    ///
    /// # Errors
    /// As for [`BulkMap::contains`].
    pub fn contains(&self, key: K) -> Result<bool> {
        self.ids.contains(key)
    }

    /// Returns whether each of `queries` is in the table, in their order.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many`].
    pub fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
        self.ids.contains_many(queries)
    }

    /// Queues the lookup whether each of `queries` is in the table.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_on`].
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        self.ids.contains_many_on(stream, queries)
    }

    /// Queues [`CompactingTable::contains_many_on`] into existing words; allocates nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_into`].
    pub fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<()> {
        self.ids.contains_many_into(stream, queries, found)
    }

    /// Returns the number of different keys.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the device that the table is on.
    pub fn device(&self) -> &Device {
        self.ids.device()
    }

    /// Returns the report of the build of the map under the table.
    pub fn report(&self) -> &D::Report {
        self.ids.report()
    }

    /// Returns the keys with these ids, in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_of_many(&self, ids: &[u32]) -> Result<Vec<Option<K>>> {
        let stream = self.device().default_stream();
        self.keys_of_many_on(stream, &*Lent::new(self.device(), ids)?)?.download(stream)
    }

    /// Queues the lookup of the keys with these ids; waits for nothing, copies nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_on`].
    pub fn keys_of_many_on(&self, stream: &Stream, ids: &Buffer<u32>) -> Result<Answers<K>> {
        let mut answers = Answers::uninitialized(self.device(), ids.len())?;
        self.keys_of_many_into(stream, ids, &mut answers)?;
        Ok(answers)
    }

    /// Queues [`CompactingTable::keys_of_many_on`] into existing answers; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_of_many_into(&self, stream: &Stream, ids: &Buffer<u32>, answers: &mut Answers<K>) -> Result<()> {
        crate::error::same_length(("the ids", ids.len()), ("the answers", answers.len()))?;
        let plan = KeysOfParams { ids: self.len().min(self.keys.len()) as u64, queries: ids.len() as u64 };
        stream.batch(|batch| {
            let keys_of = KeysOf::<K::Word> {
                queries: batch.read(ids),
                keys: batch.read(self.keys.words()),
                keys_out: batch.write(answers.values.words()),
                found: batch.write(&answers.found),
                plan,
            };
            // SAFETY: there are as many answers as queries, and as many keys as ids.
            unsafe { batch.launch(&keys_of, plan.queries) }
        })
    }

    /// Returns the different keys, in the order of their ids; none after a failed rebuild.
    pub fn key_buffer(&self) -> &Buffer<K> {
        &self.keys
    }

    /// Iterates over all keys with their ids, in the order of the ids: over a copy on the host.
    ///
    /// # Errors
    /// As for [`CompactingTable::to_pairs`].
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = (K, u32)> + use<K, D>> {
        Ok(self.to_pairs()?.into_iter())
    }

    /// Iterates over all keys, in the order of their ids: over a copy on the host.
    ///
    /// # Errors
    /// As for [`CompactingTable::to_pairs`].
    pub fn keys(&self) -> Result<impl ExactSizeIterator<Item = K> + use<K, D>> {
        let keys = if self.is_empty() { vec![] } else { self.keys.download(self.device().default_stream())? };
        Ok(keys.into_iter())
    }

    /// Returns all keys with their ids, in the order of the ids.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, u32)>> {
        Ok(self.keys()?.zip(0..).collect())
    }

    /// Returns the map of keys to their ids.
    pub fn ids(&self) -> &BulkMap<K, u32, D> {
        &self.ids
    }

    /// Returns the bytes that the table keeps on the device, without the scratch that rebuilds may
    /// have left.
    pub fn memory_bytes(&self) -> usize {
        self.ids.memory_bytes() + self.len() * size_of::<K>()
    }

    /// Returns a copy of the table on the same device, without scratch.
    ///
    /// # Errors
    /// As for [`CompactingTable::try_clone_on`].
    pub fn try_clone(&self) -> Result<Self> {
        self.try_clone_on(self.device().default_stream())
    }

    /// Returns a copy of the table on the same device, made on `stream`, without scratch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone_on(&self, stream: &Stream) -> Result<Self> {
        let ids = self.ids.try_clone_on(stream)?;
        let keys = self.keys.duplicate(stream, self.device())?;
        Ok(Self { work: Work::new(self.device())?, config: self.config.clone(), ids, keys })
    }
}

impl<K: Key, D: Ids> Clone for CompactingTable<K, D> {
    /// Copies the table on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`CompactingTable::try_clone`] returns an error
    /// then.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a table cannot be cloned: {error}"))
    }
}

impl<K: Key, D: Ids> fmt::Debug for CompactingTable<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactingTable")
            .field("keys", &self.len())
            .field("bytes", &self.memory_bytes())
            .field("device", &self.device().name())
            .finish_non_exhaustive()
    }
}
