//! Batches that combine values with the values of keys, and that need no answers.

use super::batch_in_turn::Batch;
use super::line::Told;
use super::slot::IfHeld;
use super::table::given;
use super::{Filling, InUse, Layout, count_up, header};
use crate::double_word::PackedPair;
use crate::seam::{Block, Global};
use crate::table::fold::Fold;
use crate::types::{KeyWord, ValueWord};

/// The scalar arguments of [`Combine`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CombineParams {
    /// The table's layout.
    pub layout: Layout,
    /// The index of the first pair.
    pub first: u64,
    /// The index of the last pair, plus one.
    pub end: u64,
    /// The value of every key, if the kernel's `values` is null.
    pub value: u64,
    /// The function.
    pub fold: Fold,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Combines the value of every key of the plan's range with the given value, with one thread
    /// per key. A key without a value gets the given value, and there must be a slot for it. If
    /// `values` is null, the plan contains the value of all keys.
    ///
    /// With `ANYWHERE` slots of removed keys are used again. Threads with the same key retry until
    /// each has changed the slot, so few rows should have the same key.
    Combine<K: KeyWord, V: ValueWord; const ANYWHERE: bool>, "linear_combine" | "linear_combine_anywhere", threads 256, resident 8, wide atomics, cpu cores;
    { keys: Global<K>, values: Global<V>, words: Global<PackedPair<K, V>>, header: Global<u64>, plan: CombineParams }
}

impl<K: KeyWord, V: ValueWord, const ANYWHERE: bool> Combine<K, V, ANYWHERE> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let CombineParams { layout, first, end, value, fold, .. } = args.plan;
        let if_held = IfHeld::Combine(fold);
        let block_first = first + block.first_thread();
        let (in_use, filling) =
            (InUse::new(args.words, args.header, layout), Filling::new(args.words, args.header, layout));
        // For each thread: whether it took a slot, and whether its key is new.
        let mut done = block.local(|thread| {
            let index = block_first + thread as u64;
            if index >= end {
                return (false, false);
            }
            let (key, value) = (args.keys.load_streaming(index), given(args.values, index, value));
            let inserted = if ANYWHERE {
                filling.insert(key, value, if_held, true)
            } else {
                in_use.insert(key, value, if_held, true)
            };
            (inserted.taken, inserted.is_new())
        });
        let counts = [
            (header::TAKEN, block.count(&mut done, |_, done| done.0)),
            (header::GAINED, block.count(&mut done, |_, done| done.1)),
        ];
        count_up(block, args.header, counts);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let Self { keys, values, words, header, plan: CombineParams { layout, first, end, value, fold, .. } } = self;
        // SAFETY: a batch without answers accesses none of these arrays, and the word is not
        // accessed if requests are not counted.
        let (answers, before, pending, asked) =
            unsafe { (Global::null(), Global::null(), Global::null(), Global::null()) };
        let batch = Batch { keys, values, value, words, header, answers, before, pending, layout, first, end };
        let told = Told { if_held: IfHeld::Combine(fold), anywhere: ANYWHERE, asked, max_asked: 0 };
        let totals = batch.insert::<false>(block, told);
        count_up(block, header, [(header::TAKEN, totals.taken), (header::GAINED, totals.gained)]);
    }
}
