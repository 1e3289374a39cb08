//! The linear table, of [`LinearMap`], which can be changed while it is in use. docs/linear.md
//! describes layout, protocol, guarantees and figures.

mod apply;
mod combine;
mod config;
mod file;
mod grow;
mod kind;
mod lent;
mod operations;
mod probes;

pub use config::{Linear, LinearConfig};
pub use kind::LinearKind;
pub use operations::LinearOperation;

use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::design::{Changes, Design, Seeded};
use crate::table::file::{Incoming, Parts};
use crate::table::input::Input;
use crate::table::raw::{RawTable, ReadTable, sealed::Sealed};
use crate::{Buffer, BulkMap, Config, Device, Error, InputError, Result, Stream};
use gpu_kernels::double::PackedPair;
use gpu_kernels::linear::{Find, FindParams, InspectParams, Layout, Unpack, header};
use gpu_kernels::refs::LinearRef;
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::SeedableRng;

/// A map for data that changes: batches insert, look up and remove keys, also all three at once.
///
/// Source: *A Simple GPU Hash Table* (Farrell 2020). Here the table has buckets of 32 bytes, two to
/// a line, and a step per key, where the source has single slots.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal. If either has 64
///   bits, a slot has 128, which are changed as a whole. That needs a GPU of compute capability
///   9.0, and nothing special on the CPU engine.
/// * **Repeated keys** in one batch: one of their pairs wins, as a whole.
/// * **Concurrent operations.** All operations of a batch run at the same time, and each is atomic.
///   A lookup beside an insertion gives the value before or after it, and nothing else. Batches run
///   one after the other, in the order of their calls.
/// * **Complexity.** An operation reads the buckets (32 bytes) from its key's home to its slot, or
///   to the first empty slot.
/// * **Growth.** If keys would take more than a share of the slots
///   ([`LinearConfig::load`](Config::load)), they move to a larger table. Slots of removed keys
///   become empty, or are used again by batches that only insert. If many of them are left, the
///   table is rehashed.
/// * **Combining values**, by [`BulkMap::add_many`] and its relatives, takes 24 to 36 bytes a row
///   besides on a GPU, as do insertions of 2^22 pairs or more whose keys are repeated. The map
///   keeps that memory until [`BulkMap::shrink_to_fit`]. A batch that combines values and is
///   refused has done nothing.
/// * **A batch that fails** partway has done some of its operations, each of them as a whole, and
///   [`BulkMap::len`] counts what is there. If not even that can be found out, lookups return
///   errors that say so, until a change succeeds; the number of keys is then that before the batch.
///   After [`FullError::NoSlots`](crate::FullError::NoSlots), [`InputError::TooManyKeys`] and
///   [`Error::OutOfMemory`], pairs that fitted the capacity are in the map, and the call can be
///   repeated.
/// * **A known seed.** Whoever knows it can choose keys whose searches all begin at one line, where
///   each passes many of the others. To insert 64,000 such keys took 6.7 s on two cores, where any
///   others take milliseconds.
/// * **Memory.** A slot takes 8 bytes, or 16 with keys or values of 64 bits.
///   [`LinearConfig::initial_memory_bytes`](Config::initial_memory_bytes) says beforehand what a
///   map takes.
///
/// Make it by [`BulkMap::new`] or a [`LinearConfig`]; change it by [`BulkMap::insert_many`] and
/// [`BulkMap::remove_many`]; ask it by [`BulkMap::get_many`].
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

/// The table of a [`LinearMap`].
#[derive(Debug)]
pub struct LinearTable<K: KeyWord, V: ValueWord> {
    device: Device,
    config: Config<Linear>,
    layout: Layout,
    words: Buffer<PackedPair<K, V>>,
    header: Buffer<u64>,
    counts: Counts,
    /// The change that failed partway, as long as it is unknown what it left.
    interrupted: Option<Interrupted>,
    random: Xoshiro256StarStar,
    /// The memory in which the rows of a batch are merged to one for each key.
    scratch: Scratch,
}

/// A change that failed partway.
#[derive(Clone, Debug)]
struct Interrupted {
    change: Change,
    error: Error,
}

/// The changes that can fail partway. All others make a new table beside the old one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// A chunk of a batch: the table is whole, and its header counts what was done.
    Batch,
    /// The launch of a kernel that the table was lent to: the table is whole, and its header may
    /// not count all that was done.
    Lent,
    /// The emptying of the table: parts of it may be unchanged.
    Clear,
}

/// The values of the header's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    /// The number of slots that are not empty.
    taken: u64,
    /// The number of keys, including the one that has no slot.
    keys: u64,
    /// The number of slots of removed keys.
    removed: u64,
    /// The number of operations that found no slot, since the header was made.
    refused: u64,
    /// The number of operations that asked for a slot, as far as they were counted.
    asked: u64,
}

impl Counts {
    fn of(header: &[u64]) -> Self {
        let stripes = || header[header::COUNTERS as usize..].chunks_exact(header::STRIPE as usize);
        let sum = |which: u64| stripes().map(|stripe| stripe[which as usize]).sum::<u64>();
        let keys = sum(header::GAINED) - sum(header::LOST);
        let asked = header[header::ASKED as usize];
        let taken = sum(header::TAKEN) - sum(header::EMPTIED);
        Self { taken, keys, removed: taken + in_cell(header) - keys, refused: sum(header::REFUSED), asked }
    }
}

/// Returns the number of queries below which cores do not share them.
fn few_queries(_cores: usize) -> u64 {
    1 << 14
}

/// Returns the number of changes below which cores do not share them. Shared, each takes two thirds
/// longer, so two cores gain little.
fn few_changes(cores: usize) -> u64 {
    if cores < 4 { 1 << 17 } else { 1 << 14 }
}

/// The most items of a block, which counts with 32 bits.
const MAX_ITEMS: u64 = u32::MAX as u64;

/// Returns the words of the key that is all ones, which has a cell beside the slots.
fn cell(header: &[u64]) -> &[u64] {
    &header[header::CELL as usize..header::ASKED as usize]
}

/// Returns the number of keys in the cell: 0 or 1.
fn in_cell(header: &[u64]) -> u64 {
    cell(header).iter().any(|&word| word != 0) as u64
}

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    fn new(config: LinearConfig, device: &Device) -> Result<Self> {
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

    /// Fails if the device cannot change a slot as a whole.
    fn check_device(device: &Device) -> Result<()> {
        if size_of::<PackedPair<K, V>>() > size_of::<u64>() && !device.engine().has_wide_atomics() {
            let what = "a LinearMap with keys or values of 64 bits";
            return Err(Error::NoWideAtomics { what, device: device.name().to_owned() });
        }
        Ok(())
    }

    /// Fails if a change failed partway and it is not known what it left.
    fn check(&self) -> Result<()> {
        self.interrupted.as_ref().map_or(Ok(()), |interrupted| Err(interrupted.error.clone()))
    }

    /// Does work that changes the table. If that fails partway, finds out what it left, or records
    /// that this is not known.
    fn change(
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
                // If this fails too, lookups return the error, and the next change tries again.
                let _ = self.recover(stream);
            }
        }
        done
    }

    /// Finds out what a change that failed partway left, or completes it.
    fn recover(&mut self, stream: &Stream) -> Result<()> {
        match self.interrupted {
            None => return Ok(()),
            Some(Interrupted { change: Change::Batch, .. }) => self.count(stream)?,
            Some(Interrupted { change: Change::Lent, .. }) => self.recount(stream)?,
            Some(Interrupted { change: Change::Clear, .. }) => self.empty(stream)?,
        }
        self.interrupted = None;
        Ok(())
    }

    /// Returns the share of the slots that keys may take.
    fn load(&self) -> f64 {
        self.config.load_on(&self.device)
    }

    /// Returns the number of threads that are launched for `items` items of a kernel whose blocks
    /// share them. On CPU cores it is one block for fewer than `few`: a core that has the table for
    /// itself needs no atomic operations, and others would wake up too late.
    fn threads(&self, items: u64, few: impl FnOnce(usize) -> u64) -> u64 {
        match self.device.engine().cores() {
            Some(1) if items <= MAX_ITEMS => items.min(1),
            Some(cores) if items < few(cores) => items.min(1),
            _ => items,
        }
    }

    /// Removes all keys.
    fn clear_all(&mut self, stream: &Stream) -> Result<()> {
        self.change(stream, Change::Clear, Self::empty)
    }

    /// Reads the header's counters; waits.
    fn count(&mut self, stream: &Stream) -> Result<()> {
        self.counts = Counts::of(&self.header.download(stream)?);
        Ok(())
    }

    /// Queues emptying the table.
    fn empty(&mut self, stream: &Stream) -> Result<()> {
        let Self { words, header, .. } = &*self;
        stream.batch(|batch| {
            batch.fill(words, words.len(), 0xff)?;
            batch.zero(header, header.len())
        })?;
        self.counts = Counts::default();
        Ok(())
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> u64 {
        self.layout.slots::<PackedPair<K, V>>()
    }

    /// Returns the number of slots that are not empty: those of keys, and those of removed keys.
    pub fn taken(&self) -> u64 {
        self.counts.taken
    }

    /// Returns how the table hashes, for a lookup kernel of your own: with [`LinearTable::words`]
    /// and [`LinearTable::header`] it makes an [`InUse`](gpu_kernels::linear::InUse). Such a kernel
    /// must not change the table, since the map tracks how many slots are taken:
    /// [`Uses::table_mut`] lends one that may be changed.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the slots, one word each: the upper half is for the key, the lower half for the
    /// value.
    pub fn words(&self) -> &Buffer<PackedPair<K, V>> {
        &self.words
    }

    /// Returns the words beside the slots.
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

    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Option<&Buffer<V>>,
        found: &Buffer<u32>,
    ) -> Result<()> {
        self.check()?;
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words),
                header: batch.read(&self.header),
                // SAFETY: the kernel's documentation allows no values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. Slots, header and layout belong together.
            // Nobody changes them, since the launch reads them and whatever writes them waits.
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
            // SAFETY: slots, header and layout belong together; the caller guarantees the outputs,
            // whose capacity the plan has.
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

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        self.take_apart(parts)
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        Self::put_together(incoming)
    }
}

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
        values: Option<&Buffer<WordOf<P>>>,
        found: Option<&Buffer<u32>>,
    ) -> Result<u64> {
        // SAFETY: the caller guarantees the outputs.
        unsafe { table.remove_keys(stream, keys, values, found) }
    }

    fn clear<K: KeyWord, P: Payload>(table: &mut LinearTable<K, WordOf<P>>, stream: &Stream) -> Result<()> {
        table.clear_all(stream)
    }
}
