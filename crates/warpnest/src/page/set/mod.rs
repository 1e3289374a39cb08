//! The page set, [`PageSet`], which is the page table of keys alone. docs/set.md describes layout,
//! guarantees and figures.

mod config;

pub use config::PageSetConfig;

use crate::table::input::Input;
use crate::{Buffer, Device, Key, PageMap, PageReport, Result, Stream};
use gpu_kernels::page::Layout;
use gpu_kernels::types::Nothing;

/// A set that is built in one go at streaming speed, and answers nearly every query, present or
/// absent, with one memory access. It is a [`PageMap`] without values, whose buckets hold two to
/// four times as many keys.
///
/// Source: that of [`PageMap`]. Alcantara et al., *Building an Efficient Hash Table on the GPU*
/// (2011), section 4.4, make a set from a hash table by leaving the values out.
///
/// * **Keys** are `u32` or `u64`; all values of these types are legal, and may be repeated.
///   [`PageSetConfig::assume_unique`] promises that they are not.
/// * **Complexity.** A build reads and writes every key once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A query reads one bucket, of 32 bytes
///   (64 if keys have 64 bits). In two to six of a hundred cases, and more in full tables, it also
///   reads the next bucket or, about as seldom, others.
/// * **Memory.** [`PageSetConfig::load`] says how full the table is.
///   [`PageSetConfig::memory_bytes`] and [`PageSetConfig::scratch_bytes`] say beforehand what it
///   takes: 2 to 5 bytes for a 32-bit key, 10 for a 64-bit one.
/// * **Two builds of the same keys** answer every query alike. The slots of the keys, and so the
///   order of [`PageSet::to_keys`], may differ, also with the same seed.
/// * **Concurrent use.** A set does not change after its build, so any number of streams may query
///   it at the same time, and combine it with others. [`PageSet::rebuild`] takes the set
///   exclusively and waits for running queries by itself.
#[derive(Debug)]
pub struct PageSet<K: Key> {
    device: Device,
    table: PageMap<K, Nothing>,
}

crate::table::lookup::contains_methods! { [K: Key] PageSet<K>, K, by table }

impl<K: Key> PageSet<K> {
    /// Builds a set of the distinct keys in `keys` with the default configuration;
    /// [`PageSetConfig::build`] takes another.
    ///
    /// ```
    /// use warpnest::{Device, PageSet};
    ///
    /// let set = PageSet::build(&Device::best()?, &[7u32, 8, 7])?;
    /// assert_eq!(set.len(), 2);
    /// assert_eq!(set.contains_many(&[7, 8, 9])?, [true, true, false]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`PageSetConfig::build`].
    pub fn build(device: &Device, keys: &[K]) -> Result<Self> {
        PageSetConfig::default().build(device, keys)
    }

    fn create(config: PageSetConfig, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
        let input = Input::of_keys(device, stream, keys)?;
        Ok(Self { device: device.clone(), table: PageMap::create_from(config.pages, stream, device, input)? })
    }

    /// Rebuilds the set from other keys; waits until it is known that the build succeeded.
    ///
    /// It is for data that changes as a whole, frame after frame. The memory of the table is used
    /// again if it is large enough. The scratch stays for the next rebuild
    /// ([`PageSet::shrink_to_fit`] gives it back).
    ///
    /// # Errors
    /// As for [`PageSetConfig::build_on`]. If the request makes no sense, the set is unchanged.
    /// After another error it is empty, and [`PageSet::report`] still describes the last build that
    /// succeeded.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let input = Input::of_keys(&self.device, stream, keys)?;
        self.table.rebuild_from(stream, input)
    }

    /// Returns how the table is laid out and how it hashes, for a kernel of your own: with
    /// [`PageSet::words`] it makes a [`Table`](gpu_kernels::page::Table) of [`Nothing`].
    pub fn layout(&self) -> &Layout {
        self.table.layout()
    }

    /// Returns the buckets, and perhaps some more words that the table does not use.
    pub fn words(&self) -> &Buffer<u64> {
        self.table.words()
    }

    /// Returns the bytes that the set takes on the device, without the scratch that
    /// [`PageSet::rebuild`] may have left.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// Gives back the scratch of rebuilds. The next rebuild allocates it again.
    pub fn shrink_to_fit(&mut self) {
        self.table.shrink_to_fit();
    }
}

crate::table::set_methods::set_methods! {
    PageSet of PageMap, PageSetConfig, PageReport;
    fn write(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        self.table.unpack(stream, keys, None)
    }
}
