//! Building a compacting table: a page map of the keys, and numbers for them.

use super::{CompactingConfig, CompactingTable};
use crate::buffer::Tracked;
use crate::primitives::{Scratch, exclusive_scan_in_place};
use crate::{Buffer, Device, Key, PageMap, Result, Stream};
use gpu_kernels::compacting::{ReverseRows, RowsPlan};
use gpu_kernels::page::{Number, NumberPlan};
use gpu_kernels::seam::Global;

/// What a build works in, and a rebuild works in again.
#[derive(Debug)]
pub(super) struct Work<K> {
    /// The map's values, before they are ids; then marks of rows.
    rows: Buffer<u32>,
    /// The rows' keys from the last one to the first, if ids are in order.
    reversed: Buffer<K>,
    scan: Scratch,
}

impl<K: Key> Work<K> {
    pub fn new(device: &Device) -> Result<Self> {
        let (rows, reversed) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self { rows, reversed, scan: Scratch::new(device) })
    }
}

impl<K: Key> CompactingTable<K> {
    pub(super) fn create(config: CompactingConfig, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
        keys.check_device("the keys", device)?;
        stream.check_device(device)?;
        config.memory_bytes::<K>(keys.len() as u64)?;
        let nothing = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let ids = config.pages.build_on(stream, device, &nothing.0, &nothing.1)?;
        let (none, work) = (nothing.0, Work::new(device)?);
        let mut table = Self { device: device.clone(), config, ids, keys: none, work };
        table.fill(stream, keys)?;
        table.shrink_to_fit()?;
        Ok(table)
    }

    /// Builds the table anew from other rows; waits until it is known that the build succeeded.
    ///
    /// For data that changes as a whole, frame after frame: the memory of the map is used again if it is enough, that of the keys and of
    /// what the build works in if as many are wanted. The latter stays for the next time ([`CompactingTable::shrink_to_fit`] gives it
    /// back).
    ///
    /// # Errors
    /// As for [`CompactingConfig::build_on`]. If the request makes no sense the table is as it was; after another error it is empty.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        keys.check_device("the keys", &self.device)?;
        stream.check_device(&self.device)?;
        self.config.memory_bytes::<K>(keys.len() as u64)?;
        let built = self.fill(stream, keys);
        if built.is_err() {
            self.ids.forget(stream);
        }
        built
    }

    /// Gives back what rebuilds work in. The next one takes it again.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.ids.shrink_to_fit();
        self.work = Work::new(&self.device)?;
        Ok(())
    }

    fn fill(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let Self { device, config, ids, work, .. } = self;
        work.rows.fit(device, keys.len())?;
        if config.in_order {
            work.reversed.fit(device, keys.len())?;
            reverse(stream, keys, work)?;
            ids.rebuild(stream, &work.reversed, &work.rows)?;
        } else {
            // Which values there are does not matter.
            work.rows.fill(stream, 0)?;
            ids.rebuild(stream, keys, &work.rows)?;
        }
        self.keys.fit(device, ids.len() as usize)?;
        if config.in_order { number_in_order(stream, ids, work, &self.keys) } else { number(stream, ids, &self.keys) }
    }
}

/// The keys from the last one to the first, and the rows that they are from: then of several rows of a key the first one is the last.
fn reverse<K: Key>(stream: &Stream, keys: &Buffer<K>, work: &Work<K>) -> Result<()> {
    let reverse = ReverseRows::<K> {
        keys: keys.argument(),
        keys_out: work.reversed.argument(),
        rows_out: work.rows.argument(),
        plan: RowsPlan { rows: keys.len() as u64 },
    };
    // SAFETY: three arrays of as many rows.
    unsafe { stream.launch(&reverse, keys.len() as u64, &[keys], &[&work.reversed, &work.rows]) }
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

/// Gives the keys of `map`, whose values are the first rows with each, ids in the order of these rows.
fn number_in_order<K: Key>(stream: &Stream, map: &PageMap<K, u32>, work: &mut Work<K>, keys: &Buffer<K>) -> Result<()> {
    let Work { rows: ids, scan, .. } = work;
    ids.fill(stream, 0)?;
    // SAFETY: the kernel's text allows no ids if it marks, no marks if it numbers, and no count in either case.
    let (nothing, no_count) = unsafe { (Global::null(), Global::null()) };
    let mark = launch_of(map, keys, ids.argument(), nothing, no_count);
    // SAFETY: every value is the number of a row.
    unsafe { launch(stream, map, &mark, &[map.words()], &[&*ids])? };
    exclusive_scan_in_place(stream, scan, ids)?;
    let number = launch_of(map, keys, nothing, ids.argument(), no_count);
    // SAFETY: the sum before a marked row is below the number of marks, which is that of the keys, and no two rows have the same.
    unsafe { launch(stream, map, &number, &[&*ids], &[map.words(), keys]) }
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
