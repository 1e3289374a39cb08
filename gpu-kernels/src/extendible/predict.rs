//! Which buckets a batch of new keys will overflow, and into which they must be split: found out before anything moves (the paper, section 2.5).
//!
//! New keys stand in the order of their places, so those of a bucket, and of any half of it, are next to each other.

use super::{Layout, Note, Pages, Table, span};
use crate::seam::{Global, Tile};
use crate::types::{Key, Scalar, Value};

/// Words of 64 bits of a node: a bucket, or a part of one that is to be, that does not hold its keys. Its first place; the bucket, and the
/// depth of the part above it; the number of its first new key; that behind its last one.
pub const NODE_WORDS: u64 = 4;
/// Words of a leaf, a bucket that is to be: its first place, and its depth.
pub const LEAF_WORDS: u64 = 2;

/// Counters of a prediction, all 0 at first.
pub mod counts {
    /// Nodes that were found.
    pub const NODES: u64 = 0;
    /// Leaves, of all rounds.
    pub const LEAVES: u64 = 1;
    /// The depth of the deepest leaf.
    pub const DEEPEST: u64 = 2;
    /// Nodes that would have to be divided further than they may.
    pub const TOO_DEEP: u64 = 3;
    /// Leaves that are deeper than their bucket table.
    pub const NEEDS: u64 = 4;
    /// Records that were removed.
    pub const REMOVED: u64 = 5;
    /// Buckets that were merged into others.
    pub const MERGED: u64 = 6;
    /// Records that were written out, or buckets that have a new number.
    pub const WRITTEN: u64 = 7;
    /// The number of words.
    pub const WORDS: usize = 8;
}

#[derive(Clone, Copy, Debug)]
struct Node {
    first: u64,
    bucket: u32,
    depth: u32,
    keys: [u64; 2],
}

impl Node {
    #[inline(always)]
    fn read(nodes: Global<u64>, number: u64) -> Self {
        let [first, bucket, start, end] = nodes.load_four_read_only(number * NODE_WORDS);
        Self { first, bucket: bucket as u32, depth: (bucket >> 32) as u32, keys: [start, end] }
    }

    #[inline(always)]
    fn write(&self, nodes: Global<u64>, number: u64) {
        let bucket = self.bucket as u64 | (self.depth as u64) << 32;
        nodes.store_four_streaming(number * NODE_WORDS, [self.first, bucket, self.keys[0], self.keys[1]]);
    }
}

/// The number of the first of the `pairs` new keys from `from` on whose place is not below `end`.
#[inline(always)]
pub(super) fn end_of_run<K: Key>(keys: Global<K>, layout: &Layout, from: u64, pairs: u64, end: u64) -> u64 {
    // Runs are short: steps that double find their end sooner than halves of all keys would.
    let (mut low, mut step) = (from, 1);
    while low + step < pairs && layout.place(keys.load_read_only(low + step)) < end {
        low += step;
        step *= 2;
    }
    lower_bound(keys, layout, low, (low + step).min(pairs), end)
}

/// The number of the first of the new keys from `low` on, and before `high`, whose place is not below `bound`; or `high`.
#[inline(always)]
fn lower_bound<K: Key>(keys: Global<K>, layout: &Layout, mut low: u64, mut high: u64, bound: u64) -> u64 {
    while low < high {
        let middle = low.midpoint(high);
        if layout.place(keys.load_read_only(middle)) < bound {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Whether new key `index`, of a bucket, is the first of that bucket's.
#[inline(always)]
pub(super) fn is_first<K: Key>(keys: Global<K>, layout: &Layout, index: u64, note: &Note) -> bool {
    index == 0 || layout.place(keys.load_read_only(index - 1)) < note.first
}

kernel! {
    /// Writes the buckets that cannot hold their new keys to `nodes`, which has room for one a key. One thread a key.
    Overflows<K: Key, V: Value>, "extendible_overflows", threads 256;
    {
        keys: Global<K>, segments: Global<u64>, pages: Global<Pages<K, V>>, nodes: Global<u64>, counts: Global<u64>,
        plan: super::SearchPlan,
    }
    |args, block| {
        let super::SearchPlan { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index >= pairs {
                return;
            }
            let place = layout.place(args.keys.load_read_only(index));
            let bucket = table.bucket_at(place);
            let note = table.note(bucket);
            if !is_first(args.keys, &layout, index, &note) {
                return;
            }
            let end = end_of_run(args.keys, &layout, index, pairs, note.end());
            if note.state.records() as u64 + (end - index) > table.bucket(bucket, place).capacity() as u64 {
                let node = Node { first: note.first, bucket, depth: note.state.depth(), keys: [index, end] };
                node.write(args.nodes, args.counts.atomic(counts::NODES).fetch_add(1));
            }
        });
    }
}

/// What is to be divided.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DividePlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of nodes.
    pub nodes: u64,
    /// How deep a leaf may be.
    pub most_depth: u64,
}

/// What a lane has counted of the records of a node: those of the lower half below, the others above.
struct Counted {
    halves: u64,
    total: u64,
}

kernel! {
    /// Halves the nodes. Of the halves, those that a bucket can hold go to `leaves`, the others to `next`; each has room for two a node more. A
    /// tile a node.
    Divide<K: Key, V: Value>, "extendible_divide", threads 256;
    {
        keys: Global<K>, pages: Global<Pages<K, V>>, nodes: Global<u64>, next: Global<u64>, leaves: Global<u64>,
        counts: Global<u64>, plan: DividePlan,
    }
    |args, block| {
        let DividePlan { layout, nodes, most_depth } = args.plan;
        // SAFETY: a node says its bucket, so nobody asks a segment.
        let table = Table::<K, V>::new(unsafe { Global::null() }, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let number = (block_first + tile.first_thread() as u64) / 32;
            if number >= nodes {
                return;
            }
            let node = Node::read(args.nodes, number);
            let half = span(node.depth + 1);
            let middle = node.first + half;
            let bucket = table.bucket(node.bucket, node.first);
            let mut counted = tile.local(|lane| {
                let (mut halves, mut record) = (0, lane);
                while record < bucket.capacity() {
                    if let Some(key) = bucket.key(record) {
                        // Of the bucket's other parts, one that is below counts nowhere.
                        let place = layout.place(K::from_u64(key.to_u64()));
                        if place >= node.first && place < middle + half {
                            halves += if place < middle { 1 } else { 1 << 32 };
                        }
                    }
                    record += 32;
                }
                Counted { halves, total: 0 }
            });
            tile.exclusive_sum(&mut counted, |_, counted| counted.halves, |_, counted, _, total| counted.total = total);
            tile.each(&mut counted, |lane, counted| {
                if lane >= 2 {
                    return;
                }
                let split = lower_bound(args.keys, &layout, node.keys[0], node.keys[1], middle);
                let (first, keys) =
                    if lane == 0 { (node.first, [node.keys[0], split]) } else { (middle, [split, node.keys[1]]) };
                let records = counted.total >> (32 * lane) & 0xffff_ffff;
                let depth = node.depth + 1;
                if records + (keys[1] - keys[0]) <= bucket.capacity() as u64 {
                    let leaf = args.counts.atomic(counts::LEAVES).fetch_add(1);
                    args.leaves.store_pair(leaf * LEAF_WORDS, [first, depth as u64 | records << 32]);
                    args.counts.atomic(counts::DEEPEST).fetch_max(depth as u64);
                } else if depth as u64 >= most_depth {
                    args.counts.atomic(counts::TOO_DEEP).fetch_add(1);
                } else {
                    let next = args.counts.atomic(counts::NODES).fetch_add(1);
                    Node { first, bucket: node.bucket, depth, keys }.write(args.next, next);
                }
            });
        });
    }
}

/// What the directory must get.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NeedsPlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of leaves.
    pub leaves: u64,
    /// The depth of the deepest.
    pub deepest: u64,
}

kernel! {
    /// Notes, for leaves deeper than their bucket table, that depth in `needs`, all 0 at first: at the number that the leaf's first segment has
    /// in a directory that is as deep as the deepest leaf. One thread a leaf.
    Needs<>, "extendible_needs", threads 256;
    { leaves: Global<u64>, segments: Global<u64>, needs: Global<u32>, counts: Global<u64>, plan: NeedsPlan }
    |args, block| {
        let NeedsPlan { layout, leaves, .. } = args.plan;
        let block_first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let leaf = block_first + thread as u64;
            if leaf < leaves {
                let [first, state] = args.leaves.load_pair_read_only(leaf * LEAF_WORDS);
                let depth = super::State(state).depth();
                let segment = super::Segment(args.segments.load_read_only(layout.segment(first, layout.depth)));
                if depth > segment.depth() {
                    args.needs.atomic(layout.segment(first, depth)).fetch_max(depth);
                    args.counts.atomic(counts::NEEDS).store(1);
                }
            }
        });
    }
}
