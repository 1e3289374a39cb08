//! The operations that a compacting table and a multimap use of their id table. The traits are
//! public, since they are supertraits of a public trait, but other crates cannot name them. So no
//! other types implement them, and [`IdTable`](super::IdTable) is sealed.

use crate::table::input::Input;
use crate::{Buffer, Device, Key, Result, Stream, Tracked};
use gpu_kernels::seam::Global;

/// The operations that a configuration provides.
pub trait Settings {
    /// The seed of a build: the configured one, or a random one.
    fn seed_or_random(&self) -> u64;
    /// The bytes that a build of `pairs` pairs takes on the device besides the map and its input.
    /// It may be less if the values do not matter (`any_values`).
    fn scratch_bytes<K: Key>(&self, pairs: u64, any_values: bool) -> Result<u64>;
}

/// The operations that a map provides.
pub trait Steps<K: Key>: Sized {
    /// Builds the map anew, in its present memory if that is enough; waits until it is known that
    /// the build succeeded. After an error it is empty, or as it was.
    fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()>;
    /// Queues a lookup: `values` may be null.
    ///
    /// Any user of a table can call it, through the trait that has this one as a supertrait, but
    /// not in safe code:
    ///
    /// ```compile_fail,E0133
    /// # use warpnest::{Answers, IdTable, Buffer, Key, Result, Stream};
    /// fn find<K: Key, M: IdTable<K>>(
    ///     map: &M,
    ///     at: &Stream,
    ///     keys: &Buffer<K>,
    ///     to: &Answers<u32>,
    /// ) -> Result<()> {
    ///     let values = unsafe { to.values().global() };
    ///     map.find(at, keys, values, to.found(), &[to.values(), to.found()])
    /// }
    /// ```
    ///
    /// ```
    /// # use warpnest::{Answers, IdTable, Buffer, Key, Result, Stream, Tracked};
    /// fn find<K: Key, M: IdTable<K>>(
    ///     map: &M,
    ///     at: &Stream,
    ///     keys: &Buffer<K>,
    ///     to: &Answers<u32>,
    /// ) -> Result<()> {
    ///     let writes: [&dyn Tracked; 2] = [to.values(), to.found()];
    ///     // SAFETY: the caller ensures that there are as many answers as keys.
    ///     unsafe { map.find(at, keys, to.values().global(), to.found(), &writes) }
    /// }
    /// ```
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for each 32 of them; the
    /// launch writes `writes`.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<u32>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()>;
    /// Removes all keys, as after a rebuild that failed.
    fn forget(&mut self, stream: &Stream);
    /// Frees the memory that rebuilds left, if they left any.
    fn shrink_to_fit(&mut self);
    /// The number of keys.
    fn len(&self) -> u64;
    /// A copy on the same device.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;
    /// All pairs, in no particular order.
    fn to_pairs(&self) -> Result<Vec<(K, u32)>>;

    /// The numbers that the keys have as their values.
    fn numbers(&self) -> impl Numbers<K>;
    /// Queues the lookup of the runs of some keys, whose values are the numbers of their runs.
    ///
    /// # Safety
    /// The arrays are as long as [`RunsQuery`] says, the values are numbers of runs, and the launch
    /// writes `writes`.
    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>, writes: &[&dyn Tracked]) -> Result<()>;
}

/// The operations on the numbers that keys have as their values.
pub trait Numbers<K: Key> {
    /// Gives the keys numbers from 0 on as their values, and writes key `i` to `keys[i]`.
    ///
    /// # Safety
    /// There is capacity for all keys, and nothing else uses the map.
    unsafe fn assign_ids(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<()>;
    /// Sets the bits that the values name.
    ///
    /// # Safety
    /// Every value names one of the bits, and no other value names it.
    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()>;
    /// Replaces each value by the number of bits that are set before the one that it names.
    /// `before` has the number of bits that are set in the words before each word.
    ///
    /// # Safety
    /// As for [`Numbers::flag`], `before` is as long as `bits`, and nothing else uses the map.
    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()>;
}

/// The arrays of a lookup of runs.
#[derive(Clone, Copy, Debug)]
pub struct RunsQuery<'b, K> {
    pub queries: &'b Buffer<K>,
    /// The index of the last value of each run.
    pub lasts: &'b Buffer<u32>,
    /// The outputs: the starts of the runs, and the numbers of their values. Each of the three has
    /// as many elements as there are queries, or is null.
    pub starts: Global<u32>,
    pub counts: Global<u32>,
    pub wide_counts: Global<u64>,
}
