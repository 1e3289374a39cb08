//! The lists of a page's pairs that have no slot yet, and the words of shared memory behind their
//! lengths.

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

    /// Returns how many entries were pushed.
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

/// The lists of pairs that have no slot yet, in a block's memory `M`, with their lengths in `N`.
#[derive(Clone, Copy)]
pub struct Lists<V: Payload, M: Shared<u64>, N, Repeats> {
    /// Pairs that found their home full.
    pub over: List<M::As<V::PackedEntry>, N>,
    /// Pairs that found all of their candidates full.
    pub left: List<M::As<V::PackedEntry>, N>,
    /// Keys that pages met again.
    pub repeats: Repeats,
}

impl<V: Payload, M: Shared<u64>, N: Copy, Repeats> Lists<V, M, N, Repeats> {
    /// Returns the lists in these words, of which there are `times` as many as a GPU has.
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

    /// Empties the lists, by one thread.
    #[inline(always)]
    pub fn clear(&self)
    where
        N: Shared<u32>,
    {
        self.left.lengths.clear(0, LENGTHS as u32);
    }
}

/// The first of two words behind the lengths of the lists, which take turns to hold the chosen
/// eviction.
pub const CHOSEN: u32 = 2;
/// The word behind these: the count of keys that the block inserted.
pub const INSERTED: u32 = 4;
/// The word behind that: whether the block has ended early.
pub const IN_VAIN: u32 = 5;
/// The word behind that: the length of the page's own part of the list of repeated keys.
pub const OWN_LENGTH: u32 = 6;

/// The count of these words.
pub const LENGTHS: usize = 7;

/// The most pairs of a page that are spilled to the list when their home is full; twice as many if
/// an entry is half a word.
pub const MAX_HOME_FULL: usize = 512;
/// The most pairs of a page that may be left when their candidates are full; twice as many if an
/// entry is half a word.
pub const MAX_UNPLACED: usize = 64;

/// The words of the list of pairs whose home is full.
pub const OVER_WORDS: usize = MAX_HOME_FULL * STAGED_TIMES;
/// The words of the list of pairs whose candidates are full.
pub const LEFT_WORDS: usize = MAX_UNPLACED * STAGED_TIMES;
