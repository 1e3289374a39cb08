//! The table on which a compacting table or a multimap is built: a map from keys to ids. It is the
//! "basic hash table" of (Alcantara 2011, §4.4).

use crate::table::config::Config;
use crate::table::design::Builds;
use crate::table::input::{Input, Known};
use crate::{Buffer, Result, Stream};
use gpu_kernels::types::KeyWord;

/// A [`Design`](crate::design::Design) on whose maps a [`CompactingTable`](crate::CompactingTable)
/// or a [`MultiMap`](crate::MultiMap) can be built: [`Page`](crate::design::Page) or
/// [`Cuckoo`](crate::design::Cuckoo). The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "compacting tables and multimaps are not built on maps of design `{Self}`",
    note = "take the design `Page`, which is the default, or `Cuckoo`"
)]
pub trait Ids: Builds {
    /// Returns the bytes that a build of `pairs` pairs takes on the device besides the map and its
    /// input, by what is known of that input.
    #[doc(hidden)]
    fn scratch_bytes<K: KeyWord>(config: &Config<Self>, pairs: u64, known: Known) -> Result<u64>;

    /// Rebuilds the map at the size for so many pairs, in its present memory if that is enough.
    /// Waits until it is known that the build succeeded. After an error it is empty, or unchanged.
    #[doc(hidden)]
    fn rebuild_resized<K: KeyWord>(
        table: &mut Self::Table<K, u32>,
        stream: &Stream,
        input: Input<'_, K, u32>,
    ) -> Result<()>;

    /// Removes all keys, as after a rebuild that failed.
    #[doc(hidden)]
    fn forget<K: KeyWord>(table: &mut Self::Table<K, u32>, stream: &Stream);

    /// Returns the table for what kernels do with its values.
    #[doc(hidden)]
    fn id_table<K: KeyWord>(table: &Self::Table<K, u32>) -> &dyn IdTable<K>;
}

/// The operations on values that a compacting table and a multimap use of their id table.
pub trait IdTable<K: KeyWord> {
    /// Gives the keys the ids 0, 1, 2, … as their values, and writes key `i` to `keys[i]`.
    ///
    /// # Safety
    /// There is capacity for all keys, and nothing else uses the map.
    unsafe fn assign_ids(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;

    /// Sets the bits that the values name.
    ///
    /// # Safety
    /// Every value names one of the bits, and no other value names it.
    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()>;

    /// Replaces each value by the count of bits that are set before the one that it names. `before`
    /// has the count of bits that are set in the words before each word.
    ///
    /// # Safety
    /// As for [`IdTable::flag`], `before` is as long as `bits`, and nothing else uses the map.
    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()>;

    /// Queues the lookup of the runs of some keys, whose values are the indices of their runs.
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
    /// The outputs: the starts of the runs, and the counts of their values. Each of the three has
    /// as many elements as there are queries, if it is given.
    pub starts: Option<&'b Buffer<u32>>,
    pub counts: Option<&'b Buffer<u32>>,
    pub wide_counts: Option<&'b Buffer<u64>>,
}
