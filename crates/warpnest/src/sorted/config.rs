//! The configuration of a sorted map, and the sizes that follow from it.

use crate::primitives::{MAX_ITEMS, Pairs, RadixPasses, state_words};
use crate::runtime::machine::Machine;
use crate::table::config::Config;
use crate::{Error, InputError, Result};
use gpu_kernels::primitives::radix::Digit;
use gpu_kernels::sorted::{Layout, padded_entries};
use gpu_kernels::types::{KeyWord, ValueWord};
use std::marker::PhantomData;

/// The configuration of a [`SortedMap`](crate::SortedMap).
///
/// ```
/// use warpnest::{Device, SortedConfig, SortedMap};
///
/// let device = Device::cpu();
/// let config = SortedConfig::default().assume_unique();
/// let map: SortedMap<u64, u32> = config.build(&device, &[30, 10, 20], &[3, 1, 2])?;
/// assert_eq!(map.to_pairs()?, [(10, 1), (20, 2), (30, 3)]);
/// assert_eq!(map.memory_bytes(), config.memory_bytes::<u64, u32>(3)?);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type SortedConfig = Config<Sorted>;

/// The design of [`SortedMap`](crate::SortedMap), which has no settings of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted;

impl Config<Sorted> {
    /// Fails if there are more pairs than there are ranks.
    fn check(&self, pairs: u64) -> Result<()> {
        if pairs <= MAX_ITEMS as u64 {
            return Ok(());
        }
        Err(Error::Input(InputError::TooManyPairs { asked: pairs, limit: MAX_ITEMS as u64 }))
    }

    /// Returns the sizes of a build, if it is possible.
    pub(super) fn plan<K: KeyWord, V: ValueWord>(&self, pairs: u64, machine: Machine) -> Result<Plan<K, V>> {
        self.check(pairs)?;
        let passes = RadixPasses::by_all_bits(Digit::of_key(0, 1), pairs, machine);
        Ok(Plan { passes, pairs, unique: self.unique, types: PhantomData })
    }
}

/// Returns the count of key slots for `pairs` keys and their index.
pub(super) fn keys_length(pairs: u64) -> u64 {
    Layout::new(pairs).key_slots()
}

/// Returns the count of value slots for `pairs` pairs. It is padded to whole groups like the keys,
/// and never 0.
pub(super) fn values_length(pairs: u64) -> u64 {
    padded_entries(pairs)
}

/// Returns the bytes of key slots and value slots of these counts.
pub(super) fn bytes<K: KeyWord, V: ValueWord>(keys_length: u64, values_length: u64) -> u64 {
    (K::BITS as u64 * keys_length + V::BITS as u64 * values_length) / 8
}

/// The sizes of a build, and the layout of its scratch. First are the words of the passes, which
/// the compaction reuses. Then there is storage for the pairs and, unless keys are unique, a bit
/// for each pair.
pub(super) struct Plan<K, V> {
    pub passes: RadixPasses<K, V>,
    pub pairs: u64,
    pub unique: bool,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: ValueWord> Plan<K, V> {
    /// The offset of the count of keys that a compaction keeps.
    pub(super) const COUNT_AT: u64 = 0;
    /// The offset of the compaction's look-back state, which is a multiple of 16 bytes.
    pub(super) const STATE_AT: u64 = 2;

    /// Returns the count of words that must be 0 before each of the two compactions.
    pub(super) fn compaction_words(&self) -> u64 {
        Self::STATE_AT + state_words::<K>(self.pairs).max(state_words::<V>(self.pairs))
    }

    /// Returns the offset of the pairs in the scratch.
    pub(super) fn pairs_at(&self) -> u64 {
        let passes = self.passes.words();
        if self.unique { passes } else { passes.max(self.compaction_words()).next_multiple_of(2) }
    }

    /// Returns the offset of the bits that tell which pairs are kept.
    pub(super) fn keep_at(&self) -> u64 {
        self.pairs_at() + Pairs::<K, V>::words(self.pairs)
    }

    pub(super) fn scratch_words(&self) -> u64 {
        self.keep_at() + if self.unique { 0 } else { self.pairs.div_ceil(64) }
    }
}
