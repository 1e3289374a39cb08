//! A page of groups in shared memory: a hash table of the keys of one bin, with the aggregates of
//! each key's rows.

use super::aggregates::Wanted;
use super::copies::{Copies, SPARE};
use super::on_chip::OnChip;
use crate::column_values::ColumnParams;
use crate::seam::{Shared, upper_product};
use crate::types::KeyWord;

/// The count of steps that probe sequences choose from, less than the slots of any page.
const STEPS: u32 = 128;

/// The count of slots after the second one that are probed before a row is left to a loop.
const MORE_SLOTS: usize = 3;

/// The slot of a row that has no slot, or whose search has not begun.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Returns the count of slots of a page of at most `slots` slots in `words` words of 32 bits, of
/// which a slot takes `slot_words`. It is the largest prime number, so that a probe sequence with
/// any step visits all slots. It is never less than 131; there must be memory for these.
pub const fn page_slots(slots: u32, words: u32, slot_words: u32) -> u32 {
    // Two arrays may begin one word after the end of the array before.
    let most = words.saturating_sub(SPARE * slot_words + 16) / slot_words;
    let mut slots = if slots < most { slots } else { most };
    // At most as many steps as slots: each step tries one slot fewer.
    loop {
        if slots <= STEPS {
            // This is the smallest prime number that is larger than every step.
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

/// The result of probing for a key.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The slot of the key's group, or [`NO_SLOT`].
    pub slot: u32,
    /// Whether the slot was empty before.
    pub took: bool,
}

/// A page of groups. Its arrays are the keys, followed by the wanted aggregates.
///
/// A slot contains the mixed key with its highest bit set, or 0 if it is empty. That bit is the
/// same for all keys of a page, since a page's index is at least one bit of the mixed key.
///
/// The slots of a key are its [home](GroupPage::home), the [second](GroupPage::second) slot, and
/// each [next](GroupPage::next) slot after that. A key takes the first empty slot, and no slot is
/// emptied, so a key is never in two slots.
#[derive(Clone, Copy)]
pub(super) struct GroupPage<S> {
    words: S,
    pub column: ColumnParams,
    pub chip: OnChip<S>,
    /// The count of bits of the page's index, at least 1, and the index.
    page_bits: u32,
    page: u32,
    slots: u32,
    /// The binary logarithm of the count of copies of a slot's aggregates.
    copy_bits: u32,
    /// The end of all arrays.
    pub end: u32,
}

impl<S: Copy> GroupPage<S> {
    #[inline(always)]
    pub fn new<K: KeyWord, W: crate::types::Scalar>(
        words: S,
        wanted: Wanted,
        column: ColumnParams,
        (page, page_bits): (u32, u32),
        (slots, copy_bits): (u32, u32),
    ) -> Self {
        let first = (slots * (K::BITS / 32)).next_multiple_of(2);
        let length = ((slots << copy_bits) + SPARE).next_multiple_of(2);
        let chip = OnChip::new::<W>(words, column, wanted, first, (length, SPARE));
        Self { words, column, chip, page_bits, page, slots, copy_bits, end: chip.end }
    }
}

impl<S: Shared<u32>> GroupPage<S> {
    /// Returns the same page, so that the compiler knows that only sums are wanted.
    #[inline(always)]
    pub fn of_sums(self) -> Self {
        Self { chip: self.chip.of_sums(), ..self }
    }

    /// Returns the count of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the slot of rows without a group of a lane, whose copies are spare.
    #[inline(always)]
    pub fn spare(&self, lane: u32) -> u32 {
        self.slots + (lane >> self.copy_bits)
    }

    /// Returns the copies of a slot's aggregates.
    #[inline(always)]
    pub fn copies(&self, slot: u32) -> Copies {
        Copies::new(slot << self.copy_bits, self.copy_bits)
    }

    /// Returns a lane's copy of a slot's aggregates.
    #[inline(always)]
    pub fn copy(&self, slot: u32, lane: u32) -> u32 {
        (slot << self.copy_bits) + (lane & ((1 << self.copy_bits) - 1))
    }

    /// Clears the thread's part of the page.
    #[inline(always)]
    pub fn clear(&self, thread: u32, threads: u32) {
        let (words, end) = (self.words.cast::<u64>(), self.end.div_ceil(2));
        let mut word = thread;
        while word < end {
            words.set(word, 0);
            word += threads;
        }
    }

    /// Returns whether the key belongs to this page.
    #[inline(always)]
    pub fn has<K: KeyWord>(&self, mixed: K) -> bool {
        mixed >> (K::BITS - self.page_bits) == K::from_u64(self.page as u64)
    }

    /// Returns the mixed key as slots contain it.
    #[inline(always)]
    pub fn held_for<K: KeyWord>(&self, mixed: K) -> K {
        mixed | highest::<K>()
    }

    /// Returns the word from which a key's slots are computed: the bits after the page's index. The
    /// key is as slots contain it.
    #[inline(always)]
    fn word<K: KeyWord>(&self, held: K) -> u32 {
        (held << self.page_bits).bits_from(K::BITS - 32)
    }

    /// Returns the first slot of a key as slots contain it.
    #[inline(always)]
    pub fn home<K: KeyWord>(&self, held: K) -> u32 {
        upper_product(self.word(held), self.slots)
    }

    /// Returns the second slot of a key.
    #[inline(always)]
    pub fn second<K: KeyWord>(&self, held: K) -> u32 {
        upper_product(self.word(held).wrapping_mul(0x9e37_79b1), self.slots)
    }

    /// Returns the next slot in the probe sequence of a key, after a slot that is not its home.
    #[inline(always)]
    pub fn next<K: KeyWord>(&self, held: K, slot: u32) -> u32 {
        let next = slot + 1 + held.bits_from(0) % STEPS;
        if next >= self.slots { next - self.slots } else { next }
    }

    /// Returns the contents of a slot, which other threads may be taking.
    #[inline(always)]
    pub fn seen<K: KeyWord>(&self, slot: u32) -> K {
        self.words.cast::<K>().load_relaxed(slot)
    }

    /// Probes one of a key's slots, whose earlier slots contain other keys. If the slot is empty,
    /// the key takes it. If it contains another key, the key may be in its next slot.
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

    /// Probes for a key whose first slot, `home`, contains `seen`, another key or nothing. Probes a
    /// few more slots, but takes only the first one.
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

    /// Returns the contents of `slot`, which are 0 if it is empty.
    #[inline(always)]
    pub fn held<K: KeyWord>(&self, slot: u32) -> K {
        self.words.cast::<K>().get(slot)
    }

    /// Returns the mixed key of a slot's contents.
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
