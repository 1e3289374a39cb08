//! Union, intersection and difference of two sets. The keys of one set are written to a buffer and
//! looked up in the other set, and the keys that belong to the result are compacted. These keys are
//! all distinct, so the build of the result does not search for repeats.

use super::design::Sets;
use super::input::{Input, Known};
use super::raw::ReadTable;
use crate::primitives::{self, Scratch, invert};
use crate::{Buffer, BulkSet, Key, Result, Stream};

type Set<K, D> = BulkSet<K, D>;

/// Union, intersection and difference.
impl<K: Key, D: Sets> BulkSet<K, D> {
    /// Returns the keys that are in this set, in `other`, or in both, as a set with the
    /// configuration of this set. Waits until the result is built.
    ///
    /// Looks up the keys of the smaller set in the larger set, and builds a set without searching
    /// for repeats. Besides the memory of the build, it takes memory for the keys of both sets, and
    /// for the smaller set's keys again.
    ///
    /// # Errors
    /// As for [`Config::build_set`](crate::Config::build_set)of the union's keys;
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets are on different devices.
    #[doc(alias("merge"))]
    pub fn union(&self, other: &Self) -> Result<Self> {
        let stream = check(self, other)?;
        let (larger, smaller) = by_length(self, other);
        let keys = Buffer::<K::Word>::uninitialized(self.device(), larger.len() + smaller.len())?;
        // SAFETY: the buffer has an element for each key of both sets.
        let written = unsafe { larger.table.write(stream, &keys, None)? }.min(larger.table.len());
        let added = select(smaller, stream, larger, false, &keys, written)?;
        with_keys(self, stream, &keys, written + added)
    }

    /// Returns the keys that are in both sets, as a set with the configuration of this set. Waits
    /// until the result is built.
    ///
    /// Looks up the keys of the smaller set in the larger set, and builds a set without searching
    /// for repeats. Besides the memory of the build, it takes memory for the smaller set's keys
    /// twice.
    ///
    /// # Errors
    /// As for [`BulkSet::union`].
    #[doc(alias("intersect", "semi_join"))]
    pub fn intersection(&self, other: &Self) -> Result<Self> {
        let stream = check(self, other)?;
        let (larger, smaller) = by_length(self, other);
        selected(smaller, stream, larger, true, self)
    }

    /// Returns the keys of this set that are not in `other`, as a set with the configuration of
    /// this set. Waits until the result is built.
    ///
    /// Looks up the keys of this set in `other`, and builds a set without searching for repeats.
    /// Besides the memory of the build, it takes memory for the keys of this set twice.
    ///
    /// # Errors
    /// As for [`BulkSet::union`].
    #[doc(alias("except", "setdiff", "subtract", "anti_join"))]
    pub fn difference(&self, other: &Self) -> Result<Self> {
        let stream = check(self, other)?;
        selected(self, stream, other, false, self)
    }
}

/// Returns the stream of the first set; fails if the other set is on another device.
fn check<'s, K: Key, D: Sets>(one: &'s Set<K, D>, other: &Set<K, D>) -> Result<&'s Stream> {
    crate::runtime::engine::same_device("the other set", other.device().engine(), one.device().engine())?;
    Ok(one.device().default_stream())
}

/// Returns the set with more keys, and then the other set.
fn by_length<'s, K: Key, D: Sets>(one: &'s Set<K, D>, other: &'s Set<K, D>) -> (&'s Set<K, D>, &'s Set<K, D>) {
    if one.len() < other.len() { (other, one) } else { (one, other) }
}

/// Returns a set with the configuration of `like` that contains the first `count` keys of `keys`,
/// which are distinct.
fn with_keys<K: Key, D: Sets>(
    like: &Set<K, D>,
    stream: &Stream,
    keys: &Buffer<K::Word>,
    count: u64,
) -> Result<Set<K, D>> {
    let input = Input { keys, values: None, pairs: count, known: Known::Unique };
    let config = D::config(&like.table).clone();
    Ok(BulkSet::of(D::build(config, stream, like.device(), input)?))
}

/// Returns a set with the configuration of `like`. It contains the keys of `set` that are in
/// `other` if `present`, else the keys that are not.
fn selected<K: Key, D: Sets>(
    set: &Set<K, D>,
    stream: &Stream,
    other: &Set<K, D>,
    present: bool,
    like: &Set<K, D>,
) -> Result<Set<K, D>> {
    let keys = Buffer::<K::Word>::uninitialized(set.device(), set.len())?;
    let selected = select(set, stream, other, present, &keys, 0)?;
    with_keys(like, stream, &keys, selected)
}

/// Writes keys of `set` to `output`, starting at element `first`. These are the keys that are in
/// `other` if `present`, else the keys that are not. `output` has capacity for all keys of `set`
/// there. Returns the count of keys written.
fn select<K: Key, D: Sets>(
    set: &Set<K, D>,
    stream: &Stream,
    other: &Set<K, D>,
    present: bool,
    output: &Buffer<K::Word>,
    first: u64,
) -> Result<u64> {
    if set.is_empty() {
        return Ok(0);
    }
    let device = set.device();
    let keys = Buffer::<K::Word>::uninitialized(device, set.len())?;
    // SAFETY: the buffer has an element for each key.
    let items = unsafe { set.table.write(stream, &keys, None)? }.min(keys.len() as u64);
    let found = Buffer::<u32>::uninitialized(device, keys.len().div_ceil(32))?;
    // SAFETY: there is a found-word for each 32 keys, and a set has no values.
    unsafe { other.table.find(stream, &keys, (None, &found))? };
    if !present {
        invert(stream, &found, items)?;
    }
    let mut scratch = Scratch::new(device);
    primitives::select(stream, &mut scratch, &*keys.slice(..items as usize)?, &found, (output, first as usize))?;
    Ok(primitives::selected(stream, &mut scratch)? as u64)
}
