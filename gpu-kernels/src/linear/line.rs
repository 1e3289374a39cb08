//! A line of two buckets, compared as a whole. A CPU has it in its cache with the first of them.
//!
//! What cannot be decided by a key's home line is left to [`slot`].

use super::slot::{self, IfHeld, Inserted, is_empty, removed, value_of};
use super::{Cells, Layout, Slots, slots_of_line};
use crate::double::Double;
use crate::seam::{Global, Lanes};

/// The count of lines up to which a table is in a core's nearest cache: prefetching is in vain.
pub(super) const MAX_NEAR_LINES: u32 = 1 << 12;

/// The words of slots that are loaded by lines.
pub(super) trait LineCells: Cells + Copy {
    /// Whether no other thread accesses the words.
    const ALONE: bool;
    /// Returns the words of a line, each as it was at some moment of the call.
    fn line(&self, line: u32) -> <Self::Word as Double>::Line;
    /// Prefetches a line.
    fn prefetch(&self, line: u32);
}

impl<W: Double> LineCells for Slots<W> {
    const ALONE: bool = false;
    #[inline(always)]
    fn line(&self, line: u32) -> W::Line {
        W::load_line_relaxed(self.0, first_of_line::<W>(line))
    }
    #[inline(always)]
    fn prefetch(&self, line: u32) {
        self.0.prefetch(first_of_line::<W>(line));
    }
}

/// The slots of a table that no other thread accesses: one block is the whole grid, and its threads
/// run in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct AloneSlots<W>(pub Global<W>);

impl<W: Double> Cells for AloneSlots<W> {
    type Word = W;
    #[inline(always)]
    fn bucket(&self, bucket: u32) -> W::Sector {
        W::read_sector(self.0, bucket as u64 * W::IN_SECTOR as u64)
    }
    #[inline(always)]
    fn load(&self, slot: u64) -> W {
        self.0.load(slot)
    }
    #[inline(always)]
    fn exchange(&self, slot: u64, word: W) -> W {
        let before = self.0.load(slot);
        self.0.store(slot, word);
        before
    }
    #[inline(always)]
    fn compare_exchange(&self, slot: u64, expected: W, word: W) -> W {
        let before = self.0.load(slot);
        if before == expected {
            self.0.store(slot, word);
        }
        before
    }
}

impl<W: Double> LineCells for AloneSlots<W> {
    const ALONE: bool = true;
    #[inline(always)]
    fn line(&self, line: u32) -> W::Line {
        W::load_line(self.0, first_of_line::<W>(line))
    }
    #[inline(always)]
    fn prefetch(&self, line: u32) {
        self.0.prefetch(first_of_line::<W>(line));
    }
}

/// Returns the index of a line's first slot.
#[inline(always)]
pub(super) fn first_of_line<W: Double>(line: u32) -> u64 {
    line as u64 * slots_of_line::<W>() as u64
}

/// The slot where the search for a key begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home(u32);

impl Home {
    /// Returns the home of `key` in a table of words `W`.
    #[inline(always)]
    pub fn of<W: Double>(layout: &Layout, key: W::Half) -> Self {
        let probe = layout.probe::<W>(key);
        Self(probe.bucket * W::IN_SECTOR + probe.start)
    }

    /// Returns the index of the home line.
    #[inline(always)]
    pub fn line<W: Double>(self) -> u32 {
        self.0 / slots_of_line::<W>()
    }

    /// Returns the first slot of the flagged ones of the home line, in the order of a search.
    #[inline(always)]
    fn first<W: Double>(self, flags: u32) -> u64 {
        let in_bucket = bits_of_bucket::<W>();
        let (bucket, start) = (self.0 / W::IN_SECTOR, self.0 % W::IN_SECTOR);
        // The home bucket comes first, and the other one 16 bits above. Each is a circle.
        let (here, other) = (flags >> (bucket % 2 * W::IN_SECTOR), flags >> ((bucket + 1) % 2 * W::IN_SECTOR));
        let buckets = (here & in_bucket) | (other & in_bucket) << 16;
        let from_start = (buckets | buckets << W::IN_SECTOR) >> start & (in_bucket | in_bucket << 16);
        let first = from_start.trailing_zeros();
        let bucket = bucket ^ (first / 16);
        (bucket * W::IN_SECTOR + (start + first) % W::IN_SECTOR) as u64
    }
}

/// The slots of a line that hold a key, that are empty, and that hold no key: a bit each.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub own: u32,
    pub empty: u32,
    free: u32,
}

/// Compares the words of a line with a key that is not K.
#[inline(always)]
pub(super) fn look<W: Double>(lanes: impl Lanes, line: W::Line, key: W::Half) -> Seen {
    let flags = W::compare_line(lanes, line, key);
    Seen { own: flags & 0xff, empty: flags >> 8 & 0xff, free: flags >> 16 & 0xff }
}

/// How a batch inserts.
pub(super) trait How: Copy {
    /// Returns what happens to the value that a key has already.
    fn if_held(self) -> IfHeld;
    /// Returns whether slots of removed keys are used again: see [`slot`](super::slot).
    fn anywhere(self) -> bool;
    /// Returns whether requests for a slot are counted.
    fn is_counted(self) -> bool;
    /// Counts a request; returns whether a slot may be taken.
    fn may_take(self) -> bool;
}

/// New values replace old ones.
#[derive(Clone, Copy)]
pub(super) struct Replacing<const ANYWHERE: bool>;

impl<const ANYWHERE: bool> How for Replacing<ANYWHERE> {
    #[inline(always)]
    fn if_held(self) -> IfHeld {
        IfHeld::Replace
    }
    #[inline(always)]
    fn anywhere(self) -> bool {
        ANYWHERE
    }
    #[inline(always)]
    fn is_counted(self) -> bool {
        false
    }
    #[inline(always)]
    fn may_take(self) -> bool {
        true
    }
}

/// A way of inserting that is known when the kernel runs.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub if_held: IfHeld,
    pub anywhere: bool,
    /// The count of requests for a slot. If null, all of them get one.
    pub asked: Global<u64>,
    pub max_asked: u64,
}

impl How for Told {
    #[inline(always)]
    fn if_held(self) -> IfHeld {
        self.if_held
    }
    #[inline(always)]
    fn anywhere(self) -> bool {
        self.anywhere
    }
    #[inline(always)]
    fn is_counted(self) -> bool {
        !self.asked.is_null()
    }
    #[inline(always)]
    fn may_take(self) -> bool {
        self.asked.is_null() || self.asked.atomic(0).fetch_add(1) < self.max_asked
    }
}

/// A table as one thread of a CPU changes it, with the vectors that there are.
#[derive(Clone, Copy)]
pub(super) struct Lines<L, C> {
    pub lanes: L,
    pub cells: C,
    pub layout: Layout,
}

impl<L: Lanes, C: LineCells> Lines<L, C> {
    /// Compares the words of the home line with a key that is not K.
    #[inline(always)]
    fn look(&self, key: HalfOf<C>, home: Home) -> Seen {
        look::<C::Word>(self.lanes, self.cells.line(home.line::<C::Word>()), key)
    }

    /// Inserts a key that is not K into its home line if that can be decided there. Else it leaves
    /// that to [`slot::insert_anywhere`] or [`slot::insert_in_place`], which say what else may be
    /// done meanwhile. For a key that is absent, a slot is
    /// requested once.
    #[inline(always)]
    pub fn insert(&self, (key, value): (HalfOf<C>, HalfOf<C>), home: Home, how: impl How) -> Inserted<HalfOf<C>> {
        let Self { cells, layout, .. } = self;
        let (seen, word) = (self.look(key, home), C::Word::of(key, value));
        // Without a removed key in the line, it does not matter whether slots of such are used
        // again. Among several threads, the first empty slot then is the same for all of them.
        let plain = seen.free == seen.empty;
        let (if_held, anywhere) = (how.if_held(), how.anywhere());
        // Whether a slot may be taken without a request.
        let mut may = !how.is_counted();
        if seen.own | seen.empty != 0 && (plain || C::ALONE && anywhere) {
            if seen.own != 0 {
                let slot = first_of_line::<C::Word>(home.line::<C::Word>()) + seen.own.trailing_zeros() as u64;
                return slot::write_owned(cells, slot, word, if_held, || cells.load(slot));
            }
            may = how.may_take();
            if !may {
                return Inserted::REFUSED;
            }
            let slot = home.first::<C::Word>(seen.free);
            if C::ALONE {
                let before = cells.exchange(slot, word);
                return Inserted { before: None, taken: plain || is_empty(before), refused: false };
            }
            if is_empty(cells.compare_exchange(slot, Double::ALL_ONES, word)) {
                return Inserted::NEW;
            }
        }
        let insert = |may_take| match anywhere {
            true => slot::insert_anywhere(cells, layout, key, value, if_held, may_take),
            false => slot::insert_in_place(cells, layout, key, value, if_held, may_take),
        };
        let inserted = insert(may);
        if !may && inserted.refused && how.may_take() { insert(true) } else { inserted }
    }

    /// Does [`slot::remove_and_empty`], in the home line if the key is there.
    #[inline(always)]
    pub fn remove_and_empty(&self, key: HalfOf<C>, home: Home) -> Option<(HalfOf<C>, bool)> {
        let seen = self.look(key, home);
        if seen.own | seen.empty == 0 {
            return slot::remove_and_empty(&self.cells, &self.layout, key);
        }
        if seen.own == 0 {
            return None;
        }
        let within = seen.own.trailing_zeros();
        let bucket = within / C::Word::IN_SECTOR * C::Word::IN_SECTOR;
        let beside_empty = seen.empty >> bucket & bits_of_bucket::<C::Word>() != 0;
        let word = if beside_empty { Double::ALL_ONES } else { removed(key) };
        let slot = first_of_line::<C::Word>(home.line::<C::Word>()) + within as u64;
        value_of(self.cells.exchange(slot, word)).map(|value| (value, beside_empty))
    }
}

/// A key or a value as the words of `C` hold it.
type HalfOf<C> = <<C as Cells>::Word as Double>::Half;

/// Returns a bit for each slot of a bucket.
const fn bits_of_bucket<W: Double>() -> u32 {
    (1 << W::IN_SECTOR) - 1
}
