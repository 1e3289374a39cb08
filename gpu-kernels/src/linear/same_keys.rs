//! Merging the operations of a block that combine values of one key, so that one thread does them.
//!
//! One change of a slot takes as long as an access to memory, and threads with the same key would
//! wait for each other. So the block first merges their operations in shared memory. The order in
//! which values are merged becomes the order of the operations.

use crate::seam::{Block, Shared};
use crate::table::fold::Fold;
use crate::types::{KeyWord, ValueWord};

/// The count of threads of a block.
pub(super) const THREADS: usize = 256;
/// The count of slots of the table of a block's keys.
pub(super) const SLOTS: usize = 1024;

/// Returns the slot at which the search for a key and a function begins, not yet modulo [`SLOTS`].
#[inline(always)]
fn first_slot<K: KeyWord>(key: K, fold: Fold) -> u32 {
    // The factors differ, since the two halves of a narrow key are the same.
    let (low, high) = (key.bits_from(0), key.bits_from(K::BITS - 32));
    (low.wrapping_mul(0x9e37_79b1) ^ high.wrapping_mul(0x85eb_ca6b) ^ fold.word().wrapping_mul(0xc2b2_ae35)) >> 16
}

/// An operation that combines values.
#[derive(Clone, Copy)]
pub(super) struct Row<K, V> {
    pub key: K,
    pub fold: Fold,
    pub value: V,
}

/// The memory of a block: a table of the leaders, which are the first threads with their key and
/// function. For each thread there are also the index of its leader and a value.
#[derive(Clone, Copy)]
pub(super) struct SameKeys<N, W> {
    pub slots: N,
    pub leaders: N,
    pub values: W,
}

/// The bits above the leader's index, which contain the result of its operation.
const HELD: u32 = 1 << 16;
const REFUSED: u32 = 1 << 17;

impl<N: Shared<u32>, W: Shared<u64>> SameKeys<N, W> {
    /// Finds the leader of each row, and combines the values of the leader's other rows with its
    /// value. `row` returns the operation of a thread, if it combines values.
    #[inline(always)]
    pub fn meet<K: KeyWord, V: ValueWord>(self, block: &mut impl Block, row: impl Fn(u32) -> Option<Row<K, V>> + Sync) {
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            for slot in (thread..SLOTS as u32).step_by(THREADS) {
                self.slots.set(slot, 0);
            }
        });
        block.phase(&mut nothing, |thread, _| {
            self.leaders.set(thread, thread);
            let Some(Row { key, fold, value }) = row(thread) else { return };
            self.values.set(thread, value.to_u64());
            let mut slot = first_slot(key, fold);
            // At most as many steps as slots: there are more slots than threads, so an empty one
            // ends the loop.
            loop {
                slot %= SLOTS as u32;
                let other = self.slots.compare_exchange(slot, 0, thread + 1);
                if other == 0 {
                    break;
                }
                if row(other - 1).is_some_and(|other| other.key == key && other.fold == fold) {
                    self.leaders.set(thread, other - 1);
                    break;
                }
                slot += 1;
            }
        });
        block.phase(&mut nothing, |thread, _| {
            let leader = self.leaders.get(thread);
            if leader == thread {
                return;
            }
            let Some(Row { fold, value, .. }) = row(thread) else { return };
            let mut seen = self.values.load_relaxed(leader);
            // At most as many steps as threads of the block, each of which changes the word once.
            loop {
                let combined = fold.of(V::from_u64(seen), value).to_u64();
                let now = self.values.compare_exchange(leader, seen, combined);
                if now == seen {
                    break;
                }
                seen = now;
            }
            // The value that the leader had before is the value that this row finds.
            self.values.set(thread, seen);
        });
    }

    /// Returns whether a thread is a leader.
    #[inline(always)]
    pub fn leads(self, thread: u32) -> bool {
        self.leaders.get(thread) == thread
    }

    /// Returns whether another thread is this thread's leader, after [`SameKeys::finish`].
    #[inline(always)]
    pub fn is_led(self, thread: u32) -> bool {
        self.leaders.get(thread) & (HELD - 1) != thread
    }

    /// Returns the combined value of all rows of a leader.
    #[inline(always)]
    pub fn combined<V: ValueWord>(self, leader: u32) -> V {
        V::from_u64(self.values.get(leader))
    }

    /// Stores the result of a leader's operation: the value that its key had, and whether there was
    /// no slot.
    #[inline(always)]
    pub fn finish<V: ValueWord>(self, leader: u32, before: Option<V>, refused: bool) {
        let (held, refused) = (if before.is_some() { HELD } else { 0 }, if refused { REFUSED } else { 0 });
        self.values.set(leader, before.unwrap_or_default().to_u64());
        self.leaders.set(leader, leader | held | refused);
    }

    /// Returns the value that a row with another leader found, or `None` if there was no slot.
    #[inline(always)]
    pub fn found<V: ValueWord>(self, thread: u32, fold: Fold) -> Option<V> {
        let leader = self.leaders.get(thread);
        let (of_leader, earlier) = (self.leaders.get(leader), self.combined::<V>(thread));
        if of_leader & REFUSED != 0 {
            None
        } else if of_leader & HELD != 0 {
            Some(fold.of(self.combined::<V>(leader), earlier))
        } else {
            Some(earlier)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SLOTS, THREADS, first_slot};
    use crate::primitives::reduce::SumKind;
    use crate::table::fold::{Fold, FoldKind};
    use crate::types::KeyWord;

    /// Checks that the keys of a block begin at many different slots.
    fn spread<K: KeyWord>(key: impl Fn(u64) -> u64) {
        let fold = Fold::new(FoldKind::Sum, SumKind::Unsigned, 32);
        let mut keys_of = [0; SLOTS];
        for i in 0..THREADS as u64 {
            keys_of[first_slot(K::from_u64(key(i)), fold) as usize % SLOTS] += 1;
        }
        assert!(keys_of.iter().all(|&keys| keys <= 8), "{keys_of:?}");
    }

    #[test]
    fn keys_of_a_block_begin_at_many_slots() {
        spread::<u32>(|i| i);
        spread::<u32>(|i| i << 16);
        spread::<u64>(|i| i);
        spread::<u64>(|i| i << 32);
        spread::<u64>(|i| i << 32 | i);
    }
}
