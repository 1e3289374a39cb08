//! The hot keys, which a sample drew most often, and their table.

use super::copies::{Copies, SPARE};
use super::hot_table::{HotCapacity, HotTable, NO_SLOT};
use super::sample::{CLASSES, SampleKeysParams, header};
use crate::relational::keys::RowKeys;
use crate::seam::{Block, Global, Shared};
use crate::types::KeyWord;

/// The most evictions to make space for one key. A key that finds no slot is not hot.
const MAX_STEPS: u32 = 100;

/// The count of threads of the block that builds the table.
const THREADS: u32 = 1024;

/// The count of keys that a thread processes at a time.
const AT_ONCE: usize = 8;

/// The choice of hot keys by how often keys were drawn, their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lowest class whose keys are all hot.
    pub least: u32,
    /// The count of keys of that class and all higher classes.
    pub frequent: u32,
}

impl Choice {
    /// Returns the choice and the most keys that are chosen, where `keys_of` returns the count of
    /// keys of a class: all keys if they fit, or at most [`HotCapacity::some`].
    #[inline(always)]
    pub fn within(capacity: HotCapacity, keys_of: impl Fn(u32) -> u32) -> (Self, u32) {
        let all = Self::of(capacity.in_parts, &keys_of);
        if all.least == 1 && (all.frequent <= capacity.all || are_nearly_all(&keys_of)) {
            (all, capacity.in_parts)
        } else {
            (Self::of(capacity.some, keys_of), capacity.some)
        }
    }

    /// Returns the choice of at most `capacity` keys, where `keys_of` returns the count of keys of
    /// a class. The remaining capacity is for keys of the next lower class, unless that is class 0.
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

/// Returns whether fewer than one row in `1024` has a key that was not drawn. Their share is about
/// the share of draws whose key was drawn once (Good, 1953).
#[inline(always)]
fn are_nearly_all(keys_of: impl Fn(u32) -> u32) -> bool {
    let (mut drawn, mut class) = (0, 1);
    // At most as many steps as classes.
    while class < CLASSES {
        drawn += class * keys_of(class);
        class += 1;
    }
    keys_of(1) < drawn / 1024
}

/// The scalar arguments of [`SelectHot`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SelectHotParams {
    /// The arguments of the sample.
    pub sample: SampleKeysParams,
    /// The most hot keys.
    pub capacity: HotCapacity,
}

kernel! {
    /// Writes the most frequent keys of a sample, at most `capacity`, to `list`, and how often they
    /// were drawn to `draws`. The table and the classes are the outputs of
    /// [`SampleKeys`](super::sample::SampleKeys). One thread processes [`CELLS`] cells of the
    /// table.
    ///
    /// The header's [`header::FREQUENT`] and [`header::CANDIDATES`] are 0 at first.
    SelectHot<K: KeyWord>, "group_select", threads 256, shared found: u32 = 4,
        shared counted: u32 = CLASSES as usize;
    {
        keys: Global<K>, upper: Global<u32>, cells: Global<u32>, counts: Global<u32>, classes: Global<u32>,
        list: Global<K>, draws: Global<u32>, header: Global<u64>, plan: SelectHotParams
    }
}

/// The count of kinds of hot keys, which are frequent keys and candidates.
const KINDS: u32 = 2;
/// The count of cells of a thread.
pub const CELLS: u32 = 4;

/// For each key of a thread, its rank among the block's keys of the same kind in the upper 31 bits,
/// and its kind in the lowest bit.
struct Selected {
    ranks: [u32; CELLS as usize],
}

/// The rank of a key that is not hot.
const NOT_HOT: u32 = u32::MAX;

impl<K: KeyWord> SelectHot<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, found: B::Shared<u32>, counted: B::Shared<u32>) {
        let args = self;
        let (plan, keys) = (args.plan, RowKeys::new(args.keys, args.upper));
        let first = block.first_thread();
        let mut threads = block.local(|_| Selected { ranks: [NOT_HOT; CELLS as usize] });
        block.phase(&mut threads, |thread, _| {
            if thread < KINDS {
                found.set(thread, 0);
            }
            if thread < CLASSES {
                counted.set(thread, args.classes.load_read_only(thread as u64));
            }
        });
        let (choice, capacity) = Choice::within(plan.capacity, |class| counted.get(class));
        let selected = block.count(&mut threads, |thread, selected| {
            let cell = (first + thread as u64) * CELLS as u64;
            if cell >> (plan.sample.sample_bits + 1) != 0 {
                return false;
            }
            let counts = args.counts.load_four_read_only(cell);
            let mut is_any_hot = false;
            for i in 0..CELLS as usize {
                let class = counts[i].min(CLASSES - 1);
                // All keys of the class below the lowest one are candidates, unless it is class 0.
                if class != 0 && class + 1 >= choice.least {
                    let kind = (class < choice.least) as u32;
                    selected.ranks[i] = found.fetch_add(kind, 1) << 1 | kind;
                    is_any_hot = true;
                }
            }
            is_any_hot
        });
        if selected == 0 {
            return;
        }
        block.phase(&mut threads, |thread, _| {
            if thread < KINDS {
                let word = if thread == 0 { header::FREQUENT } else { header::CANDIDATES };
                found.set(KINDS + thread, args.header.atomic(word).fetch_add(found.get(thread) as u64) as u32);
            }
        });
        block.each(&mut threads, |thread, selected| {
            let cell = (first + thread as u64) * CELLS as u64;
            for i in 0..CELLS as usize {
                let (rank, kind) = (selected.ranks[i] >> 1, selected.ranks[i] & 1);
                if selected.ranks[i] != NOT_HOT {
                    let at = found.get(KINDS + kind) + rank + kind * choice.frequent;
                    if at < capacity {
                        let owner = args.cells.load_read_only(cell + i as u64);
                        args.list.store(at as u64, plan.sample.key_of(keys, owner));
                        args.draws.store(at as u64, args.counts.load_read_only(cell + i as u64));
                    }
                }
            }
        });
    }
}

/// The scalar arguments of [`BuildHot`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildHotParams {
    /// The hash functions and sizes of the table.
    pub table: HotTable,
    /// The count of hot keys.
    pub hot: u32,
    /// The count of rows that were drawn.
    pub drawn: u32,
}

kernel! {
    /// Builds the table of the hot keys in `list`, which [`SelectHot`] has written, in `table_out`.
    /// If slots are placed, `places_out` gets the [`Copies`] of each slot; otherwise it is null.
    /// The launch has a block for each part.
    ///
    /// If no key is hot, the table contains the first key in `keys`, which must not be empty.
    BuildHot<K: KeyWord>, "group_build_hot", threads 1024,
        dynamic words: u64 = |kernel| kernel.plan.table.words_before::<K>().div_ceil(2),
        shared totals: u32 = TOTALS;
    {
        keys: Global<K>, upper: Global<u32>, list: Global<K>, draws: Global<u32>, table_out: Global<K>,
        places_out: Global<u32>, plan: BuildHotParams
    }
}

/// The binary logarithm of the most copies of a slot, and the count of attempts to find a count of
/// copies that fits: each takes half as many as the one before.
const MOST_COPY_BITS: u32 = 5;
const ATTEMPTS: u32 = 24;
/// The index, after the totals of all attempts, of the count of copies that slots have got.
const GIVEN: u32 = ATTEMPTS;
const TOTALS: usize = ATTEMPTS as usize + 1;

impl BuildHotParams {
    /// Returns the binary logarithm of the count of copies of a key that was drawn `draws` times,
    /// if all keys together get at most `all` copies, and each at least one.
    #[inline(always)]
    fn copy_bits(&self, draws: u32, all: u32) -> u32 {
        let share = draws as u64 * all as u64 / self.drawn as u64;
        if share == 0 { 0 } else { share.ilog2().min(MOST_COPY_BITS) }
    }
}

impl<K: KeyWord> BuildHot<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u64>, totals: B::Shared<u32>) {
        let args = self;
        let BuildHotParams { table, hot, .. } = args.plan;
        // Every empty slot gets a copy of one of the keys that were drawn least often.
        let filler = if hot == 0 { args.first_key() } else { args.list.load(hot as u64 - 1) };
        let (slots, part) = (words.cast::<K>(), block.index());
        let own = (part * table.slots) as u64;
        let mut threads = block.local(|_| ());
        block.phase(&mut threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                slots.set(slot, filler);
            }
        });
        block.phase(&mut threads, |thread, _| {
            let others = hot.saturating_sub(1);
            let mut number = thread;
            while number < others {
                let mut keys = [filler; AT_ONCE];
                let mut here = 0;
                for i in 0..AT_ONCE {
                    let number = number + i as u32 * THREADS;
                    if number < others {
                        keys[i] = args.list.load(number as u64);
                        here += 1;
                    }
                }
                place(slots, (&table, part), filler, keys, here);
                number += AT_ONCE as u32 * THREADS;
            }
        });
        block.phase(&mut threads, |thread, _| {
            if thread == 0 {
                place(slots, (&table, part), filler, [filler; AT_ONCE], 1);
            }
        });
        block.phase(&mut threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                args.table_out.store(own + slot as u64, slots.get(slot));
            }
        });
        if table.is_placed != 0 {
            let draws = words.cast::<u32>();
            args.place_slots(block, &mut threads, (slots, draws, table.slots * (K::BITS / 32)), totals);
        }
    }

    /// Returns the key of the first row.
    #[inline(always)]
    fn first_key(&self) -> K {
        RowKeys::new(self.keys, self.upper).load_read_only(0)
    }

    /// Divides the copies of aggregates among the slots, by how often their keys were drawn, and
    /// writes them. The draws of each slot are counted in `draws` from `first` on.
    #[inline(always)]
    fn place_slots<B: Block>(
        &self,
        block: &mut B,
        threads: &mut B::Local<()>,
        (slots, draws, first): (impl Shared<K>, impl Shared<u32>, u32),
        totals: impl Shared<u32>,
    ) {
        let (args, part) = (*self, block.index());
        let BuildHotParams { table, hot, .. } = args.plan;
        block.phase(threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                draws.set(first + slot, 0);
            }
            if thread < TOTALS as u32 {
                totals.set(thread, 0);
            }
        });
        block.phase(threads, |thread, _| {
            for number in (thread..hot).step_by(THREADS as usize) {
                let slot = table.find(part, args.list.load(number as u64), |slot| slots.get(slot));
                if slot != NO_SLOT {
                    draws.set(first + slot, args.draws.load(number as u64).max(1));
                }
            }
            if hot == 0 && thread == 0 {
                draws.set(first + table.find(part, args.first_key(), |slot| slots.get(slot)), 1);
            }
        });
        let most = table.aggregates - SPARE;
        let (mut all, mut attempt) = (most, 0);
        // At most `ATTEMPTS` attempts; the last one gives each key one copy.
        loop {
            block.phase(threads, |thread, _| {
                let mut copies = 0;
                for slot in (thread..table.slots).step_by(THREADS as usize) {
                    let draws = draws.get(first + slot);
                    copies += if draws == 0 { 0 } else { 1 << args.plan.copy_bits(draws, all) };
                }
                totals.fetch_add(attempt, copies);
            });
            attempt += 1;
            if totals.get(attempt - 1) <= most || attempt == ATTEMPTS {
                break;
            }
            all /= 2;
        }
        block.each(threads, |thread, _| {
            for slot in (thread..table.slots).step_by(THREADS as usize) {
                let draws = draws.get(first + slot);
                let bits = args.plan.copy_bits(draws, all);
                let copies =
                    if draws == 0 { Copies::default() } else { Copies::new(totals.fetch_add(GIVEN, 1 << bits), bits) };
                args.places_out.store((part * table.slots + slot) as u64, copies.0);
            }
        });
    }
}

/// Stores each of the first `count` keys, at least one, in one of its slots, if it belongs to the
/// part. A key that is evicted goes to its next slot.
///
/// There is one loop for all keys, in which a lane continues with its next key at once. With a loop
/// for each key, all lanes would wait for the longest eviction chain for each key.
#[inline(always)]
fn place<K: KeyWord>(
    slots: impl Shared<K>,
    (table, part): (&HotTable, u32),
    filler: K,
    mut keys: [K; AT_ONCE],
    count: u32,
) {
    let first_slot = |key: K| table.slot::<0>(table.folded(key));
    let (mut key, mut slot) = (keys[0], first_slot(keys[0]));
    let (mut left, mut steps) = (count, MAX_STEPS);
    // At most `MAX_STEPS` steps a key.
    while left != 0 {
        let is_own = table.part(table.folded(key)) == part;
        let moved = if is_own { slots.exchange(slot, key) } else { filler };
        steps -= 1;
        if moved == filler || steps == 0 {
            // The keys are shifted, since a variable index would be a load from memory.
            for i in 1..AT_ONCE {
                keys[i - 1] = keys[i];
            }
            key = keys[0];
            slot = first_slot(key);
            (left, steps) = (left - 1, MAX_STEPS);
        } else {
            let [first, second, third] = table.choices(moved);
            key = moved;
            slot = if slot == first {
                second
            } else if slot == second {
                third
            } else {
                first
            };
        }
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
