//! Group-by for nearly as many groups as rows. A block for each bin keeps all rows of the bin in
//! registers, and a chained hash table on chip tells which keys are repeated.

use super::chains_thread::{ABSENT, CHAINED_ROWS, FIRST, GROUP, HELD, THREADS, Thread, row};
use super::chains_write::Target;
use super::in_memory::InMemory;
use crate::column_values::ColumnParams;
use crate::page::header;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::split::{self, Pairs, bins};
use crate::types::{KeyWord, Row, Scalar, WordOf};

/// The count of bits of a row's index in its bin. A row's entry has 20 more bits of its key above
/// the index. Together with the chain and the bin, these are all bits of a 32-bit key.
const ROW_BITS: u32 = 12;
const CHAIN_BITS: u32 = 12;
const CHAINS: u32 = 1 << CHAIN_BITS;
const _: () = assert!(CHAINED_ROWS < 1 << ROW_BITS && ROW_BITS + (32 - CHAIN_BITS) <= 32);

/// The end of a chain, which is the entry of no row.
const END: u32 = u32::MAX;

/// The most rows that a thread visits. If more are needed, some keys have many rows, and a hash
/// page is faster.
const MAX_STEPS: u32 = 256;

/// The indices of a block's counters: whether another block has failed, and the count of groups.
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
    /// The distance between the first rows of two adjacent bins, at most [`CHAINED_ROWS`].
    pub bin_capacity: u64,
    /// The capacity of the outputs, in groups.
    pub capacity: u64,
    /// The count of groups that the outputs contain already. New groups are written after these.
    pub groups_before: u64,
    /// The rules for adding and comparing values.
    pub column: ColumnParams,
    /// The count of bits of a bin's index: there are 2^`page_bits` bins.
    pub page_bits: u32,
    /// An unused field.
    pub padding: u32,
}

kernel! {
    /// Aggregates as [`GroupPages`](super::GroupPages) does, with the same arrays, for inputs where
    /// most keys have one row, where it is faster. Rows come from a split, whose bins have a
    /// capacity of at most [`CHAINED_ROWS`].
    ///
    /// Each row exchanges its entry for the entry at the head of its chain, which links it to the
    /// earlier rows of the chain. The earliest of these with the same key represents the group. If
    /// a bin has no repeated key, its rows are its groups.
    ///
    /// If a split has lost rows, nothing is done. If a chain is too long, the header's
    /// [`header::FAILED`] is not 0 at the end, and the outputs are unspecified.
    GroupChains<K: KeyWord, V: Row>, "group_chains", threads 384, resident 3, dynamic memory: u32 = |_| words::<K>(),
        shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, keys_out: Global<K>, counts_out: Global<u32>,
        sums_out: Global<u64>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>, columns: Global<u64>,
        header: Global<u64>, plan: GroupChainsParams,
    }
}

/// Returns the count of words of a block's chains. They also contain keys of 64 bits, which are
/// compared as a whole. The entries contain all bits of 32-bit keys.
const fn words<K: KeyWord>() -> u32 {
    CHAINS + CHAINED_ROWS * if K::BITS == 32 { 1 } else { 3 }
}

impl<K: KeyWord, V: Row> GroupChains<K, V> {
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
            let target = args.target(start.get(0), count, first);
            block.each(&mut threads, |thread, state| target.write_distinct(thread, state, key_of));
            return;
        }
        number_groups(block, &mut threads, counters);
        block.phase(&mut threads, |thread, _| {
            if thread == 0 {
                start.set(0, args.header.atomic(header::LENGTH).fetch_add(counters.get(GROUPS) as u64));
            }
        });
        let target = args.target(start.get(0), counters.get(GROUPS), first);
        target.write_groups(block, &mut threads, memory, key_of);
    }

    /// Returns the outputs for `found` groups, with `before` groups of other bins before them. The
    /// bin's first row is `first_row`.
    #[inline(always)]
    fn target(&self, before: u64, found: u32, first_row: u64) -> Target<K, V> {
        let GroupChainsParams { a, inverse_of_b, capacity, groups_before, column: params, .. } = self.plan;
        let Self { keys_out: keys, counts_out, sums_out, minima_out, maxima_out, columns, .. } = *self;
        let aggregates = InMemory { counts: counts_out, sums: sums_out, minima: minima_out, maxima: maxima_out };
        let first = groups_before + before;
        let room = capacity.saturating_sub(first);
        let count = if room < found as u64 { room as u32 } else { found };
        Target { keys, aggregates, columns, mix: (a, inverse_of_b), params, first_row, first, count }
    }
}

/// The rows of a bin, and the chains of its block. These are the heads of the chains, for each row
/// the entry before it in its chain, and keys of 64 bits.
#[derive(Clone, Copy)]
struct Chains<K: KeyWord, V: Row, M> {
    args: GroupChains<K, V>,
    memory: M,
    first: u64,
    count: u32,
}

impl<K: KeyWord, V: Row, M: Shared<u32>> Chains<K, V, M> {
    /// Returns the index of the word with the entry before a row in its chain.
    #[inline(always)]
    fn entry_before(row: u32) -> u32 {
        CHAINS + row
    }

    /// Returns the index of a row's 64-bit key.
    #[inline(always)]
    fn whole_key(row: u32) -> u32 {
        (CHAINS + CHAINED_ROWS) / 2 + row
    }

    /// Returns the key of a row. A 64-bit key is read again each time, since keeping it would take
    /// two registers.
    #[inline(always)]
    fn key_of(&self, row: u32, held: K) -> K {
        if K::BITS > 32 { self.memory.cast::<K>().get(Self::whole_key(row)) } else { held }
    }

    /// Returns the bits of a key after the bits that all keys of the bin share.
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
                // After a page has failed, the groups of other blocks are not used.
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
            // The exchanges do not wait for each other.
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

    /// Finds the first row with the key of each row. Returns the count of threads with a row whose
    /// key an earlier row has.
    #[inline(always)]
    fn find_firsts<B: Block>(&self, block: &mut B, threads: &mut B::Local<Thread<K, V::Word>>) -> u32 {
        let Self { args, memory, count, .. } = *self;
        // Bits of keys and indices of rows are not kept from one phase to the next.
        let page_bits = opaque(args.plan.page_bits);
        block.count(threads, |thread, state| {
            let (mut steps, mut repeats) = (0, false);
            let thread = opaque(thread);
            for i in 0..HELD {
                if row(thread, i) < count {
                    let key = self.key_of(row(thread, i), state.keys[i]);
                    let of_key = Self::within(key, page_bits) << ROW_BITS;
                    let (mut entry, mut found) = (state.groups[i], FIRST);
                    // At most `MAX_STEPS` steps.
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
            // Votes are taken twice, since keeping them would take registers.
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
