//! Batches that only insert and need no answers. The kernel needs fewer registers than
//! [`Apply`](super::Apply), so more threads can wait for memory concurrently.

use super::batch_in_turn::Batch;
use super::line::Replacing;
use super::slot::IfHeld;
use super::{Filling, InUse, Layout, count_up, header};
use crate::double_word::PackedPair;
use crate::seam::{Block, Global, Tile};
use crate::types::{KeyWord, ValueWord};

/// The scalar arguments of [`Insert`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InsertParams {
    /// The table's layout.
    pub layout: Layout,
    /// The index of the first pair.
    pub first: u64,
    /// The index of the last pair, plus one.
    pub end: u64,
}

kernel! {
    /// Inserts every key of the plan's range, or replaces its value, with one thread per key. There
    /// must be a slot for each. Of equal keys in a warp only one is inserted, since otherwise
    /// threads would wait for each other.
    ///
    /// With `ANYWHERE` slots of removed keys are used again.
    Insert<K: KeyWord, V: ValueWord; const ANYWHERE: bool>, "linear_insert" | "linear_insert_anywhere", threads 256, resident 8, wide atomics, cpu cores;
    { keys: Global<K>, values: Global<V>, words: Global<PackedPair<K, V>>, header: Global<u64>, plan: InsertParams }
}

/// A pair, and the result of its insertion.
struct Row<K, V> {
    key: K,
    value: V,
    /// Whether this thread must insert the pair.
    wanted: bool,
    /// Whether a slot was taken, and whether the key is new.
    taken: bool,
    new: bool,
}

impl<K: KeyWord, V: ValueWord, const ANYWHERE: bool> Insert<K, V, ANYWHERE> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let InsertParams { layout, first, end } = args.plan;
        let block_first = first + block.first_thread();
        let (in_use, filling) =
            (InUse::new(args.words, args.header, layout), Filling::new(args.words, args.header, layout));
        let mut rows = block.local(|thread| {
            let index = block_first + thread as u64;
            let mut row = Row { key: K::default(), value: V::default(), wanted: index < end, taken: false, new: false };
            if row.wanted {
                (row.key, row.value) = (args.keys.load_streaming(index), args.values.load_streaming(index));
            }
            row
        });
        block.tiles_of(&mut rows, |warp, rows| {
            let key = |_, row: &Row<K, V>| row.wanted.then(|| (row.key, layout.class(row.key)));
            warp.twins(rows, key, |lane, row, twin| row.wanted &= twin == lane);
        });
        block.each(&mut rows, |_, row| {
            if row.wanted {
                let inserted = if ANYWHERE {
                    filling.insert(row.key, row.value, IfHeld::Replace, true)
                } else {
                    in_use.insert(row.key, row.value, IfHeld::Replace, true)
                };
                (row.taken, row.new) = (inserted.taken, inserted.is_new());
            }
        });
        let counts = [
            (header::TAKEN, block.count(&mut rows, |_, row| row.taken)),
            (header::GAINED, block.count(&mut rows, |_, row| row.new)),
        ];
        count_up(block, args.header, counts);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let Self { keys, values, words, header, plan: InsertParams { layout, first, end } } = self;
        // SAFETY: a batch without answers accesses none of these arrays.
        let (answers, before, pending) = unsafe { (Global::null(), Global::null(), Global::null()) };
        let batch = Batch { keys, values, value: 0, words, header, answers, before, pending, layout, first, end };
        let totals = batch.insert::<false>(block, Replacing::<ANYWHERE>);
        count_up(block, header, [(header::TAKEN, totals.taken), (header::GAINED, totals.gained)]);
    }
}
