//! Moving all keys to another table.

use super::slot::{EMPTY, IfHeld, value_of};
use super::{InUse, Layout, count_up, header};
use crate::seam::Global;

/// What is to be moved.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RehashPlan {
    /// The slots of the old table.
    pub slots: u64,
    /// The layout of the new one.
    pub layout: Layout,
}

kernel! {
    /// Inserts the keys of the old slots, one thread a slot, into the new table, which is larger than their number. The key that lives
    /// beside the slots is in the header already.
    Rehash<>, "linear_rehash", threads 256;
    { old: Global<u64>, words: Global<u64>, header: Global<u64>, plan: RehashPlan }
    |args, block| {
        let RehashPlan { slots, layout } = args.plan;
        let first = block.first_thread();
        let table = InUse::new(args.words, args.header, layout);
        let mut placed = block.local(|thread| {
            let slot = first + thread as u64;
            let word = if slot < slots { args.old.load_streaming(slot) } else { EMPTY };
            match value_of(word) {
                Some(value) => table.insert((word >> 32) as u32, value, IfHeld::Replace, true).taken,
                None => false,
            }
        });
        let count = block.count(&mut placed, |_, placed| *placed);
        count_up(block, args.header, [(header::TAKEN, count), (header::GAINED, count)]);
    }
}
