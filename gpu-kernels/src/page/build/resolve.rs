//! Resolving repeated keys after a build without order: each key gets the value of its last pair.
//!
//! The pages have listed their repeated keys ([`repeat_list`](super::repeat_list)). First the
//! listed keys are stored in an index ([`IndexRepeats`]). Then one pass over the input finds the
//! last position of each key ([`FindLast`]), and the value at that position is stored in the key's
//! slot ([`StoreLast`]). A listed key that is not repeated keeps its value.

use super::repeat_list::{ListSizes, REPEAT_WORDS};
use crate::page::form::{Layout, with_form};
use crate::page::lookup::table::locate;
use crate::seam::{Block, Global, Shared, Tile};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The count of 32-bit words of the filter, which a block keeps in shared memory.
pub const FILTER_WORDS: usize = 1 << 13;
const FILTER_BITS: u32 = FILTER_WORDS.ilog2() + 5;

/// Returns the cell of the index at which the search for a key starts.
#[inline(always)]
fn cell<K: KeyWord>(mixed: K, index_bits: u32) -> u32 {
    (mixed.bits_from(0).wrapping_mul(0x9e37_79b1) as u64 >> (32 - index_bits)) as u32
}

/// Returns a fingerprint of a key, which is not 0, the value of an empty cell. Different keys may
/// have the same fingerprint.
#[inline(always)]
fn fingerprint<K: KeyWord>(mixed: K) -> u32 {
    (mixed.bits_from(0) ^ mixed.bits_from(K::BITS - 32).rotate_left(7)).max(1)
}

/// Returns the word of the filter and the bit in it for a key.
#[inline(always)]
fn filter<K: KeyWord>(mixed: K) -> (u32, u32) {
    let bit = mixed.bits_from(0).wrapping_mul(0x85eb_ca77) >> (32 - FILTER_BITS);
    (bit / 32, 1 << (bit % 32))
}

/// The scalar arguments of [`IndexRepeats`] and [`StoreLast`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RepeatsParams {
    /// The layout of the table.
    pub layout: Layout,
    /// The capacities of the list.
    pub sizes: ListSizes,
    /// The count of entries in the list's common part.
    pub common: u64,
    /// The count of bits of a cell's position. The index has 2^`index_bits` cells, of which at most
    /// half are used, and `index_bits` is at most 32.
    pub index_bits: u32,
    /// The count of bits of a word of the table: 32 or 64.
    pub word_bits: u32,
}

impl RepeatsParams {
    /// Returns whether `entry` is the index of a used entry of the list.
    #[inline(always)]
    fn is_listed(&self, list: Global<u64>, entry: u64) -> bool {
        let ListSizes { pages, own, .. } = self.sizes;
        let all_own = pages as u64 * own as u64;
        if entry >= all_own {
            return entry - all_own < self.common;
        }
        let lengths = list.offset(REPEAT_WORDS * self.sizes.entries()).cast::<u32>();
        let (page, number) = (entry as u32 / own, entry as u32 % own);
        number < lengths.load_read_only(page as u64)
    }
}

kernel! {
    /// Stores the listed keys in the index, with one thread for each possible entry of the list.
    /// After the entries of `list` are the lengths of the pages' own parts.
    ///
    /// `keys_out` gets the mixed key of every entry. A cell of `index` is the index of an entry
    /// plus 1, or 0. Of several entries with one key, one is in the index. `told` has the key's
    /// fingerprint in the same cell, and `filter` a bit for every key. All three are 0 at first.
    IndexRepeats<K: KeyWord>, "page_index_repeats", threads 256;
    {
        list: Global<u64>, keys_out: Global<K>, index: Global<u32>, told: Global<u32>, filter: Global<u32>,
        plan: RepeatsParams,
    }
}

impl<K: KeyWord> IndexRepeats<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RepeatsParams { layout, index_bits, word_bits, .. } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        let mixed_of = |entry: u64| {
            let [home, remainder] = args.list.load_pair_read_only(REPEAT_WORDS * entry);
            if word_bits == 32 {
                layout.mixed_of::<K, u32>(home as u32, remainder)
            } else {
                layout.mixed_of::<K, u64>(home as u32, remainder)
            }
        };
        block.each(&mut nothing, |thread, _| {
            let entry = first + thread as u64;
            if !args.plan.is_listed(args.list, entry) {
                return;
            }
            let mixed = mixed_of(entry);
            args.keys_out.store(entry, mixed);
            let (word, bit) = filter(mixed);
            let word = args.filter.atomic(word as u64);
            let mut held = word.load();
            // At most 32 steps: a step fails only if another thread set a bit of the word.
            while held & bit == 0 {
                let before = word.compare_exchange(held, held | bit);
                held = if before == held { held | bit } else { before };
            }
            let mut at = cell(mixed, index_bits);
            // At most as many steps as cells, half of which are empty: an empty one ends the loop.
            loop {
                let there = args.index.atomic(at as u64).compare_exchange(0, entry as u32 + 1);
                // The entry in the cell may not have stored its key yet, so the key is read from
                // the list.
                if there == 0 {
                    args.told.store(at as u64, fingerprint(mixed));
                    return;
                }
                if mixed_of(there as u64 - 1) == mixed {
                    return;
                }
                at = ((at as u64 + 1) & ((1 << index_bits) - 1)) as u32;
            }
        });
    }
}

/// The scalar arguments of [`FindLast`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LastParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of keys of the input.
    pub keys: u64,
    /// The count of bits of a cell's index.
    pub index_bits: u32,
    /// The count of rounds of each block.
    pub rounds: u32,
}

/// The count of threads of a block of [`FindLast`].
const THREADS: usize = 512;
/// The count of keys that a thread reads at a time.
const KEYS_AT_ONCE: usize = 4;
/// The count of keys that a block of [`FindLast`] reads in one round.
pub const LAST_ROUND: u64 = (THREADS * KEYS_AT_ONCE) as u64;
/// The count of waiting keys with which a block starts to search the index.
const ENOUGH: u32 = THREADS as u32;
/// The most waiting keys: almost [`ENOUGH`] from earlier rounds, and all keys of one round.
const MAX_WAITING: usize = ENOUGH as usize + THREADS * KEYS_AT_ONCE;

/// The keys of one round that pass the filter, as the state of a thread of [`FindLast`].
struct Passing {
    /// A bit for each key of the thread.
    bits: u32,
    /// The count of keys that pass in earlier lanes. In the first lane it is the index in the queue
    /// where the warp's keys begin.
    before: u32,
}

kernel! {
    /// Finds the last position of each key of the index. `lasts[entry]` becomes the position plus
    /// 1; all `lasts` are 0 at first. A block processes `rounds` times [`LAST_ROUND`] keys of the
    /// input.
    ///
    /// A copy of the filter in shared memory excludes most keys that are not in the index. The keys
    /// that pass the filter wait in a queue until there is work for all threads.
    FindLast<K: KeyWord>, "page_find_last", threads 512, shared bits: u32 = FILTER_WORDS,
        shared queue: u32 = MAX_WAITING, shared waiting: u32 = 1;
    {
        keys: Global<K>, listed: Global<K>, index: Global<u32>, told: Global<u32>, filter: Global<u32>,
        lasts: Global<u32>, plan: LastParams,
    }
}

impl<K: KeyWord> FindLast<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, bits: B::Shared<u32>, queue: B::Shared<u32>, waiting: B::Shared<u32>) {
        let args = self;
        let LastParams { a, b, keys, rounds, .. } = args.plan;
        let first = block.index() as u64 * rounds as u64 * LAST_ROUND;
        let here = keys.saturating_sub(first).min(rounds as u64 * LAST_ROUND) as u32;
        let mut threads = block.local(|_| Passing { bits: 0, before: 0 });
        block.phase(&mut threads, |thread, _| {
            for round in 0..FILTER_WORDS / THREADS {
                let word = (round * THREADS) as u32 + thread;
                bits.set(word, args.filter.load_read_only(word as u64));
            }
            if thread == 0 {
                waiting.set(0, 0);
            }
        });
        for round in 0..rounds {
            let item = |thread: u32, i: usize| round * LAST_ROUND as u32 + (i * THREADS) as u32 + thread;
            block.each(&mut threads, |thread, passing| {
                let mut mixed = [K::default(); KEYS_AT_ONCE];
                for i in 0..KEYS_AT_ONCE {
                    if item(thread, i) < here {
                        mixed[i] = args.keys.load_read_only(first + item(thread, i) as u64).mixed(a, b);
                    }
                }
                passing.bits = 0;
                for i in 0..KEYS_AT_ONCE {
                    let (word, bit) = filter(mixed[i]);
                    let passes = item(thread, i) < here && bits.get(word) & bit != 0;
                    passing.bits |= (passes as u32) << i;
                }
            });
            block.tiles_of(&mut threads, |warp, threads| {
                warp.exclusive_sum(
                    threads,
                    |_, passing| passing.bits.count_ones(),
                    |lane, passing, before, total| {
                        passing.before = if lane == 0 { waiting.fetch_add(0, total) } else { before };
                    },
                );
                let start = warp.pick(threads, 0, |passing| passing.before);
                let first_thread = warp.first_thread();
                warp.each(threads, |lane, passing| {
                    let mut at = if lane == 0 { start } else { start + passing.before };
                    for i in 0..KEYS_AT_ONCE {
                        if passing.bits >> i & 1 != 0 {
                            queue.set(at, item(first_thread + lane, i));
                            at += 1;
                        }
                    }
                });
            });
            block.sync();
            let count = waiting.get(0);
            if count >= ENOUGH || round + 1 == rounds {
                block.phase(&mut threads, |thread, _| {
                    let mut number = thread;
                    while number < count {
                        args.note(first + queue.get(number) as u64);
                        number += THREADS as u32;
                    }
                });
                block.phase(&mut threads, |thread, _| {
                    if thread == 0 {
                        waiting.set(0, 0);
                    }
                });
            }
        }
    }

    /// Records a position of the input if its key is in the index.
    #[inline(always)]
    fn note(&self, position: u64) {
        let LastParams { a, b, index_bits, .. } = self.plan;
        let mixed = self.keys.load_read_only(position).mixed(a, b);
        let mut at = cell(mixed, index_bits);
        // At most as many steps as cells, half of which are empty: an empty one ends the loop.
        loop {
            let told = self.told.load_read_only(at as u64);
            if told == 0 {
                return;
            }
            if told == fingerprint(mixed) {
                let entry = self.index.load_read_only(at as u64) as u64 - 1;
                if self.listed.load_read_only(entry) == mixed {
                    let last = self.lasts.atomic(entry);
                    if last.load() as u64 <= position {
                        last.fetch_max(position as u32 + 1);
                    }
                    return;
                }
            }
            at = ((at as u64 + 1) & ((1 << index_bits) - 1)) as u32;
        }
    }
}

kernel! {
    /// Stores the value of its last pair for each listed key, with one thread for each possible
    /// entry of the list.
    StoreLast<K: KeyWord, V: Payload>, "page_store_last", threads 256;
    {
        listed: Global<K>, lasts: Global<u32>, values: Global<WordOf<V>>, words: Global<u64>, plan: RepeatsParams,
    }
}

impl<K: KeyWord, V: Payload> StoreLast<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RepeatsParams { layout, sizes, .. } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let entry = first + thread as u64;
            if entry >= sizes.entries() {
                return;
            }
            let Some(position) = args.lasts.load_read_only(entry).checked_sub(1) else { return };
            let mixed = args.listed.load_read_only(entry);
            let value = args.values.load_read_only(position as u64);
            let words = args.words.cast::<K::PackedWord<V>>();
            let at = with_form!(layout.slots, K, V, F => locate::<F, K, V>(words, &layout, mixed));
            if let Some(at) = at {
                words.store(at, Scalar::from_u64(value.to_u64()));
            }
        });
    }
}
