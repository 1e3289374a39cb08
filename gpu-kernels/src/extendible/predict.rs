//! Predicting which buckets a batch of new keys will overflow, and into which buckets they must be
//! split, before anything moves (Hu 2015, §2.5).
//!
//! New keys are in the order of their hash positions, so the new keys of a bucket, or of any half
//! of it, are adjacent.

use super::{BucketHeader, Layout, Pages, SearchParams, Segment, State, Table, counts, span};
use crate::primitives::append::{self, WARPS};
use crate::seam::{Block, Global, Tile};
use crate::types::{KeyWord, Scalar, ValueWord};

/// The count of 64-bit words of a node: a bucket, or a part of one, that cannot hold its keys. Word
/// 0 is its first hash position. Word 1 is the bucket's index, with the depth of the part above it.
/// Words 2 and 3 are the range of the indices of its new keys.
pub const NODE_WORDS: u64 = 4;
/// The count of 64-bit words of a leaf: a bucket that must be built. Word 0 is its first hash
/// position. Word 1 is its state: its depth, with its record count above it. Word 2 is the index of
/// the bucket of which it is a part, with the index of its first new key above it. Word 3 is the
/// index after its last new key.
pub const LEAF_WORDS: u64 = 4;

/// A bucket, or a part of one, that must be divided.
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

/// A bucket that must be built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub first: u64,
    pub state: State,
    /// The index of the bucket of which the leaf is a part.
    pub source: u32,
    /// The range of the indices of its new keys.
    pub keys: [u64; 2],
}

impl Leaf {
    /// The source of a leaf that is not a part of an existing bucket.
    pub const NO_SOURCE: u32 = u32::MAX;

    #[inline(always)]
    pub fn read(leaves: Global<u64>, number: u64) -> Self {
        let [first, state, source, end] = leaves.load_four_read_only(number * LEAF_WORDS);
        Self { first, state: State(state), source: source as u32, keys: [source >> 32, end] }
    }

    #[inline(always)]
    fn write(&self, leaves: Global<u64>, number: u64) {
        leaves.store_four_streaming(number * LEAF_WORDS, self.words());
    }

    #[inline(always)]
    fn words(&self) -> [u64; LEAF_WORDS as usize] {
        [self.first, self.state.0, self.source as u64 | self.keys[0] << 32, self.keys[1]]
    }
}

/// Returns the words of a leaf of depth 0 without records, for a bucket of an empty table in part
/// `root` of the range.
pub fn root_leaf(root: u64) -> [u64; LEAF_WORDS as usize] {
    Leaf { first: root << 32, state: State::live(0, 0), source: Leaf::NO_SOURCE, keys: [0, 0] }.words()
}

/// Returns the index of the first new key, starting at index `from`, whose hash position is not
/// below `end`. There are `pairs` new keys.
#[inline(always)]
pub(super) fn end_of_run<K: KeyWord>(keys: Global<K>, layout: &Layout, from: u64, pairs: u64, end: u64) -> u64 {
    // Runs are short, so steps that double find the end sooner than a binary search over all keys.
    let (mut low, mut step) = (from, 1);
    // At most 64 steps: each doubles `step`.
    while low + step < pairs && layout.hash_position(keys.load_read_only(low + step)) < end {
        low += step;
        step *= 2;
    }
    lower_bound(keys, layout, low, (low + step).min(pairs), end)
}

/// Returns the index of the first new key in `low..high` whose hash position is not below `bound`,
/// or `high` if there is no such key.
#[inline(always)]
fn lower_bound<K: KeyWord>(keys: Global<K>, layout: &Layout, mut low: u64, mut high: u64, bound: u64) -> u64 {
    // At most 64 steps: each halves the range.
    while low < high {
        let middle = low.midpoint(high);
        if layout.hash_position(keys.load_read_only(middle)) < bound {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns whether new key `index` is the first new key of the bucket with this header.
#[inline(always)]
pub(super) fn is_first<K: KeyWord>(keys: Global<K>, layout: &Layout, index: u64, header: &BucketHeader) -> bool {
    index == 0 || layout.hash_position(keys.load_read_only(index - 1)) < header.first
}

kernel! {
    /// Writes the buckets that cannot hold their new keys to `nodes`, which has capacity for all of
    /// them. One thread processes a key.
    Overflows<K: KeyWord, V: ValueWord>, "extendible_overflows", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        keys: Global<K>, segments: Global<u64>, pages: Global<Pages<K, V>>, nodes: Global<u64>, counts: Global<u64>,
        plan: SearchParams,
    }
}

impl<K: KeyWord, V: ValueWord> Overflows<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let SearchParams { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let first = block.first_thread();
        let mut found = block.local(|thread| {
            let index = first + thread as u64;
            (if index < pairs { overflow(&table, args.keys, pairs, index) } else { None }, 0)
        });
        let next = args.counts.offset(counts::NODES);
        append::reserve(block, &mut found, (sums, start), next, |found| found.0.is_some() as u32, |found| &mut found.1);
        block.each(&mut found, |_, found| {
            if let (Some(node), target) = *found {
                node.write(args.nodes, target);
            }
        });
    }
}

/// Returns the bucket of new key `index`, if the key is the bucket's first new key and the bucket
/// cannot hold its new keys.
#[inline(always)]
fn overflow<K: KeyWord, V: ValueWord>(table: &Table<K, V>, keys: Global<K>, pairs: u64, index: u64) -> Option<Node> {
    let layout = &table.layout;
    let hash_position = layout.hash_position(keys.load_read_only(index));
    let bucket = table.bucket_at(hash_position);
    let header = table.header(bucket);
    if !is_first(keys, layout, index, &header) {
        return None;
    }
    let end = end_of_run(keys, layout, index, pairs, header.end());
    if header.state.records() as u64 + (end - index) <= layout.records as u64 {
        return None;
    }
    Some(Node { first: header.first, bucket, depth: header.state.depth(), keys: [index, end] })
}

/// The arguments of [`Divide`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DivideParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of nodes.
    pub nodes: u64,
}

/// One half of a node, which is either a leaf or a node.
#[derive(Clone, Copy)]
enum Half {
    Leaf(Leaf),
    Node(Node),
}

/// The state of a lane. It counts the records of a node: records of the lower half in the lower 32
/// bits, and records of the upper half above. The first two lanes also have one half of the node
/// each.
struct Counted {
    halves: u64,
    total: u64,
    half: Option<Half>,
    target: u64,
}

kernel! {
    /// Halves the nodes. Halves that fit in a bucket are written to `leaves`, and the others to
    /// `next`, each with capacity for two more entries per node. A tile divides a node.
    Divide<K: KeyWord, V: ValueWord>, "extendible_divide", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        keys: Global<K>, pages: Global<Pages<K, V>>, nodes: Global<u64>, next: Global<u64>, leaves: Global<u64>,
        counts: Global<u64>, plan: DivideParams,
    }
}

impl<K: KeyWord, V: ValueWord> Divide<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let DivideParams { layout, nodes } = args.plan;
        // SAFETY: a node contains the index of its bucket, so no segment is read through the null
        // pointer.
        let table = Table::<K, V>::new(unsafe { Global::null() }, args.pages, layout);
        let block_first = block.first_thread();
        let mut counted = block.local(|_| Counted { halves: 0, total: 0, half: None, target: 0 });
        block.tiles_of(&mut counted, |tile, counted| {
            let number = (block_first + tile.first_thread() as u64) / 32;
            if number >= nodes {
                return;
            }
            let node = Node::read(args.nodes, number);
            let half = span(node.depth + 1);
            let middle = node.first + half;
            let bucket = table.bucket(node.bucket, node.first);
            tile.each(counted, |lane, counted| {
                let mut record = lane;
                while record < bucket.slots() {
                    if let Some(key) = bucket.key(record) {
                        let hash_position = layout.hash_position(K::from_u64(key.to_u64()));
                        // A node may be only a part of its bucket.
                        if hash_position >= node.first && hash_position < middle + half {
                            counted.halves += if hash_position < middle { 1 } else { 1 << 32 };
                        }
                    }
                    record += 32;
                }
            });
            tile.exclusive_sum(counted, |_, counted| counted.halves, |_, counted, _, total| counted.total = total);
            tile.each(counted, |lane, counted| {
                if lane >= 2 {
                    return;
                }
                let split = lower_bound(args.keys, &layout, node.keys[0], node.keys[1], middle);
                let (first, keys) =
                    if lane == 0 { (node.first, [node.keys[0], split]) } else { (middle, [split, node.keys[1]]) };
                let records = (counted.total >> (32 * lane) & 0xffff_ffff) + (keys[1] - keys[0]);
                let depth = node.depth + 1;
                counted.half = Some(if records <= layout.records as u64 {
                    Half::Leaf(Leaf { first, state: State::live(depth, records as u32), source: node.bucket, keys })
                } else {
                    Half::Node(Node { first, bucket: node.bucket, depth, keys })
                });
            });
        });
        let is_node = |counted: &Counted| matches!(counted.half, Some(Half::Node(_)));
        let is_leaf = |counted: &Counted| matches!(counted.half, Some(Half::Leaf(_)));
        let next = args.counts.offset(counts::NODES);
        append::reserve(
            block,
            &mut counted,
            (sums, start),
            next,
            |counted| is_node(counted) as u32,
            |counted| &mut counted.target,
        );
        block.phase(&mut counted, |_, counted| {
            if let Some(Half::Node(node)) = counted.half {
                node.write(args.next, counted.target);
            }
        });
        let next = args.counts.offset(counts::LEAVES);
        append::reserve(
            block,
            &mut counted,
            (sums, start),
            next,
            |counted| is_leaf(counted) as u32,
            |counted| &mut counted.target,
        );
        block.each(&mut counted, |_, counted| {
            if let Some(Half::Leaf(leaf)) = counted.half {
                leaf.write(args.leaves, counted.target);
                let (deepest, depth) = (args.counts.atomic(counts::DEEPEST), leaf.state.depth() as u64);
                if depth > deepest.load() {
                    deepest.fetch_max(depth);
                }
            }
        });
    }
}

/// The arguments of [`Needs`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NeedsParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of leaves.
    pub leaves: u64,
}

kernel! {
    /// Records the depth of each leaf that is deeper than its bucket table in `needs`, all 0 at
    /// first. The index in `needs` is the index of the leaf's first segment in a directory that is
    /// as deep as the deepest leaf. One thread processes a leaf.
    Needs<>, "extendible_needs", threads 256;
    { leaves: Global<u64>, segments: Global<u64>, needs: Global<u32>, counts: Global<u64>, plan: NeedsParams }
}

impl Needs {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let NeedsParams { layout, leaves } = args.plan;
        let block_first = block.first_thread();
        block.each_thread(|thread| {
            let leaf = block_first + thread as u64;
            if leaf < leaves {
                let Leaf { first, state, .. } = Leaf::read(args.leaves, leaf);
                let depth = state.depth();
                let segment = Segment(args.segments.load_read_only(layout.segment(first, layout.depth)));
                if depth > segment.depth() {
                    args.needs.atomic(layout.segment(first, depth)).fetch_max(depth);
                    // All threads write the same value.
                    args.counts.atomic(counts::NEEDS).store(1);
                }
            }
        });
    }
}
