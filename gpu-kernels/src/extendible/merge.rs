//! Merging buckets with their buddies after a removal. Which ones is found out first, depth by depth; then each record moves at most once.

use super::{Layout, Note, Notes, Pages, State, Table, counts, span};
use crate::seam::{Global, Tile};
use crate::types::{Key, Value};

/// Which buckets are to be merged.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MergePlan {
    /// The table's layout.
    pub layout: Layout,
    /// Numbers of buckets are below this.
    pub used: u64,
    /// The most records of a bucket and its buddy that are merged.
    pub most: u64,
}

kernel! {
    /// A bucket that is the lower half of a larger part of the range takes the upper half in, if that is a bucket of the same depth and their records
    /// are few. Only notes are changed; `merged`, with room for one a bucket, gets the numbers of those that are no more. One thread a
    /// bucket; again until nothing is merged.
    MergeBuddies<>, "extendible_merge_buddies", threads 256;
    { segments: Global<u64>, pages: Global<u64>, merged: Global<u32>, counts: Global<u64>, plan: MergePlan }
    |args, block| {
        let MergePlan { layout, used, most } = args.plan;
        let table = Notes::new(args.segments, args.pages.cast(), layout);
        let block_first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = block_first + thread as u64;
            if index >= used {
                return;
            }
            let number = index as u32;
            let Note { first, state } = table.note(number);
            if !state.is_live() || state.depth() == 0 || first & span(state.depth()) != 0 {
                return;
            }
            // The directory is as it was, and the lowest of the buckets that were merged is the one that is left: so it is the one that
            // the lowest place of the buddy leads to.
            let buddy = table.bucket_at(first + span(state.depth()));
            let other = table.note(buddy).state;
            if !other.is_live() || other.depth() != state.depth() {
                return;
            }
            let records = state.records() + other.records();
            if records as u64 <= most {
                // No other thread changes these two now: the buddy is nobody's lower half at this depth, and this one nobody's upper half.
                table.set_state(buddy, State::merged(other.depth(), number));
                table.set_state(number, State::live(state.depth() - 1, records));
                args.merged.store(args.counts.atomic(counts::MERGED).fetch_add(1), buddy);
            }
        });
    }
}

/// What was merged.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MergedPlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of buckets that are no more.
    pub merged: u64,
    /// How many numbers are free already.
    pub free: u64,
}

kernel! {
    /// Moves the records of merged buckets to those that took them in, and lets the directory point there. A tile a bucket.
    Absorb<K: Key, V: Value>, "extendible_absorb", threads 256;
    { merged: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>, plan: MergedPlan }
    |args, block| {
        let MergedPlan { layout, merged, .. } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let index = (block_first + tile.first_thread() as u64) / 32;
            if index >= merged {
                return;
            }
            let number = args.merged.load_read_only(index);
            let Note { first, state } = table.note(number);
            let mut into = state.records();
            loop {
                let next = table.note(into).state;
                if !next.is_merged() {
                    break;
                }
                into = next.records();
            }
            let (from, to) = (table.bucket(number, first), table.bucket(into, first));
            let mut nothing = tile.local(|_| ());
            tile.each(&mut nothing, |lane, _| {
                if lane == 0 {
                    table.install(first, state.depth(), into);
                }
                let mut record = lane;
                while record < from.capacity() {
                    if let Some((mixed, value)) = from.record(record) {
                        // Together they are not more than a bucket holds, so there is a slot.
                        to.insert(mixed, value);
                    }
                    record += 32;
                }
            });
        });
    }
}

kernel! {
    /// Frees merged buckets: their numbers go to `free`, from place `free` of the plan on. One thread a bucket.
    Release<>, "extendible_release", threads 256;
    { merged: Global<u32>, free: Global<u32>, pages: Global<u64>, plan: MergedPlan }
    |args, block| {
        let MergedPlan { layout, merged, free } = args.plan;
        // SAFETY: the numbers of buckets are given, so nobody asks a segment.
        let table = Notes::new(unsafe { Global::null() }, args.pages.cast(), layout);
        let block_first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = block_first + thread as u64;
            if index < merged {
                let number = args.merged.load_read_only(index);
                table.set_state(number, State::FREE);
                args.free.store(free + index, number);
            }
        });
    }
}
