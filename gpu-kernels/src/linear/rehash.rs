//! Moving all keys to another table.

use super::slot::{IfHeld, insert_in_place, value_of};
use super::{Layout, Slots, count_up, header};
use crate::double_word::{Double, Doubled};
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`Rehash`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RehashParams {
    /// The count of slots in the old table.
    pub slots: u64,
    /// The layout of the new table.
    pub layout: Layout,
}

kernel! {
    /// Inserts the keys of the old slots into the new table, which has more slots than there are
    /// keys. There is one thread per slot.
    ///
    /// The key that has a cell is in the header already. `H` is half of a word.
    Rehash<H: KeyWord>, "linear_rehash", threads 256, wide atomics;
    { old: Global<Doubled<H>>, words: Global<Doubled<H>>, header: Global<u64>, plan: RehashParams }
}

impl<H: KeyWord> Rehash<H> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RehashParams { slots, layout } = args.plan;
        let first = block.first_thread();
        let mut placed = block.local(|thread| {
            let slot = first + thread as u64;
            let word = if slot < slots { args.old.load_streaming(slot) } else { Double::ALL_ONES };
            match value_of(word) {
                Some(value) => {
                    insert_in_place(&Slots(args.words), &layout, word.upper(), value, IfHeld::Replace, true).taken
                }
                None => false,
            }
        });
        let count = block.count(&mut placed, |_, placed| *placed);
        count_up(block, args.header, [(header::TAKEN, count), (header::GAINED, count)]);
    }
}
