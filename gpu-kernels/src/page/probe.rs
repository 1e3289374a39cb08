//! Placing pairs in a page in shared memory.
//!
//! The page's words lie as rows: word `w` of bucket `b` is number `w · page_buckets + b`, so that threads that are at different
//! buckets meet few bank conflicts.
//!
//! Most pairs get a slot at home by counting ([`Counts`]). The others go on to their other candidates. If keys are unique, they get a slot of
//! the first one that has some, by counting too ([`Page::take`]). If they may be repeated, they search ([`Page::step`]): a pair takes the first
//! free slot by a compare-and-exchange of the whole word of tags. A word that is full stays so. So all pairs of one key go the same way and
//! meet where the first of them stopped: no key is placed twice by searching, and one that is at home by counting is seen there.

use super::find::{equal_tags, value_at};
use super::form::{Form, MAX_SLOTS, equal, filter, tag_number, tags_in};
use super::source::Entry;
use super::{BUCKET_WORDS, Layout};
use crate::seam::{Global, Shared, opaque};
use crate::types::{Key, Scalar};
use core::marker::PhantomData;

/// What became of a pair.
#[derive(Clone, Copy, PartialEq)]
pub enum InsertResult {
    /// It is in a slot that was free.
    New,
    /// Its key was there already.
    Repeated,
    /// All of its candidates are full.
    Left,
}

/// The search for a pair's slot.
#[derive(Clone, Copy)]
pub struct Seek<W> {
    home: u32,
    remainder: W,
    /// The bucket that it looks at next, and which of the candidates that is.
    bucket: u32,
    number: u32,
    /// Where the pair's value belongs, once it is placed.
    pub at: u32,
    /// How the search ended.
    pub inserted: Option<InsertResult>,
}

/// The page that a block builds.
pub struct Page<'l, F, W: Scalar, S: Shared<W>> {
    pub words: S,
    pub layout: &'l Layout,
    types: PhantomData<fn() -> (F, W)>,
}

impl<F, W: Scalar, S: Shared<W>> Clone for Page<'_, F, W, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<F, W: Scalar, S: Shared<W>> Copy for Page<'_, F, W, S> {}

impl<'l, F: Form, W: Scalar, S: Shared<W>> Page<'l, F, W, S> {
    #[inline(always)]
    pub fn new(words: S, layout: &'l Layout) -> Self {
        Self { words, layout, types: PhantomData }
    }

    /// The number of word `word` of a bucket.
    #[inline(always)]
    pub fn at(&self, word: u32, bucket: u32) -> u32 {
        if S::IN_PLACE { bucket * BUCKET_WORDS + word } else { word * self.layout.page_buckets + bucket }
    }

    /// The number of the value's word for the tag that `equal` names in tag word `word`.
    #[inline(always)]
    fn value_at(&self, word: u32, bucket: u32, equal: W) -> u32 {
        self.at(F::TAG_WORDS + word * F::TAGS + tag_number::<F, W>(equal), bucket)
    }

    /// Puts a pair into slot `slot` of `bucket`, which nobody else may take. Threads may do this at the same time.
    #[inline(always)]
    pub fn put(&self, bucket: u32, slot: u32, tag: W, value: W) {
        let (word, number) = (slot / F::TAGS, slot % F::TAGS);
        self.words.fetch_or(self.at(word, bucket), tag << (number * F::tag_bits::<W>()));
        if F::VALUES {
            self.words.set(self.at(F::TAG_WORDS + slot, bucket), value);
        }
    }

    /// Leaves, of several pairs of one key in `bucket`, which are all at home there, the one with the largest value; returns how many
    /// it took out. One thread a bucket may do this.
    #[inline(always)]
    pub fn unite_repeats(&self, bucket: u32) -> u32 {
        let tag_of = |slot: u32| self.tag_in(bucket, slot);
        let mut tags = [W::default(); MAX_SLOTS];
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        for word in 0..F::TAG_WORDS {
            let held = self.words.get(self.at(word, bucket));
            for number in 0..tags_in::<F>(word) {
                tags[(word * F::TAGS + number) as usize] = held >> (number * F::tag_bits::<W>()) & mask;
            }
        }
        let mut repeated = false;
        for slot in 1..F::SLOTS as usize {
            for earlier in 0..slot {
                repeated |= tags[slot] == tags[earlier] && tags[slot] != W::default();
            }
        }
        let mut taken = 0;
        if repeated {
            // Not to be unrolled.
            for slot in 1..opaque(F::SLOTS) {
                for earlier in 0..slot {
                    let tag = tag_of(slot);
                    if tag != W::default() && tag == tag_of(earlier) {
                        let (value_at, at) = (self.at(F::TAG_WORDS + slot, bucket), self.at(slot / F::TAGS, bucket));
                        if F::VALUES {
                            self.words.fetch_max(self.at(F::TAG_WORDS + earlier, bucket), self.words.get(value_at));
                            self.words.set(value_at, W::default());
                        }
                        self.words.set(at, self.words.get(at) ^ tag << (slot % F::TAGS * F::tag_bits::<W>()));
                        taken += 1;
                    }
                }
            }
        }
        taken
    }

    /// Where the search for a slot for a pair begins.
    #[inline(always)]
    pub fn seek(&self, home: u32, remainder: W) -> Seek<W> {
        Seek { home, remainder, bucket: home, number: 0, at: 0, inserted: None }
    }

    /// Looks at one bucket. Threads may do this at the same time.
    #[inline(always)]
    pub fn step(&self, seek: &mut Seek<W>) {
        let tag = self.layout.tag(seek.remainder, seek.number);
        let mut held = [W::default(); BUCKET_WORDS as usize];
        for word in 0..F::TAG_WORDS {
            held[word as usize] = self.words.load_relaxed(self.at(word, seek.bucket));
        }
        // The first word with a free slot.
        let (mut word, mut free, mut old) = (0, W::default(), W::default());
        for back in 0..F::TAG_WORDS {
            let at = F::TAG_WORDS - 1 - back;
            let here = equal::<F, W>(held[at as usize], at, W::default());
            if here != W::default() {
                (word, free, old) = (at, here, held[at as usize]);
            }
            let same = equal::<F, W>(held[at as usize], at, tag);
            if same != W::default() {
                (seek.inserted, seek.at) = (Some(InsertResult::Repeated), self.value_at(at, seek.bucket, same));
            }
        }
        if seek.inserted.is_some() {
            return;
        }
        if free == W::default() {
            self.go_on(seek);
            return;
        }
        let new = old | tag << (tag_number::<F, W>(free) * F::tag_bits::<W>());
        // If somebody changed the word: look again.
        if self.words.compare_exchange(self.at(word, seek.bucket), old, new) == old {
            (seek.inserted, seek.at) = (Some(InsertResult::New), self.value_at(word, seek.bucket, free));
        }
    }

    /// Takes a slot of one bucket by counting, if it has one left. Threads may do this at the same time.
    #[inline(always)]
    pub fn take(&self, seek: &mut Seek<W>, counts: Counts<impl Shared<u32>>, value: W) {
        // A look first: it is cheaper than an addition, and counts do not grow much beyond the slots.
        let slot = if counts.has(seek.bucket) < F::SLOTS { counts.add(seek.bucket) } else { F::SLOTS };
        if slot < F::SLOTS {
            self.put(seek.bucket, slot, self.layout.tag(seek.remainder, seek.number), value);
            seek.inserted = Some(InsertResult::New);
        } else {
            self.go_on(seek);
        }
    }

    /// Searches a slot for a pair, in a page built in place at `words`, by one thread: how that ended, and where the
    /// value of the pair's key is if it was there already. With `COUNT` it cannot be there.
    ///
    /// If the pair was noted, it is neither at home nor beside, and both are full.
    #[inline(always)]
    pub fn search_in_turn<const COUNT: bool, K: Key>(
        &self,
        entry: &Entry<K, W>,
        was_spilled: bool,
        words: Global<W>,
        counts: Counts<impl Shared<u32>>,
    ) -> (InsertResult, u32) {
        let mut seek = self.seek(self.layout.home_in_page(entry.mixed), self.layout.remainder(entry.mixed));
        if was_spilled {
            self.go_on(&mut seek);
            self.go_on(&mut seek);
        }
        loop {
            if let Some(inserted) = seek.inserted {
                return (inserted, seek.at);
            }
            if !COUNT {
                let first = (seek.bucket * BUCKET_WORDS) as u64;
                let equal = equal_tags::<F, W>(words, first, self.layout.tag(seek.remainder, seek.number));
                if equal != 0 {
                    return (InsertResult::Repeated, value_at::<F>(first, equal as u64) as u32);
                }
            }
            self.take(&mut seek, counts, entry.value_word);
        }
    }

    /// From a full bucket to the next candidate.
    #[inline(always)]
    pub fn go_on(&self, seek: &mut Seek<W>) {
        if seek.number == 0 {
            let (word, bit) = filter::<F, W>(seek.remainder);
            self.words.fetch_or(self.at(word, seek.home), bit);
        }
        seek.number += 1;
        seek.bucket = self.layout.candidate(seek.home, seek.remainder, seek.number);
        if seek.number == self.layout.candidates {
            seek.inserted = Some(InsertResult::Left);
        }
    }

    /// How many slots a pair has in all of its candidates.
    #[inline(always)]
    pub fn reach(&self) -> u32 {
        self.layout.candidates * F::SLOTS
    }

    /// The candidate, its bucket and the slot there that number `reached` of a pair's slots is.
    #[inline(always)]
    fn reached(&self, home: u32, remainder: W, reached: u32) -> (u32, u32, u32) {
        let number = reached / F::SLOTS;
        (number, self.layout.candidate(home, remainder, number), reached % F::SLOTS)
    }

    /// The tag in a slot.
    #[inline(always)]
    fn tag_in(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.get(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }

    /// Of slot number `reached` of a pair that was left: whether that very key is there, or a pair that could go on to candidate `number` of
    /// its own.
    #[inline(always)]
    pub fn evictable(&self, home: u32, remainder: W, reached: u32, number: u32) -> Option<Eviction> {
        let (own, bucket, slot) = self.reached(home, remainder, reached);
        let tag = self.tag_in(bucket, slot);
        if tag == self.layout.tag(remainder, own) {
            return Some(Eviction::Repeated);
        }
        self.later(bucket, tag, number).is_some().then_some(Eviction::Movable)
    }

    /// By one thread: the number of the slot that a pair takes that was left, and the candidate that the pair
    /// there goes on to; none if that is the pair's key.
    #[inline(always)]
    pub fn first_eviction(&self, home: u32, remainder: W) -> Option<(u32, Option<u32>)> {
        let evictable = |reached: u32, later: u32| self.evictable(home, remainder, reached, later);
        // Nobody goes on to candidate 0.
        if let Some(reached) = (0..self.reach()).find(|&reached| evictable(reached, 0) == Some(Eviction::Repeated)) {
            return Some((reached, None));
        }
        // The first candidate that will do: then all that are passed over are full.
        (1..self.layout.candidates).find_map(|later| {
            let reached = (0..self.reach()).find(|&reached| evictable(reached, later).is_some())?;
            Some((reached, Some(later)))
        })
    }

    /// Gives a pair that was left the slot, and the value, that [`Page::first_eviction`] found; whether its key is new.
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

    /// Where the value of slot number `reached` of a pair is.
    #[inline(always)]
    pub fn value_of(&self, home: u32, remainder: W, reached: u32) -> u32 {
        let (_, bucket, slot) = self.reached(home, remainder, reached);
        self.at(F::TAG_WORDS + slot, bucket)
    }

    /// Moves the pair in slot number `reached` on to its candidate `later`, before which all of its candidates are full, and gives that slot to the
    /// one that was left. One thread may do this at a time, and nobody may place pairs meanwhile.
    #[inline(always)]
    pub fn evict(&self, home: u32, remainder: W, reached: u32, later: u32) {
        let (number, bucket, slot) = self.reached(home, remainder, reached);
        let (tag, value_at) = (self.tag_in(bucket, slot), self.at(F::TAG_WORDS + slot, bucket));
        if let Some(Later { home, moved, bucket, word, free }) = self.later(bucket, tag, later) {
            let (at, shift) = (self.at(word, bucket), tag_number::<F, W>(free) * F::tag_bits::<W>());
            self.words.set(at, self.words.get(at) | self.layout.tag(moved, later) << shift);
            if F::VALUES {
                self.words.set(self.value_at(word, bucket, free), self.words.get(value_at));
            }
            let (word, bit) = filter::<F, W>(moved);
            let filter_at = self.at(word, home);
            self.words.set(filter_at, self.words.get(filter_at) | bit);
        }
        let (at, shift) = (self.at(slot / F::TAGS, bucket), slot % F::TAGS * F::tag_bits::<W>());
        self.words.set(at, self.words.get(at) ^ (tag ^ self.layout.tag(remainder, number)) << shift);
        if F::VALUES {
            // Nothing of the other one is left behind.
            self.words.set(value_at, W::default());
        }
    }

    /// Candidate `number` of the pair with `tag` in `bucket`, if that comes later than the bucket and is not full.
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

/// The most pairs that may ask for slots of their homes: more do not fit a count.
pub const MAX_COUNTED: u32 = 0xffff;

/// How many slots of each bucket have been asked for, in 16 bits for each; where pages are built in
/// place, in 32.
#[derive(Clone, Copy)]
pub struct Counts<S> {
    pub words: S,
    /// The number of the first word.
    pub first: u32,
}

impl<S: Shared<u32>> Counts<S> {
    /// The word of a bucket's count, and where it is there.
    #[inline(always)]
    fn word_and_shift(&self, bucket: u32) -> (u32, u32) {
        (self.first + bucket / 2, bucket % 2 * 16)
    }

    /// Asks for a slot of a bucket. Its number: from the number of slots on, the bucket is full.
    #[inline(always)]
    pub fn add(&self, bucket: u32) -> u32 {
        if S::IN_PLACE {
            return self.words.fetch_add(self.first + bucket, 1);
        }
        let (word, shift) = self.word_and_shift(bucket);
        self.words.fetch_add(word, 1 << shift) >> shift & 0xffff
    }

    /// How many slots of a bucket have been asked for, while others ask.
    #[inline(always)]
    pub fn has(&self, bucket: u32) -> u32 {
        if S::IN_PLACE {
            return self.words.load_relaxed(self.first + bucket);
        }
        let (word, shift) = self.word_and_shift(bucket);
        self.words.load_relaxed(word) >> shift & 0xffff
    }
}

/// What a slot is to a pair that found all of its candidates full.
#[derive(Clone, Copy, PartialEq)]
pub enum Eviction {
    /// Its key is there, since room was made for another pair of it.
    Repeated,
    /// The pair that is there can go elsewhere.
    Movable,
}

/// A place for a pair that moves.
struct Later<W> {
    /// The pair's home and remainder.
    home: u32,
    moved: W,
    bucket: u32,
    /// The word of tags with a free slot, and which one that is.
    word: u32,
    free: W,
}
