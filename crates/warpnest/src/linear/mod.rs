//! The table of [`LinearMap`], which can be changed while it is in use. docs/linear.md describes
//! layout, protocol, guarantees and figures.
//!
//! `config` has the sizes, and `table` the words and the recovery from failed changes. `operations`
//! passes a batch to `apply` or `combine`, and `grow` makes capacity if it does not fit. `kind` has
//! the operations of a mixed batch, and `lent` lends the table to a kernel. `probes` measures probe
//! lengths, and `file` saves a table.

mod apply;
mod combine;
mod config;
mod file;
mod grow;
mod kind;
mod lent;
mod operations;
mod probes;
mod table;

pub use config::{Linear, LinearConfig};
pub use kind::LinearKind;
pub use operations::LinearOperation;
pub use table::LinearTable;

use crate::table::design::{Changes, Design, Seeded};
use crate::table::input::Input;
use crate::table::raw::Outputs;
use crate::table::raw::sealed::Sealed;
use crate::{Buffer, BulkMap, Device, Result, Stream};
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};

/// A map for data that changes: batches insert, look up and remove keys, or do all of these at
/// once.
///
/// Source: *A Simple GPU Hash Table* (Farrell 2020). There a probe reads one slot. Here it reads a
/// bucket of 32 bytes, two to a line, and the step between lines depends on the key.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal. If either has 64 bits, a slot has 128 bits, which are changed
///   as a whole. That needs a GPU of compute capability 9.0. The CPU engine has no such
///   requirement.
/// * **Repeated keys** in one batch: one of their pairs wins, as a whole.
/// * **Concurrent operations.** All operations of a batch run at the same time, and each is atomic.
///   A lookup during an insertion returns the value before or after it, and nothing else. Batches
///   run one after the other, in the order of their calls.
/// * **Complexity.** An operation reads the buckets (32 bytes each) from its key's home bucket to
///   its slot, or to the first empty slot.
/// * **Growth.** If keys would take more than a given share of the slots
///   ([`LinearConfig::load`](crate::Config::load)), they move to a larger table. Slots of removed
///   keys become empty, or are reused by batches that only insert. If many of these slots remain,
///   the table is rehashed.
/// * **Combining values**, by [`BulkMap::combine_many`], takes 24 to 36 more bytes per row on a
///   GPU. Insertions of 2^22 pairs or more take as much if keys are repeated. The map keeps that
///   memory until [`BulkMap::shrink_to_fit`]. If a batch that combines values is refused, it has
///   changed nothing.
/// * **A batch that fails** partway has done some of its operations, each of them completely, and
///   [`BulkMap::len`] counts the keys that are in the map. If even that count cannot be determined,
///   lookups return errors until a change succeeds, and the count stays as before the batch. After
///   [`FullError::NoSlots`](crate::FullError::NoSlots),
///   [`InputError::TooManyKeys`](crate::InputError::TooManyKeys) and
///   [`Error::OutOfMemory`](crate::Error::OutOfMemory), the pairs for which there was capacity are
///   in the map, and the call can be repeated.
/// * **A known seed.** Somebody who knows the seed can choose keys whose searches all begin at the
///   same line and pass many other keys. Inserting 64,000 such keys took 6.7 s on two cores, while
///   other keys take milliseconds.
/// * **Memory.** A slot takes 8 bytes, or 16 bytes if keys or values have 64 bits.
///   [`LinearConfig::initial_memory_bytes`](crate::Config::initial_memory_bytes) returns beforehand
///   what a map takes.
///
/// Make a map by [`BulkMap::new`] or a [`LinearConfig`]. Change it by [`BulkMap::insert_many`] and
/// [`BulkMap::remove_many`], and look keys up by [`BulkMap::get_many`].
///
/// ```
/// use warpnest::{Device, LinearMap};
///
/// let mut map: LinearMap<u32, u32> = LinearMap::new(&Device::best()?)?;
/// assert_eq!(map.insert_many(&[7, 8], &[1, 2])?, 2);
/// assert_eq!(map.remove_many(&[8, 9])?, [Some(2), None]);
/// assert_eq!(map.get_many(&[7, 8])?, [Some(1), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashMap", "insert", "open addressing", "linear probing"))]
pub type LinearMap<K, V> = BulkMap<K, V, Linear>;

impl Sealed for Linear {}
impl Design for Linear {
    const NAME: &'static str = "Linear";
    type Table<K: KeyWord, P: Payload> = LinearTable<K, WordOf<P>>;
}
impl Seeded for Linear {}

impl Changes for Linear {
    fn reserve<K: KeyWord, P: Payload>(
        table: &mut LinearTable<K, WordOf<P>>,
        stream: &Stream,
        additional: u64,
    ) -> Result<()> {
        table.reserve(stream, additional)
    }

    fn create<K: KeyWord, P: Payload>(config: LinearConfig, device: &Device) -> Result<LinearTable<K, WordOf<P>>> {
        LinearTable::new(config, device)
    }

    fn insert<K: KeyWord, P: Payload>(
        table: &mut LinearTable<K, WordOf<P>>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<u64> {
        // There are no linear sets.
        let Some(values) = input.values else { return Ok(0) };
        table.insert(stream, input.keys, values)
    }

    fn combine<K: KeyWord, V: ValueWord>(
        table: &mut LinearTable<K, V>,
        stream: &Stream,
        keys: &Buffer<K>,
        values: Option<&Buffer<V>>,
        fold: Fold,
    ) -> Result<u64> {
        table.combine(stream, keys, values, fold)
    }

    unsafe fn remove<K: KeyWord, P: Payload>(
        table: &mut LinearTable<K, WordOf<P>>,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<P>>>,
    ) -> Result<u64> {
        // SAFETY: the caller guarantees the outputs.
        unsafe { table.remove_keys(stream, keys, outputs) }
    }

    fn clear<K: KeyWord, P: Payload>(table: &mut LinearTable<K, WordOf<P>>, stream: &Stream) -> Result<()> {
        table.clear_all(stream)
    }
}
