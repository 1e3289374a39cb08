//! Looking up keys, and finding which keys of an insertion batch are new before anything changes.

use super::{Layout, Pages, Table, WordOf};
use crate::seam::{Block, Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, Scalar, ValueWord};

/// The arguments of a lookup.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i`. `values[i]` becomes the value, or 0 if the key is absent.
    /// Bit `i mod 32` of `found[i / 32]` tells whether it is present. `values` may be null. No
    /// thread may change the table during the launch.
    Find<K: KeyWord, V: ValueWord>, "extendible_find", threads 256;
    {
        queries: Global<K>, segments: Global<u64>, pages: Global<Pages<K, V>>, values: Global<V>, found: Global<u32>,
        plan: FindParams,
    }
}

impl<K: KeyWord, V: ValueWord> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FindParams { layout, queries: count } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let lookup = Lookup { queries: args.queries, count, values: args.values, found: args.found };
        let wants_values = !args.values.is_null();
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            // On the CPU each lane's line is being fetched while the other lanes search.
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let key = if index < count { args.queries.load_streaming(index) } else { K::default() };
                let (mixed, bucket) = table.bucket_of(key);
                bucket.prefetch(mixed);
                (mixed, bucket, None)
            });
            tile.each(&mut queries, |lane, (mixed, bucket, answer)| {
                if first + (lane as u64) < count
                    && let Some(found) = bucket.find(*mixed)
                {
                    // The value is read only if `values` is not null.
                    let value = if wants_values { bucket.value(found) } else { Scalar::from_u64(0) };
                    *answer = Some(V::from_u64(value.to_u64()));
                }
            });
            lookup.write(tile, &mut queries, first, |(.., answer)| *answer);
        });
    }
}

/// The arguments of kernels over the pairs of a batch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SearchParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of pairs.
    pub pairs: u64,
}

kernel! {
    /// Finds which of the mixed keys with a set bit in `last` are not in the table. For each of
    /// these, sets bit `i mod 32` of `fresh[i / 32]`, where `i` is the key's index.
    Locate<K: KeyWord, V: ValueWord>, "extendible_locate", threads 256;
    {
        keys: Global<K>, last: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>, fresh: Global<u32>,
        plan: SearchParams,
    }
}

impl<K: KeyWord, V: ValueWord> Locate<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let SearchParams { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut fresh = tile.local(|lane| {
                let index = first + lane as u64;
                if index >= pairs || args.last.load_read_only(index / 32) >> lane & 1 == 0 {
                    return false;
                }
                let mixed = args.keys.load_streaming(index);
                let hash_position = layout.hash_position(mixed);
                let bucket = table.bucket(table.bucket_at(hash_position), hash_position);
                bucket.find(WordOf::<K, V>::from_u64(mixed.to_u64())).is_none()
            });
            let bits = tile.ballot(&fresh, |_, &fresh| fresh);
            tile.each(&mut fresh, |lane, _| {
                if lane == 0 && first < pairs {
                    args.fresh.store(first / 32, bits);
                }
            });
        });
    }
}

kernel! {
    /// Writes the values of the mixed keys whose bit is set in `last` and not in `fresh`. All of
    /// these keys are in the table, and no two are equal.
    Update<K: KeyWord, V: ValueWord>, "extendible_update", threads 256;
    {
        keys: Global<K>, values: Global<V>, last: Global<u32>, fresh: Global<u32>, segments: Global<u64>,
        pages: Global<Pages<K, V>>, plan: SearchParams,
    }
}

impl<K: KeyWord, V: ValueWord> Update<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let SearchParams { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        block.each_item(pairs, |index| {
            let there = args.last.load_read_only(index / 32) & !args.fresh.load_read_only(index / 32);
            if there >> (index % 32) & 1 != 0 {
                let mixed = args.keys.load_streaming(index);
                let hash_position = layout.hash_position(mixed);
                let bucket = table.bucket(table.bucket_at(hash_position), hash_position);
                if let Some(found) = bucket.find(WordOf::<K, V>::from_u64(mixed.to_u64())) {
                    bucket.set_value(found, WordOf::<K, V>::from_u64(args.values.load_streaming(index).to_u64()));
                }
            }
        });
    }
}
