//! A line of two buckets, compared as a whole. When a CPU reads the first bucket, the whole line
//! gets into its cache.
//!
//! If the home line of a key is not enough, [`slot`] does the operation.

use super::slot::{self, IfHeld, Inserted, is_empty, removed, value_of};
use super::{Cells, Layout, Slots, slots_of_line};
use crate::double_word::Double;
use crate::seam::{Global, Lanes};

/// The most lines of a table that fits in a core's nearest cache, so that prefetching does not
/// help.
pub(super) const MAX_NEAR_LINES: u32 = 1 << 12;

/// The words of slots, loaded by lines.
pub(super) trait LineCells: Cells + Copy {
    /// Whether no other thread accesses the words.
    const ALONE: bool;
    /// Returns the words of a line. Each word was read at some moment of the call.
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

/// The slots of a table that only one CPU thread accesses, since one block is the whole grid.
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

/// The slot at which the search for a key begins.
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

    /// Returns the first slot of the home line that has a flag, in the order of a search.
    #[inline(always)]
    fn first<W: Double>(self, flags: u32) -> u64 {
        let in_bucket = bits_of_bucket::<W>();
        let (bucket, start) = (self.0 / W::IN_SECTOR, self.0 % W::IN_SECTOR);
        // The flags of the home bucket come first, and the other bucket's 16 bits above. Each order
        // is cyclic.
        let (here, other) = (flags >> (bucket % 2 * W::IN_SECTOR), flags >> ((bucket + 1) % 2 * W::IN_SECTOR));
        let buckets = (here & in_bucket) | (other & in_bucket) << 16;
        let from_start = (buckets | buckets << W::IN_SECTOR) >> start & (in_bucket | in_bucket << 16);
        let first = from_start.trailing_zeros();
        let bucket = bucket ^ (first / 16);
        (bucket * W::IN_SECTOR + (start + first) % W::IN_SECTOR) as u64
    }
}

/// The slots of a line that contain the key, that are empty, and that contain no key, as a bit
/// each.
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

/// The options by which a batch inserts.
pub(super) trait How: Copy {
    /// Returns what happens to the value of a key that is present.
    fn if_held(self) -> IfHeld;
    /// Returns whether slots of removed keys are used again (see [`slot`](super::slot)).
    fn anywhere(self) -> bool;
    /// Returns whether requests for a slot are counted.
    fn is_counted(self) -> bool;
    /// Counts a request. Returns whether a slot may be taken.
    fn may_take(self) -> bool;
}

/// The insertion by which new values replace old ones.
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

/// Options that are known only when the kernel runs.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub if_held: IfHeld,
    pub anywhere: bool,
    /// The count of requests for a slot. If it is null, every request gets a slot.
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

/// A table that one CPU thread changes, and the vectors that this CPU has.
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

    /// Inserts a key that is not K into its home line if that line is enough. Otherwise
    /// [`slot::insert_anywhere`] or [`slot::insert_in_place`] inserts it; their documentation says
    /// what other threads may do concurrently. An absent key requests a slot once.
    #[inline(always)]
    pub fn insert(&self, (key, value): (HalfOf<C>, HalfOf<C>), home: Home, how: impl How) -> Inserted<HalfOf<C>> {
        let Self { cells, layout, .. } = self;
        let (seen, word) = (self.look(key, home), C::Word::of(key, value));
        // Without a tombstone in the line, it does not matter whether tombstones may be reused. All
        // threads then find the same first empty slot.
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

    /// Removes a key as [`slot::remove_and_empty`] does, in the home line if the key is there.
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
