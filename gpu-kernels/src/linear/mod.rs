//! The table that is used while it changes: open addressing on words of 64 or 128 bits, after
//! (Farrell 2020).
//!
//! Every state of a slot is one word, and every change is one atomic operation on that word
//! ([`slot`]). So threads may insert, look up and remove concurrently. docs/linear.md describes the
//! design.
//!
//! **Layout.** A bucket is 32 bytes: four slots of 64 bits, or two of 128. One thread can read it
//! as fast as one slot. Two buckets are a line of 64 bytes, the unit of a random access to memory.
//!
//! A key has a home line, a bucket there, and a slot at which its search begins. After a full
//! bucket the search continues in the other bucket of the line, and after a full line in another
//! line, at a distance that depends on the key ([`Layout::probe`]). All buckets before the bucket
//! of a key are full.
//!
//! After [`slot`] read `table`, which contains the operations of one thread. The other files
//! contain launches: `apply` is for batches of any operations, `insert`, `combine` and `find` for
//! batches of one kind, `rehash` and `inspect` for whole tables. `same_keys` merges the operations
//! of a block that combine values of one key. One CPU thread processes a batch by `line`
//! (`batch_in_turn`, `find_in_turn`).

mod apply;
mod batch_in_turn;
mod combine;
mod find;
mod find_in_turn;
mod insert;
mod inspect;
mod line;
mod rehash;
mod same_keys;
pub mod slot;
mod table;

pub use apply::{Apply, ApplyParams, CountInserting, InsertingParams, Operation};
pub use combine::{Combine, CombineParams};
pub(crate) use find::find_in_unchanging;
pub use find::{Find, FindParams};
pub use insert::{Insert, InsertParams};
pub use inspect::{InspectParams, ProbeLengths, Recount, Unpack};
pub use rehash::{Rehash, RehashParams};
pub use slot::Inserted;
pub use table::{Emptying, Filling, InUse};

use crate::double_word::Double;
use crate::seam::{Block, Global};
use crate::types::{KeyWord, Scalar};

/// The header words beside the slots.
pub mod header {
    /// The cell of the key that is all ones. Its word is 0 if the key is absent, or has 1 above the
    /// value.
    pub const CELL: u64 = 0;
    /// The count of requests for a slot, if requests are counted. The words before this one are
    /// enough for the widest cell.
    pub const ASKED: u64 = 2;
    /// The count of a batch's operations that insert, if they are counted.
    pub const INSERTING: u64 = 3;
    /// The first word of the counters, which are ordered by stripe.
    pub const COUNTERS: u64 = 16;
    /// The count of stripes. Each block counts in one stripe, so that blocks do not all wait for
    /// one word.
    pub const STRIPES: u64 = 32;
    /// The counter, in a stripe, of empty slots that were taken.
    pub const TAKEN: u64 = 0;
    /// The counter of keys that became present.
    pub const GAINED: u64 = 1;
    /// The counter of keys that were removed.
    pub const LOST: u64 = 2;
    /// The counter of keys that found no slot.
    pub const REFUSED: u64 = 3;
    /// The counter of slots that became empty again.
    pub const EMPTIED: u64 = 4;
    /// The count of words in a stripe.
    pub const STRIPE: u64 = 8;
    /// The count of words.
    pub const WORDS: usize = (COUNTERS + STRIPES * STRIPE) as usize;
}

/// Returns the index of the header's word where the counters of this block's stripe begin.
#[inline(always)]
pub(crate) fn stripe_of(block: &impl Block) -> u64 {
    header::COUNTERS + block.index() as u64 % header::STRIPES * header::STRIPE
}

/// Adds a block's counts to the header's counters.
#[inline(always)]
fn count_up<const N: usize>(block: &mut impl Block, header: Global<u64>, counts: [(u64, u32); N]) {
    let stripe = stripe_of(block);
    block.each_thread(|thread| {
        if thread == 0 {
            for i in 0..N {
                let (which, count) = counts[i];
                if count != 0 {
                    header.atomic(stripe + which).fetch_add(count as u64);
                }
            }
        }
    });
}

/// The constants of a table's hash, and its count of lines.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Layout {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of lines, which is at least 2. It is a prime unless `linear` is 1, so that every
    /// step leads to every line.
    pub lines: u32,
    /// 1 for linear probing, where the next line is the adjacent one. 0 if the distance to the next
    /// line depends on the key.
    pub linear: u32,
}

/// The position of the search for a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// The bucket of the next probe, which is at first the home bucket.
    pub bucket: u32,
    /// The count of buckets of this line that were probed already: 0 or 1.
    second: u32,
    /// The distance to the next line.
    step: u32,
    /// The slot at which the search of each bucket starts. The other slots follow cyclically.
    pub start: u32,
}

impl Layout {
    /// Returns the start of the search for `key` in a table of words `W`. A narrower key is widened
    /// to half of a word first.
    #[inline(always)]
    pub fn probe<W: Double>(&self, key: W::Half) -> Probe {
        let mixed = key.mixed(self.a, self.b);
        // The upper bits determine the line, the lowest bits the bucket and the slot, and the lower
        // 32 bits the step.
        let low = mixed.bits_from(0);
        let step = if self.linear != 0 { 1 } else { 1 + low.wrapping_mul(0x9e37_79b1).scaled(self.lines - 1) };
        let bucket = 2 * mixed.scaled(self.lines) + low / W::IN_SECTOR % 2;
        Probe { bucket, second: 0, step, start: low % W::IN_SECTOR }
    }

    /// Returns a key's class for [`Tile::twins`](crate::seam::Tile::twins).
    #[inline(always)]
    fn class<K: KeyWord>(&self, key: K) -> u32 {
        key.mixed(self.a, self.b).bits_from(0)
    }

    /// Advances from a bucket to the next one.
    #[inline(always)]
    pub fn advance(&self, probe: &mut Probe) {
        probe.bucket ^= 1;
        if probe.second == 0 {
            probe.second = 1;
        } else {
            probe.second = 0;
            let next = probe.bucket + 2 * probe.step;
            probe.bucket = if next < self.buckets() { next } else { next - self.buckets() };
        }
    }

    /// Returns the line in which the search for `key` continues after `line`, in a table of words
    /// `W`.
    #[inline(always)]
    fn next_line<W: Double>(&self, line: u32, key: W::Half) -> u32 {
        let next = line + self.probe::<W>(key).step;
        if next < self.lines { next } else { next - self.lines }
    }

    /// Returns the count of buckets.
    #[inline(always)]
    pub fn buckets(&self) -> u32 {
        2 * self.lines
    }

    /// Returns the count of slots of words `W`.
    #[inline(always)]
    pub fn slots<W: Double>(&self) -> u64 {
        self.lines as u64 * slots_of_line::<W>() as u64
    }
}

/// Returns the count of slots of a line of 64 bytes, which is two buckets.
pub const fn slots_of_line<W: Double>() -> u32 {
    2 * W::IN_SECTOR
}

/// The words of slots, shared by threads. All operations are relaxed, since no other data depends
/// on a word.
pub trait Cells {
    /// A slot's word.
    type Word: Double;
    /// Returns the words of a bucket. Each word was read at some moment of the call.
    fn bucket(&self, bucket: u32) -> <Self::Word as Double>::Sector;
    /// Loads one word.
    fn load(&self, slot: u64) -> Self::Word;
    /// Replaces a word. Returns the old word.
    fn exchange(&self, slot: u64, word: Self::Word) -> Self::Word;
    /// Replaces a word if it is `expected`. Returns the old word.
    fn compare_exchange(&self, slot: u64, expected: Self::Word, word: Self::Word) -> Self::Word;
}

/// The slots of a table in the device's memory.
#[derive(Clone, Copy, Debug)]
pub struct Slots<W>(pub Global<W>);

impl<W: Double> Cells for Slots<W> {
    type Word = W;
    #[inline(always)]
    fn bucket(&self, bucket: u32) -> W::Sector {
        W::load_sector_relaxed(self.0, bucket as u64 * W::IN_SECTOR as u64)
    }
    #[inline(always)]
    fn load(&self, slot: u64) -> W {
        self.0.atomic(slot).load()
    }
    #[inline(always)]
    fn exchange(&self, slot: u64, word: W) -> W {
        self.0.atomic(slot).exchange(word)
    }
    #[inline(always)]
    fn compare_exchange(&self, slot: u64, expected: W, word: W) -> W {
        self.0.atomic(slot).compare_exchange(expected, word)
    }
}
