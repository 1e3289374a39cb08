//! The configuration of tables: what all designs have in common, and the builds.

use super::design::{Builds, Built, Changes, Counted, Design, Seeded, Staged};
use super::input::Input;
use super::raw::{BuiltTable, ChangingTable};
use crate::runtime::lent::Lent;
use crate::types::Payload;
use crate::{Buffer, BulkMap, BulkSet, Device, Key, Result, Stream, Value};
use gpu_kernels::types::Nothing;

/// The configuration of maps and sets of one design. A design's own settings are methods of its
/// configuration: [`PageConfig`](crate::PageConfig), [`CuckooConfig`](crate::CuckooConfig),
/// [`TwoLevelConfig`](crate::TwoLevelConfig), [`SortedConfig`](crate::SortedConfig),
/// [`LinearConfig`](crate::LinearConfig) and [`ExtendibleConfig`](crate::ExtendibleConfig).
///
/// By default a build restarts up to 25 times, the seed is random, repeated keys are handled, and
/// there are no statistics and no timings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<D> {
    pub(crate) design: D,
    pub(crate) seed: Option<u64>,
    pub(crate) restarts: u32,
    pub(crate) unique: bool,
    pub(crate) statistics: bool,
    pub(crate) timings: bool,
}

impl<D: Design> Default for Config<D> {
    fn default() -> Self {
        Self::of(D::default())
    }
}

impl<D: Design> Config<D> {
    /// Returns the default configuration with these settings of the design.
    pub(crate) fn of(design: D) -> Self {
        Self { design, seed: None, restarts: 25, unique: false, statistics: false, timings: false }
    }

    /// Returns the seed of the random constants: the configured one, or a random one.
    pub(crate) fn seed_or_random(&self) -> u64 {
        self.seed.unwrap_or_else(super::hash::random_seed)
    }
}

/// Settings of all designs but that of sorted maps.
impl<D: Seeded> Config<D> {
    /// Sets the seed of the random constants, so that a build, or a sequence of batches, can be
    /// repeated. The report of a build names its seed.
    ///
    /// Whoever knows the seed can choose keys that are slow to insert or that no build can place.
    /// Give no seed for keys that others choose.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

/// Settings of designs that are built in one go with random constants.
impl<D: Built + Seeded> Config<D> {
    /// Sets how often a failed build may start again with fresh random constants.
    #[must_use]
    pub fn restarts(mut self, restarts: u32) -> Self {
        self.restarts = restarts;
        self
    }
}

/// Builds: of designs that are built in one go.
impl<D: Built> Config<D> {
    /// Promises that no key is repeated: the build is faster, or takes less memory.
    ///
    /// If a key is repeated all the same, a lookup gives one of its values, as a whole. But the
    /// number of keys may count the key several times, its pairs may be written out several times,
    /// and many copies of a key may make the build fail. The documentation of each map says which.
    #[must_use]
    pub fn assume_unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Builds a map of `keys[i]` to `values[i]`; returns when it is built.
    ///
    /// # Errors
    /// * [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), or a setting that makes
    ///   no sense for so many pairs.
    /// * The build did not succeed: [`BuildError::Page`](crate::BuildError::Page),
    ///   [`BuildError::Cuckoo`](crate::BuildError::Cuckoo),
    ///   [`BuildError::TwoLevel`](crate::BuildError::TwoLevel). No function can place
    ///   the keys: [`BuildError::KeysAgreeModuloPrime`](crate::BuildError::KeysAgreeModuloPrime).
    /// * The device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn build<K: Key, V: Value>(&self, device: &Device, keys: &[K], values: &[V]) -> Result<BulkMap<K, V, D>>
    where
        D: Builds<K::Word, V::Word>,
    {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        // The check comes before the copies: a request that cannot work should not cost them.
        D::Table::sizes(self, keys.len() as u64)?;
        let (keys, values) = (Lent::new(device, keys)?, Lent::new(device, values)?);
        self.build_on(device.default_stream(), device, &keys, &values)
    }

    /// Builds a map from buffers, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`Config::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn build_on<K: Key, V: Value>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<BulkMap<K, V, D>>
    where
        D: Builds<K::Word, V::Word>,
    {
        let input = Input::of(device, stream, keys.words(), values.words())?;
        Ok(BulkMap::of(D::Table::create(self.clone(), stream, device, input)?))
    }

    /// Builds a set of the different keys among `keys`; returns when it is built.
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn build_set<K: Key>(&self, device: &Device, keys: &[K]) -> Result<BulkSet<K, D>>
    where
        D: Builds<K::Word, Nothing>,
    {
        D::Table::sizes(self, keys.len() as u64)?;
        let keys = Lent::new(device, keys)?;
        self.build_set_on(device.default_stream(), device, &keys)
    }

    /// Builds a set from a buffer, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`Config::build_on`].
    pub fn build_set_on<K: Key>(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<BulkSet<K, D>>
    where
        D: Builds<K::Word, Nothing>,
    {
        let input = Input::of_keys(device, stream, keys.words())?;
        Ok(BulkSet::of(D::Table::create(self.clone(), stream, device, input)?))
    }

    /// Returns the bytes that a map of `items` pairs takes on the device. With `()` for the
    /// values it is those of a set of `items` keys.
    ///
    /// # Errors
    /// As for [`Config::build`], as far as they follow from the configuration and the number.
    pub fn memory_bytes<K: Key, P: Payload>(&self, items: u64) -> Result<u64>
    where
        D: Builds<K::Word, P::Words>,
    {
        Ok(D::Table::sizes(self, items)?.0)
    }

    /// Returns the bytes that a build of `items` pairs, or keys alone, takes on the device besides
    /// the table and its input. A build that meets many copies of a key may take more: the
    /// documentation of each map says when.
    ///
    /// # Errors
    /// As for [`Config::memory_bytes`].
    pub fn scratch_bytes<K: Key, P: Payload>(&self, items: u64) -> Result<u64>
    where
        D: Builds<K::Word, P::Words>,
    {
        Ok(D::Table::sizes(self, items)?.1)
    }
}

/// Settings of page, two-level and sorted maps.
impl<D: Staged> Config<D> {
    /// Measures the stages of builds, for their reports. Kernels that were never launched before
    /// are compiled in that time, unless [`Device::load_kernels`] has done that.
    #[must_use]
    pub fn timings(mut self) -> Self {
        self.timings = true;
        self
    }
}

/// Settings of cuckoo and two-level maps.
impl<D: Counted> Config<D> {
    /// Counts what builds do, for their reports: evictions or rounds.
    #[must_use]
    pub fn statistics(mut self) -> Self {
        self.statistics = true;
        self
    }
}

/// Empty maps: of linear and extendible maps.
impl<D: Design> Config<D> {
    /// Makes an empty map that changes in place.
    ///
    /// # Errors
    /// A setting that makes no sense, or the device:
    /// [`Error::NoWideAtomics`](crate::Error::NoWideAtomics) for a
    /// [`LinearMap`](crate::LinearMap) of 64-bit keys or values on an old GPU,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn create<K: Key, V: Value>(&self, device: &Device) -> Result<BulkMap<K, V, D>>
    where
        D: Changes<K::Word, V::Word>,
    {
        Ok(BulkMap::of(D::Table::create(self.clone(), device)?))
    }
}
