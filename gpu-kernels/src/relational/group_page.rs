//! A page of groups in shared memory: a hash table of the keys of one bin, and what is computed of
//! the rows of each.

use super::column::ColumnParams;
use crate::seam::Shared;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The words of 32 bits that a page has for its slots.
pub const PAGE_WORDS: u32 = 12_160;

/// The most slots of a bucket.
const MAX_BUCKET_SLOTS: usize = 4;

/// Returns the number of slots of a bucket, which are read at once: 16 bytes of keys.
const fn bucket_slots<K: KeyWord>() -> usize {
    MAX_BUCKET_SLOTS * 32 / K::BITS as usize
}

/// The range of a probe's steps, in buckets: less than the buckets of any page.
const STEPS: u32 = 128;

/// The slot of a row that has none, and the bucket of one that has not begun.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// The aggregates that are computed of each group.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The number of rows.
    pub counts: bool,
    /// The sum of the widened values.
    pub sums: bool,
    /// The least value.
    pub minima: bool,
    /// The greatest value.
    pub maxima: bool,
}

impl Wanted {
    /// Returns the number of 32-bit words of a slot.
    #[inline(always)]
    pub const fn slot_words<K: KeyWord, V: Payload>(self) -> u32 {
        let value = <V::Word as Scalar>::BITS / 32;
        K::BITS / 32
            + self.counts as u32
            + self.sums as u32 * 2
            + self.minima as u32 * value
            + self.maxima as u32 * value
    }

    /// Returns the number of buckets of a page of at most `slots` slots: the largest prime number
    /// that there is memory for, so that a probe with any step visits all of them.
    pub const fn buckets<K: KeyWord, V: Payload>(self, slots: u32) -> u32 {
        let most = PAGE_WORDS / self.slot_words::<K, V>();
        let slots = if slots < most { slots } else { most };
        let mut buckets = slots / bucket_slots::<K>() as u32;
        loop {
            if buckets <= STEPS {
                // The smallest prime number that is larger than every step.
                return 131;
            }
            let mut divisor = 2;
            while divisor * divisor <= buckets && !buckets.is_multiple_of(divisor) {
                divisor += 1;
            }
            if divisor * divisor > buckets {
                return buckets;
            }
            buckets -= 1;
        }
    }

    /// Returns the number of groups that fit a page with `buckets` buckets.
    pub const fn slots<K: KeyWord>(buckets: u32) -> u32 {
        bucket_slots::<K>() as u32 * buckets
    }
}

/// The outcome of a look into a bucket.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The slot of the key's group, or [`NO_SLOT`].
    pub slot: u32,
    /// Whether it was empty before.
    pub took: bool,
    /// Whether the slots are those of other keys. If there is no slot otherwise, another thread
    /// took it just now, and the bucket is to be looked into again.
    pub full: bool,
}

/// A page of groups. Slots come in buckets of 16 bytes of keys, and each kind of word has an array
/// of its own: the keys come first, then what is wanted.
///
/// A slot holds the mixed key with its highest bit set, and 0 if it is empty. That bit is the same
/// for all keys of a page, since a page's number is at least one bit of the mixed key.
#[derive(Clone, Copy)]
pub(super) struct GroupPage<S> {
    memory: S,
    pub wanted: Wanted,
    column: ColumnParams,
    /// The bits of the page's number, at least 1, and the number.
    page_bits: u32,
    page: u32,
    buckets: u32,
    slots: u32,
    // The offsets of the arrays, in 32-bit words.
    minima: u32,
    maxima: u32,
    sums: u32,
    counts: u32,
    end: u32,
}

impl<S: Shared<u64>> GroupPage<S> {
    #[inline(always)]
    pub fn new<K: KeyWord, V: Payload>(
        memory: S,
        wanted: Wanted,
        column: ColumnParams,
        (page, page_bits): (u32, u32),
        buckets: u32,
    ) -> Self {
        let (slots, value) = (Wanted::slots::<K>(buckets), <V::Word as Scalar>::BITS / 32);
        let minima = slots * (K::BITS / 32);
        let maxima = minima + if wanted.minima { slots * value } else { 0 };
        let sums = maxima + if wanted.maxima { slots * value } else { 0 };
        let counts = sums + if wanted.sums { slots * 2 } else { 0 };
        let end = counts + if wanted.counts { slots } else { 0 };
        Self { memory, wanted, column, page_bits, page, buckets, slots, minima, maxima, sums, counts, end }
    }

    /// Returns the number of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Clears the thread's share of the page.
    #[inline(always)]
    pub fn clear(&self, thread: u32, threads: u32) {
        let words = self.memory;
        if threads == 1 {
            words.clear(0, self.end.div_ceil(2));
            return;
        }
        let mut word = thread;
        while word < self.end.div_ceil(2) {
            words.set(word, 0);
            word += threads;
        }
    }

    /// Returns whether the key is one of this page.
    #[inline(always)]
    pub fn has<K: KeyWord>(&self, mixed: K) -> bool {
        mixed >> (K::BITS - self.page_bits) == K::from_u64(self.page as u64)
    }

    /// Returns the mixed key as slots hold it.
    #[inline(always)]
    pub fn held_for<K: KeyWord>(&self, mixed: K) -> K {
        mixed | highest::<K>()
    }

    /// Returns the first bucket of a key, as slots hold it.
    #[inline(always)]
    pub fn home<K: KeyWord>(&self, held: K) -> u32 {
        (held << self.page_bits).bits_from(K::BITS - 32).scaled(self.buckets)
    }

    /// Returns what a bucket holds, whose slots other threads may be taking. Elements behind its
    /// slots are unspecified.
    #[inline(always)]
    pub fn bucket<K: KeyWord>(&self, bucket: u32) -> [K; MAX_BUCKET_SLOTS] {
        let (keys, at) = (self.memory.cast::<K>(), bucket_slots::<K>() as u32 * bucket);
        if bucket_slots::<K>() == MAX_BUCKET_SLOTS {
            return keys.load_four_relaxed(at);
        }
        let [first, second] = keys.load_pair_relaxed(at);
        [first, second, first, second]
    }

    /// Looks for a key in what its bucket held: the row finds its group, or takes an empty slot for
    /// it, or has to look into the next bucket.
    #[inline(always)]
    pub fn look<K: KeyWord>(&self, held: K, bucket: u32, found: [K; MAX_BUCKET_SLOTS]) -> Look {
        let at = bucket_slots::<K>() as u32 * bucket;
        let slot_with = |key: K| {
            let mut slot = NO_SLOT;
            for i in (0..bucket_slots::<K>()).rev() {
                slot = if found[i] == key { at + i as u32 } else { slot };
            }
            slot
        };
        let slot = slot_with(held);
        if slot != NO_SLOT {
            return Look { slot, took: false, full: false };
        }
        // Slots are taken from the first one on, so that a key is never in two.
        let slot = slot_with(K::default());
        if slot == NO_SLOT {
            return Look { slot, took: false, full: true };
        }
        let was = self.memory.cast::<K>().compare_exchange(slot, K::default(), held);
        let taken = was == K::default() || was == held;
        Look { slot: if taken { slot } else { NO_SLOT }, took: was == K::default(), full: false }
    }

    /// Returns the bucket behind this one in the order in which a key visits them.
    #[inline(always)]
    pub fn next<K: KeyWord>(&self, held: K, bucket: u32) -> u32 {
        let next = bucket + 1 + held.bits_from(0) % STEPS;
        if next >= self.buckets { next - self.buckets } else { next }
    }

    /// Adds a row to the group in `slot`.
    ///
    /// A sum is two words: the low one is added to atomically, which tells whether there is a carry
    /// to the high one. A GPU adds 64 bits in shared memory by compare and exchange, which takes
    /// longer.
    #[inline(always)]
    pub fn add<V: Payload>(&self, slot: u32, value: WordOf<V>) {
        let words = self.memory.cast::<u32>();
        if self.wanted.counts {
            words.fetch_add(self.counts + slot, 1);
        }
        if V::VALUE_BITS == 0 {
            return;
        }
        if self.wanted.sums {
            let wide = self.column.widened(value);
            let low = wide as u32;
            let was = words.fetch_add(self.sums + slot, low);
            let carry = (was.wrapping_add(low) < low) as u32;
            let high = ((wide >> 32) as u32).wrapping_add(carry);
            if high != 0 {
                words.fetch_add(self.sums + self.slots() + slot, high);
            }
        }
        if self.wanted.minima || self.wanted.maxima {
            let (values, ordered) = (self.memory.cast::<V::Word>(), self.column.ordered(value));
            if self.wanted.minima {
                values.fetch_max(self.first_of::<V>(self.minima) + slot, !ordered);
            }
            if self.wanted.maxima {
                values.fetch_max(self.first_of::<V>(self.maxima) + slot, ordered);
            }
        }
    }

    /// Returns the same page, of which the compiler knows what is wanted.
    #[inline(always)]
    pub fn with_wanted(self, wanted: Wanted) -> Self {
        Self { wanted, ..self }
    }

    /// Adds a row to the group in `slot`, for a block of one thread: a sum is one word there.
    #[inline(always)]
    pub fn add_in_turn<V: Payload>(&self, slot: u32, value: WordOf<V>) {
        if V::VALUE_BITS != 0 && self.wanted.sums {
            self.memory.cast::<u64>().fetch_add(self.sums / 2 + slot, self.column.widened(value));
        }
        Self { wanted: Wanted { sums: false, ..self.wanted }, ..*self }.add::<V>(slot, value);
    }

    /// Returns the sum of the group in `slot`, for a block of one thread.
    #[inline(always)]
    pub fn sum_in_turn(&self, slot: u32) -> u64 {
        self.memory.cast::<u64>().get(self.sums / 2 + slot)
    }

    /// Returns what `slot` holds: 0 if it is empty.
    #[inline(always)]
    pub fn held<K: KeyWord>(&self, slot: u32) -> K {
        self.memory.cast::<K>().get(slot)
    }

    /// Returns the mixed key that a slot holds.
    #[inline(always)]
    pub fn mixed<K: KeyWord>(&self, held: K) -> K {
        let of_page = K::from_u64((self.page >> (self.page_bits - 1)) as u64) << (K::BITS - 1);
        held & !highest::<K>() | of_page
    }

    /// Returns the number of rows of the group in `slot`.
    #[inline(always)]
    pub fn count(&self, slot: u32) -> u32 {
        self.memory.cast::<u32>().get(self.counts + slot)
    }

    /// Returns the sum of the group in `slot`.
    #[inline(always)]
    pub fn sum(&self, slot: u32) -> u64 {
        let words = self.memory.cast::<u32>();
        let [low, high] = [words.get(self.sums + slot), words.get(self.sums + self.slots() + slot)];
        low as u64 | (high as u64) << 32
    }

    /// Returns the least value of the group in `slot`.
    #[inline(always)]
    pub fn minimum<V: Payload>(&self, slot: u32) -> V::Word {
        self.column.unordered(!self.memory.cast::<V::Word>().get(self.first_of::<V>(self.minima) + slot))
    }

    /// Returns the greatest value of the group in `slot`.
    #[inline(always)]
    pub fn maximum<V: Payload>(&self, slot: u32) -> V::Word {
        self.column.unordered(self.memory.cast::<V::Word>().get(self.first_of::<V>(self.maxima) + slot))
    }

    /// Returns the offset of an array of values in words of their width.
    #[inline(always)]
    fn first_of<V: Payload>(&self, words: u32) -> u32 {
        words / (<V::Word as Scalar>::BITS / 32)
    }
}

/// Returns the word with only the highest bit set.
#[inline(always)]
fn highest<K: KeyWord>() -> K {
    K::from_u64(1) << (K::BITS - 1)
}
