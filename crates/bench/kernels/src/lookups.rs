//! Kernels of a user that read tables by their refs: the same lookup for each kind of table, and
//! operations that only some tables have.

use gpu_kernels::refs::{
    CompactingRef, CuckooRef, ExtendibleRef, LinearRef, MapRef, MultiRef, PageRef, SetRef, SortedRef, TwoLevelRef,
};
use gpu_kernels::seam::{Block, Global, Tile};
use gpu_kernels::table::lookup::Lookup;
use gpu_kernels::types::{KeyWord, Nothing, ValueWord};

/// Answers query `i` in thread `i`, by the method `get` of a map's ref.
#[inline(always)]
fn ask<K: KeyWord, V: ValueWord>(block: &mut impl Block, lookup: Lookup<K, V>, get: impl Fn(K) -> Option<V> + Sync) {
    let block_first = block.first_thread();
    block.tiles(|tile| {
        let first = block_first + tile.first_thread() as u64;
        let mut answers = tile.local(|lane| {
            let index = first + lane as u64;
            if index < lookup.count { get(lookup.queries.load_streaming(index)) } else { None }
        });
        lookup.write(tile, &mut answers, first, |answer| *answer);
    });
}

/// Declares the lookup kernel of a map.
macro_rules! lookup_kernel {
    ($name:ident, $entry:literal, $map:ident $($wide:tt)*) => {
        gpu_kernels::kernel! {
            /// Answers query `i` in thread `i`: `values[i]` becomes the value, or 0 if bit
            /// `i mod 32` of `found[i / 32]` becomes 0.
            $name<K: KeyWord, V: ValueWord>, $entry, threads 256 $($wide)*;
            { queries: Global<K>, values: Global<V>, found: Global<u32>, map: $map<K, V>, count: u64 }
        }

        impl<K: KeyWord, V: ValueWord> $name<K, V> {
            #[inline(always)]
            fn run<B: Block>(self, block: &mut B) {
                let args = self;
                let Self { queries, values, found, count, .. } = args;
                ask(block, Lookup { queries, count, values, found }, |key| args.map.get(key));
            }
        }
    };
}

lookup_kernel! { AskPage, "ask_page", PageRef }
lookup_kernel! { AskCuckoo, "ask_cuckoo", CuckooRef }
lookup_kernel! { AskTwoLevel, "ask_two_level", TwoLevelRef }
lookup_kernel! { AskSorted, "ask_sorted", SortedRef }
lookup_kernel! { AskLinear, "ask_linear", LinearRef, wide atomics }
lookup_kernel! { AskExtendible, "ask_extendible", ExtendibleRef }

/// Sets bit `i mod 32` of `found[i / 32]` in thread `i` if a table has key `i`.
#[inline(always)]
fn flag<K: KeyWord>(block: &mut impl Block, queries: Global<K>, found: Global<u32>, count: u64, table: impl SetRef<K>) {
    // SAFETY: a lookup without values does not access them.
    let values = unsafe { Global::<u32>::null() };
    ask(block, Lookup { queries, count, values, found }, |key| table.contains(key).then_some(0));
}

/// Declares the kernel that tests whether a table has keys.
macro_rules! contains_kernel {
    ($name:ident, $entry:literal, $table:ty) => {
        gpu_kernels::kernel! {
            /// Sets bit `i mod 32` of `found[i / 32]` in thread `i` if the table has key `i`.
            $name<K: KeyWord>, $entry, threads 256;
            { queries: Global<K>, found: Global<u32>, table: $table, count: u64 }
        }

        impl<K: KeyWord> $name<K> {
            #[inline(always)]
            fn run<B: Block>(self, block: &mut B) {
                let args = self;
                flag(block, args.queries, args.found, args.count, args.table);
            }
        }
    };
}

contains_kernel! { FlagPageSet, "flag_page_set", PageRef<K, Nothing> }
contains_kernel! { FlagCuckooSet, "flag_cuckoo_set", CuckooRef<K, Nothing> }

/// Returns the count of a key's values, plus the sum of each value times its position, starting at
/// 1.
#[inline(always)]
fn weigh<K: KeyWord, V: ValueWord>(map: &MultiRef<K, V, impl MapRef<K, u32>>, key: K) -> u64 {
    let (mut sum, mut place) = (map.count(key) as u64, 1);
    for value in map.values(key) {
        sum = sum.wrapping_add(value.to_u64().wrapping_mul(place));
        place += 1;
    }
    sum
}

/// Declares the kernel that iterates over the values of keys.
macro_rules! values_kernel {
    ($name:ident, $entry:literal, $ids:ident) => {
        gpu_kernels::kernel! {
            /// Writes to `sums[i]` the count of key `i`'s values, plus the sum of each value times
            /// its position, starting at 1.
            $name<K: KeyWord, V: ValueWord>, $entry, threads 256;
            { queries: Global<K>, sums: Global<u64>, map: MultiRef<K, V, $ids<K, u32>>, count: u64 }
        }

        impl<K: KeyWord, V: ValueWord> $name<K, V> {
            #[inline(always)]
            fn run<B: Block>(self, block: &mut B) {
                let args = self;
                block.each_item(args.count, |index| {
                    let sum = weigh(&args.map, args.queries.load_streaming(index));
                    args.sums.store_streaming(index, sum);
                });
            }
        }
    };
}

values_kernel! { WeighOnPages, "weigh_on_pages", PageRef }
values_kernel! { WeighOnCuckoo, "weigh_on_cuckoo", CuckooRef }

gpu_kernels::kernel! {
    /// Writes the id of key `i` to `ids[i]`, and the key of that id to `there_and_back[i]`. Both
    /// are all ones if the key has no id. `behind[0]` becomes 1 if there is a key after the last
    /// id.
    IdsAndBack<K: KeyWord>, "ids_and_back", threads 256;
    {
        queries: Global<K>, there_and_back: Global<K>, ids: Global<u32>, behind: Global<u32>,
        table: CompactingRef<K, PageRef<K, u32>>, count: u64,
    }
}

impl<K: KeyWord> IdsAndBack<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.count, |index| {
            let id = args.table.id(args.queries.load_streaming(index));
            let key = id.and_then(|id| args.table.key(id));
            args.ids.store_streaming(index, id.unwrap_or(u32::MAX));
            args.there_and_back.store_streaming(index, key.unwrap_or(K::ALL_ONES));
            if index == 0 {
                args.behind.store_streaming(0, args.table.key(args.table.len()).is_some() as u32);
            }
        });
    }
}

gpu_kernels::kernel! {
    /// Writes the number of keys below key `i` to `below[i]`, and the value of the pair with that
    /// rank, or 0, to `next[i]`.
    RanksOf<K: KeyWord, V: ValueWord>, "ranks_of", threads 256;
    { queries: Global<K>, below: Global<u32>, next: Global<V>, map: SortedRef<K, V>, count: u64 }
}

impl<K: KeyWord, V: ValueWord> RanksOf<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.count, |index| {
            let below = args.map.lower_bound(args.queries.load_streaming(index));
            args.below.store_streaming(index, below);
            args.next.store_streaming(index, args.map.pair(below).map_or(V::default(), |(_, value)| value));
        });
    }
}
