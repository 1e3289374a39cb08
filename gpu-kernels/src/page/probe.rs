//! Inserting pairs into a page in shared memory.
//!
//! The page's words are stored as rows: word `w` of bucket `b` is number `w · page_buckets + b`.
//! Threads that process different buckets so meet few bank conflicts.
//!
//! Most pairs get a slot at home by counting ([`Counts`]). The others go on to their other
//! candidates. If keys are unique, they get a slot of the first candidate that has one left, by
//! counting too ([`Page::take`]).
//!
//! If keys may be repeated, the pairs search ([`Page::step`]): a pair takes the first free slot by
//! a compare-and-exchange of the whole word of tags. A word that is full stays full. So all pairs
//! of one key follow the same probe sequence and meet where the first of them stopped. No key is
//! inserted twice by searching, and one that counting put at home is seen there.

use super::Layout;
use super::form::{BUCKET_WORDS, Form, MAX_SLOTS, equal, filter, tag_number, tags_in};
use super::repeat_list::Listing;
use super::source::Entry;
use super::table::{equal_tags, value_at};
use crate::seam::{Global, Shared, opaque};
use crate::types::{KeyWord, Scalar};
use core::marker::PhantomData;

/// The result of an insertion.
#[derive(Clone, Copy, PartialEq)]
pub enum InsertResult {
    /// The pair is in a slot that was free.
    New,
    /// The pair's key was there already.
    Repeated,
    /// The pair's candidates are all full.
    Left,
}

/// The search for a pair's slot.
#[derive(Clone, Copy)]
pub struct Seek<W> {
    pub home: u32,
    pub remainder: W,
    /// The bucket of the next probe. `number` is which of the candidates it is.
    bucket: u32,
    number: u32,
    /// The number of the word for the pair's value, once the key has a slot.
    pub at: u32,
    /// The result of the search, once it has ended.
    pub inserted: Option<InsertResult>,
}

/// A slot that has the tag that was sought.
#[derive(Clone, Copy)]
pub struct Found<W> {
    /// The number of the word of tags, and that word as it was read.
    pub word: u32,
    pub held: W,
    /// The number of the tag's lowest bit in that word.
    pub shift: u32,
    /// The number of the word for the pair's value, and the slot.
    pub at: u32,
    pub slot: u32,
}

impl<W: Scalar> Seek<W> {
    /// Returns a search that has ended.
    #[inline(always)]
    pub fn ended(inserted: InsertResult) -> Self {
        let nothing = W::from_u64(0);
        Self { home: 0, remainder: nothing, bucket: 0, number: 0, at: 0, inserted: Some(inserted) }
    }
}

/// The page that a block builds, or changes.
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

    /// Returns the number of word `word` of a bucket.
    #[inline(always)]
    pub fn at(&self, word: u32, bucket: u32) -> u32 {
        if S::IN_PLACE { bucket * BUCKET_WORDS + word } else { word * self.layout.page_buckets + bucket }
    }

    /// Returns the number of the value's word for the tag that `equal` reports in tag word `word`.
    #[inline(always)]
    fn value_at(&self, word: u32, bucket: u32, equal: W) -> u32 {
        self.at(F::TAG_WORDS + word * F::TAGS + tag_number::<F, W>(equal), bucket)
    }

    /// Puts a pair into slot `slot` of `bucket`, which no other thread may take. Threads may do
    /// this at the same time.
    #[inline(always)]
    pub fn put(&self, bucket: u32, slot: u32, tag: W, value: W) {
        let (word, number) = (slot / F::TAGS, slot % F::TAGS);
        self.words.fetch_or(self.at(word, bucket), tag << (number * F::tag_bits::<W>()));
        if F::VALUES {
            self.words.set(self.at(F::TAG_WORDS + slot, bucket), value);
        }
    }

    /// Removes all but one of several pairs of one key in `bucket`, all of which are at home there;
    /// the one that stays gets the largest value. Lists them, and returns how many were removed.
    /// One thread per bucket may do this.
    #[inline(always)]
    pub fn unite_repeats(&self, bucket: u32, listing: impl Listing<W>) -> u32 {
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
            // The loop should not be unrolled.
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
                        // The tags of pairs at home are their remainders, plus 1.
                        listing.push(bucket, tag.minus(W::from_u64(1)));
                        taken += 1;
                    }
                }
            }
        }
        taken
    }

    /// Returns the start of the search for a slot for a pair.
    #[inline(always)]
    pub fn seek(&self, home: u32, remainder: W) -> Seek<W> {
        Seek { home, remainder, bucket: home, number: 0, at: 0, inserted: None }
    }

    /// Returns the words of tags of a bucket, which other threads may be changing.
    #[inline(always)]
    fn tags(&self, bucket: u32) -> [W; BUCKET_WORDS as usize] {
        let mut held = [W::default(); BUCKET_WORDS as usize];
        if S::IN_PLACE {
            // Loads of two words are half as many.
            for pair in 0..F::TAG_WORDS.div_ceil(2) {
                let two = self.words.load_pair_relaxed(self.at(2 * pair, bucket));
                (held[2 * pair as usize], held[2 * pair as usize + 1]) = (two[0], two[1]);
            }
        } else {
            for word in 0..F::TAG_WORDS {
                held[word as usize] = self.words.load_relaxed(self.at(word, bucket));
            }
        }
        held
    }

    /// Returns the slot that has this tag, in words of tags that a bucket had.
    #[inline(always)]
    fn slot_in(&self, held: &[W; BUCKET_WORDS as usize], bucket: u32, tag: W) -> Option<Found<W>> {
        let mut found = None;
        for back in 0..F::TAG_WORDS {
            let word = F::TAG_WORDS - 1 - back;
            let same = equal::<F, W>(held[word as usize], word, tag);
            if same != W::default() {
                let number = tag_number::<F, W>(same);
                found = Some(Found {
                    word: self.at(word, bucket),
                    held: held[word as usize],
                    shift: number * F::tag_bits::<W>(),
                    at: self.value_at(word, bucket, same),
                    slot: word * F::TAGS + number,
                });
            }
        }
        found
    }

    /// Gives a pair a slot of its home, unless that is full or another thread changes it. Returns
    /// whether its key is new, and the number of the word for its value. Threads may do this at the
    /// same time.
    ///
    /// All threads do the same, so that those of a warp do not diverge.
    #[inline(always)]
    pub fn add_at_home(&self, home: u32, remainder: W) -> Option<(bool, u32)> {
        let (tag, held) = (self.layout.tag(remainder, 0), self.tags(home));
        let (mut word, mut chosen, mut old, mut is_new) = (0, W::default(), W::default(), true);
        for back in 0..F::TAG_WORDS {
            let at = F::TAG_WORDS - 1 - back;
            let free = equal::<F, W>(held[at as usize], at, W::default());
            if free != W::default() {
                (word, chosen, old) = (at, free, held[at as usize]);
            }
        }
        for back in 0..F::TAG_WORDS {
            let at = F::TAG_WORDS - 1 - back;
            let same = equal::<F, W>(held[at as usize], at, tag);
            if same != W::default() {
                (word, chosen, is_new) = (at, same, false);
            }
        }
        let mut has = chosen != W::default();
        if has && is_new {
            let new = old | tag << (tag_number::<F, W>(chosen) * F::tag_bits::<W>());
            has = self.words.compare_exchange(self.at(word, home), old, new) == old;
        }
        has.then_some((is_new, self.value_at(word, home, chosen)))
    }

    /// Probes one bucket. Threads may do this at the same time.
    #[inline(always)]
    pub fn step(&self, seek: &mut Seek<W>) {
        let tag = self.layout.tag(seek.remainder, seek.number);
        let held = self.tags(seek.bucket);
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
        // If another thread changed the word, the bucket is probed again.
        if self.words.compare_exchange(self.at(word, seek.bucket), old, new) == old {
            (seek.inserted, seek.at) = (Some(InsertResult::New), self.value_at(word, seek.bucket, free));
        }
    }

    /// Takes a slot of one bucket by counting, if it has one left. Threads may do this at the same
    /// time.
    #[inline(always)]
    pub fn take(&self, seek: &mut Seek<W>, counts: Counts<impl Shared<u32>>, value: W) {
        // A load comes first: it is cheaper than an addition, and counts do not grow much beyond
        // the slots.
        let slot = if counts.has(seek.bucket) < F::SLOTS { counts.add(seek.bucket) } else { F::SLOTS };
        if slot < F::SLOTS {
            self.put(seek.bucket, slot, self.layout.tag(seek.remainder, seek.number), value);
            seek.inserted = Some(InsertResult::New);
        } else {
            self.go_on(seek);
        }
    }

    /// Searches for a slot for a pair, by one thread, in a page that is built in the table's own
    /// memory at `words`.
    ///
    /// Returns the result, and where the value of the pair's key is if the key was there already.
    /// With `COUNT` it cannot be there.
    ///
    /// If the pair was spilled, it is neither at home nor beside it, and both are full.
    #[inline(always)]
    pub fn search_in_turn<const COUNT: bool, K: KeyWord>(
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

    /// Returns the number of the candidate that has the key with this home and remainder, the word
    /// of tags there as it was read, and the tag that `equal` reports in that word, if the key is
    /// there. Other threads may be changing the page.
    #[inline(always)]
    pub fn find(&self, home: u32, remainder: W) -> Option<Found<W>> {
        let mut number = 0;
        // The loop should not be unrolled.
        while number < self.layout.candidates {
            let bucket = self.layout.candidate(home, remainder, number);
            if let Some(found) = self.find_in(bucket, self.layout.tag(remainder, number)) {
                return Some(found);
            }
            number += 1;
        }
        None
    }

    /// Returns the slot of `bucket` that has this tag, if there is one. Other threads may be
    /// changing the page.
    #[inline(always)]
    pub fn find_in(&self, bucket: u32, tag: W) -> Option<Found<W>> {
        self.slot_in(&self.tags(bucket), bucket, tag)
    }

    /// Removes the pair with this home and remainder from its candidate `number`, while other
    /// threads may remove pairs, too.
    ///
    /// Returns the number of the word of its value, and whether the bucket was full. If the pair is
    /// not there, returns whether some pair of its class had to leave the bucket.
    #[inline(always)]
    pub fn remove_candidate(&self, home: u32, remainder: W, number: u32) -> Result<(u32, bool), bool> {
        let (bucket, tag) = (self.layout.candidate(home, remainder, number), self.layout.tag(remainder, number));
        loop {
            let held = self.tags(bucket);
            let Some(found) = self.slot_in(&held, bucket, tag) else {
                let (word, bit) = filter::<F, W>(remainder);
                let mut filtered = false;
                for at in 0..F::TAG_WORDS {
                    filtered |= at == word && held[at as usize] & bit != W::default();
                }
                return Err(filtered);
            };
            let full = self.slot_in(&held, bucket, W::default()).is_none();
            let cleared = found.held ^ tag << found.shift;
            // If another thread changed the word, the bucket is probed again.
            if self.words.compare_exchange(found.word, found.held, cleared) == found.held {
                return Ok((found.at, full));
            }
        }
    }

    /// Removes the pair with this home and remainder from the candidates from `number` on; returns
    /// whether it was there. Other threads may remove pairs at the same time.
    #[inline(always)]
    pub fn remove_from(&self, home: u32, remainder: W, mut number: u32) -> bool {
        // The loop should not be unrolled.
        while number < self.layout.candidates {
            match self.remove_candidate(home, remainder, number) {
                Ok(_) => return true,
                Err(filtered) if number == 0 && !filtered => return false,
                Err(_) => number += 1,
            }
        }
        false
    }

    /// Copies the pair in a slot to the first of its candidates that has a free slot, if that comes
    /// earlier; returns the number of the new slot, counted over the page. Threads may do this at
    /// the same time with different pairs, and none of them frees a slot meanwhile.
    #[inline(always)]
    pub fn move_back(&self, bucket: u32, slot: u32) -> Option<u32> {
        let (remainder, own) = self.layout.untag(self.tag_now(bucket, slot));
        let home = self.layout.home_of(bucket, remainder, own);
        let mut number = 0;
        // The loop should not be unrolled.
        while number < own {
            let earlier = self.layout.candidate(home, remainder, number);
            let Some(free) = self.find_in(earlier, W::default()) else {
                number += 1;
                continue;
            };
            let tag = self.layout.tag(remainder, number);
            // If another thread changed the word, the bucket is probed again.
            if self.words.compare_exchange(free.word, free.held, free.held | tag << free.shift) == free.held {
                if F::VALUES {
                    self.words.set(free.at, self.words.get(self.at(F::TAG_WORDS + slot, bucket)));
                }
                return Some(earlier * F::SLOTS + free.slot);
            }
        }
        None
    }

    /// Frees a slot that holds a pair. Threads may do this at the same time with different slots.
    #[inline(always)]
    pub fn vacate(&self, bucket: u32, slot: u32) {
        // There is no borrow: the tag is there.
        let shift = slot % F::TAGS * F::tag_bits::<W>();
        self.words.fetch_add(self.at(slot / F::TAGS, bucket), W::default().minus(self.tag_now(bucket, slot) << shift));
    }

    /// Clears the filter bits of a bucket.
    #[inline(always)]
    pub fn clear_filters(&self, bucket: u32) {
        for word in 0..F::TAG_WORDS {
            let (at, bits) = (self.at(word, bucket), F::tag_bits::<W>() * tags_in::<F>(word));
            // Filter bits are above the tags, if there are any.
            if bits < W::BITS {
                self.words.set(at, self.words.get(at) & (W::from_u64(1) << bits).minus(W::from_u64(1)));
            }
        }
    }

    /// Sets the filter bit for the pair in a slot, which is not at home. Threads may do this at the
    /// same time.
    #[inline(always)]
    pub fn set_filter(&self, bucket: u32, slot: u32) {
        let (remainder, number) = self.layout.untag(self.tag_now(bucket, slot));
        let home = self.layout.home_of(bucket, remainder, number);
        let (word, bit) = filter::<F, W>(remainder);
        self.words.fetch_or(self.at(word, home), bit);
    }

    /// Returns whether a pair of the remainder's class had to leave this home.
    #[inline(always)]
    pub fn filtered(&self, home: u32, remainder: W) -> bool {
        let (word, bit) = filter::<F, W>(remainder);
        self.words.load_relaxed(self.at(word, home)) & bit != W::default()
    }

    /// Goes from a full bucket to the next candidate.
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

    /// Returns the number of slots in all candidates of a pair.
    #[inline(always)]
    pub fn reach(&self) -> u32 {
        self.layout.candidates * F::SLOTS
    }

    /// Returns the candidate, its bucket and the slot there for number `reached` of a pair's slots.
    #[inline(always)]
    fn reached(&self, home: u32, remainder: W, reached: u32) -> (u32, u32, u32) {
        let number = reached / F::SLOTS;
        (number, self.layout.candidate(home, remainder, number), reached % F::SLOTS)
    }

    /// Returns the tag in a slot.
    #[inline(always)]
    fn tag_in(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.get(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }

    /// Returns the tag in a slot, while other threads change other tags of its word.
    #[inline(always)]
    fn tag_now(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.load_relaxed(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }

    /// Returns what slot number `reached` is to a pair that was left: whether its key is there, or
    /// a pair that could go on to candidate `number` of its own.
    #[inline(always)]
    pub fn evictable(&self, home: u32, remainder: W, reached: u32, number: u32) -> Option<Eviction> {
        let (own, bucket, slot) = self.reached(home, remainder, reached);
        let tag = self.tag_in(bucket, slot);
        if tag == self.layout.tag(remainder, own) {
            return Some(Eviction::Repeated);
        }
        self.later(bucket, tag, number).is_some().then_some(Eviction::Movable)
    }

    /// Returns the number of the slot for a pair that was left, and the candidate that the pair
    /// there goes on to. That candidate is none if the slot holds the key already. One thread calls
    /// this.
    #[inline(always)]
    pub fn first_eviction(&self, home: u32, remainder: W) -> Option<(u32, Option<u32>)> {
        let evictable = |reached: u32, later: u32| self.evictable(home, remainder, reached, later);
        // No pair goes on to candidate 0.
        if let Some(reached) = (0..self.reach()).find(|&reached| evictable(reached, 0) == Some(Eviction::Repeated)) {
            return Some((reached, None));
        }
        // The first candidate that will do is taken: then all that are passed over are full.
        (1..self.layout.candidates).find_map(|later| {
            let reached = (0..self.reach()).find(|&reached| evictable(reached, later).is_some())?;
            Some((reached, Some(later)))
        })
    }

    /// Gives a pair that was left the slot that [`Page::first_eviction`] found, and its value;
    /// returns whether its key is new.
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

    /// Returns the number of the word of the value in slot number `reached` of a pair.
    #[inline(always)]
    pub fn value_of(&self, home: u32, remainder: W, reached: u32) -> u32 {
        let (_, bucket, slot) = self.reached(home, remainder, reached);
        self.at(F::TAG_WORDS + slot, bucket)
    }

    /// Moves the pair in slot number `reached` on to its candidate `later`, before which all of its
    /// candidates are full, and gives that slot to the pair that was left.
    ///
    /// Returns the number of the word for the moved pair's value. One thread may do this at a time,
    /// and no thread may insert pairs meanwhile.
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

    /// Returns the pair with `tag` in `bucket` and a free slot in its candidate `number`, if that
    /// candidate comes later than the bucket and is not full.
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

/// The most pairs that may ask for slots of their homes: more do not fit in a count.
pub const MAX_COUNTED: u32 = 0xffff;

/// The number of slots of each bucket that have been asked for, in 16 bits each, or in 32 where
/// pages are built in the table's own memory.
#[derive(Clone, Copy)]
pub struct Counts<S> {
    pub words: S,
    /// The number of the first word.
    pub first: u32,
}

impl<S: Shared<u32>> Counts<S> {
    /// Returns the word of a bucket's count, and the count's shift in that word.
    #[inline(always)]
    fn word_and_shift(&self, bucket: u32) -> (u32, u32) {
        (self.first + bucket / 2, bucket % 2 * 16)
    }

    /// Asks for a slot of a bucket; returns its number. If that is the number of slots or more, the
    /// bucket is full.
    #[inline(always)]
    pub fn add(&self, bucket: u32) -> u32 {
        if S::IN_PLACE {
            return self.words.fetch_add(self.first + bucket, 1);
        }
        let (word, shift) = self.word_and_shift(bucket);
        self.words.fetch_add(word, 1 << shift) >> shift & 0xffff
    }

    /// Returns the number of slots of a bucket that have been asked for, while other threads ask.
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
    /// The pair's key is there, since an eviction made space for another pair of it.
    Repeated,
    /// The pair that is there can go to a later candidate.
    Movable,
}

/// A free slot for a pair that is evicted.
struct Later<W> {
    /// The home of the pair. `moved` is its remainder.
    home: u32,
    moved: W,
    bucket: u32,
    /// The word of tags with a free slot. `free` tells which slot that is.
    word: u32,
    free: W,
}
