//! The table on which a compacting table or a multimap is built: a map from keys to ids. (Alcantara
//! 2011, §4.4) calls it the "basic hash table".

use crate::table::config::Config;
use crate::table::design::Builds;
use crate::table::input::{Input, Known};
use crate::{Buffer, Result, Stream};
use gpu_kernels::types::KeyWord;

/// A [`Design`](crate::design::Design) whose maps can be the id table of a
/// [`CompactingTable`](crate::CompactingTable) or a [`MultiMap`](crate::MultiMap):
/// [`Page`](crate::design::Page) or [`Cuckoo`](crate::design::Cuckoo). The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "compacting tables and multimaps are not built on maps of design `{Self}`",
    note = "take the design `Page`, which is the default, or `Cuckoo`"
)]
pub trait Ids: Builds {
    /// Returns the bytes that a build of `pairs` pairs takes on the device besides the map and its
    /// input. The count depends on what is `known` about that input.
    #[doc(hidden)]
    fn scratch_bytes<K: KeyWord>(config: &Config<Self>, pairs: u64, known: Known) -> Result<u64>;

    /// Rebuilds the map with the size for the pairs of `input`, in its present memory if that is
    /// large enough. Waits until the build has succeeded. After an error the map is empty or
    /// unchanged.
    #[doc(hidden)]
    fn rebuild_resized<K: KeyWord>(
        table: &mut Self::Table<K, u32>,
        stream: &Stream,
        input: Input<'_, K, u32>,
    ) -> Result<()>;

    /// Removes all keys, so that the map is as empty as after a failed rebuild.
    #[doc(hidden)]
    fn forget<K: KeyWord>(table: &mut Self::Table<K, u32>, stream: &Stream);

    /// Returns the table, with the kernels that work on its values.
    #[doc(hidden)]
    fn id_table<K: KeyWord>(table: &Self::Table<K, u32>) -> &dyn IdTable<K>;
}

/// The operations on values that a compacting table and a multimap use of their id table.
pub trait IdTable<K: KeyWord> {
    /// Sets the values of the keys to the ids 0, 1, 2, …, and writes the key of id `i` to
    /// `keys[i]`.
    ///
    /// # Safety
    /// `keys` has capacity for all keys, and nothing else uses the map.
    unsafe fn assign_ids(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;

    /// Sets the bits whose indices are the values of the table.
    ///
    /// # Safety
    /// Every value is the index of one of the bits, and no two values are equal.
    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()>;

    /// Replaces each value, the index of a bit, by the count of set bits before that bit. `before`
    /// contains for each word the count of set bits in the words before it.
    ///
    /// # Safety
    /// The conditions of [`IdTable::flag`] hold, `before` is as long as `bits`, and nothing else
    /// uses the map.
    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()>;

    /// Queues the lookup of the runs of values of keys; the value of a key is the index of its run.
    ///
    /// # Safety
    /// The arrays are as long as [`RunsQuery`] says, nothing else uses the outputs, and the values
    /// are indices of runs.
    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>) -> Result<()>;
}

/// The arrays of a lookup of runs.
#[derive(Clone, Copy, Debug)]
pub struct RunsQuery<'b, K> {
    pub queries: &'b Buffer<K>,
    /// The index of the last value of each run.
    pub lasts: &'b Buffer<u32>,
    /// The outputs: the starts of the runs, and the counts of their values. Each of the three
    /// buffers that is given has as many elements as there are queries.
    pub starts: Option<&'b Buffer<u32>>,
    pub counts: Option<&'b Buffer<u32>>,
    pub wide_counts: Option<&'b Buffer<u64>>,
}
