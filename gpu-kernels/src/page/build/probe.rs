//! Inserting pairs into a page in shared memory.
//!
//! The page's words are stored as rows: word `w` of bucket `b` has index `w · page_buckets + b`. So
//! threads that process different buckets have few bank conflicts.
//!
//! Most pairs get a slot of their home bucket by counting ([`Counts`]). The other pairs continue
//! with their other candidates. If keys are unique, a pair also gets its slot by counting, in the
//! first candidate that has a free slot ([`Page::take`]).
//!
//! If keys may be repeated, pairs search ([`Page::step`]): a pair takes the first free slot by a
//! compare-and-exchange of the whole word of tags. A full word stays full. So all pairs of one key
//! follow the same probe sequence and meet in the slot that the first of them took. No key is
//! inserted twice by searching, and the search also sees a key that counting has stored in its home
//! bucket.

use super::repeat_list::Listing;
use super::source::Entry;
use crate::page::form::{BUCKET_WORDS, Form, Layout, MAX_SLOTS, equal, filter, tag_number, tags_in};
use crate::page::lookup::table::{equal_tags, value_at};
use crate::seam::{Global, Shared, opaque};
use crate::types::{KeyWord, Scalar};
use core::marker::PhantomData;

/// The result of an insertion.
#[derive(Clone, Copy, PartialEq)]
pub enum InsertResult {
    /// The pair is in a slot that was free.
    New,
    /// The pair's key was in the page already.
    Repeated,
    /// All candidates of the pair are full.
    Left,
}

/// The state of the search for a pair's slot.
#[derive(Clone, Copy)]
pub struct Seek<W> {
    pub home: u32,
    pub remainder: W,
    /// The bucket of the next probe. `number` is the index of this candidate.
    bucket: u32,
    number: u32,
    /// The index of the word for the pair's value, once the key has a slot.
    pub at: u32,
    /// The result of the search, once it has ended.
    pub inserted: Option<InsertResult>,
}

/// A slot whose tag equals the tag that was searched.
#[derive(Clone, Copy)]
pub struct Found<W> {
    /// The index of the word of tags, and the value of that word when it was read.
    pub word: u32,
    pub held: W,
    /// The index of the tag's lowest bit in that word.
    pub shift: u32,
    /// The index of the word for the pair's value, and the index of the slot in its bucket.
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

/// The page of a table of these types in a block's memory `M`.
pub type PageIn<'l, F, K, V, M> =
    Page<'l, F, <K as KeyWord>::PackedWord<V>, <M as Shared<u64>>::As<<K as KeyWord>::PackedWord<V>>>;

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

    /// Returns the index of word `word` of a bucket.
    #[inline(always)]
    pub fn at(&self, word: u32, bucket: u32) -> u32 {
        if S::IN_PLACE { bucket * BUCKET_WORDS + word } else { word * self.layout.page_buckets + bucket }
    }

    /// Returns the index of the word for the value whose tag `equal` reports in tag word `word`.
    #[inline(always)]
    pub fn value_at(&self, word: u32, bucket: u32, equal: W) -> u32 {
        self.at(F::TAG_WORDS + word * F::TAGS + tag_number::<F, W>(equal), bucket)
    }

    /// Returns the tag in a slot.
    #[inline(always)]
    pub fn tag_in(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.get(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }

    /// Stores a pair in slot `slot` of `bucket`, which no other thread may take. Threads may do
    /// this concurrently.
    #[inline(always)]
    pub fn put(&self, bucket: u32, slot: u32, tag: W, value: W) {
        let (word, number) = (slot / F::TAGS, slot % F::TAGS);
        self.words.fetch_or(self.at(word, bucket), tag << (number * F::tag_bits::<W>()));
        if F::VALUES {
            self.words.set(self.at(F::TAG_WORDS + slot, bucket), value);
        }
    }

    /// Removes all but one of several pairs of one key whose home is `bucket` and that are stored
    /// there. The remaining pair gets the largest value. Lists the removed pairs, and returns their
    /// count. One thread per bucket may do this.
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
                        // The tag of a pair in its home bucket is its remainder plus 1.
                        listing.push(bucket, tag.minus(W::from_u64(1)));
                        taken += 1;
                    }
                }
            }
        }
        taken
    }

    /// Returns the initial state of the search for a pair's slot.
    #[inline(always)]
    pub fn seek(&self, home: u32, remainder: W) -> Seek<W> {
        Seek { home, remainder, bucket: home, number: 0, at: 0, inserted: None }
    }

    /// Returns the words of tags of a bucket, which other threads may be changing.
    #[inline(always)]
    pub fn tags(&self, bucket: u32) -> [W; BUCKET_WORDS as usize] {
        let mut held = [W::default(); BUCKET_WORDS as usize];
        if S::IN_PLACE {
            // Loading two words at a time takes half as many loads.
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

    /// Returns the slot that has `tag`, where `held` are the words of tags that were read from the
    /// bucket.
    #[inline(always)]
    pub fn slot_in(&self, held: &[W; BUCKET_WORDS as usize], bucket: u32, tag: W) -> Option<Found<W>> {
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

    /// Stores a pair in a slot of its home bucket, unless the bucket is full or another thread
    /// changes it concurrently. Returns whether its key is new, and the index of the word for its
    /// value. Threads may do this concurrently.
    ///
    /// All threads execute the same instructions, so that the threads of a warp do not diverge.
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

    /// Probes one bucket. Threads may do this concurrently.
    #[inline(always)]
    pub fn step(&self, seek: &mut Seek<W>) {
        let tag = self.layout.tag(seek.remainder, seek.number);
        let held = self.tags(seek.bucket);
        // This finds the first word with a free slot.
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

    /// Takes a slot of one bucket by counting, if the bucket has a free slot. Threads may do this
    /// concurrently.
    #[inline(always)]
    pub fn take(&self, seek: &mut Seek<W>, counts: Counts<impl Shared<u32>>, value: W) {
        // A load comes first: it is cheaper than an addition, and counts do not grow far beyond the
        // slots.
        let slot = if counts.has(seek.bucket) < F::SLOTS { counts.add(seek.bucket) } else { F::SLOTS };
        if slot < F::SLOTS {
            self.put(seek.bucket, slot, self.layout.tag(seek.remainder, seek.number), value);
            seek.inserted = Some(InsertResult::New);
        } else {
            self.go_on(seek);
        }
    }

    /// Searches a slot for a pair, by one thread, in a page that is built in the table's own memory
    /// at `words`.
    ///
    /// Returns the result, and the index of the value's word if the key was in the page already.
    /// With `COUNT` the key cannot be there.
    ///
    /// If the pair was spilled, it is not in its home line, and both buckets of that line are full.
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
        // At most seven candidates: each step ends, or goes on to the next one.
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

    /// Advances from a full bucket to the next candidate.
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
}

/// The most pairs of a page that is built by counting, since counts have 16 bits.
pub const MAX_COUNTED: u32 = 0xffff;

/// The count of slots of each bucket that pairs have requested. A count has 16 bits, or 32 bits
/// where pages are built in the table's own memory.
#[derive(Clone, Copy)]
pub struct Counts<S> {
    pub words: S,
    /// The index of the first word.
    pub first: u32,
}

impl<S: Shared<u32>> Counts<S> {
    /// Returns the word of a bucket's count, and the count's shift in that word.
    #[inline(always)]
    fn word_and_shift(&self, bucket: u32) -> (u32, u32) {
        (self.first + bucket / 2, bucket % 2 * 16)
    }

    /// Requests a slot of a bucket and returns its index. The bucket is full if the index is not
    /// below the count of slots.
    #[inline(always)]
    pub fn add(&self, bucket: u32) -> u32 {
        if S::IN_PLACE {
            return self.words.fetch_add(self.first + bucket, 1);
        }
        let (word, shift) = self.word_and_shift(bucket);
        self.words.fetch_add(word, 1 << shift) >> shift & 0xffff
    }

    /// Returns the count of slots of a bucket that were requested, while other threads may request
    /// more.
    #[inline(always)]
    pub fn has(&self, bucket: u32) -> u32 {
        if S::IN_PLACE {
            return self.words.load_relaxed(self.first + bucket);
        }
        let (word, shift) = self.word_and_shift(bucket);
        self.words.load_relaxed(word) >> shift & 0xffff
    }
}
