//! Writing the index.

use super::{Layout, Level};
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The arguments of [`Index`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IndexParams {
    /// The count of keys, which is used if `count` is null.
    pub keys: u64,
}

kernel! {
    /// Writes everything after the sorted keys as described at [`Layout`]: their padding, and the
    /// levels of the index. `count[0]` is the count of keys; if `count` is null, the plan has the
    /// count. A thread writes one entry, and there are at least as many threads as entries.
    Index<K: KeyWord>, "sorted_index", threads 256;
    { keys: Global<K>, count: Global<u32>, plan: IndexParams }
}

impl<K: KeyWord> Index<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first_thread = block.first_thread();
        block.each_thread(|thread| {
            let keys = if args.count.is_null() { args.plan.keys } else { args.count.load(0) as u64 };
            let layout = Layout::new(keys);
            let entry = keys + first_thread + thread as u64;
            if entry >= layout.key_slots() {
                return;
            }
            let level = level_of(&layout, entry);
            // The entry is read from the keys, so that no level waits for the level below.
            let last_of_group = ((entry - level.first + 1) << level.shift) - 1;
            args.keys.store(entry, if last_of_group < keys { args.keys.load(last_of_group) } else { K::ALL_ONES });
        });
    }
}

/// Returns the level that has `entry`.
#[inline(always)]
fn level_of(layout: &Layout, entry: u64) -> Level {
    let mut level = layout.top;
    // At most as many steps as levels.
    while entry < level.first
        && let Some(below) = layout.below(level)
    {
        level = below;
    }
    level
}
