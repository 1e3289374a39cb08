//! What counts the k-mers of batches, on a device.

use super::bases::Batch;
use super::counts::Counts;
use super::keys::KeyMaker;
use std::time::{Duration, Instant};
use warpnest::primitives::Scratch;
use warpnest::relational::Unique;
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Error, LinearConfig, LinearMap, PageMap, Result};

/// The share of a map's slots that k-mers may take, also on a CPU: more slots would make it faster
/// there, but the map is most of the memory.
const LOAD: f64 = 0.8;

/// A counter of k-mers. Its keys have 32 or 64 bits, as `k` demands.
///
/// Keys of many batches are kept until there are as many as the limit. If no more come, a query
/// counts them all at once. Otherwise a map adds up counts, which holds each different k-mer once.
#[derive(Debug)]
pub struct Counter(Box<dyn Counting>);

impl Counter {
    /// Returns a counter of k-mers of `k` bases, 1 to 32. `limit` is the most keys that are kept,
    /// unless a batch has more; `expected` of them get memory from the beginning.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`], and those of loading kernels.
    pub fn new(device: &Device, k: u32, canonical: bool, limit: usize, expected: usize) -> Result<Self> {
        use warpnest_applications_kernels::kmers::MAX_NARROW_K;
        Ok(Self(match k <= MAX_NARROW_K {
            true => Box::new(CounterOf::<u32>::new(device, k, canonical, limit, expected)?),
            false => Box::new(CounterOf::<u64>::new(device, k, canonical, limit, expected)?),
        }))
    }

    /// Adds the k-mers of a batch.
    ///
    /// # Errors
    /// As for [`BulkMap::count_many`](warpnest::BulkMap::count_many).
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        self.0.add(batch)
    }

    /// Returns the counts, and the time that all of the counting took.
    ///
    /// # Errors
    /// As for [`Counter::add`].
    pub fn finish(self) -> Result<(Counts, Duration)> {
        self.0.finish()
    }
}

trait Counting: std::fmt::Debug {
    fn add(&mut self, batch: &Batch) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<(Counts, Duration)>;
}

#[derive(Debug)]
struct CounterOf<K: WordKey> {
    device: Device,
    maker: KeyMaker,
    /// Memory for keys, whose first ones are held.
    keys: Buffer<K>,
    held: usize,
    limit: usize,
    map: Option<Map<K>>,
    busy: Duration,
}

impl<K: WordKey + Into<u64>> CounterOf<K> {
    fn new(device: &Device, k: u32, canonical: bool, limit: usize, expected: usize) -> Result<Self> {
        let (maker, keys) = (KeyMaker::new(device, k, canonical)?, Buffer::zeroed(device, limit.min(expected))?);
        Ok(Self { device: device.clone(), maker, keys, held: 0, limit, map: None, busy: Duration::ZERO })
    }

    /// Adds the keys that are held to the map.
    fn flush(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        if self.map.is_none() {
            self.map = Some(Map::new(&self.device, held)?);
        }
        if let Some(map) = &mut self.map {
            map.count(&self.device, &*self.keys.slice(..held)?)?;
        }
        Ok(())
    }
}

impl<K: WordKey + Into<u64>> Counting for CounterOf<K> {
    fn add(&mut self, batch: &Batch) -> Result<()> {
        let start = Instant::now();
        if self.held > 0 && self.held + batch.kmers > self.limit {
            self.flush()?;
        }
        let stream = self.device.default_stream();
        let needed = self.held + batch.kmers;
        if needed > self.keys.len() {
            // Twice as much, so that not each batch moves all keys.
            self.keys.resize(stream, needed.max((2 * self.keys.len()).min(self.limit)))?;
        }
        self.maker.write(batch, &mut self.keys, self.held)?;
        self.held = needed;
        self.busy += start.elapsed();
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(Counts, Duration)> {
        let start = Instant::now();
        let counts = match &self.map {
            None => {
                let keys = self.keys.slice(..self.held)?;
                let mut scratch = Scratch::new(&self.device);
                let found = Unique::of(&*keys).counts().run_on(self.device.default_stream(), &mut scratch)?;
                Counts::new(&self.device, found.keys, found.counts)
            }
            Some(_) => {
                self.flush()?;
                self.keys = Buffer::zeroed(&self.device, 0)?;
                match self.map.take() {
                    Some(map) => map.counts(&self.device)?,
                    None => unreachable!("a flush leaves a map"),
                }
            }
        };
        self.device.default_stream().synchronize()?;
        Ok((counts, self.busy + start.elapsed()))
    }
}

/// A map from k-mers to their counts, which have 64 bits: in a file of any size none is too large.
#[derive(Debug)]
enum Map<K: WordKey> {
    Linear(LinearMap<K, u64>),
    /// For GPUs without atomic operations on 128 bits.
    Page(PageMap<K, u64>),
}

impl<K: WordKey + Into<u64>> Map<K> {
    /// Returns an empty map with capacity for some k-mers.
    fn new(device: &Device, capacity: usize) -> Result<Self> {
        match LinearConfig::default().load(LOAD).pairs(capacity).create(device) {
            Ok(map) => Ok(Self::Linear(map)),
            Err(Error::NoWideAtomics { .. }) => Ok(Self::Page(PageMap::new(device)?)),
            Err(error) => Err(error),
        }
    }

    fn count(&mut self, device: &Device, keys: &Buffer<K>) -> Result<()> {
        let stream = device.default_stream();
        match self {
            Self::Linear(map) => map.count_many_on(stream, keys)?,
            Self::Page(map) => map.count_many_on(stream, keys)?,
        };
        Ok(())
    }

    fn counts(self, device: &Device) -> Result<Counts> {
        let stream = device.default_stream();
        let (keys, counts) = match self {
            Self::Linear(map) => map.pairs_on(stream)?,
            Self::Page(map) => map.pairs_on(stream)?,
        };
        Ok(Counts::new(device, keys, counts))
    }
}
