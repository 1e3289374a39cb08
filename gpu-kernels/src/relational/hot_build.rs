//! The hot keys: those that a sample drew most often, and their table.

use super::hot_table::{HotTable, MAX_SLOTS};
use super::sample::{CLASSES, SampleKeysParams, header};
use crate::seam::{Block, Global, Shared, opaque};
use crate::types::KeyWord;

/// The most keys that are moved to make room for one. A key that finds no slot is not hot.
const MAX_STEPS: u32 = 100;

/// The number of threads of the block that builds the table.
const THREADS: u32 = 1024;

/// The choice of hot keys by how often they were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lowest class whose keys are all hot.
    pub least: u32,
    /// The number of keys of that class and those above.
    pub frequent: u32,
}

impl Choice {
    /// Returns the choice of at most `capacity` keys out of classes of so many. Of the class below
    /// the lowest, unless it is class 0, as many keys are hot as there is capacity left for.
    #[inline(always)]
    pub fn of(capacity: u32, keys_of: impl Fn(u32) -> u32) -> Self {
        let (mut least, mut frequent) = (CLASSES, 0);
        while least > 1 && frequent + keys_of(least - 1) <= capacity {
            least -= 1;
            frequent += keys_of(least);
        }
        Self { least, frequent }
    }
}

/// The scalar arguments of [`SelectHot`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SelectHotParams {
    /// The arguments of the sample.
    pub sample: SampleKeysParams,
    /// The most hot keys.
    pub capacity: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

kernel! {
    /// Writes the most frequent keys of a sample, at most `capacity`, to `list`. One thread a cell
    /// of [`SampleKeys`](super::sample::SampleKeys), whose table and classes these are.
    ///
    /// The header's [`header::FREQUENT`] and [`header::CANDIDATES`] are 0 at first.
    SelectHot<K: KeyWord>, "group_select", threads 256, shared found: u32 = 4;
    {
        keys: Global<K>, cells: Global<u32>, counts: Global<u32>, classes: Global<u32>, list: Global<K>,
        header: Global<u64>, plan: SelectHotParams
    }
}

/// The number of kinds of hot keys, and the kind of all others.
const NOT_HOT: u32 = 2;

/// The key of a cell.
struct Selected {
    owner: u32,
    /// 0 if the key is frequent, 1 if it is a candidate.
    kind: u32,
    rank: u32,
}

impl<K: KeyWord> SelectHot<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, found: B::Shared<u32>) {
        let args = self;
        let plan = args.plan;
        let choice = Choice::of(plan.capacity, |class| args.classes.load_read_only(class as u64));
        let first = block.first_thread();
        let mut threads = block.local(|_| Selected { owner: 0, kind: NOT_HOT, rank: 0 });
        block.phase(&mut threads, |thread, _| {
            if thread < NOT_HOT {
                found.set(thread, 0);
            }
        });
        let selected = block.count(&mut threads, |thread, selected| {
            let cell = first + thread as u64;
            if cell >> (plan.sample.sample_bits + 1) != 0 {
                return false;
            }
            let class = args.counts.load_read_only(cell).min(CLASSES - 1);
            if class >= choice.least {
                selected.kind = 0;
            } else if class != 0 && class + 1 == choice.least {
                selected.kind = 1;
            } else {
                return false;
            }
            selected.owner = args.cells.load_read_only(cell);
            selected.rank = found.fetch_add(selected.kind, 1);
            true
        });
        if selected == 0 {
            return;
        }
        block.phase(&mut threads, |thread, _| {
            if thread < NOT_HOT {
                let word = if thread == 0 { header::FREQUENT } else { header::CANDIDATES };
                found.set(NOT_HOT + thread, args.header.atomic(word).fetch_add(found.get(thread) as u64) as u32);
            }
        });
        block.each(&mut threads, |_, selected| {
            if selected.kind == NOT_HOT {
                return;
            }
            let at = found.get(NOT_HOT + selected.kind)
                + selected.rank
                + if selected.kind == 0 { 0 } else { choice.frequent };
            if at < plan.capacity {
                args.list.store(at as u64, plan.sample.key_of(args.keys, selected.owner));
            }
        });
    }
}

/// The scalar arguments of [`BuildHot`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildHotParams {
    /// The first constant of the table's mix.
    pub a: u64,
    /// The second constant of the table's mix.
    pub b: u64,
    /// The most hot keys: [`HotTable::capacity`].
    pub capacity: u32,
    /// The 32-bit words of the aggregates of a slot.
    pub group_words: u32,
}

impl BuildHotParams {
    /// Returns the table for so many hot keys.
    #[inline(always)]
    pub fn table<K: KeyWord>(&self, keys: u32) -> HotTable {
        HotTable::of(self.a, self.b, keys, K::BITS / 32, self.group_words)
    }
}

kernel! {
    /// Builds the table of the hot keys in `list`, as many as [`SelectHot`] counted in the header.
    /// One block. `table_out` has the slots of [`BuildHotParams::table`] for that number.
    ///
    /// Some key in `keys`, which must not be empty, is the table's if none is hot.
    BuildHot<K: KeyWord>, "group_build_hot", threads 1024, shared words: u64 = 6112;
    { keys: Global<K>, list: Global<K>, table_out: Global<K>, header: Global<u64>, plan: BuildHotParams }
}

impl<K: KeyWord> BuildHot<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u64>) {
        const { assert!(6112 * 2 >= MAX_SLOTS) }
        let args = self;
        let plan = args.plan;
        let selected = args.header.load(header::FREQUENT) + args.header.load(header::CANDIDATES);
        let hot = selected.min(plan.capacity as u64) as u32;
        let table = plan.table::<K>(hot);
        // The key that drew the fewest rows is in every empty slot.
        let filler = if hot == 0 { args.keys.load(0) } else { args.list.load(hot as u64 - 1) };
        let slots = words.cast::<K>();
        let mut threads = block.local(|_| ());
        block.phase(&mut threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                slots.set(slot, filler);
            }
        });
        block.phase(&mut threads, |thread, _| {
            for number in (thread..hot.saturating_sub(1)).step_by(THREADS as usize) {
                place(slots, &table, filler, args.list.load(number as u64));
            }
        });
        block.phase(&mut threads, |thread, _| {
            if thread == 0 {
                place(slots, &table, filler, filler);
            }
        });
        block.each(&mut threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                args.table_out.store(slot as u64, slots.get(slot));
            }
        });
    }
}

/// Puts a key into one of its slots. A key that is in the way goes to its next one.
#[inline(always)]
fn place<K: KeyWord>(slots: impl Shared<K>, table: &HotTable, filler: K, key: K) {
    let (mut key, mut slot) = (key, table.choices(key)[0]);
    // An opaque number of steps keeps the loop from being unrolled.
    let mut steps = opaque(MAX_STEPS);
    while steps != 0 {
        let moved = slots.exchange(slot, key);
        if moved == filler {
            return;
        }
        let [first, second, third] = table.choices(moved);
        key = moved;
        slot = if slot == first {
            second
        } else if slot == second {
            third
        } else {
            first
        };
        steps -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_chosen_from_the_most_frequent_down() {
        let classes = |class| match class {
            63 => 2,
            7 => 5,
            2 => 1000,
            1 => 4,
            _ => 0,
        };
        assert_eq!(Choice::of(0, classes), Choice { least: CLASSES, frequent: 0 });
        assert_eq!(Choice::of(6, classes), Choice { least: 8, frequent: 2 });
        assert_eq!(Choice::of(7, classes), Choice { least: 3, frequent: 7 });
        assert_eq!(Choice::of(1007, classes), Choice { least: 2, frequent: 1007 });
        assert_eq!(Choice::of(u32::MAX, classes), Choice { least: 1, frequent: 1011 });
    }
}
