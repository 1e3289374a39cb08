//! The kernels of a compacting table that its id table does not have: rows in reverse, ids for
//! keys, and keys by their ids. The id table is a page table ([`crate::page`]), which gives ids to
//! its keys itself, or a cuckoo table, whose keys get ids here (`number`).

mod number;

pub use number::{FlagSlotValues, NumberSlots, RankSlotValues, SlotsParams};

use crate::seam::{Block, Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, Scalar};

/// The arguments of kernels over rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowsParams {
    /// The count of rows.
    pub rows: u64,
}

kernel! {
    /// Writes `keys` to `keys_out` in reverse order, and to `rows_out[i]` the index of the row from
    /// which `keys_out[i]` comes. One thread writes a row.
    ReverseRows<K: KeyWord>, "reverse_rows", threads 256;
    { keys: Global<K>, keys_out: Global<K>, rows_out: Global<u32>, plan: RowsParams }
}

impl<K: KeyWord> ReverseRows<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let row = first + thread as u64;
            if row < args.plan.rows {
                let target = args.plan.rows - 1 - row;
                args.keys_out.store_streaming(target, args.keys.load_streaming(row));
                args.rows_out.store_streaming(target, row as u32);
            }
        });
    }
}

kernel! {
    /// Sets `counts[i]` to the count of set bits of `bits[i]`. One thread counts the bits of a
    /// word; the plan's `rows` is the count of words.
    CountBits<>, "count_bits", threads 256;
    { bits: Global<u32>, counts: Global<u32>, plan: RowsParams }
}

impl CountBits {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let word = first + thread as u64;
            if word < args.plan.rows {
                args.counts.store(word, args.bits.load_read_only(word).count_ones());
            }
        });
    }
}

/// The arguments of [`KeysOf`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeysOfParams {
    /// The count of ids that are in use.
    pub ids: u64,
    /// The count of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i`. `keys_out[i]` becomes the key with id `queries[i]`, or 0.
    /// Bit `i mod 32` of `found[i / 32]` tells whether there is one.
    KeysOf<T: Scalar>, "keys_of", threads 256;
    { queries: Global<u32>, keys: Global<T>, keys_out: Global<T>, found: Global<u32>, plan: KeysOfParams }
}

impl<T: Scalar> KeysOf<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let KeysOfParams { ids, queries } = args.plan;
        let lookup = Lookup { queries: args.queries, count: queries, values: args.keys_out, found: args.found };
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut answers = tile.local(|lane| {
                let index = first + lane as u64;
                let id = if index < queries { args.queries.load_streaming(index) as u64 } else { ids };
                if id < ids { Some(args.keys.load_read_only(id)) } else { None }
            });
            lookup.write(tile, &mut answers, first, |answer| *answer);
        });
    }
}
