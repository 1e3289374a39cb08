//! The configuration of a linear map, and the sizes that follow from it.

use crate::runtime::machine::PerMachine;
use crate::table::config::{Config, MIN_LOAD};
use crate::{ConfigError, Device, Error, InputError, Result};
use gpu_kernels::double_word::{Double, PackedPair};
use gpu_kernels::linear::{Layout, header, slots_of_line};
use gpu_kernels::types::{KeyWord, ValueWord};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::Rng;

/// The configuration of a [`LinearMap`](crate::LinearMap).
///
/// By default, a map has no initial capacity, grows, and probes with a step that depends on the
/// key. At most .8 of its slots are taken. On the CPU engine at most .5 are taken, so that nearly
/// every search ends in one line.
///
/// ```
/// use warpnest::{Device, LinearConfig};
///
/// let device = Device::cpu();
/// let mut map = LinearConfig::default().pairs(1000).load(0.9).create::<u64, u32>(&device)?;
/// assert_eq!(map.insert_many(&[1, 1 << 40], &[10, 20])?, 2);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type LinearConfig = Config<Linear>;

/// The design of [`LinearMap`](crate::LinearMap), with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    pub(super) pairs: u64,
    /// The requested load factor.
    pub(super) load: Option<f64>,
    pub(super) grows: bool,
    pub(super) linear: bool,
    /// Whether the rows of each key are merged before they are written to the table. If it is
    /// `None`, a sample of the keys decides.
    pub(super) combines_first: Option<bool>,
}

impl Default for Linear {
    fn default() -> Self {
        Self { pairs: 0, load: None, grows: true, linear: false, combines_first: None }
    }
}

/// The largest count of slots. Kernels use 32 bits for the indices of buckets and slots.
const MAX_SLOTS: u64 = u32::MAX as u64;
/// The default load factor. A CPU core hides less of the wait for another line than a GPU.
const LOAD: PerMachine<f64> = PerMachine { gpu: 0.8, core: 0.5 };
/// The count of bytes of a line, for words of any size.
const LINE_BYTES: u64 = 64;

impl Config<Linear> {
    /// Sets the count of pairs for which the map initially has capacity.
    #[must_use]
    pub fn pairs(mut self, pairs: usize) -> Self {
        self.design.pairs = pairs as u64;
        self
    }

    /// Sets the largest share of the slots that keys may take before the table grows. It must be at
    /// least 1/1024 and below 1. The default is .8 on a GPU and .5 on the CPU engine.
    #[must_use]
    pub fn load(mut self, load: f64) -> Self {
        self.design.load = Some(load);
        self
    }

    /// Forbids growth: new keys that would exceed the load factor are refused
    /// ([`FullError::NoSlots`](crate::FullError::NoSlots)).
    #[must_use]
    pub fn fixed(mut self) -> Self {
        self.design.grows = false;
        self
    }

    /// Makes a search continue from a full line of 64 bytes at the adjacent line, as in linear
    /// probing, instead of at a distance that depends on the key.
    #[must_use]
    pub fn linear_probing(mut self) -> Self {
        self.design.linear = true;
        self
    }

    /// Sets whether the rows of a batch that have the same key are merged into one before the table
    /// is changed. It applies to insertions without answers and to combined values.
    ///
    /// By default a sample of the batch decides on a GPU. It is taken of 256 rows or more if values
    /// are combined, and of 2^22 or more if they are inserted. `false` is for batches whose keys
    /// are known to be distinct. If keys are frequent nevertheless, threads wait for each other at
    /// their slots, and very long if values are combined. Always merged are sums of floating-point
    /// numbers, and batches with more rows of new keys than the map has capacity for. A file does
    /// not store this setting.
    #[must_use]
    pub fn combine_first(mut self, combines: bool) -> Self {
        self.design.combines_first = Some(combines);
        self
    }

    /// Returns the bytes that an empty map of this capacity takes on `device`. While the map grows,
    /// the old and the new table both exist.
    ///
    /// # Errors
    /// [`ConfigError::OpenLoad`], [`InputError::TooManyKeys`].
    pub fn initial_memory_bytes<K: KeyWord, V: ValueWord>(&self, device: &Device) -> Result<usize> {
        let lines = self.lines_for::<PackedPair<K, V>>(self.design.pairs, self.load_on(device))?;
        Ok(LINE_BYTES as usize * lines as usize + 8 * header::WORDS)
    }

    /// Makes the layout of `lines` lines, with unpredictable constants.
    pub(super) fn layout(&self, random: &mut Xoshiro256StarStar, lines: u32) -> Layout {
        let (a, b) = (random.next_u64(), random.next_u64());
        Layout { a, b, lines, linear: self.design.linear as u32 }
    }

    /// Returns the load factor of a table on `device`.
    pub(super) fn load_on(&self, device: &Device) -> f64 {
        self.design.load.unwrap_or_else(|| device.machine().pick(LOAD))
    }

    /// Returns the count of lines of a table with capacity for `pairs` pairs at this load factor.
    pub(super) fn lines_for<W: Double>(&self, pairs: u64, load: f64) -> Result<u32> {
        // No range contains NaN, so NaN is refused too.
        if !(MIN_LOAD..1.0).contains(&load) {
            return Err(Error::Config(ConfigError::OpenLoad { load }));
        }
        let slots = (pairs as f64 / load).ceil();
        let too_many = || Error::Input(InputError::TooManyKeys { asked: pairs, slots: MAX_SLOTS, load });
        if slots > MAX_SLOTS as f64 {
            return Err(too_many());
        }
        let of_line = slots_of_line::<W>() as u64;
        let mut lines = (slots as u64).div_ceil(of_line).max(2);
        while max_keys(lines * of_line, load) < pairs || !self.design.linear && !is_prime(lines) {
            lines += 1;
        }
        if lines * of_line > MAX_SLOTS {
            return Err(too_many());
        }
        Ok(lines as u32)
    }

    /// Returns whether a table may have `lines` lines.
    pub(super) fn can_have<W: Double>(&self, lines: u32) -> bool {
        let slots = lines as u64 * slots_of_line::<W>() as u64;
        lines >= 2 && slots <= MAX_SLOTS && (self.design.linear || is_prime(lines as u64))
    }
}

/// Returns the most keys of a table with `slots` slots at this load factor.
pub(super) fn max_keys(slots: u64, load: f64) -> u64 {
    // Batches leave one slot empty, so that a search for an absent key ends before it has read all
    // slots.
    ((slots as f64 * load) as u64).min(slots - 1)
}

fn is_prime(number: u64) -> bool {
    number >= 2
        && (2..).take_while(|divisor| divisor * divisor <= number).all(|divisor| !number.is_multiple_of(divisor))
}
