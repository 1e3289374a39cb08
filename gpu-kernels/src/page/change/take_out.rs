//! Finding pairs in a page, taking them out, and pulling others back to slots that are free then.
//! All of this is done by threads at the same time.

use crate::page::build::probe::{Found, Page};
use crate::page::form::{Form, filter, tags_in};
use crate::seam::Shared;
use crate::types::Scalar;

impl<F: Form, W: Scalar, S: Shared<W>> Page<'_, F, W, S> {
    /// Returns the index of the candidate that has the key with this home and remainder, the word
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
    /// Returns the index of the word of its value, and whether the bucket was full. If the pair is
    /// not there, returns whether some pair of its class had to leave the bucket.
    #[inline(always)]
    pub fn remove_candidate(&self, home: u32, remainder: W, number: u32) -> Result<(u32, bool), bool> {
        let (bucket, tag) = (self.layout.candidate(home, remainder, number), self.layout.tag(remainder, number));
        // At most as many steps as tags in a word: others only clear some.
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

    /// Removes the pair with this home and remainder from candidate `number` or a later one;
    /// returns whether it was there. Other threads may remove pairs at the same time.
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
    /// earlier; returns the index of the new slot, counted over the page. Threads may do this at
    /// the same time with different pairs, and none of them frees a slot meanwhile.
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

    /// Returns the tag in a slot, while other threads change other tags of its word.
    #[inline(always)]
    fn tag_now(&self, bucket: u32, slot: u32) -> W {
        let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
        self.words.load_relaxed(self.at(slot / F::TAGS, bucket)) >> (slot % F::TAGS * F::tag_bits::<W>()) & mask
    }
}
