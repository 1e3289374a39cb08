//! Looking up many keys while no thread changes the table.

use super::find_in_turn::FindInTurn;
use super::slot::{is_empty, removed};
use super::table::{in_cell, resized};
use super::{Layout, header};
use crate::double_word::{Double, PackedPair};
use crate::seam::{Block, Global, Tile, vectorized_by_lanes};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, ValueWord};

/// The scalar arguments of [`Find`].
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
    /// Bit `i mod 32` of `found[i / 32]` tells whether it is present.
    ///
    /// `values` may be null. No thread may change the table during the launch.
    Find<K: KeyWord, V: ValueWord>, "linear_find", threads 256, wide atomics, cpu cores;
    {
        queries: Global<K>, words: Global<PackedPair<K, V>>, header: Global<u64>, values: Global<V>, found: Global<u32>,
        plan: FindParams,
    }
}

impl<K: KeyWord, V: ValueWord> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FindParams { layout, queries: count } = args.plan;
        let lookup = args.lookup();
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let key = if index < count { args.queries.load_streaming(index) } else { K::ALL_ONES };
                let bucket = layout.probe::<PackedPair<K, V>>(resized(key)).bucket;
                args.words.prefetch(bucket as u64 * <PackedPair<K, V>>::IN_SECTOR as u64);
                (key, None)
            });
            tile.each(&mut queries, |lane, (key, answer)| {
                if first + (lane as u64) < count {
                    *answer = find_in_unchanging(args.words, args.header, &layout, *key);
                }
            });
            lookup.write(tile, &mut queries, first, |(_, answer)| *answer);
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let (Self { words, header, .. }, FindParams { layout, queries: count }) = (self, self.plan);
        // The grid may have any size: its blocks share the queries, in whole words of bits.
        let of_block = count.div_ceil(32).div_ceil(block.grid() as u64) * 32;
        let first = count.min(block.index() as u64 * of_block);
        let end = count.min(first + of_block);
        vectorized_by_lanes(FindInTurn { lookup: self.lookup(), words, header, layout, first, end });
    }

    #[inline(always)]
    fn lookup(&self) -> Lookup<K, V> {
        Lookup { queries: self.queries, count: self.plan.queries, values: self.values, found: self.found }
    }
}

/// Returns the value of a key in a table that no thread changes concurrently.
#[inline(always)]
pub(crate) fn find_in_unchanging<K: KeyWord, V: ValueWord>(
    words: Global<PackedPair<K, V>>,
    header: Global<u64>,
    layout: &Layout,
    key: K,
) -> Option<V> {
    if key == K::ALL_ONES {
        in_cell(header.cast::<PackedPair<K, V>>().load_read_only(header::CELL))
    } else {
        get(words, layout, resized(key))
    }
    .map(resized)
}

/// Returns the value of a key that is not K. The search is the same as in
/// [`slot::get`](super::slot::get), but each word is read only once, by loads that may be cached.
#[inline(always)]
fn get<W: Double>(words: Global<W>, layout: &Layout, key: W::Half) -> Option<W::Half> {
    let (mut probe, mut left) = (layout.probe::<W>(key), layout.buckets());
    // At most as many steps as buckets.
    while left != 0 {
        let bucket = W::read_sector(words, probe.bucket as u64 * W::IN_SECTOR as u64);
        let (mut own, mut ends, bucket) = (None, false, bucket.as_ref());
        for i in 0..W::IN_SECTOR as usize {
            if bucket[i].upper() == key {
                own = Some(bucket[i]);
            }
            ends |= is_empty(bucket[i]) || bucket[i] == removed(key);
        }
        if own.is_some() || ends {
            return own.map(Double::lower);
        }
        layout.advance(&mut probe);
        left -= 1;
    }
    None
}
