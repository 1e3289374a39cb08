//! The protocol by which threads change a slot concurrently, over any kind of atomic cell.
//!
//! **States.** A word has a key in its upper half and its value in the lower half ([`Double`]). K
//! is the key that is all ones, as wide as a half. It has a cell beside the table, so words whose
//! upper half is K can have another meaning.
//!
//! ```text
//! word     means                       becomes
//! (K, K)   empty                       (k, v)
//! (k, v)   k has the value v           (k, w) by another value, (K, k) or empty by removal
//! (K, k)   k was here and was removed  (k, v), or (j, v) of another key j while no thread removes
//! ```
//!
//! A search continues in the next bucket only if no slot of this bucket is empty. A full bucket
//! never gets an empty slot again, since a removal from it leaves the tombstone (K, k). So all
//! buckets before a key's bucket are full, and a search may end at a bucket with an empty slot.
//!
//! Three rules ensure that every key has at most one slot, whatever threads do concurrently:
//!
//! * **While operations of all kinds run** ([`insert_in_place`], [`remove`]), a slot stays reserved
//!   for the key that it has had, and no slot becomes empty. All threads with one key reach its own
//!   slot, or the first empty slot, in the same order, and one compare-and-exchange decides.
//! * **While keys are only inserted** ([`insert_anywhere`]), slots are taken and never freed. A
//!   thread probes the buckets up to the first bucket with an empty slot. It takes the first
//!   tombstone that it saw, or else the first empty slot. If that succeeds, the slot was free all
//!   the time. So no other thread with the same key can have skipped it: that thread would have
//!   taken this slot or an earlier one. An earlier slot that was free for the other thread was free
//!   for this thread, too.
//! * **While keys are only removed** ([`remove_and_empty`]), no thread takes a slot. A bucket with
//!   an empty slot may get more empty slots.
//!
//! A key's tombstone never comes before the slot that contains the key, since the key would have
//! taken it. So a search may also end at the key's tombstone.

use super::{Layout, Probe};
use crate::double_word::Double;
use crate::table::fold::Fold;
use crate::types::Scalar;

pub use super::Cells;

/// A key or a value as the words of `C` hold it.
type Half<C> = <<C as Cells>::Word as Double>::Half;

/// Returns whether the slot of this word is empty.
#[inline(always)]
pub fn is_empty(word: impl Double) -> bool {
    word == Double::ALL_ONES
}

/// Returns the tombstone of a removed key.
#[inline(always)]
pub fn removed<W: Double>(key: W::Half) -> W {
    W::of(W::Half::ALL_ONES, key)
}

/// Returns the value in a word that contains a key.
#[inline(always)]
pub fn value_of<W: Double>(word: W) -> Option<W::Half> {
    if word.upper() == W::Half::ALL_ONES { None } else { Some(word.lower()) }
}

/// Returns the owner of the slot: the key that it contains or contained, or K if it is empty.
#[inline(always)]
fn owner<W: Double>(word: W) -> W::Half {
    let key = word.upper();
    if key == W::Half::ALL_ONES { word.lower() } else { key }
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inserted<V> {
    /// The value that the key had before.
    pub before: Option<V>,
    /// Whether the slot was empty.
    pub taken: bool,
    /// Whether there was no slot for the key.
    pub refused: bool,
}

impl<V> Inserted<V> {
    pub(super) const REFUSED: Self = Self { before: None, taken: false, refused: true };
    pub(super) const NEW: Self = Self { before: None, taken: true, refused: false };

    /// Returns whether the key became present.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.before.is_none() && !self.refused
    }

    /// Returns the same result with another type of values.
    #[inline(always)]
    pub fn map<To>(self, value: impl Fn(V) -> To) -> Inserted<To> {
        Inserted { before: self.before.map(value), taken: self.taken, refused: self.refused }
    }
}

/// The effect of an insertion on the value of a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfHeld {
    /// The new value replaces it.
    Replace,
    /// The old value stays.
    Keep,
    /// A function combines both values.
    Combine(Fold),
}

/// The slots of a bucket that the key owns, that are empty, and that are removed, as a bit each.
#[derive(Clone, Copy)]
struct Seen {
    own: u32,
    empty: u32,
    removed: u32,
}

#[inline(always)]
fn look<W: Double>(words: W::Sector, key: W::Half) -> Seen {
    let (mut seen, words) = (Seen { own: 0, empty: 0, removed: 0 }, words.as_ref());
    for i in 0..W::IN_SECTOR as usize {
        seen.own |= ((owner(words[i]) == key) as u32) << i;
        seen.empty |= (is_empty(words[i]) as u32) << i;
        seen.removed |= ((words[i].upper() == W::Half::ALL_ONES && !is_empty(words[i])) as u32) << i;
    }
    seen
}

/// Returns the first of the flagged slots of the probe's bucket, in the order of the search.
#[inline(always)]
fn first<W: Double>(flags: u32, probe: &Probe) -> u64 {
    let from_start = (flags | flags << W::IN_SECTOR) >> probe.start;
    let within = (probe.start + from_start.trailing_zeros()) % W::IN_SECTOR;
    probe.bucket as u64 * W::IN_SECTOR as u64 + within as u64
}

/// Returns the word of the bucket's slot that the key owns. There must be such a slot.
#[inline(always)]
fn owned<W: Double>(words: W::Sector, key: W::Half) -> W {
    let words = words.as_ref();
    let mut owned = words[0];
    // Keys are compared, since with the slot's index the compiler would index an array in memory.
    for i in 1..W::IN_SECTOR as usize {
        if owner(words[i]) == key {
            owned = words[i];
        }
    }
    owned
}

/// Writes the value in `word` to a slot that its key owns and keeps. `seen` returns an earlier word
/// of the slot, if that is needed.
#[inline(always)]
pub(super) fn write_owned<C: Cells>(
    cells: &C,
    slot: u64,
    word: C::Word,
    if_held: IfHeld,
    seen: impl FnOnce() -> C::Word,
) -> Inserted<Half<C>> {
    let before = if if_held == IfHeld::Replace {
        cells.exchange(slot, word)
    } else {
        let mut seen = seen();
        // At most one step more than other threads change the slot concurrently.
        loop {
            let new = match (value_of(seen), if_held) {
                (Some(_), IfHeld::Keep) => break seen,
                (Some(held), IfHeld::Combine(fold)) => C::Word::of(word.upper(), fold.of(held, word.lower())),
                _ => word,
            };
            let now = cells.compare_exchange(slot, seen, new);
            if now == seen {
                break seen;
            }
            seen = now;
        }
    };
    Inserted { before: value_of(before), taken: false, refused: false }
}

/// Inserts a key that is not K. Other threads may insert in place, look up and remove; no thread
/// may [`insert_anywhere`].
///
/// If `may_take` is false, the key is refused unless it owns a slot already.
#[inline(always)]
pub fn insert_in_place<C: Cells>(
    cells: &C,
    layout: &Layout,
    key: Half<C>,
    value: Half<C>,
    if_held: IfHeld,
    may_take: bool,
) -> Inserted<Half<C>> {
    insert_in_place_within(cells, layout, (key, value), if_held, may_take, u32::MAX)
}

/// Inserts a key as [`insert_in_place`] does, but probes at most `buckets` buckets. A key that
/// finds neither its own slot nor an empty slot there is refused.
#[inline(always)]
pub fn insert_in_place_within<C: Cells>(
    cells: &C,
    layout: &Layout,
    (key, value): (Half<C>, Half<C>),
    if_held: IfHeld,
    may_take: bool,
    buckets: u32,
) -> Inserted<Half<C>> {
    let (mut probe, word) = (layout.probe::<C::Word>(key), C::Word::of(key, value));
    let mut left = layout.buckets().min(buckets);
    // At most as many steps as buckets, and one more for each slot that another thread took.
    while left != 0 {
        let words = cells.bucket(probe.bucket);
        let seen = look::<C::Word>(words, key);
        if seen.own != 0 {
            let slot = first::<C::Word>(seen.own, &probe);
            return write_owned(cells, slot, word, if_held, || owned::<C::Word>(words, key));
        }
        if seen.empty == 0 {
            layout.advance(&mut probe);
            left -= 1;
        } else if may_take {
            let slot = first::<C::Word>(seen.empty, &probe);
            let now = cells.compare_exchange(slot, Double::ALL_ONES, word);
            if is_empty(now) {
                return Inserted::NEW;
            }
            if owner(now) == key {
                return write_owned(cells, slot, word, if_held, || now);
            }
            // Another key took the slot, so this bucket is probed again.
        } else {
            return Inserted::REFUSED;
        }
    }
    Inserted::REFUSED
}

/// Inserts a key that is not K into the first tombstone before the end of its search, or else into
/// the empty slot that ends the search.
///
/// Other threads may do the same and look up; no thread may remove or [`insert_in_place`]. If
/// `may_take` is false, an absent key is refused.
#[inline(always)]
pub fn insert_anywhere<C: Cells>(
    cells: &C,
    layout: &Layout,
    key: Half<C>,
    value: Half<C>,
    if_held: IfHeld,
    may_take: bool,
) -> Inserted<Half<C>> {
    let word = C::Word::of(key, value);
    // At most one search more than other threads take slots concurrently.
    loop {
        let (mut probe, mut left) = (layout.probe::<C::Word>(key), layout.buckets());
        let mut free = None;
        // At most as many steps as buckets.
        while left != 0 {
            let words = cells.bucket(probe.bucket);
            let seen = look::<C::Word>(words, key);
            // The key's own tombstone is as free as any other.
            let own = seen.own & !seen.removed;
            if own != 0 {
                let slot = first::<C::Word>(own, &probe);
                return write_owned(cells, slot, word, if_held, || owned::<C::Word>(words, key));
            }
            if may_take && free.is_none() && seen.removed != 0 {
                free = Some(first::<C::Word>(seen.removed, &probe));
            }
            if seen.empty != 0 {
                if may_take && free.is_none() {
                    free = Some(first::<C::Word>(seen.empty, &probe));
                }
                break;
            }
            layout.advance(&mut probe);
            left -= 1;
        }
        let Some(slot) = free else { return Inserted::REFUSED };
        let seen = cells.load(slot);
        // If another thread has taken the slot, perhaps with the same key, the search starts again.
        if value_of(seen).is_none() && cells.compare_exchange(slot, seen, word) == seen {
            return Inserted { before: None, taken: is_empty(seen), refused: false };
        }
    }
}

/// Removes a key that is not K. Returns the value that it had. Other threads may insert in place,
/// look up and remove, but not [`remove_and_empty`].
#[inline(always)]
pub fn remove<C: Cells>(cells: &C, layout: &Layout, key: Half<C>) -> Option<Half<C>> {
    let found = find(cells, layout, key)?;
    value_of(cells.exchange(found.slot, removed(key)))
}

/// Removes a key that is not K. Returns the value that it had, and whether its slot is empty now.
/// Other threads may do the same and look up; no thread may insert, or [`remove`].
#[inline(always)]
pub fn remove_and_empty<C: Cells>(cells: &C, layout: &Layout, key: Half<C>) -> Option<(Half<C>, bool)> {
    let Found { slot, beside_empty } = find(cells, layout, key)?;
    // No search for a present key continues after a bucket with an empty slot.
    let word = if beside_empty { Double::ALL_ONES } else { removed(key) };
    value_of(cells.exchange(slot, word)).map(|value| (value, beside_empty))
}

/// Returns the value of a key that is not K. Other threads may do anything.
#[inline(always)]
pub fn get<C: Cells>(cells: &C, layout: &Layout, key: Half<C>) -> Option<Half<C>> {
    let word = cells.load(find(cells, layout, key)?.slot);
    if owner(word) == key { value_of(word) } else { None }
}

/// The slot that contains a key.
struct Found {
    slot: u64,
    /// Whether its bucket has an empty slot.
    beside_empty: bool,
}

/// Returns the slot that contains the key, if there is one.
#[inline(always)]
fn find<C: Cells>(cells: &C, layout: &Layout, key: Half<C>) -> Option<Found> {
    let (mut probe, mut left) = (layout.probe::<C::Word>(key), layout.buckets());
    // At most as many steps as buckets.
    while left != 0 {
        let seen = look::<C::Word>(cells.bucket(probe.bucket), key);
        let own = seen.own & !seen.removed;
        if own != 0 {
            return Some(Found { slot: first::<C::Word>(own, &probe), beside_empty: seen.empty != 0 });
        }
        if seen.own | seen.empty != 0 {
            return None;
        }
        layout.advance(&mut probe);
        left -= 1;
    }
    None
}
