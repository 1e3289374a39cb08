//! The cuckoo set, [`CuckooSet`], which is the cuckoo table of keys alone. docs/cuckoo.md and
//! docs/set.md describe layout, guarantees and figures.

mod config;

pub use config::CuckooSetConfig;

use crate::table::input::Input;
use crate::{Buffer, CuckooMap, CuckooReport, Device, Key, Result, Stream, Tracked};
use gpu_kernels::cuckoo::{Keys, KeysParams};
use gpu_kernels::hash::HashFunctions;
use gpu_kernels::types::Nothing;

/// A set that is built in one go and then answers every query with at most as many probes as it has
/// hash functions (2 to 5; by default 4). It is a [`CuckooMap`] without values, whose slots are
/// keys.
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, section 4.4.
///
/// * **Keys** are `u32` or `u64`; all values of these types are legal, and may be repeated. Copies
///   that racing threads leave in several slots are erased after the insertion.
///   [`CuckooSetConfig::assume_unique`] promises that there are none.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random exchanges of one word for n
///   distinct keys in m slots, 2 n by default. A query reads between one and as many slots as there
///   are hash functions, and ends at an empty one.
/// * **Memory.** A slot is one key of 4 or 8 bytes; a set takes 72 bytes more.
///   [`CuckooSetConfig::memory_bytes`] says so beforehand. A build takes nothing besides.
/// * **Two builds of the same keys** answer every query alike, and have the same
///   [`CuckooSet::len`]. The slots of the keys, and so the order of [`CuckooSet::to_keys`], may
///   differ, also with the same seed.
/// * **Concurrent use.** A set does not change after its build, so any number of streams may query
///   it at the same time, and combine it with others. [`CuckooSet::rebuild`] takes the set
///   exclusively and waits for running queries by itself.
///
/// [`PageSet`](crate::PageSet) is built faster and takes less memory; docs/choosing.md compares
/// them.
#[derive(Debug)]
pub struct CuckooSet<K: Key> {
    device: Device,
    table: CuckooMap<K, Nothing>,
}

crate::table::lookup::contains_methods! { [K: Key] CuckooSet<K>, K, by table }

impl<K: Key> CuckooSet<K> {
    /// Builds a set of the distinct keys in `keys` with the default configuration;
    /// [`CuckooSetConfig::build`] takes another.
    ///
    /// ```
    /// use warpnest::{CuckooSet, Device};
    ///
    /// let set = CuckooSet::build(&Device::best()?, &[7u32, 8, 7])?;
    /// assert_eq!(set.len(), 2);
    /// assert_eq!(set.contains_many(&[7, 8, 9])?, [true, true, false]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CuckooSetConfig::build`].
    pub fn build(device: &Device, keys: &[K]) -> Result<Self> {
        CuckooSetConfig::default().build(device, keys)
    }

    fn create(config: CuckooSetConfig, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
        let input = Input::of_keys(device, stream, keys)?;
        Ok(Self { device: device.clone(), table: CuckooMap::create_from(config.table, stream, device, input)? })
    }

    /// Rebuilds the set from other keys, in the slots that it has; waits until it is known that the
    /// build succeeded.
    ///
    /// It is for data that changes as a whole, frame after frame: nothing is allocated.
    ///
    /// # Errors
    /// As for [`CuckooSetConfig::build_on`]. If the request makes no sense, the set is unchanged.
    /// After another error it is empty, and [`CuckooSet::report`] still describes the last build
    /// that succeeded.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let input = Input::of_keys(&self.device, stream, keys)?;
        self.table.rebuild_from(stream, input)
    }

    /// Returns the hash functions of the last build, for a kernel of your own: with
    /// [`CuckooSet::words`] they make a [`Table`](gpu_kernels::cuckoo::Table) of [`Nothing`].
    pub fn functions(&self) -> &HashFunctions {
        self.table.functions()
    }

    /// Returns the slots, a key each, two to a word if keys have 32 bits. A key in a slot that none
    /// of its functions leads to is a filler and not in the set: an erased copy was there
    /// ([`fillers`](gpu_kernels::cuckoo::fillers)).
    pub fn words(&self) -> &Buffer<u64> {
        self.table.words()
    }

    /// Returns the words beside the slots, which [`header`](gpu_kernels::cuckoo::header) names.
    pub fn header(&self) -> &Buffer<u64> {
        self.table.header()
    }

    /// Returns the bytes that the set takes on the device.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// Counts the keys that are found with the first probe, the second, and so on:
    /// [`CuckooMap::probe_histogram`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_histogram(&self) -> Result<Vec<u64>> {
        self.table.probe_histogram()
    }
}

crate::table::set_methods::set_methods! {
    CuckooSet of CuckooMap, CuckooSetConfig, CuckooReport;
    fn write(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let write = Keys::<K> {
            words: self.words().argument(),
            header: self.header().argument(),
            keys_out: keys.argument(),
            count: count.argument(),
            plan: KeysParams { functions: *self.functions(), capacity: keys.len() as u64 },
        };
        let reads: [&dyn Tracked; 2] = [self.words(), self.header()];
        // SAFETY: the table and its functions belong together; the plan has the capacity of the
        // output.
        unsafe { stream.launch(&write, self.slots() + 1, &reads, &[keys, &count]) }
    }
}
