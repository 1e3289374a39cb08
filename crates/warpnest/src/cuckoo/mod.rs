//! The single-level cuckoo table of 2011, for [`CuckooMap`] and [`CuckooSet`]. docs/cuckoo.md and
//! docs/sets.md describe layout, algorithm, guarantees and figures.
//!
//! Read `config` for the sizes, then `build`, whose report is in `report`.

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

/// A map that is built in one go and then answers every lookup with at most one probe for each hash
/// function. There are 2 to 5 hash functions, and 4 by default.
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, sections 4.2 and 4.3.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** are handled as in `HashMap::from_iter`: the last pair in input order wins.
///   [`Config::assume_unique`] saves the pass that looks for repeated keys. If a key is repeated
///   nevertheless, the build succeeds, and [`BulkMap::len`] counts the key several times.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random accesses for n pairs in m slots
///   (section 4.5.3). That is 2 n by default, and more near the largest load factors. A lookup
///   makes at least one access, and at most one for each hash function.
/// * **Memory.** A slot takes 8 bytes for `u32` keys and values, and 16 otherwise. A map takes 56
///   bytes more. [`Config::memory_bytes`] returns the sum beforehand. While a build with repeated
///   keys runs, it takes 4 more bytes per slot. Any other build takes no scratch.
/// * **Rebuilds** use the slots that the map has.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up keys at the same time. [`BulkMap::rebuild`] needs exclusive access to the map, and waits
///   for running lookups.
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

/// A set that is built in one go and then answers every query with at most one probe for each hash
/// function. There are 2 to 5 hash functions, and 4 by default. A set is a [`CuckooMap`] without
/// values, so a slot is a key.
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, section 4.4.
///
/// * **Keys** are of any [`Key`](crate::Key) type. All values of the type are legal and may be
///   repeated. Copies that racing threads leave in several slots are erased in a pass after the
///   insertion. [`Config::assume_unique`] saves that pass. If a key is repeated nevertheless, it is
///   found. If a copy met another one during eviction, the pass is made after all. Otherwise
///   [`BulkSet::len`] counts every copy, and [`BulkSet::to_keys`] returns it.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random exchanges of one word for n
///   distinct keys in m slots, which is 2 n by default. A query reads at least one slot, and at
///   most one for each hash function. It ends at an empty slot.
/// * **Memory.** A slot is one key of 4 or 8 bytes, and a set takes 56 bytes more. A build takes no
///   scratch.
/// * **Two builds of the same keys** answer every query alike, and have the same [`BulkSet::len`].
///   The slots of the keys, and so the order of [`BulkSet::to_keys`], may differ, even with the
///   same seed.
///
/// [`PageSet`](crate::PageSet) is built faster and takes less memory. docs/choosing.md compares the
/// two.
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

/// The table of a [`CuckooMap`], or of a [`CuckooSet`] if the payload is `Nothing`.
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
    /// Returns the hash functions of the last build, for a kernel of your own. With
    /// [`CuckooTable::words`] they make a [`Table`](gpu_kernels::cuckoo::Table).
    pub fn functions(&self) -> &HashFunctions {
        &self.functions
    }

    /// Returns the slots, which have [`slot_words`](gpu_kernels::table::slots::slot_words) 64-bit
    /// words each. In a set a slot is a key, and a word has two slots if keys have 32 bits. A key
    /// to whose slot none of its functions leads is a filler and not in the set. It replaces an
    /// erased copy ([`fillers`](gpu_kernels::cuckoo::fillers)).
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the header, whose words are listed in [`header`](gpu_kernels::cuckoo::header).
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }

    /// Returns the count of slots.
    pub fn slots(&self) -> u64 {
        self.functions.slots() as u64
    }

    /// Returns the count of 64-bit words that the slots take.
    fn words_in_use(&self) -> usize {
        config::table_words::<K, V>(self.slots()) as usize
    }

    /// Measures the probes of lookups of present keys, at most one for each hash function. Waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_lengths(&self) -> Result<ProbeLengths> {
        let stream = self.device.default_stream();
        let probes = Buffer::<u64>::zeroed(&self.device, MAX_FUNCTIONS)?;
        stream.batch(|batch| {
            let (words, probes) = (batch.read(&self.words).cast(), batch.write(&probes));
            let histogram = Histogram::<K, V> { words, probes, functions: self.functions };
            // SAFETY: the table and its functions belong together, and the histogram has a word for
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
                // SAFETY: the kernel's documentation allows null values.
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
        // If a promise of unique keys was broken, copies of a key may be in several slots.
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

    /// Frees memory beyond the slots, which only a table under a compacting table or a multimap can
    /// have. There is no scratch to free, because a build works in the table.
    fn shrink_to_fit(&mut self) -> Result<()> {
        let (stream, words) = (self.device.default_stream(), self.words_in_use());
        if let Some(words) = self.words.shrunk(stream, &self.device, words)? {
            self.words = words;
        }
        Ok(())
    }
}
