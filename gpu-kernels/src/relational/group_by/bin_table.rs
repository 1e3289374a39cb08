//! A page of groups in shared memory: a hash table of the keys of one bin, and what is computed of
//! the rows of each.

use super::on_chip::{OnChip, SPARE, Wanted};
use crate::column::ColumnParams;
use crate::seam::{Shared, upper_product};
use crate::types::KeyWord;

/// The range of a probe's steps, in slots: less than the slots of any page.
const STEPS: u32 = 128;

/// The slots behind the second one that are looked into before a row is left for a loop.
const MORE_SLOTS: usize = 3;

/// The slot of a row that has none, and of one whose search has not begun.
pub(super) const NO_SLOT: u32 = u32::MAX;

impl Wanted {
    /// Returns the count of slots of a page of at most `slots` slots in so many words of 32 bits:
    /// the largest prime number, so that a probe with any step visits all of them. It is never less
    /// than 131, for which there must be memory.
    pub const fn slots<K: KeyWord, V: crate::types::Payload>(self, slots: u32, words: u32) -> u32 {
        // Two arrays may begin one word later than the one before them ends.
        let most = words.saturating_sub(SPARE * self.slot_words::<K, V>() + 16) / self.slot_words::<K, V>();
        let mut slots = if slots < most { slots } else { most };
        // At most as many steps as slots: each takes one away.
        loop {
            if slots <= STEPS {
                // The smallest prime number that is larger than every step.
                return 131;
            }
            let mut divisor = 2;
            while divisor * divisor <= slots && !slots.is_multiple_of(divisor) {
                divisor += 1;
            }
            if divisor * divisor > slots {
                return slots;
            }
            slots -= 1;
        }
    }
}

/// The outcome of a look for a key.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The slot of the key's group, or [`NO_SLOT`].
    pub slot: u32,
    /// Whether it was empty before.
    pub took: bool,
}

/// A page of groups. The keys come first, then what is wanted.
///
/// A slot holds the mixed key with its highest bit set, and 0 if it is empty. That bit is the same
/// for all keys of a page, since a page's index is at least one bit of the mixed key.
///
/// A key's slots are its [home](GroupPage::home), the [second](GroupPage::second), and from there
/// on each [next](GroupPage::next) one. It takes the first that is empty, and no slot is emptied:
/// so it is never in two.
#[derive(Clone, Copy)]
pub(super) struct GroupPage<S> {
    words: S,
    pub wanted: Wanted,
    pub column: ColumnParams,
    pub chip: OnChip<S>,
    /// The bits of the page's index, at least 1, and the index.
    page_bits: u32,
    page: u32,
    slots: u32,
}

impl<S: Copy> GroupPage<S> {
    #[inline(always)]
    pub fn new<K: KeyWord, W: crate::types::Scalar>(
        words: S,
        wanted: Wanted,
        column: ColumnParams,
        (page, page_bits): (u32, u32),
        slots: u32,
    ) -> Self {
        let first = (slots * (K::BITS / 32)).next_multiple_of(2);
        let chip = OnChip::new::<W>(words, column, wanted, first, (slots + SPARE).next_multiple_of(2));
        Self { words, wanted, column, chip, page_bits, page, slots }
    }
}

impl<S: Shared<u32>> GroupPage<S> {
    /// Returns the same page, of which the compiler knows that sums alone are wanted.
    #[inline(always)]
    pub fn of_sums(self) -> Self {
        let wanted = Wanted { counts: false, sums: true, minima: false, maxima: false };
        Self { wanted, chip: self.chip.of_sums(), ..self }
    }

    /// Returns the count of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Clears the thread's share of the page.
    #[inline(always)]
    pub fn clear(&self, thread: u32, threads: u32) {
        let (words, end) = (self.words.cast::<u64>(), self.chip.end.div_ceil(2));
        if threads == 1 {
            words.clear(0, end);
            return;
        }
        let mut word = thread;
        while word < end {
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

    /// Returns the word of a key, as slots hold it, that its slots follow from: the bits behind the
    /// bits that tell the page.
    #[inline(always)]
    fn word<K: KeyWord>(&self, held: K) -> u32 {
        (held << self.page_bits).bits_from(K::BITS - 32)
    }

    /// Returns the first slot of a key, as slots hold it.
    #[inline(always)]
    pub fn home<K: KeyWord>(&self, held: K) -> u32 {
        upper_product(self.word(held), self.slots)
    }

    /// Returns the second slot of a key.
    #[inline(always)]
    pub fn second<K: KeyWord>(&self, held: K) -> u32 {
        upper_product(self.word(held).wrapping_mul(0x9e37_79b1), self.slots)
    }

    /// Returns the slot behind this one, which is not the first, in the order in which a key visits
    /// them.
    #[inline(always)]
    pub fn next<K: KeyWord>(&self, held: K, slot: u32) -> u32 {
        let next = slot + 1 + held.bits_from(0) % STEPS;
        if next >= self.slots { next - self.slots } else { next }
    }

    /// Returns what a slot holds, which other threads may be taking.
    #[inline(always)]
    pub fn seen<K: KeyWord>(&self, slot: u32) -> K {
        self.words.cast::<K>().load_relaxed(slot)
    }

    /// Looks for a key in one of its slots, all of those before which hold other keys. If it is
    /// empty, the key takes it. Otherwise it may be in the next one.
    #[inline(always)]
    pub fn look<K: KeyWord>(&self, held: K, slot: u32, seen: K) -> Look {
        let mut seen = seen;
        let mut took = false;
        if seen == K::default() {
            seen = self.words.cast::<K>().compare_exchange(slot, seen, held);
            took = seen == K::default();
        }
        Look { slot: if took || seen == held { slot } else { NO_SLOT }, took }
    }

    /// Looks for a key that is not in the first slot, `home`, where this was seen. Looks into a few
    /// more slots, but takes only the first one.
    #[inline(always)]
    pub fn look_further<K: KeyWord>(&self, held: K, home: u32, seen: K) -> Look {
        if seen == K::default() {
            return self.look(held, home, seen);
        }
        let mut slot = self.second(held);
        for _ in 0..MORE_SLOTS {
            if self.seen::<K>(slot) == held {
                return Look { slot, took: false };
            }
            slot = self.next(held, slot);
        }
        let slot = if self.seen::<K>(slot) == held { slot } else { NO_SLOT };
        Look { slot, took: false }
    }

    /// Returns what `slot` holds: 0 if it is empty.
    #[inline(always)]
    pub fn held<K: KeyWord>(&self, slot: u32) -> K {
        self.words.cast::<K>().get(slot)
    }

    /// Returns the mixed key that a slot holds.
    #[inline(always)]
    pub fn mixed<K: KeyWord>(&self, held: K) -> K {
        let of_page = K::from_u64((self.page >> (self.page_bits - 1)) as u64) << (K::BITS - 1);
        held & !highest::<K>() | of_page
    }
}

/// Returns the word with only the highest bit set.
#[inline(always)]
fn highest<K: KeyWord>() -> K {
    K::from_u64(1) << (K::BITS - 1)
}
