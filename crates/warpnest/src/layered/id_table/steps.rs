//! What a compacting table and a multimap ask of the table on which they stand. The traits are public, since a public trait stands on them, but
//! nobody can name them: so no others have them, and [`IdTable`](super::IdTable) is sealed.

use crate::table::input::Input;
use crate::{Buffer, Device, Key, Result, Stream, Tracked};
use gpu_kernels::seam::Global;

/// What is asked of a configuration.
pub trait Settings {
    /// Where the random constants of a build start: as it was said, or anywhere.
    fn seed_or_random(&self) -> u64;
    /// Bytes that a build of `pairs` pairs takes on the device besides the map and its input; less may do if it does not matter which values there
    /// are.
    fn scratch_bytes<K: Key>(&self, pairs: u64, any_values: bool) -> Result<u64>;
}

/// What is asked of a map.
pub trait Steps<K: Key>: Sized {
    /// Builds the map anew, in the memory that it has if that is enough; waits until it is known that the build succeeded. After an error it is
    /// empty, or as it was.
    fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()>;
    /// Queues a lookup: `values` may be null.
    ///
    /// Any table's user can call it, through the trait that stands on this one, but not in safe code:
    ///
    /// ```compile_fail,E0133
    /// # use warpnest::{Answers, IdTable, Buffer, Key, Result, Stream};
    /// fn find<K: Key, M: IdTable<K>>(map: &M, at: &Stream, keys: &Buffer<K>, to: &Answers<u32>) -> Result<()> {
    ///     map.find(at, keys, unsafe { to.values().global() }, to.found(), &[to.values(), to.found()])
    /// }
    /// ```
    ///
    /// ```
    /// # use warpnest::{Answers, IdTable, Buffer, Key, Result, Stream};
    /// fn find<K: Key, M: IdTable<K>>(map: &M, at: &Stream, keys: &Buffer<K>, to: &Answers<u32>) -> Result<()> {
    ///     // SAFETY: the caller sees to it that there are as many answers as keys.
    ///     unsafe { map.find(at, keys, to.values().global(), to.found(), &[to.values(), to.found()]) }
    /// }
    /// ```
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for each 32 of them; the launch
    /// writes `writes`.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<u32>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()>;
    /// Leaves no keys, as after a rebuild that failed.
    fn forget(&mut self, stream: &Stream);
    /// Gives back what rebuilds left, if they leave anything.
    fn shrink_to_fit(&mut self);
    /// The number of keys.
    fn len(&self) -> u64;
    /// A copy on the same device.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;
    /// All pairs, in no particular order.
    fn to_pairs(&self) -> Result<Vec<(K, u32)>>;

    /// The numbers that the keys have as their values.
    fn numbers(&self) -> impl Numbers<K>;
    /// Queues the question where the runs of some keys are, whose numbers are their values.
    ///
    /// # Safety
    /// The arrays are as long as [`RunsQuery`] says, the values are numbers of runs, and the launch writes `writes`.
    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>, writes: &[&dyn Tracked]) -> Result<()>;
}

/// What is done with the numbers that keys have as their values.
pub trait Numbers<K: Key> {
    /// Gives the keys numbers from 0 on as their values, and writes key `i` to `keys[i]`.
    ///
    /// # Safety
    /// There is room for all keys, and nobody else uses the map.
    unsafe fn assign_ids(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<()>;
    /// Sets the bits that the values name.
    ///
    /// # Safety
    /// Every value names one of the bits, and no other value names it.
    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()>;
    /// Makes each value the number of bits that are set before the one that it names; `before` are set in the words before each.
    ///
    /// # Safety
    /// As for [`Numbers::flag`], `before` is as long as `bits`, and nobody else uses the map.
    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()>;
}

/// The arrays of a lookup of runs.
#[derive(Clone, Copy, Debug)]
pub struct RunsQuery<'b, K> {
    pub queries: &'b Buffer<K>,
    /// Where each run ends.
    pub lasts: &'b Buffer<u32>,
    /// As many as queries, or null, all three: where their runs begin, and how many values they have.
    pub starts: Global<u32>,
    pub counts: Global<u32>,
    pub wide_counts: Global<u64>,
}
