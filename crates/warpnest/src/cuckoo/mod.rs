//! The single-level cuckoo table of 2011, of [`CuckooMap`] and [`CuckooSet`]. docs/cuckoo.md and
//! docs/sets.md describe layout, algorithm, guarantees and figures.
//!
//! Read `config` for the sizes, then `build`, whose results `report` tells.

mod build;
mod config;
mod file;
mod id_table;
mod report;

pub use config::{Cuckoo, CuckooConfig};
pub use report::{CuckooReport, EvictionChains};

use crate::runtime::stream::Uses;
use crate::table::design::{Counted, Design, Seeded, Sets};
use crate::table::probes::ProbeLengths;
use crate::table::raw::{Outputs, RawTable, ReadTable, sealed::Sealed};
use crate::table::slots::write_slots;
use crate::{Buffer, BulkMap, BulkSet, Config, Device, Result, Stream};
use gpu_kernels::cuckoo::{Find, FindParams, Histogram, UnpackParams};
use gpu_kernels::hash::{HashFunctions, MAX_FUNCTIONS};
use gpu_kernels::refs::CuckooRef;
use gpu_kernels::types::{KeyWord, Payload, WordOf};
use std::marker::PhantomData;

/// A map that is built in one go and then answers every lookup with at most as many probes as it
/// has hash functions (2 to 5; by default 4).
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, sections 4.2 and 4.3.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** end as in `HashMap::from_iter`: the last pair in input order wins.
///   [`Config::assume_unique`] saves the pass that looks for repeats. If a key is repeated all the
///   same, the build succeeds, and [`BulkMap::len`] counts the key several times.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random accesses for n pairs in m slots
///   (section 4.5.3). That is 2 n by default, and more near the largest load factors. A lookup
///   makes between one and as many accesses as there are hash functions.
/// * **Memory.** A slot takes 8 bytes for `u32` keys and values and 16 otherwise; a map takes 56
///   more. [`Config::memory_bytes`] says so beforehand. A build that meets repeated keys takes 4
///   more bytes a slot while it runs, and any other build nothing besides.
/// * **Rebuilds** are in the slots that the map has.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up at the same time. [`BulkMap::rebuild`] takes the map exclusively and waits for running
///   lookups by itself.
///
/// ```
/// use warpnest::{CuckooMap, Device};
///
/// let device = Device::best()?;
/// let map: CuckooMap<u32, u32> = CuckooMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
/// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("cuckoo hashing", "HashMap"))]
pub type CuckooMap<K, V> = BulkMap<K, V, Cuckoo>;

/// A set that is built in one go and then answers every query with at most as many probes as it has
/// hash functions (2 to 5; by default 4). It is a [`CuckooMap`] without values, whose slots are
/// keys.
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, section 4.4.
///
/// * **Keys** are of any [`Key`](crate::Key) type. All values of it are legal, and may be repeated.
///   Copies that racing threads leave in several slots are erased after the insertion.
///   [`Config::assume_unique`] saves that pass. If a key is repeated all the same, it is found. If
///   a copy of any key met another one during its eviction chain, the pass follows. Otherwise
///   [`BulkSet::len`] counts every copy, and [`BulkSet::to_keys`] names it.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random exchanges of one word for n
///   distinct keys in m slots, 2 n by default. A query reads between one and as many slots as there
///   are hash functions, and ends at an empty one.
/// * **Memory.** A slot is one key of 4 or 8 bytes; a set takes 56 bytes more. A build takes
///   nothing besides.
/// * **Two builds of the same keys** answer every query alike, and have the same [`BulkSet::len`].
///   The slots of the keys, and so the order of [`BulkSet::to_keys`], may differ, also with the
///   same seed.
///
/// [`PageSet`](crate::PageSet) is built faster and takes less memory; docs/choosing.md compares
/// them.
///
/// ```
/// use warpnest::{CuckooSet, Device};
///
/// let set = CuckooSet::build(&Device::best()?, &[7u32, 8, 7])?;
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.contains_many(&[7, 8, 9])?, [true, true, false]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("cuckoo hashing", "HashSet"))]
pub type CuckooSet<K> = BulkSet<K, Cuckoo>;

impl Sealed for Cuckoo {}
impl Design for Cuckoo {
    const NAME: &'static str = "Cuckoo";
    type Table<K: KeyWord, P: Payload> = CuckooTable<K, P>;
}
impl Seeded for Cuckoo {}
impl Counted for Cuckoo {}
impl Sets for Cuckoo {}

/// The table of a [`CuckooMap`], or of a [`CuckooSet`] if the payload is nothing.
#[derive(Debug)]
pub struct CuckooTable<K: KeyWord, V: Payload> {
    device: Device,
    config: Config<Cuckoo>,
    functions: HashFunctions,
    words: Buffer<u64>,
    header: Buffer<u64>,
    length: u64,
    report: CuckooReport,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> CuckooTable<K, V> {
    /// Returns the hash functions of the last build, for a kernel of your own: with
    /// [`CuckooTable::words`] they make a [`Table`](gpu_kernels::cuckoo::Table).
    pub fn functions(&self) -> &HashFunctions {
        &self.functions
    }

    /// Returns the slots, of [`slot_words`](gpu_kernels::table::slots::slot_words) 64-bit words
    /// each. In a set they are a key each, two to a word if keys have 32 bits. A key in a slot that
    /// none of its functions leads to is a filler and not in the set: an erased copy was there
    /// ([`fillers`](gpu_kernels::cuckoo::fillers)).
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the words beside the slots, which [`header`](gpu_kernels::cuckoo::header) names.
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }

    /// Returns the count of slots.
    pub fn slots(&self) -> u64 {
        self.functions.slots() as u64
    }

    /// Returns the count of words that the slots take.
    fn words_in_use(&self) -> usize {
        config::table_words::<K, V>(self.slots()) as usize
    }

    /// Measures how many probes lookups of present keys take: at most one for each hash function.
    /// Waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_lengths(&self) -> Result<ProbeLengths> {
        let stream = self.device.default_stream();
        let probes = Buffer::<u64>::zeroed(&self.device, MAX_FUNCTIONS)?;
        stream.batch(|batch| {
            let (words, probes) = (batch.read(&self.words).cast(), batch.write(&probes));
            let histogram = Histogram::<K, V> { words, probes, functions: self.functions };
            // SAFETY: the table and its functions belong together; the histogram has a word for
            // each function.
            unsafe { batch.launch(&histogram, self.slots()) }
        })?;
        Ok(ProbeLengths::of_probes(&probes.download(stream)?[..self.functions.count() as usize]))
    }
}

impl<K: KeyWord, V: Payload> ReadTable<K, WordOf<V>> for CuckooTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn memory_bytes(&self) -> u64 {
        8 * (self.words.len() as u64 + self.header.len() as u64)
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, WordOf<V>>) -> Result<()> {
        let plan = FindParams { functions: self.functions, queries: queries.len() as u64 };
        stream.batch(|batch| {
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
                header: batch.read(&self.header),
                // SAFETY: the kernel's documentation allows no values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. The table and its functions belong
            // together.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<WordOf<V>>>) -> Result<u64> {
        // Where a promise of unique keys was broken, copies may be in several slots.
        let copies = self.report.repeated_keys || self.config.unique;
        let plan = UnpackParams {
            functions: self.functions,
            slots: self.slots(),
            capacity: keys.len() as u64,
            copies: copies as u32,
            padding: 0,
        };
        // SAFETY: the caller guarantees the outputs. The table and its functions belong together.
        unsafe { write_slots::<K, V>((stream, &self.device), (&self.words, &self.header), plan, keys, values) }
    }
}

impl<K: KeyWord, V: Payload> RawTable<K, WordOf<V>> for CuckooTable<K, V> {
    type Ref = CuckooRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> CuckooRef<K, V> {
        CuckooRef::new(uses.read(&self.words).cast(), uses.read(&self.header), self.functions)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self {
            device: self.device.clone(),
            config: self.config.clone(),
            functions: self.functions,
            words: self.words.duplicate_front(stream, &self.device, self.words_in_use())?,
            header: self.header.duplicate(stream, &self.device)?,
            length: self.length,
            report: self.report.clone(),
            types: PhantomData,
        })
    }

    /// Gives back what a table under a compacting table or a multimap has beside its slots. Other
    /// tables have nothing else: a build works in the table.
    fn shrink_to_fit(&mut self) -> Result<()> {
        let (stream, words) = (self.device.default_stream(), self.words_in_use());
        if let Some(words) = self.words.shrunk(stream, &self.device, words)? {
            self.words = words;
        }
        Ok(())
    }
}
