//! Evicting pairs of a page, to free slots for unplaced pairs, whose candidates are all full.

use super::fill::ThreadOf;
use super::lists::{CHOSEN, List};
use super::probe::Page;
use super::repeat_list::Listing;
use super::source::Source;
use crate::page::form::{Form, MAX_CANDIDATES, equal, filter, tag_number};
use crate::seam::{Block, Shared};
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar};

impl<F: Form, W: Scalar, S: Shared<W>> Page<'_, F, W, S> {
    /// Returns the count of slots in all candidates of a pair, which have indices from 0.
    #[inline(always)]
    pub fn reach(&self) -> u32 {
        self.layout.candidates * F::SLOTS
    }

    /// Returns the index of the candidate with slot `reached` of a pair, its bucket, and the index
    /// of the slot in the bucket.
    #[inline(always)]
    fn reached(&self, home: u32, remainder: W, reached: u32) -> (u32, u32, u32) {
        let number = reached / F::SLOTS;
        (number, self.layout.candidate(home, remainder, number), reached % F::SLOTS)
    }

    /// Returns what an unplaced pair can do with slot `reached`. The slot has the key already, or
    /// its pair can move to its own candidate `number`, or neither.
    #[inline(always)]
    pub fn evictable(&self, home: u32, remainder: W, reached: u32, number: u32) -> Option<Eviction> {
        let (own, bucket, slot) = self.reached(home, remainder, reached);
        let tag = self.tag_in(bucket, slot);
        if tag == self.layout.tag(remainder, own) {
            return Some(Eviction::Repeated);
        }
        self.later(bucket, tag, number).is_some().then_some(Eviction::Movable)
    }

    /// Returns the index of the slot for an unplaced pair, and the candidate to which the pair in
    /// that slot moves. The candidate is `None` if the slot contains the key already. One thread
    /// calls this.
    #[inline(always)]
    pub fn first_eviction(&self, home: u32, remainder: W) -> Option<(u32, Option<u32>)> {
        let evictable = |reached: u32, later: u32| self.evictable(home, remainder, reached, later);
        // No pair moves to candidate 0: this finds the key itself.
        if let Some(reached) = (0..self.reach()).find(|&reached| evictable(reached, 0) == Some(Eviction::Repeated)) {
            return Some((reached, None));
        }
        // The lowest candidate is chosen, since then all candidates that the moved pair passes over
        // are full.
        (1..self.layout.candidates).find_map(|later| {
            let reached = (0..self.reach()).find(|&reached| evictable(reached, later).is_some())?;
            Some((reached, Some(later)))
        })
    }

    /// Stores an unplaced pair in the slot that [`Page::first_eviction`] found. Returns whether its
    /// key is new.
    #[inline(always)]
    pub fn go_in(&self, home: u32, remainder: W, (reached, later): (u32, Option<u32>), value: W) -> bool {
        if let Some(later) = later {
            self.evict(home, remainder, reached, later);
        }
        if F::VALUES {
            self.words.set(self.value_of(home, remainder, reached), value);
        }
        later.is_some()
    }

    /// Returns the index of the word for the value in slot `reached` of a pair.
    #[inline(always)]
    pub fn value_of(&self, home: u32, remainder: W, reached: u32) -> u32 {
        let (_, bucket, slot) = self.reached(home, remainder, reached);
        self.at(F::TAG_WORDS + slot, bucket)
    }

    /// Moves the pair in slot `reached` to its candidate `later`, before which all of its
    /// candidates are full, and stores the unplaced pair in that slot.
    ///
    /// Returns the index of the word for the moved pair's value. Only one thread may do this at a
    /// time, and no other thread may insert pairs concurrently.
    #[inline(always)]
    pub fn evict(&self, home: u32, remainder: W, reached: u32, later: u32) -> u32 {
        let (number, bucket, slot) = self.reached(home, remainder, reached);
        let (tag, value_at) = (self.tag_in(bucket, slot), self.at(F::TAG_WORDS + slot, bucket));
        let mut moved_to = value_at;
        if let Some(Later { home, moved, bucket, word, free }) = self.later(bucket, tag, later) {
            let (at, shift) = (self.at(word, bucket), tag_number::<F, W>(free) * F::tag_bits::<W>());
            self.words.set(at, self.words.get(at) | self.layout.tag(moved, later) << shift);
            moved_to = self.value_at(word, bucket, free);
            if F::VALUES {
                self.words.set(moved_to, self.words.get(value_at));
            }
            let (word, bit) = filter::<F, W>(moved);
            let filter_at = self.at(word, home);
            self.words.set(filter_at, self.words.get(filter_at) | bit);
        }
        let (at, shift) = (self.at(slot / F::TAGS, bucket), slot % F::TAGS * F::tag_bits::<W>());
        self.words.set(at, self.words.get(at) ^ (tag ^ self.layout.tag(remainder, number)) << shift);
        if F::VALUES {
            // The value of the evicted pair is cleared.
            self.words.set(value_at, W::default());
        }
        moved_to
    }

    /// Returns the pair with `tag` in `bucket` and a free slot in the pair's candidate `number`, if
    /// that candidate comes after its current one and is not full.
    #[inline(always)]
    fn later(&self, bucket: u32, tag: W, number: u32) -> Option<Later<W>> {
        let (moved, from) = self.layout.untag(tag);
        if number <= from {
            return None;
        }
        let home = self.layout.home_of(bucket, moved, from);
        let bucket = self.layout.candidate(home, moved, number);
        let mut found = None;
        for back in 0..F::TAG_WORDS {
            let word = F::TAG_WORDS - 1 - back;
            let free = equal::<F, W>(self.words.get(self.at(word, bucket)), word, W::default());
            if free != W::default() {
                found = Some(Later { home, moved, bucket, word, free });
            }
        }
        found
    }
}

/// The possible uses of a slot for an unplaced pair.
#[derive(Clone, Copy, PartialEq)]
pub enum Eviction {
    /// The slot contains the pair's key, since an eviction made space for another pair with that
    /// key.
    Repeated,
    /// The pair in the slot can move to a later candidate.
    Movable,
}

/// A pair that can be evicted, and a free slot for it.
struct Later<W> {
    /// The home bucket of the pair. `moved` is its remainder.
    home: u32,
    moved: W,
    bucket: u32,
    /// The word of tags with the free slot. `free` tells which slot of that word is free.
    word: u32,
    free: W,
}

/// An eviction for an unplaced pair, in one word. A larger word is a better choice, and 0 is none.
#[derive(Clone, Copy)]
struct EvictionChoice(u32);

impl EvictionChoice {
    /// Returns the choice for a key that is in slot `reached` already.
    #[inline(always)]
    fn repeated(reached: u32) -> Self {
        Self(u32::MAX << 16 | reached)
    }

    /// Returns the choice to move the pair in slot `reached` to its candidate `later`. A lower
    /// `later` is better, since then all candidates that the pair passes over are full.
    #[inline(always)]
    fn moving(reached: u32, later: u32) -> Self {
        Self((MAX_CANDIDATES - later + 1) << 16 | reached)
    }

    #[inline(always)]
    fn reached(self) -> u32 {
        self.0 & 0xffff
    }

    /// Returns the candidate to which the pair in the slot moves, if it moves.
    #[inline(always)]
    fn later(self) -> Option<u32> {
        let above = self.0 >> 16;
        if above <= MAX_CANDIDATES { Some(MAX_CANDIDATES + 1 - above) } else { None }
    }
}

/// Evicts pairs to store the unplaced pairs, one after the other. Returns whether that failed. Ends
/// with a barrier. `moved` is called for each evicted pair with the indices of the old and the new
/// word of its value; by then the old word belongs to another pair.
#[inline(always)]
pub fn evict_for_unplaced<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    threads: &mut B::Local<ThreadOf<K, V>>,
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    (left, count): (List<impl Shared<V::PackedEntry>, impl Shared<u32>>, u32),
    listing: impl Listing<K::PackedWord<V>>,
    moved: impl Fn(u32, u32) + Sync,
) -> bool {
    if count > left.most {
        return true;
    }
    let sought = |entry_index: u32| {
        let entry = source.unpacked::<REPEATS>(left.entries.get(entry_index));
        (
            page.layout.home_in_page(entry.mixed),
            page.layout.remainder::<K, K::PackedWord<V>>(entry.mixed),
            entry.value_word,
        )
    };
    let choices = left.lengths;
    let (slots, laters, stride) = (page.reach(), page.layout.candidates - 1, block.threads());
    let mut entry_index = 0;
    while entry_index < count {
        let choice_at = CHOSEN + entry_index % 2;
        // Each thread tries a slot of the pair's candidates, and a later candidate for the pair in
        // that slot.
        block.phase(threads, |thread, _| {
            let (home, remainder, _) = sought(entry_index);
            let mut number = thread;
            while number < slots * laters {
                let (reached, later) = (number % slots, 1 + number / slots);
                let eviction = match page.evictable(home, remainder, reached, later) {
                    Some(Eviction::Repeated) => EvictionChoice::repeated(reached),
                    Some(Eviction::Movable) => EvictionChoice::moving(reached, later),
                    None => EvictionChoice(0),
                };
                if eviction.0 != 0 {
                    choices.fetch_max(choice_at, eviction.0);
                }
                number += stride;
            }
        });
        let eviction = EvictionChoice(choices.get(choice_at));
        if eviction.0 == 0 {
            return true;
        }
        block.phase(threads, |thread, state| {
            if thread != 0 {
                return;
            }
            choices.set(CHOSEN + (entry_index + 1) % 2, 0);
            let (home, remainder, value_word) = sought(entry_index);
            if let Some(later) = eviction.later() {
                let to = page.evict(home, remainder, eviction.reached(), later);
                moved(page.value_of(home, remainder, eviction.reached()), to);
                state.inserted = state.inserted.wrapping_add(1);
            } else {
                listing.push(home, remainder);
            }
            if !F::VALUES {
                return;
            }
            let at = page.value_of(home, remainder, eviction.reached());
            if in_order::<REPEATS, V>() {
                page.words.fetch_max(at, value_word);
            } else {
                page.words.set(at, value_word);
            }
        });
        entry_index += 1;
    }
    false
}
