//! Group-by of nearly as many groups as rows: a block for each bin holds all of its rows in
//! registers, and a hash table with chains on chip tells which keys are repeated.

use super::chains_thread::{ABSENT, CHAINED_ROWS, FIRST, GROUP, HELD, THREADS, Thread, row};
use super::chains_write::{Outputs, Target};
use crate::column::ColumnParams;
use crate::page::header;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::split::{self, Pairs, bins};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The bits of a row's index in its bin. A row's entry has 20 more bits of its key above the index:
/// with the chain and the bin these are all bits of a 32-bit key.
const ROW_BITS: u32 = 12;
const CHAIN_BITS: u32 = 12;
const CHAINS: u32 = 1 << CHAIN_BITS;
const _: () = assert!(CHAINED_ROWS < 1 << ROW_BITS && ROW_BITS + (32 - CHAIN_BITS) <= 32);

/// The end of a chain: the entry of no row.
const END: u32 = u32::MAX;

/// The most rows that a thread visits. Where more are needed some keys have many rows, and a hash
/// page is faster.
const MAX_STEPS: u32 = 256;

/// The counters of a block: whether another has failed, and the count of groups.
const FAILED: u32 = 0;
const GROUPS: u32 = 1;
const COUNTERS: usize = 4;

/// The scalar arguments of [`GroupChains`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GroupChainsParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The [`inverse_multiplier`](crate::types::inverse_multiplier) of the mix's second constant.
    pub inverse_of_b: u64,
    /// The distance between the first rows of two neighbouring bins, at most [`CHAINED_ROWS`].
    pub bin_capacity: u64,
    /// The count of groups that the outputs have capacity for.
    pub capacity: u64,
    /// The count of groups that are there already: the outputs are written behind them.
    pub groups_before: u64,
    /// How values are added and compared.
    pub column: ColumnParams,
    /// The bits of a bin's index: there are 2^`page_bits` bins.
    pub page_bits: u32,
    /// Not used.
    pub padding: u32,
}

kernel! {
    /// Does what [`GroupPages`](super::GroupPages) does, with the same arrays, where most keys have
    /// one row: it is faster there. Rows come from a split, whose bins have a capacity of at most
    /// [`CHAINED_ROWS`].
    ///
    /// Each row exchanges its index for the one at the head of its chain, and so knows the rows of
    /// the chain that came before it. The earliest of these with the same key has the group. If a
    /// bin has no repeated key, its rows are its groups.
    ///
    /// If a split has lost rows, nothing is done. If a chain is long, the header's
    /// [`header::FAILED`] is not 0 in the end, and what is written is unspecified.
    GroupChains<K: KeyWord, V: Payload>, "group_chains", threads 384, resident 3, dynamic memory: u32 = |_| words::<K>(),
        shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, keys_out: Global<K>, counts_out: Global<u32>,
        sums_out: Global<u64>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>, header: Global<u64>,
        plan: GroupChainsParams,
    }
}

/// Returns the count of words of a block's chains. Keys of 64 bits are compared as a whole; of
/// 32-bit keys the entries have all bits.
const fn words<K: KeyWord>() -> u32 {
    CHAINS + CHAINED_ROWS * if K::BITS == 32 { 1 } else { 3 }
}

impl<K: KeyWord, V: Payload> GroupChains<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, memory: B::Shared<u32>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        let args = self;
        let (first, count) = bins::with_capacity(args.counts, args.plan.bin_capacity, block.index() as u64);
        if split::overflowed(args.header) || count == 0 {
            return;
        }
        let chains = Chains { args, memory, first, count };
        let mut threads = block.local(|_| Thread::<K, V::Word> {
            keys: [K::default(); HELD],
            values: [<V::Word>::default(); HELD],
            groups: [ABSENT; HELD],
            first_group: 0,
        });
        chains.load(block, &mut threads, counters);
        if counters.get(FAILED) != 0 {
            return;
        }
        chains.link(block, &mut threads);
        let key_of = |row: u32, held: K| chains.key_of(row, held);
        if chains.find_firsts(block, &mut threads) == 0 {
            block.phase(&mut threads, |thread, _| {
                if thread == 0 {
                    start.set(0, args.header.atomic(header::LENGTH).fetch_add(count as u64));
                }
            });
            let target = args.target(start.get(0), count);
            block.each(&mut threads, |thread, state| target.write_distinct(thread, state, key_of));
            return;
        }
        number_groups(block, &mut threads, counters);
        block.phase(&mut threads, |thread, _| {
            if thread == 0 {
                start.set(0, args.header.atomic(header::LENGTH).fetch_add(counters.get(GROUPS) as u64));
            }
        });
        let target = args.target(start.get(0), counters.get(GROUPS));
        target.write_groups(block, &mut threads, memory, key_of);
    }

    /// Returns where `found` groups are written to, before which there are so many.
    #[inline(always)]
    fn target(&self, before: u64, found: u32) -> Target<K, V> {
        let GroupChainsParams { a, inverse_of_b, capacity, groups_before, column, .. } = self.plan;
        let outputs = Outputs {
            keys: self.keys_out,
            counts: self.counts_out,
            sums: self.sums_out,
            minima: self.minima_out,
            maxima: self.maxima_out,
        };
        Target::new(outputs, (a, inverse_of_b), column, (groups_before + before, capacity), found)
    }
}

/// The rows of a bin, and the chains of its block: behind their heads each row has the entry before
/// it, and its key if that is long.
#[derive(Clone, Copy)]
struct Chains<K: KeyWord, V: Payload, M> {
    args: GroupChains<K, V>,
    memory: M,
    first: u64,
    count: u32,
}

impl<K: KeyWord, V: Payload, M: Shared<u32>> Chains<K, V, M> {
    /// Returns the position of the entry before a row.
    #[inline(always)]
    fn entry_before(row: u32) -> u32 {
        CHAINS + row
    }

    /// Returns the position of a long key.
    #[inline(always)]
    fn whole_key(row: u32) -> u32 {
        (CHAINS + CHAINED_ROWS) / 2 + row
    }

    /// Returns the key of a row. A long key is read again where it is needed: it would take two
    /// registers.
    #[inline(always)]
    fn key_of(&self, row: u32, held: K) -> K {
        if K::BITS > 32 { self.memory.cast::<K>().get(Self::whole_key(row)) } else { held }
    }

    /// Returns the bits of a key below those that all keys of the bin share.
    #[inline(always)]
    fn within(key: K, page_bits: u32) -> u32 {
        (key << page_bits).bits_from(K::BITS - 32)
    }

    /// Loads the rows, and empties the chains.
    #[inline(always)]
    fn load<B: Block>(&self, block: &mut B, threads: &mut B::Local<Thread<K, V::Word>>, counters: impl Shared<u32>) {
        let Self { args, memory, first, count } = *self;
        let pairs = Pairs::<false, K, V>::new(args.keys, args.values);
        block.phase(threads, |thread, state| {
            for i in 0..HELD {
                if row(thread, i) < count {
                    (state.keys[i], state.values[i]) = pairs.load(first + thread as u64 + row(0, i) as u64);
                }
            }
            for i in 0..(CHAINS / 2).div_ceil(THREADS) {
                if row(thread, i as usize) < CHAINS / 2 {
                    memory.cast::<u64>().set(row(thread, i as usize), u64::MAX);
                }
            }
            if thread == 0 {
                // Once a page has failed, nothing that others do is used.
                counters.set(FAILED, args.header.atomic(header::FAILED).load() as u32);
                counters.set(GROUPS, 0);
            }
        });
    }

    /// Makes each row the head of its chain, in some order.
    #[inline(always)]
    fn link<B: Block>(&self, block: &mut B, threads: &mut B::Local<Thread<K, V::Word>>) {
        let Self { args, memory, count, .. } = *self;
        block.phase(threads, |thread, state| {
            // No exchange waits for the one before it.
            for i in 0..HELD {
                if row(thread, i) < count {
                    let within = Self::within(state.keys[i], args.plan.page_bits);
                    let entry = within << ROW_BITS | row(thread, i);
                    state.groups[i] = memory.exchange(within >> (32 - CHAIN_BITS), entry);
                }
            }
            for i in 0..HELD {
                if row(thread, i) < count {
                    memory.set(Self::entry_before(row(thread, i)), state.groups[i]);
                    if K::BITS > 32 {
                        memory.cast::<K>().set(Self::whole_key(row(thread, i)), state.keys[i]);
                    }
                }
            }
        });
    }

    /// Finds the first row with the key of each; returns how many threads have a row whose key
    /// another one had before.
    #[inline(always)]
    fn find_firsts<B: Block>(&self, block: &mut B, threads: &mut B::Local<Thread<K, V::Word>>) -> u32 {
        let Self { args, memory, count, .. } = *self;
        // Bits of keys are not kept from one phase to the next, nor are the indices of rows.
        let page_bits = opaque(args.plan.page_bits);
        block.count(threads, |thread, state| {
            let (mut steps, mut repeats) = (0, false);
            let thread = opaque(thread);
            for i in 0..HELD {
                if row(thread, i) < count {
                    let key = self.key_of(row(thread, i), state.keys[i]);
                    let of_key = Self::within(key, page_bits) << ROW_BITS;
                    let (mut entry, mut found) = (state.groups[i], FIRST);
                    // At most `MAX_STEPS`.
                    while entry != END && steps < MAX_STEPS {
                        let at = entry & ((1 << ROW_BITS) - 1);
                        let equal = (entry ^ of_key) >> ROW_BITS == 0;
                        entry = memory.get(Self::entry_before(at));
                        if equal && (K::BITS == 32 || memory.cast::<K>().get(Self::whole_key(at)) == key) {
                            found = at;
                        }
                        steps += 1;
                    }
                    state.groups[i] = found;
                    repeats |= found != FIRST;
                }
            }
            if steps == MAX_STEPS {
                args.header.atomic(header::FAILED).fetch_add(1);
            }
            repeats
        })
    }
}

/// Gives the first row of each key the index of a group. Ends with a barrier.
#[inline(always)]
fn number_groups<K: KeyWord, W: Scalar, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, W>>,
    counters: impl Shared<u32>,
) {
    block.tiles_of(threads, |warp, threads| {
        let mut all = 0;
        for i in 0..HELD {
            all += warp.ballot(threads, |_, state| state.groups[i] == FIRST).count_ones();
        }
        warp.each(threads, |lane, state| {
            if lane == 0 {
                state.first_group = counters.fetch_add(GROUPS, all);
            }
        });
        let mut group = warp.pick(threads, 0, |state| state.first_group);
        for i in 0..HELD {
            // All votes are taken twice: to keep them would take registers.
            let firsts = warp.ballot(threads, |_, state| state.groups[i] == FIRST);
            warp.each(threads, |lane, state| {
                if state.groups[i] == FIRST {
                    state.groups[i] = GROUP | (group + (firsts & ((1 << lane) - 1)).count_ones());
                }
            });
            group += firsts.count_ones();
        }
    });
    block.sync();
}
