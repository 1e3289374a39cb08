//! What a compacting table is to be like, and how it is built.

use super::{CompactingTable, Unique};
use crate::buffer::Tracked;
use crate::primitives::{Scratch, exclusive_scan_in_place};
use crate::{Answers, Buffer, Device, Key, PageConfig, PageMap, Result, Stream};
use gpu_kernels::compacting::{CountIds, ReverseRows, RowsPlan};
use gpu_kernels::page::{Number, NumberPlan};
use gpu_kernels::scan::state_words;
use gpu_kernels::seam::Global;

/// The configuration of a [`CompactingTable`].
///
/// ```
/// use warpnest::{CompactingConfig, Device};
///
/// let device = Device::best()?;
/// let config = CompactingConfig::default().in_order_of_appearance();
/// let unique = config.unique(&device, &[30u32, 10, 30, 20])?;
/// assert_eq!(unique.keys, [30, 10, 20]);
/// assert_eq!(unique.ids, [0, 1, 0, 2]);
/// assert_eq!(unique.counts, [2, 1, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactingConfig {
    pages: PageConfig,
    in_order: bool,
}

impl CompactingConfig {
    /// The table's load if no key is repeated: [`PageConfig::load`].
    #[must_use]
    pub fn load(mut self, load: f64) -> Self {
        self.pages = self.pages.load(load);
        self
    }

    /// How often a failed build may start again with fresh random constants.
    #[must_use]
    pub fn restarts(mut self, restarts: u32) -> Self {
        self.pages = self.pages.restarts(restarts);
        self
    }

    /// Where the random constants start: [`PageConfig::seed`].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.pages = self.pages.seed(seed);
        self
    }

    /// Promises that no key is repeated: the build is faster. If one is all the same, it may have several ids.
    #[must_use]
    pub fn assume_unique(mut self) -> Self {
        self.pages = self.pages.assume_unique();
        self
    }

    /// Gives ids in the order in which keys appear first in the input, so that they are the same in every build. That takes another copy
    /// of the input, and one more pass over its rows. Otherwise ids are in no particular order, and may differ from build to build.
    #[must_use]
    pub fn in_order_of_appearance(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// The most bytes that a table of `rows` rows keeps on the device: what it takes if no key is repeated.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`], as far as they follow from the configuration and the number of rows.
    pub fn memory_bytes<K: Key>(&self, rows: u64) -> Result<u64> {
        Ok(self.pages.memory_bytes::<K, u32>(rows)? + rows * (K::BITS / 8) as u64)
    }

    /// Bytes that a build of `rows` rows takes on the device besides the table and its input; a little more if copies of some keys are very
    /// many ([`PageConfig::scratch_bytes`]).
    ///
    /// # Errors
    /// As for [`CompactingConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key>(&self, rows: u64) -> Result<u64> {
        let reversed = if self.in_order { rows * (K::BITS / 8) as u64 } else { 0 };
        let building = self.pages.scratch_bytes::<K, u32>(rows)? + 4 * rows + reversed;
        let numbering = if self.in_order { 4 * rows + 8 * state_words::<u32>(rows) } else { 8 };
        Ok(building.max(numbering))
    }

    /// Builds a table of the different keys among `keys`; returns when it stands.
    ///
    /// # Errors
    /// As for [`PageConfig::build`].
    pub fn build<K: Key>(&self, device: &Device, keys: &[K]) -> Result<CompactingTable<K>> {
        self.memory_bytes::<K>(keys.len() as u64)?;
        let keys = Buffer::from_slice(device, keys)?;
        self.build_on(device.default_stream(), device, &keys)
    }

    /// [`CompactingConfig::build`] from a buffer, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn build_on<K: Key>(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<CompactingTable<K>> {
        keys.check_device("the keys", device)?;
        stream.check_device(device)?;
        self.memory_bytes::<K>(keys.len() as u64)?;
        let ids = if self.in_order {
            let (reversed, rows) = reverse(stream, device, keys)?;
            self.pages.build_on(stream, device, &reversed, &rows)?
        } else {
            // Which values there are does not matter.
            self.pages.build_on(stream, device, keys, &Buffer::<u32>::zeroed(device, keys.len())?)?
        };
        let distinct = Buffer::uninitialized(device, ids.len() as usize)?;
        if self.in_order {
            number_in_order(stream, &ids, keys.len(), &distinct)?;
        } else {
            number(stream, &ids, &distinct)?;
        }
        Ok(CompactingTable { device: device.clone(), ids, keys: distinct })
    }

    /// The different keys among `keys`, which of them each row has, and how often each is there.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`].
    pub fn unique<K: Key>(&self, device: &Device, keys: &[K]) -> Result<Unique<Vec<K>, Vec<u32>>> {
        self.memory_bytes::<K>(keys.len() as u64)?;
        let stream = device.default_stream();
        let Unique { keys, ids, counts } = self.unique_on(stream, device, &Buffer::from_slice(device, keys)?)?;
        Ok(Unique { keys: keys.download(stream)?, ids: ids.download(stream)?, counts: counts.download(stream)? })
    }

    /// [`CompactingConfig::unique`] with buffers, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build_on`].
    pub fn unique_on<K: Key>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
    ) -> Result<Unique<Buffer<K>, Buffer<u32>>> {
        let table = self.build_on(stream, device, keys)?;
        let Answers { values: ids, .. } = table.get_many_on(stream, keys)?;
        let counts = Buffer::zeroed(device, table.len() as usize)?;
        let count =
            CountIds { ids: ids.argument(), counts: counts.argument(), plan: RowsPlan { rows: ids.len() as u64 } };
        // SAFETY: every row has a key of the table, so its id is below the number of counters.
        unsafe { stream.launch(&count, ids.len() as u64, &[&ids], &[&counts])? };
        Ok(Unique { keys: table.keys, ids, counts })
    }
}

/// The keys from the last one to the first, and the rows that they are from: then of several rows of a key the first one is the last.
fn reverse<K: Key>(stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<(Buffer<K>, Buffer<u32>)> {
    let reversed = Buffer::uninitialized(device, keys.len())?;
    let rows = Buffer::uninitialized(device, keys.len())?;
    let reverse = ReverseRows::<K> {
        keys: keys.argument(),
        keys_out: reversed.argument(),
        rows_out: rows.argument(),
        plan: RowsPlan { rows: keys.len() as u64 },
    };
    // SAFETY: three arrays of as many rows.
    unsafe { stream.launch(&reverse, keys.len() as u64, &[keys], &[&reversed, &rows])? };
    Ok((reversed, rows))
}

/// Gives the keys of `map` ids in the order in which blocks come, and writes them to `keys`.
fn number<K: Key>(stream: &Stream, map: &PageMap<K, u32>, keys: &Buffer<K>) -> Result<()> {
    let count = Buffer::<u64>::zeroed(map.device(), 1)?;
    // SAFETY: the kernel's text allows no marks, and no ids if it counts.
    let nothing = unsafe { Global::null() };
    let number = launch_of(map, keys, nothing, nothing, count.argument());
    // SAFETY: as many keys as the map has, which is what the kernel numbers.
    unsafe { launch(stream, map, &number, &[], &[map.words(), keys, &count]) }
}

/// Gives the keys of `map`, whose values are the first of `rows` rows with each, ids in the order of these rows.
fn number_in_order<K: Key>(stream: &Stream, map: &PageMap<K, u32>, rows: usize, keys: &Buffer<K>) -> Result<()> {
    let mut ids = Buffer::<u32>::zeroed(map.device(), rows)?;
    let mut scratch = Scratch::new(map.device());
    // SAFETY: the kernel's text allows no ids if it marks, no marks if it numbers, and no count in either case.
    let (nothing, no_count) = unsafe { (Global::null(), Global::null()) };
    let mark = launch_of(map, keys, ids.argument(), nothing, no_count);
    // SAFETY: every value is the number of a row.
    unsafe { launch(stream, map, &mark, &[map.words()], &[&ids])? };
    exclusive_scan_in_place(stream, &mut scratch, &mut ids)?;
    let number = launch_of(map, keys, nothing, ids.argument(), no_count);
    // SAFETY: the sum before a marked row is below the number of marks, which is that of the keys, and no two rows have the same.
    unsafe { launch(stream, map, &number, &[&ids], &[map.words(), keys]) }
}

fn launch_of<K: Key>(
    map: &PageMap<K, u32>,
    keys: &Buffer<K>,
    marks: Global<u32>,
    ids: Global<u32>,
    count: Global<u64>,
) -> Number<K> {
    let plan = NumberPlan { layout: *map.layout() };
    Number { words: map.words().argument(), marks, ids, keys_out: keys.argument(), count, plan }
}

/// Runs `number` on the buckets of `map`, whatever the words of an empty one are.
///
/// # Safety
/// As for [`Stream::launch`].
unsafe fn launch<K: Key>(
    stream: &Stream,
    map: &PageMap<K, u32>,
    number: &Number<K>,
    reads: &[&dyn Tracked],
    writes: &[&dyn Tracked],
) -> Result<()> {
    let buckets = if map.is_empty() { 0 } else { map.layout().buckets() as u64 };
    // SAFETY: the caller's.
    unsafe { stream.launch(number, buckets, reads, writes) }
}
