//! Finding pairs in a page, removing them, and moving other pairs to the slots that are then free.
//! Threads may do this concurrently.

use crate::page::build::probe::{Found, Page};
use crate::page::form::{Form, filter, tags_in};
use crate::seam::Shared;
use crate::types::Scalar;

impl<F: Form, W: Scalar, S: Shared<W>> Page<'_, F, W, S> {
    /// Returns the slot of the key with this home and remainder, if the key is in the page. Other
    /// threads may be changing the page.
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

    /// Returns the slot of `bucket` that has this tag, if there is such a slot. Other threads may
    /// be changing the page.
    #[inline(always)]
    pub fn find_in(&self, bucket: u32, tag: W) -> Option<Found<W>> {
        self.slot_in(&self.tags(bucket), bucket, tag)
    }

    /// Removes the pair with this home and remainder from its candidate `number`. Other threads may
    /// remove pairs concurrently.
    ///
    /// Returns the index of the word of its value, and whether the bucket was full. If the pair is
    /// not in this bucket, returns whether the bucket's filter bit for the pair's class is set.
    #[inline(always)]
    pub fn remove_candidate(&self, home: u32, remainder: W, number: u32) -> Result<(u32, bool), bool> {
        let (bucket, tag) = (self.layout.candidate(home, remainder, number), self.layout.tag(remainder, number));
        // At most as many steps as tags in a word, since other threads only clear tags.
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

    /// Removes the pair with this home and remainder from candidate `number` or a later one.
    /// Returns whether the pair was found. Other threads may remove pairs concurrently.
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

    /// Copies the pair in a slot to the first of its candidates that has a free slot, if that
    /// candidate comes before its current one. Returns the index of the new slot in the page.
    /// Threads may do this concurrently with different pairs, while no thread frees a slot.
    #[inline(always)]
    pub fn move_back(&self, bucket: u32, slot: u32) -> Option<u32> {
        let (remainder, own) = self.layout.untag(self.tag_now(bucket, slot));
        let home = self.layout.home_of(bucket, remainder, own);
        let mut number = 0;
        // At most six candidates, and a probe is repeated only if another thread took a slot of the
        // bucket. The loop should not be unrolled.
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

    /// Frees a slot that contains a pair. Threads may do this concurrently with different slots.
    #[inline(always)]
    pub fn vacate(&self, bucket: u32, slot: u32) {
        // This does not borrow from other tags, since the slot has this tag.
        let shift = slot % F::TAGS * F::tag_bits::<W>();
        self.words.fetch_add(self.at(slot / F::TAGS, bucket), W::default().minus(self.tag_now(bucket, slot) << shift));
    }

    /// Clears the filter bits of a bucket.
    #[inline(always)]
    pub fn clear_filters(&self, bucket: u32) {
        for word in 0..F::TAG_WORDS {
            let (at, bits) = (self.at(word, bucket), F::tag_bits::<W>() * tags_in::<F>(word));
            // Filter bits are above the tags of the word, if the word has filter bits.
            if bits < W::BITS {
                self.words.set(at, self.words.get(at) & (W::from_u64(1) << bits).minus(W::from_u64(1)));
            }
        }
    }

    /// Sets the filter bit for the pair in a slot outside its home bucket. Threads may do this
    /// concurrently.
    #[inline(always)]
    pub fn set_filter(&self, bucket: u32, slot: u32) {
        let (remainder, number) = self.layout.untag(self.tag_now(bucket, slot));
        let home = self.layout.home_of(bucket, remainder, number);
        let (word, bit) = filter::<F, W>(remainder);
        self.words.fetch_or(self.at(word, home), bit);
    }

    /// Returns whether the filter bit of the remainder's class is set in this home bucket.
    #[inline(always)]
    pub fn filtered(&self, home: u32, remainder: W) -> bool {
        let (word, bit) = filter::<F, W>(remainder);
        self.words.load_relaxed(self.at(word, home)) & bit != W::default()
    }

    /// Returns the tag in a slot, while other threads may change other tags in the same word.
    #[inline(always)]
    fn tag_now(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.load_relaxed(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }
}
