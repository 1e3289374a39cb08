//! The lists of a page's pairs without a slot, and other words of shared memory after the lengths
//! of these lists.

use crate::seam::{STAGED_TIMES, Shared};
use crate::types::{Payload, Scalar};

/// A list that threads append to.
#[derive(Clone, Copy)]
pub struct List<Entries, Lengths> {
    pub entries: Entries,
    pub lengths: Lengths,
    /// The index of this list's length in `lengths`.
    pub number: u32,
    pub most: u32,
}

impl<Entries, Lengths: Shared<u32>> List<Entries, Lengths> {
    /// Appends an entry if the capacity allows, and counts it in any case.
    #[inline(always)]
    pub fn push<E: Scalar>(&self, entry: E)
    where
        Entries: Shared<E>,
    {
        let entry_index = self.lengths.fetch_add(self.number, 1);
        if entry_index < self.most {
            self.entries.set(entry_index, entry);
        }
    }

    /// Returns the count of entries that were pushed.
    #[inline(always)]
    pub fn length(&self) -> u32 {
        self.lengths.get(self.number)
    }

    /// Returns whether more entries were pushed than the list's capacity.
    #[inline(always)]
    pub fn overflowed(&self) -> bool {
        self.lengths.load_relaxed(self.number) > self.most
    }
}

/// The lists of pairs without a slot, in a block's memory `M`. Their lengths are in `N`.
#[derive(Clone, Copy)]
pub struct Lists<V: Payload, M: Shared<u64>, N, Repeats> {
    /// The pairs that found their home bucket full.
    pub over: List<M::As<V::PackedEntry>, N>,
    /// The unplaced pairs, which found all of their candidates full.
    pub left: List<M::As<V::PackedEntry>, N>,
    /// The list of keys that occur again.
    pub repeats: Repeats,
}

impl<V: Payload, M: Shared<u64>, N: Copy, Repeats> Lists<V, M, N, Repeats> {
    /// Returns the lists in these arrays, which are `times` as long as on a GPU.
    #[inline(always)]
    pub fn new(over: M, left: M, lengths: N, times: usize, repeats: Repeats) -> Self {
        let in_word = 64 / <V::PackedEntry as Scalar>::BITS * times as u32;
        let list = |words: M, number, most: usize| List {
            entries: words.cast(),
            lengths,
            number,
            most: most as u32 * in_word,
        };
        Self { over: list(over, 0, MAX_HOME_FULL), left: list(left, 1, MAX_UNPLACED), repeats }
    }

    /// Empties the lists. One thread calls this.
    #[inline(always)]
    pub fn clear(&self)
    where
        N: Shared<u32>,
    {
        self.left.lengths.clear(0, LENGTHS as u32);
    }
}

/// The first of two words after the lengths of the lists. They contain the chosen eviction, in
/// alternation.
pub const CHOSEN: u32 = 2;
/// The index of the word with the count of keys that the block inserted.
pub const INSERTED: u32 = 4;
/// The index of the word that tells whether the block has ended early.
pub const IN_VAIN: u32 = 5;
/// The index of the word with the length of the page's own part of the list of repeated keys.
pub const OWN_LENGTH: u32 = 6;

/// The count of words: the lengths of the lists, and the words after them.
pub const LENGTHS: usize = 7;

/// The most pairs of a page that are spilled to the list because their home is full. Twice as many
/// fit if an entry is half a word.
pub const MAX_HOME_FULL: usize = 512;
/// The most unplaced pairs of a page, whose candidates are all full. Twice as many fit if an entry
/// is half a word.
pub const MAX_UNPLACED: usize = 64;

/// The count of words of the list of pairs whose home is full.
pub const OVER_WORDS: usize = MAX_HOME_FULL * STAGED_TIMES;
/// The count of words of the list of unplaced pairs.
pub const LEFT_WORDS: usize = MAX_UNPLACED * STAGED_TIMES;
