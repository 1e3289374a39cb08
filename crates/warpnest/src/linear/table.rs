//! The table of a linear map: its words, its counters, and the recovery from failed changes.

use super::config::{Linear, LinearConfig};
use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::raw::{Outputs, RawTable, ReadTable};
use crate::{Buffer, Config, Device, Error, InputError, Result, Stream};
use gpu_kernels::double_word::PackedPair;
use gpu_kernels::linear::{Find, FindParams, InspectParams, Layout, Unpack, header};
use gpu_kernels::refs::LinearRef;
use gpu_kernels::types::{KeyWord, ValueWord};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::SeedableRng;

/// The table of a [`LinearMap`](super::LinearMap).
#[derive(Debug)]
pub struct LinearTable<K: KeyWord, V: ValueWord> {
    pub(super) device: Device,
    pub(super) config: Config<Linear>,
    pub(super) layout: Layout,
    pub(super) words: Buffer<PackedPair<K, V>>,
    pub(super) header: Buffer<u64>,
    pub(super) counts: Counts,
    /// The change that failed partway, as long as the resulting state is unknown.
    pub(super) interrupted: Option<Interrupted>,
    pub(super) random: Xoshiro256StarStar,
    /// The memory in which the rows of a batch are merged into one row for each key.
    pub(super) scratch: Scratch,
}

/// A change that failed partway.
#[derive(Clone, Debug)]
pub(super) struct Interrupted {
    pub(super) change: Change,
    pub(super) error: Error,
}

/// The changes that can fail partway. All other changes make a new table beside the old one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// A chunk of a batch. If it fails, the slots are valid and the header counts all changes.
    Batch,
    /// A launch of a kernel to which the table was lent. If it fails, the slots are valid, but the
    /// header may not count all changes.
    Lent,
    /// Emptying the table. If it fails, some slots may be unchanged.
    Clear,
}

/// The values of the header's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// The count of slots that are not empty.
    pub(super) taken: u64,
    /// The count of keys, including the key that has a cell and no slot.
    pub(super) keys: u64,
    /// The count of slots of removed keys.
    pub(super) removed: u64,
    /// The count of operations that found no slot, since the header was created.
    pub(super) refused: u64,
    /// The count of operations that requested a slot in launches that count requests.
    pub(super) asked: u64,
}

impl Counts {
    pub(super) fn of(header: &[u64]) -> Self {
        let stripes = || header[header::COUNTERS as usize..].chunks_exact(header::STRIPE as usize);
        let sum = |which: u64| stripes().map(|stripe| stripe[which as usize]).sum::<u64>();
        let keys = sum(header::GAINED) - sum(header::LOST);
        let asked = header[header::ASKED as usize];
        let taken = sum(header::TAKEN) - sum(header::EMPTIED);
        Self { taken, keys, removed: taken + in_cell(header) - keys, refused: sum(header::REFUSED), asked }
    }
}

/// Returns the count of queries below which cores do not share them.
fn few_queries(_cores: usize) -> u64 {
    1 << 14
}

/// Returns the count of changes below which one core does all of them. If cores share them, each
/// change takes two thirds longer, so two cores gain little.
pub(super) fn few_changes(cores: usize) -> u64 {
    if cores < 4 { 1 << 17 } else { 1 << 14 }
}

/// The most items of a block, whose counters have 32 bits.
const MAX_ITEMS: u64 = u32::MAX as u64;

/// Returns the words of the cell beside the slots, which stores the key that is all ones.
pub(super) fn cell(header: &[u64]) -> &[u64] {
    &header[header::CELL as usize..header::ASKED as usize]
}

/// Returns the count of keys in the cell: 0 or 1.
pub(super) fn in_cell(header: &[u64]) -> u64 {
    cell(header).iter().any(|&word| word != 0) as u64
}

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    pub(super) fn new(config: LinearConfig, device: &Device) -> Result<Self> {
        let lines = config.lines_for::<PackedPair<K, V>>(config.design.pairs, config.load_on(device))?;
        Self::check_device(device)?;
        let mut random = Xoshiro256StarStar::seed_from_u64(config.seed_or_random());
        let layout = config.layout(&mut random, lines);
        let mut words = Buffer::uninitialized(device, layout.slots::<PackedPair<K, V>>() as usize)?;
        words.set_bytes(device.default_stream(), 0xff)?;
        let header = Buffer::zeroed(device, header::WORDS)?;
        let (device, counts) = (device.clone(), Counts::default());
        let scratch = Scratch::new(&device);
        Ok(Self { device, config, layout, words, header, counts, interrupted: None, random, scratch })
    }

    /// Fails if the device cannot change a slot atomically.
    pub(super) fn check_device(device: &Device) -> Result<()> {
        if size_of::<PackedPair<K, V>>() > size_of::<u64>() && !device.engine().has_wide_atomics() {
            let what = "a LinearMap with keys or values of 64 bits";
            return Err(Error::NoWideAtomics { what, device: device.name().to_owned() });
        }
        Ok(())
    }

    /// Fails if a change failed partway and the resulting state is unknown.
    pub(super) fn check(&self) -> Result<()> {
        self.interrupted.as_ref().map_or(Ok(()), |interrupted| Err(interrupted.error.clone()))
    }

    /// Runs a change of the table. If the change fails partway, finds out the resulting state, or
    /// records that it is unknown.
    pub(super) fn change(
        &mut self,
        stream: &Stream,
        change: Change,
        work: impl FnOnce(&mut Self, &Stream) -> Result<()>,
    ) -> Result<()> {
        let done = work(self, stream);
        match &done {
            Ok(()) => self.interrupted = None,
            // These errors were found before anything was queued.
            Err(Error::WrongDevice { .. } | Error::Input(InputError::GridTooLarge { .. })) => (),
            Err(error) => {
                self.interrupted = Some(Interrupted { change, error: error.clone() });
                // If this fails too, lookups return the error, and the next change tries it again.
                let _ = self.recover(stream);
            }
        }
        done
    }

    /// Finds out the state after a change that failed partway, or completes that change.
    pub(super) fn recover(&mut self, stream: &Stream) -> Result<()> {
        match self.interrupted {
            None => return Ok(()),
            Some(Interrupted { change: Change::Batch, .. }) => self.count(stream)?,
            Some(Interrupted { change: Change::Lent, .. }) => self.recount(stream)?,
            Some(Interrupted { change: Change::Clear, .. }) => self.empty(stream)?,
        }
        self.interrupted = None;
        Ok(())
    }

    /// Returns the load factor: the share of the slots that keys may take.
    pub(super) fn load(&self) -> f64 {
        self.config.load_on(&self.device)
    }

    /// Returns the count of threads to launch for `items` items of a kernel whose blocks share the
    /// items. On CPU cores one block is launched for fewer than `few` items. A core that uses the
    /// table alone needs no atomic operations, and other cores would wake up too late to help.
    pub(super) fn threads(&self, items: u64, few: impl FnOnce(usize) -> u64) -> u64 {
        match self.device.machine().cores() {
            Some(1) if items <= MAX_ITEMS => items.min(1),
            Some(cores) if items < few(cores) => items.min(1),
            _ => items,
        }
    }

    /// Removes all keys.
    pub(super) fn clear_all(&mut self, stream: &Stream) -> Result<()> {
        self.change(stream, Change::Clear, Self::empty)
    }

    /// Reads the header's counters, and waits for them.
    pub(super) fn count(&mut self, stream: &Stream) -> Result<()> {
        self.counts = Counts::of(&self.header.download(stream)?);
        Ok(())
    }

    /// Queues emptying the table.
    pub(super) fn empty(&mut self, stream: &Stream) -> Result<()> {
        let Self { words, header, .. } = &*self;
        stream.batch(|batch| {
            batch.fill(words, words.len(), 0xff)?;
            batch.zero(header, header.len())
        })?;
        self.counts = Counts::default();
        Ok(())
    }

    /// Returns the count of slots.
    pub fn slots(&self) -> u64 {
        self.layout.slots::<PackedPair<K, V>>()
    }

    /// Returns the count of slots that are not empty: the slots of keys and of removed keys.
    pub fn taken(&self) -> u64 {
        self.counts.taken
    }

    /// Returns the table's layout and hash constants, for a lookup kernel of your own. With
    /// [`LinearTable::words`] and [`LinearTable::header`] it makes an
    /// [`InUse`](gpu_kernels::linear::InUse). Such a kernel must not change the table, because the
    /// map counts the taken slots. [`Uses::table_mut`] lends a table that a kernel may change.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the slots, which are one word each. The upper half of a word is for the key, the
    /// lower half for the value.
    pub fn words(&self) -> &Buffer<PackedPair<K, V>> {
        &self.words
    }

    /// Returns the header, which has the counters and the cell.
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }
}

impl<K: KeyWord, V: ValueWord> ReadTable<K, V> for LinearTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.counts.keys
    }

    fn memory_bytes(&self) -> u64 {
        (size_of::<PackedPair<K, V>>() * self.words.len() + 8 * self.header.len()) as u64
    }

    fn check_usable(&self) -> Result<()> {
        self.check()
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, V>) -> Result<()> {
        self.check()?;
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words),
                header: batch.read(&self.header),
                // SAFETY: the kernel's documentation allows null values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. Slots, header and layout belong together.
            // Nothing changes them meanwhile, because writers wait for this launch.
            unsafe { batch.launch(&find, self.threads(plan.queries, few_queries)) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64> {
        self.check()?;
        let Some(values) = values else { return Ok(0) };
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        stream.batch(|batch| {
            let unpack = Unpack::<K, V> {
                words: batch.read(&self.words),
                header: batch.read(&self.header),
                keys_out: batch.write(keys),
                values_out: batch.write(values),
                count: batch.write(&count),
                plan: InspectParams { layout: self.layout, capacity: keys.len() as u64 },
            };
            // SAFETY: slots, header and layout belong together. The caller guarantees outputs with
            // the plan's capacity.
            unsafe { batch.launch(&unpack, self.slots() + 1) }
        })?;
        count.download_at(stream, 0)
    }
}

impl<K: KeyWord, V: ValueWord> RawTable<K, V> for LinearTable<K, V> {
    type Ref = LinearRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> LinearRef<K, V> {
        if let Err(error) = self.check() {
            uses.batch().fail(error);
        }
        LinearRef::new(uses.read(&self.words), uses.read(&self.header), self.layout)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        self.check()?;
        let words = self.words.duplicate(stream, &self.device)?;
        let header = self.header.duplicate(stream, &self.device)?;
        let Self { device, config, layout, counts, random, .. } = self;
        let (device, config, random) = (device.clone(), config.clone(), random.clone());
        let scratch = Scratch::new(&device);
        let (layout, counts) = (*layout, *counts);
        Ok(Self { device, config, layout, words, header, counts, interrupted: None, random, scratch })
    }

    fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.device.clone();
        self.scratch.release();
        self.shrink(device.default_stream())
    }
}
