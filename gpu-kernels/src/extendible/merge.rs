//! Merging buckets with their buddies after a removal. First the pairs of buckets are found, depth
//! by depth. Then each record moves at most once.

use super::{BucketHeader, HeaderTable, Layout, Pages, State, Table, counts, span};
use crate::primitives::append::{self, WARPS};
use crate::seam::{Block, Global, Tile};
use crate::types::{KeyWord, ValueWord};

/// The arguments of [`MergeBuddies`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MergeParams {
    /// The table's layout.
    pub layout: Layout,
    /// The end of the range of bucket indices in use.
    pub used: u64,
    /// The most records that a bucket and its buddy may have together to be merged.
    pub most: u64,
}

kernel! {
    /// Merges buckets with their buddies. A bucket that is the lower half of a larger part of the
    /// range may absorb the upper half. It does if this is a bucket of the same depth, and both
    /// have at most `most` records. Only headers are changed. `merged`, which has capacity for
    /// every bucket, gets the indices of the absorbed buckets. One thread processes a bucket. The
    /// kernel is launched again until no buckets are merged.
    MergeBuddies<>, "extendible_merge_buddies", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    { segments: Global<u64>, pages: Global<u64>, merged: Global<u32>, counts: Global<u64>, plan: MergeParams }
}

impl MergeBuddies {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let MergeParams { layout, used, most } = args.plan;
        let table = HeaderTable::new(args.segments, args.pages.cast(), layout);
        let block_first = block.first_thread();
        let mut found = block.local(|thread| {
            let index = block_first + thread as u64;
            (if index < used { take_in(&table, most, index as u32) } else { None }, 0)
        });
        let next = args.counts.offset(counts::MERGED);
        append::reserve(block, &mut found, (sums, start), next, |found| found.0.is_some() as u32, |found| &mut found.1);
        block.each(&mut found, |_, found| {
            if let (Some(buddy), target) = *found {
                args.merged.store(target, buddy);
            }
        });
    }
}

/// Lets a bucket absorb its buddy, if that is allowed. Returns the buddy's index.
#[inline(always)]
fn take_in(table: &HeaderTable, most: u64, number: u32) -> Option<u32> {
    let BucketHeader { first, state } = table.header(number);
    if !state.is_live() || state.depth() == 0 || first & span(state.depth()) != 0 {
        return None;
    }
    // The directory is unchanged, and the lowest of merged buckets remains. So the buddy is the
    // bucket to which the directory maps the buddy's lowest hash position.
    let buddy = table.bucket_at(first + span(state.depth()));
    let other = table.header(buddy).state;
    if !other.is_live() || other.depth() != state.depth() {
        return None;
    }
    let records = state.records() + other.records();
    if records as u64 > most {
        return None;
    }
    // No other thread changes these two buckets now: at this depth the buddy is no bucket's lower
    // half, and this bucket no bucket's upper half.
    table.set_state(buddy, State::merged(other.depth(), number));
    table.set_state(number, State::live(state.depth() - 1, records));
    Some(buddy)
}

/// The arguments of [`MergeAround`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AroundParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of keys.
    pub keys: u64,
    /// The most records that a bucket and its buddy may have together to be merged.
    pub most: u64,
}

kernel! {
    /// Merges as [`MergeBuddies`] does, but only the buckets at the hash positions of `keys` and
    /// their buddies. It is for keys that were just removed, if no other buckets could be merged
    /// before. The count `DEEPEST_MERGED` becomes 1 if a merged bucket was as deep as its bucket
    /// table. One thread processes a key.
    MergeAround<K: KeyWord>, "extendible_merge_around", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        keys: Global<K>, segments: Global<u64>, pages: Global<u64>, merged: Global<u32>, counts: Global<u64>,
        plan: AroundParams,
    }
}

impl<K: KeyWord> MergeAround<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let AroundParams { layout, keys, most } = args.plan;
        let table = HeaderTable::new(args.segments, args.pages.cast(), layout);
        let block_first = block.first_thread();
        let mut found = block.local(|thread| {
            let index = block_first + thread as u64;
            if index >= keys {
                return (None, 0);
            }
            let hash_position = layout.hash_position(args.keys.load_streaming(index).mixed(layout.a, layout.b));
            (claim_around(&table, most, hash_position, args.counts), 0)
        });
        let next = args.counts.offset(counts::MERGED);
        append::reserve(block, &mut found, (sums, start), next, |found| found.0.is_some() as u32, |found| &mut found.1);
        block.each(&mut found, |_, found| {
            if let (Some(buddy), target) = *found {
                args.merged.store(target, buddy);
            }
        });
    }
}

/// Merges the bucket of a hash position with its buddy, if that is allowed and no other thread has
/// merged them. Returns the index of the absorbed bucket.
#[inline(always)]
fn claim_around(table: &HeaderTable, most: u64, hash_position: u64, counted: Global<u64>) -> Option<u32> {
    let mut state = table.header(table.bucket_at(hash_position)).state;
    // A merged bucket contains the index of the bucket that absorbed it. At most 32 steps: each
    // leads to a less deep bucket. No bucket of a file is merged.
    while state.is_merged() {
        state = table.header(state.records()).state;
    }
    let depth = state.depth();
    if depth == 0 {
        return None;
    }
    // These are the buckets of the lower and the upper half of the larger part. Of merged buckets
    // the one with the lowest hash position remains.
    let first = hash_position & !(2 * span(depth) - 1);
    let (lower, upper) = (table.bucket_at(first), table.bucket_at(first + span(depth)));
    let (one, other) = (table.header(lower).state, table.header(upper).state);
    if !one.is_live() || !other.is_live() || one.depth() != depth || other.depth() != depth {
        return None;
    }
    let records = one.records() + other.records();
    if records as u64 > most {
        return None;
    }
    // Several threads may get here. At this depth only the thread whose exchange succeeds changes
    // the two buckets.
    let merged = State::merged(depth, lower);
    if table.header_at(upper).atomic(1).compare_exchange(other.0, merged.0) != other.0 {
        return None;
    }
    table.set_state(lower, State::live(depth - 1, records));
    if table.segment(table.layout.segment(first, table.layout.depth)).depth() == depth {
        counted.atomic(counts::DEEPEST_MERGED).store(1);
    }
    Some(upper)
}

/// The arguments of [`Absorb`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MergedParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of absorbed buckets.
    pub merged: u64,
}

kernel! {
    /// Moves the records of merged buckets to the buckets that absorbed them, and updates the
    /// directory. A tile moves the records of a bucket.
    Absorb<K: KeyWord, V: ValueWord>, "extendible_absorb", threads 256;
    { merged: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>, plan: MergedParams }
}

impl<K: KeyWord, V: ValueWord> Absorb<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let MergedParams { layout, merged } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let index = (block_first + tile.first_thread() as u64) / 32;
            if index >= merged {
                return;
            }
            let number = args.merged.load_read_only(index);
            let BucketHeader { first, state } = table.header(number);
            let mut into = state.records();
            // At most 32 steps: each leads to a less deep bucket. No bucket of a file is merged.
            loop {
                let next = table.header(into).state;
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
                while record < from.slots() {
                    if let Some((mixed, value)) = from.record(record) {
                        // There is a slot, since both buckets together have no more records than a
                        // bucket may have.
                        to.insert(mixed, value);
                    }
                    record += 32;
                }
            });
        });
    }
}

/// The arguments of [`Release`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReleaseParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of buckets.
    pub buckets: u64,
    /// The stride of the buckets in the list: bucket `i` is at index `i * stride + offset`.
    pub stride: u64,
    /// The index of the first bucket.
    pub offset: u64,
    /// The count of bucket indices that are free already.
    pub free: u64,
}

kernel! {
    /// Frees the buckets of a list by appending their indices to `free`. One thread frees a bucket.
    Release<>, "extendible_release", threads 256;
    { list: Global<u32>, free: Global<u32>, pages: Global<u64>, plan: ReleaseParams }
}

impl Release {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let ReleaseParams { layout, buckets, stride, offset, free } = args.plan;
        // SAFETY: the indices of buckets are given, so no segment is read through the null pointer.
        let table = HeaderTable::new(unsafe { Global::null() }, args.pages.cast(), layout);
        block.each_item(buckets, |index| {
            let number = args.list.load_read_only(index * stride + offset);
            table.set_state(number, State::FREE);
            args.free.store(free + index, number);
        });
    }
}
