//! [`CompactingTable`]: distinct keys and their dense ids. docs/unique.md has layout, guarantees
//! and figures.

mod build;
mod config;
mod file;
mod work;

pub use config::CompactingConfig;

use crate::error::TableKind;
use crate::page::Page;
use crate::relational::IntoColumn;
use crate::table::handle::{Table, pairs};
use crate::table::id_table::Ids;
use crate::table::input::keys_on;
use crate::table::kind::{Finds, HasValues, KeyWordOf, Kind, Loads};
use crate::table::raw::{ReadTable, sealed::Sealed};
use crate::types::check_any_bytes;
use crate::{Answers, Buffer, BulkMap, Key, Result, Stream};
use gpu_kernels::layered::compacting::{KeysOf, KeysOfParams};
use std::marker::PhantomData;
use work::Work;

/// A table that assigns the ids 0, 1, 2, … to the distinct keys of its input. It looks up ids by
/// keys and keys by ids in constant time.
///
/// Source: the compacting hash table (Alcantara 2011, §4.4), and the two-way index (Alcantara
/// 2009).
///
/// * **The map of keys to ids** is a [`PageMap`](crate::PageMap) by default.
///   [`CompactingConfig::on`] selects a [`CuckooMap`](crate::CuckooMap), as in (Alcantara 2011).
///   [`CompactingTable::ids`] returns the map.
/// * **Keys** are of any [`Key`](crate::Key) type. All values of the type are legal and may be
///   repeated. Ids are `u32`, without gaps.
/// * **Order.** By default ids are in no particular order, and may differ between two builds of the
///   same keys, even with the same seed. With [`CompactingConfig::in_order_of_appearance`] ids are
///   the same in every build: the key of the first row has id 0, and so on.
/// * **Complexity.** A build takes the build of the map, and one more pass over the table. A key is
///   looked up in the map, and an id by one access to an array.
/// * **Memory.** The table keeps the map and an array of the keys.
///   [`CompactingConfig::memory_bytes`] returns beforehand how many bytes these take at most.
/// * **Concurrent use.** A table does not change after its build, so any number of streams may look
///   up keys at the same time. [`CompactingTable::rebuild`] needs exclusive access to the table,
///   and waits for running lookups.
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
pub type CompactingTable<K, D = Page> = Table<Compacting<K, D>>;

/// The kind of a [`CompactingTable`].
pub struct Compacting<K, D>(PhantomData<(K, D)>);

/// The table of a [`CompactingTable`].
pub struct IdsAndKeys<K: Key, D: Ids> {
    config: CompactingConfig<D>,
    ids: BulkMap<K, u32, D>,
    keys: Buffer<K>,
    work: Work<K::Word>,
}

impl<K: Key, D: Ids> Sealed for Compacting<K, D> {}
impl<K: Key, D: Ids> Kind for Compacting<K, D> {
    type Key = K;
    type Item = (K, u32);
    type Word = u32;
    type Table = IdsAndKeys<K, D>;

    const CHECK: () = ();

    fn file_kind() -> TableKind {
        TableKind { design: D::NAME, form: "CompactingTable", key_bytes: size_of::<K>() as u8, value_bytes: 0 }
    }

    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, u32> {
        &table.ids.table
    }

    fn memory_bytes(table: &Self::Table) -> u64 {
        (table.ids.memory_bytes() + table.ids.len() * size_of::<K>()) as u64
    }

    fn keys(table: &Self::Table) -> Result<Vec<K>> {
        // After a failed rebuild there are no keys.
        if table.ids.is_empty() { Ok(vec![]) } else { table.keys.download(table.ids.device().default_stream()) }
    }

    fn items(table: &Self::Table) -> Result<Vec<(K, u32)>> {
        Self::columns(table).map(pairs)
    }

    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table> {
        let IdsAndKeys { config, ids, keys, .. } = table;
        let (device, keys) = (ids.device(), keys.duplicate(stream, ids.device())?);
        Ok(IdsAndKeys { config: config.clone(), ids: ids.try_clone()?, keys, work: Work::new(device)? })
    }

    fn shrink_to_fit(table: &mut Self::Table) -> Result<()> {
        table.shrink_to_fit()
    }
}

impl<K: Key, D: Ids> Loads for Compacting<K, D> {
    const ANY_BYTES: () = check_any_bytes::<K>();
}

impl<K: Key, D: Ids> HasValues for Compacting<K, D> {
    type Value = u32;

    fn columns(table: &Self::Table) -> Result<(Vec<K>, Vec<u32>)> {
        let keys = Self::keys(table)?;
        let ids = (0u32..).take(keys.len()).collect();
        Ok((keys, ids))
    }
}

impl<K: Key, D: Ids> Finds for Compacting<K, D> {
    fn find(table: &Self::Table, queries: &[K]) -> Result<Vec<Option<u32>>> {
        table.ids.get_many(queries)
    }

    fn find_into(table: &Self::Table, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<u32>) -> Result<()> {
        table.ids.get_many_into(stream, queries, answers)
    }
}

impl<K: Key, D: Ids> CompactingTable<K, D> {
    /// Returns the report of the build of the map of keys to ids.
    pub fn report(&self) -> &D::Report {
        self.table.ids.report()
    }

    /// Returns the keys with these ids, in the order of `ids`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_of_many<'c>(&self, ids: impl IntoColumn<'c, u32>) -> Result<Vec<Option<K>>> {
        let stream = self.device().default_stream();
        self.keys_of_many_on(stream, &*keys_on(self.device(), ids)?)?.download(stream)
    }

    /// Queues the lookup of the keys with these ids, without waiting or copying.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_on`].
    pub fn keys_of_many_on(&self, stream: &Stream, ids: &Buffer<u32>) -> Result<Answers<K>> {
        let mut answers = Answers::uninitialized(self.device(), ids.len())?;
        self.keys_of_many_into(stream, ids, &mut answers)?;
        Ok(answers)
    }

    /// Queues [`CompactingTable::keys_of_many_on`] into existing answers, without allocating.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_of_many_into(&self, stream: &Stream, ids: &Buffer<u32>, answers: &mut Answers<K>) -> Result<()> {
        crate::error::same_length(("the ids", ids.len()), ("the answers", answers.len()))?;
        let plan = KeysOfParams { ids: self.len().min(self.table.keys.len()) as u64, queries: ids.len() as u64 };
        stream.batch(|batch| {
            let keys_of = KeysOf::<K::Word> {
                queries: batch.read(ids),
                keys: batch.read(self.table.keys.words()),
                keys_out: batch.write(answers.values.words()),
                found: batch.write(&answers.found),
                plan,
            };
            // SAFETY: there is an answer for each query, and a key for each id.
            unsafe { batch.launch(&keys_of, plan.queries) }
        })
    }

    /// Returns the distinct keys, in the order of their ids. After a failed rebuild there are none.
    pub fn key_buffer(&self) -> &Buffer<K> {
        &self.table.keys
    }

    /// Returns the map of keys to their ids.
    pub fn ids(&self) -> &BulkMap<K, u32, D> {
        &self.table.ids
    }
}
