//! Union, intersection and difference: the keys of one set are written out, asked for in the other one, and those that belong to the result
//! are put side by side. They are different, so a build that need not look for repeats makes a set of them.

use super::PageSet;
use crate::input::{Input, Known};
use crate::primitives::{launch_compact, state_words};
use crate::{Buffer, Key, PageMap, Result, Stream};
use gpu_kernels::compact::{CompactPlan, Flip};

impl<K: Key> PageSet<K> {
    /// The keys that are in this set, in the other one, or in both, as a set with the configuration of this one; waits until it stands.
    ///
    /// Writes out both sets, asks the larger one for the keys of the smaller one, and builds a set without looking for repeats. Takes room for
    /// the keys of both, and for those of the smaller one again, besides what the build takes.
    ///
    /// # Errors
    /// As for [`PageSetConfig::build_on`](crate::PageSetConfig::build_on); [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the
    /// stream are on different devices; [`Error::TooManyItems`](crate::Error::TooManyItems) if the union has more than 2^31 keys.
    pub fn union(&self, stream: &Stream, other: &Self) -> Result<Self> {
        self.check(stream, other)?;
        let (larger, smaller) = if self.len() < other.len() { (other, self) } else { (self, other) };
        let keys = Buffer::uninitialized(&self.device, (larger.len() + smaller.len()) as usize)?;
        larger.pages.unpack(stream, &keys, None)?;
        let added = smaller.select(stream, larger, false, &keys, larger.len())?;
        self.with_keys(stream, &keys, larger.len() + added)
    }

    /// The keys that are in both sets, as a set with the configuration of this one; waits until it stands.
    ///
    /// Writes out the smaller set, asks the larger one for its keys, and builds a set without looking for repeats. Takes room for the keys of the
    /// smaller one twice, besides what the build takes.
    ///
    /// # Errors
    /// As for [`PageSetConfig::build_on`](crate::PageSetConfig::build_on); [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the
    /// stream are on different devices.
    pub fn intersection(&self, stream: &Stream, other: &Self) -> Result<Self> {
        self.check(stream, other)?;
        let (larger, smaller) = if self.len() < other.len() { (other, self) } else { (self, other) };
        smaller.selected(stream, larger, true, self)
    }

    /// The keys of this set that are not in the other one, as a set with the configuration of this one; waits until it stands.
    ///
    /// Writes out this set, asks the other one for its keys, and builds a set without looking for repeats. Takes room for the keys of this set
    /// twice, besides what the build takes.
    ///
    /// # Errors
    /// As for [`PageSet::intersection`].
    pub fn difference(&self, stream: &Stream, other: &Self) -> Result<Self> {
        self.check(stream, other)?;
        self.selected(stream, other, false, self)
    }

    fn check(&self, stream: &Stream, other: &Self) -> Result<()> {
        stream.check_device(&self.device)?;
        other.words().check_device("the other set", &self.device)
    }

    /// A set like `like` of the keys of this set that `other` has, or of those that it has not.
    fn selected(&self, stream: &Stream, other: &Self, present: bool, like: &Self) -> Result<Self> {
        let keys = Buffer::uninitialized(&self.device, self.len() as usize)?;
        let selected = self.select(stream, other, present, &keys, 0)?;
        like.with_keys(stream, &keys, selected)
    }

    /// Writes the keys of this set that `other` has, or those that it has not, to `output` from element `first` on, where there is room for
    /// all keys of this set. Returns how many they are.
    fn select(&self, stream: &Stream, other: &Self, present: bool, output: &Buffer<K>, first: u64) -> Result<u64> {
        if self.is_empty() {
            return Ok(0);
        }
        let (keys, items) = (self.all_keys(stream)?, self.len());
        let mut found = Buffer::uninitialized(&self.device, items.div_ceil(32) as usize)?;
        other.contains_many_into(stream, &keys, &mut found)?;
        let state = Buffer::<u64>::uninitialized(&self.device, state_words::<K>(items) as usize)?;
        let count = Buffer::<u32>::uninitialized(&self.device, 1)?;
        stream.batch(&[&keys], &[&found, output, &count, &state], |batch| {
            batch.zero(&state, state.len())?;
            if !present {
                let flip = Flip { keep: found.argument(), plan: CompactPlan { items } };
                // SAFETY: there is a word for each 32 keys.
                unsafe { batch.launch(&flip, items.div_ceil(32))? };
            }
            let output = output.argument::<K>().offset(first);
            // SAFETY: as many keys, with a bit for each, and room for all of them; the state has the words that are asked for, all 0.
            unsafe {
                launch_compact(
                    batch,
                    items,
                    keys.argument(),
                    found.argument(),
                    output,
                    count.argument(),
                    state.argument(),
                )
            }
        })?;
        Ok(count.download_at(stream, 0)? as u64)
    }

    /// A set with the configuration of this one, of the first so many of `keys`, which are different.
    fn with_keys(&self, stream: &Stream, keys: &Buffer<K>, count: u64) -> Result<Self> {
        let config = self.pages.config.clone();
        let input = Input { keys, values: None, pairs: count, known: Known::Nothing };
        let mut pages = PageMap::create_from(config.clone().assume_unique(), stream, &self.device, input)?;
        pages.config = config;
        Ok(Self { device: self.device.clone(), pages })
    }
}
