//! Placing pairs in a page in shared memory.
//!
//! The page's words lie as rows: word `w` of bucket `b` is number `w · page_buckets + b`, so that threads that are at different
//! buckets meet few bank conflicts.
//!
//! Most pairs get a slot at home by counting ([`Page::put`]). The others search ([`Page::step`]): a pair takes the first free slot in the
//! first of its candidates that has one, by a compare-and-exchange of the whole word of tags. A word that is full stays so. So all
//! pairs of one key go the same way and meet where the first of them stopped: no key is placed twice by searching, and one that
//! is at home by counting is seen there.

use super::form::{Form, equal, filter, tag_number};
use super::{CANDIDATES, Layout, STATE_BITS};
use crate::seam::{Shared, settled};
use crate::types::Scalar;
use core::marker::PhantomData;

/// What became of a pair.
#[derive(Clone, Copy, PartialEq)]
pub enum Placed {
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
    pub placed: Option<Placed>,
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

    #[inline(always)]
    fn at(&self, word: u32, bucket: u32) -> u32 {
        word * self.layout.page_buckets + bucket
    }

    #[inline(always)]
    fn tag(remainder: W, number: u32) -> W {
        remainder << STATE_BITS | W::from_u64(number as u64 + 1)
    }

    /// The number of the value's word for the tag that `equal` names in tag word `word`.
    #[inline(always)]
    fn value_at(&self, word: u32, bucket: u32, equal: W) -> u32 {
        self.at(F::TAG_WORDS + word * F::TAGS + tag_number::<F, W>(equal), bucket)
    }

    /// Puts a pair into slot `slot` of its home, which nobody else may take. Threads may do this at the same time.
    #[inline(always)]
    pub fn put(&self, home: u32, slot: u32, remainder: W, value: W) {
        let (word, number) = (slot / F::TAGS, slot % F::TAGS);
        self.words.fetch_or(self.at(word, home), Self::tag(remainder, 0) << (number * F::tag_bits::<W>()));
        self.words.set(self.at(F::TAG_WORDS + slot, home), value);
    }

    /// Leaves, of several pairs of one key in `bucket`, which are all at home there, the one with the largest value; returns how many
    /// it took out. One thread a bucket may do this.
    #[inline(always)]
    pub fn unite_repeats(&self, bucket: u32) -> u32 {
        let tag_of = |slot: u32| self.tag_in(bucket, slot);
        let mut tags = [W::default(); 6];
        for slot in 0..F::SLOTS {
            tags[slot as usize] = tag_of(slot);
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
            for slot in 1..settled(F::SLOTS) {
                for earlier in 0..slot {
                    let tag = tag_of(slot);
                    if tag != W::default() && tag == tag_of(earlier) {
                        let (value_at, at) = (self.at(F::TAG_WORDS + slot, bucket), self.at(slot / F::TAGS, bucket));
                        self.words.fetch_max(self.at(F::TAG_WORDS + earlier, bucket), self.words.get(value_at));
                        self.words.set(value_at, W::default());
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
        Seek { home, remainder, bucket: home, number: 0, at: 0, placed: None }
    }

    /// Looks at one bucket. Threads may do this at the same time.
    #[inline(always)]
    pub fn step(&self, seek: &mut Seek<W>) {
        let tag = Self::tag(seek.remainder, seek.number);
        let mut held = [W::default(); 4];
        for word in 0..F::TAG_WORDS {
            held[word as usize] = self.words.watch(self.at(word, seek.bucket));
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
                (seek.placed, seek.at) = (Some(Placed::Repeated), self.value_at(at, seek.bucket, same));
            }
        }
        if seek.placed.is_some() {
            return;
        }
        if free == W::default() {
            self.go_on(seek);
            return;
        }
        let new = old | tag << (tag_number::<F, W>(free) * F::tag_bits::<W>());
        // If somebody changed the word: look again.
        if self.words.compare_exchange(self.at(word, seek.bucket), old, new) == old {
            (seek.placed, seek.at) = (Some(Placed::New), self.value_at(word, seek.bucket, free));
        }
    }

    /// From a full bucket to the next candidate.
    #[inline(always)]
    fn go_on(&self, seek: &mut Seek<W>) {
        if seek.number == 0 {
            let (word, bit) = filter::<F, W>(seek.remainder);
            self.words.fetch_or(self.at(word, seek.home), bit);
        }
        seek.number += 1;
        seek.bucket = self.layout.candidate(seek.home, seek.remainder, seek.number);
        if seek.number == CANDIDATES {
            seek.placed = Some(Placed::Left);
        }
    }

    /// Searches for a slot to the end.
    #[inline(always)]
    pub fn place(&self, home: u32, remainder: W) -> (Placed, u32) {
        let mut seek = self.seek(home, remainder);
        loop {
            self.step(&mut seek);
            if let Some(placed) = seek.placed {
                return (placed, seek.at);
            }
        }
    }

    /// How many slots a pair has in all of its candidates.
    #[inline(always)]
    pub fn reach(&self) -> u32 {
        CANDIDATES * F::SLOTS
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

    /// Whether the pair in number `reached` of the slots of a pair that was left could go on to a later candidate of its own.
    #[inline(always)]
    pub fn can_move(&self, home: u32, remainder: W, reached: u32) -> bool {
        let (_, bucket, slot) = self.reached(home, remainder, reached);
        self.free_later(bucket, self.tag_in(bucket, slot)).is_some()
    }

    /// Moves that pair on and gives its slot to the one that was left; returns where the value of that one belongs. One thread
    /// may do this at a time, and nobody may place pairs meanwhile.
    #[inline(always)]
    pub fn make_room(&self, home: u32, remainder: W, reached: u32) -> u32 {
        let (number, bucket, slot) = self.reached(home, remainder, reached);
        let (tag, value_at) = (self.tag_in(bucket, slot), self.at(F::TAG_WORDS + slot, bucket));
        if let Some((next_number, next, word, free)) = self.free_later(bucket, tag) {
            let moved = tag >> STATE_BITS;
            let (at, shift) = (self.at(word, next), tag_number::<F, W>(free) * F::tag_bits::<W>());
            self.words.set(at, self.words.get(at) | Self::tag(moved, next_number) << shift);
            self.words.set(self.value_at(word, next, free), self.words.get(value_at));
            let (word, bit) = filter::<F, W>(moved);
            let filter_at = self.at(word, self.home_of(bucket, tag));
            self.words.set(filter_at, self.words.get(filter_at) | bit);
        }
        let (at, shift) = (self.at(slot / F::TAGS, bucket), slot % F::TAGS * F::tag_bits::<W>());
        self.words.set(at, self.words.get(at) ^ (tag ^ Self::tag(remainder, number)) << shift);
        // Nothing of the other one is left behind.
        self.words.set(value_at, W::default());
        value_at
    }

    #[inline(always)]
    fn home_of(&self, bucket: u32, tag: W) -> u32 {
        self.layout.home_of(bucket, tag >> STATE_BITS, tag.bits_from(0) % (1 << STATE_BITS) - 1)
    }

    /// Of the pair with `tag` in `bucket`, the next candidate that is not full: its number, its bucket, the word with a free slot, and
    /// which slot that is.
    #[inline(always)]
    fn free_later(&self, bucket: u32, tag: W) -> Option<(u32, u32, u32, W)> {
        let home = self.home_of(bucket, tag);
        let mut found = None;
        let mut number = tag.bits_from(0) % (1 << STATE_BITS);
        // Rare, so it should be short: a loop whose end the compiler does not know stays a loop.
        while number < settled(CANDIDATES) && found.is_none() {
            let next = self.layout.candidate(home, tag >> STATE_BITS, number);
            for word in 0..F::TAG_WORDS {
                let free = equal::<F, W>(self.words.get(self.at(word, next)), word, W::default());
                if found.is_none() && free != W::default() {
                    found = Some((number, next, word, free));
                }
            }
            number += 1;
        }
        found
    }
}
