//! [`PageSet`]: the page table of keys alone. docs/set.md has layout, guarantees and figures.

pub(crate) mod combine;
mod config;

pub(crate) use combine::{Combined, set_operations};
pub use config::PageSetConfig;

use crate::buffer::Tracked;
use crate::input::{Input, Known};
use crate::{Buffer, Device, Key, PageMap, PageReport, Result, Stream};
use gpu_kernels::page::Layout;
use gpu_kernels::seam::Global;
use gpu_kernels::types::Nothing;

/// A set that is built in one go at streaming speed, and answers nearly every question, for keys that are there and for others, with one
/// access to memory. A [`PageMap`] without values, whose buckets hold two to four times as many keys.
///
/// Source: that of [`PageMap`]. Alcantara et al., *Building an Efficient Hash Table on the GPU* (2011), section 4.4, make a set of a hash table
/// by leaving the values out.
///
/// * **Keys** are `u32` or `u64`; all of them are legal, and may be repeated. [`PageSetConfig::assume_unique`] promises that they are not.
/// * **Complexity.** A build reads and writes every key once for each split (none to three, by the size of the table) and once for the
///   pages, in streams. A question reads one bucket, of 32 bytes (64 if keys have 64 bits); in two to six of a hundred cases, more in full
///   tables, the one beside it or, about as seldom, others.
/// * **Memory.** [`PageSetConfig::load`] says how full the table is; [`PageSetConfig::memory_bytes`] and
///   [`PageSetConfig::scratch_bytes`] say beforehand what it takes: 2 to 5 bytes for a 32-bit key, 10 for a 64-bit one.
/// * **Two builds of the same keys** answer every question alike. Where keys stand in the table, and so the order of [`PageSet::to_keys`], may
///   differ, also with the same seed.
/// * **Beside other work.** A set does not change after its build, so any number of streams may ask at the same time, and combine it with
///   others. [`PageSet::rebuild`] takes the set exclusively and waits for running questions by itself.
#[derive(Debug)]
pub struct PageSet<K: Key> {
    device: Device,
    pages: PageMap<K, Nothing>,
}

crate::lookup::contains_methods! { [K: Key] PageSet<K>, K }
set_operations! { PageSet, PageSetConfig }

impl<K: Key> PageSet<K> {
    /// Builds a set of the different keys among `keys` with the default configuration; [`PageSetConfig::build`] takes another.
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
        Ok(Self { device: device.clone(), pages: PageMap::create_from(config.pages, stream, device, input)? })
    }

    /// Builds the set anew from other keys; waits until it is known that the build succeeded.
    ///
    /// For data that changes as a whole, frame after frame: the memory of the table is used again if it is enough, and the scratch
    /// stays for the next time ([`PageSet::shrink_to_fit`] gives it back).
    ///
    /// # Errors
    /// As for [`PageSetConfig::build_on`]. If the request makes no sense the set is as it was; after another error it is empty, and
    /// [`PageSet::report`] still tells of the last build that succeeded.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let input = Input::of_keys(&self.device, stream, keys)?;
        self.pages.rebuild_from(stream, input)
    }

    /// Queues the question which of the queries are there; there are no values.
    fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<u32>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        self.pages.find(stream, queries, values, found, writes)
    }

    /// How the table is laid out and how it hashes, for a kernel of your own: with [`PageSet::words`] it makes a
    /// [`Table`](gpu_kernels::page::Table) of [`Nothing`].
    pub fn layout(&self) -> &Layout {
        self.pages.layout()
    }

    /// The buckets, and perhaps some more words that the table has no use for.
    pub fn words(&self) -> &Buffer<u64> {
        self.pages.words()
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.pages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The number of slots of all buckets.
    pub fn slots(&self) -> u64 {
        self.pages.slots()
    }

    /// Bytes that the set keeps on the device, without the scratch that [`PageSet::rebuild`] may have left.
    pub fn memory_bytes(&self) -> u64 {
        self.pages.memory_bytes()
    }

    /// Gives the scratch of rebuilds back. The next one takes it again.
    pub fn shrink_to_fit(&mut self) {
        self.pages.shrink_to_fit();
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How the build went.
    pub fn report(&self) -> &PageReport {
        self.pages.report()
    }

    /// A copy of the set on the same device, made on `stream`. It has no scratch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self { device: self.device.clone(), pages: self.pages.try_clone(stream)? })
    }

    /// Writes all keys, in no particular order, to `keys`; returns when they are written, since the counter that this works with is given
    /// back then.
    ///
    /// # Errors
    /// [`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless there are [`PageSet::len`] elements,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn keys_into(&self, stream: &Stream, keys: &mut Buffer<K>) -> Result<()> {
        crate::error::same_length(("the set", self.len() as usize), ("the keys", keys.len()))?;
        self.pages.unpack(stream, keys, None)
    }

    /// All keys, in no particular order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn to_keys(&self) -> Result<Vec<K>> {
        let stream = self.device.default_stream();
        let mut keys = Buffer::uninitialized(&self.device, self.len() as usize)?;
        self.keys_into(stream, &mut keys)?;
        keys.download(stream)
    }
}

impl<K: Key> Combined<K> for PageSet<K> {
    fn table(&self) -> (&Device, &Buffer<u64>) {
        (&self.device, self.words())
    }

    fn count(&self) -> u64 {
        self.len()
    }

    fn write(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        self.pages.unpack(stream, keys, None)
    }

    fn ask(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()> {
        self.contains_many_into(stream, queries, found)
    }

    fn with_keys(&self, stream: &Stream, keys: &Buffer<K>, count: u64) -> Result<Self> {
        let config = self.pages.config.clone();
        let input = Input { keys, values: None, pairs: count, known: Known::Nothing };
        let mut pages = PageMap::create_from(config.clone().assume_unique(), stream, &self.device, input)?;
        pages.config = config;
        Ok(Self { device: self.device.clone(), pages })
    }
}
