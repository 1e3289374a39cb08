//! Extendible hashing after Hu, Xi and Lin, *Extendible Hashing Method Based on GPU* (gEHT, 2015):
//! a table that grows and shrinks bucket by bucket. docs/extendible.md describes the design.
//!
//! **Directory.** A key's hash, as a fraction of its range, first selects one of `roots` parts of
//! that range. Each further bit selects a half of what is left. A bucket of local depth d contains
//! the keys that are left after d halvings. The *segment table* has an entry for each group of
//! parts and each sequence of bits whose length is the global depth. The entry points to a *bucket
//! table*, which has a bucket index for each part of the group. Segments that agree in the first d
//! bits share a bucket table of depth d.
//!
//! **Buckets** are in pages of [`PAGE`], and each has a [`BucketHeader`]. Keys are stored mixed
//! ([`bucket`]).
//!
//! After [`bucket`] read `find`, which also finds the keys of a batch before anything changes. For
//! a batch of insertions, `predict` computes which buckets overflow and how they are divided, and
//! `split` builds the new buckets and inserts the other keys. For a batch of removals there are
//! `remove`, and `merge` for buddies. `inspect` is for whole tables.

pub mod bucket;
mod find;
mod inspect;
mod merge;
mod predict;
mod remove;
mod split;

pub use find::{Find, FindParams, Locate, SearchParams, Update};
pub use inspect::{InspectParams, Redirect, RedirectParams, Repack, TableDepths, Unpack, UnpackParams};
pub use merge::{Absorb, AroundParams, MergeAround, MergeBuddies, MergeParams, MergedParams, Release, ReleaseParams};
pub use predict::{Divide, DivideParams, LEAF_WORDS, NODE_WORDS, Needs, NeedsParams, Overflows, root_leaf};
pub use remove::{Remove, RemoveParams};
pub use split::{BuildLeaves, BuildParams, CopyParams, CopyTables, InsertFresh, MAX_RECORDS};

use crate::seam::Global;
use crate::types::{KeyWord, Scalar, ValueWord};
use bucket::Bucket;
use core::marker::PhantomData;

/// The count of buckets of a page.
pub const PAGE: u64 = 1024;
/// The count of 64-bit words of a page before the records of its buckets.
const HEADER_WORDS: u64 = 2 * PAGE;

/// Returns the count of 64-bit words of a page whose buckets have `lines` lines.
pub const fn page_words(lines: u32) -> u64 {
    HEADER_WORDS + PAGE * lines as u64 * bucket::LINE_WORDS
}

/// The greatest depth of the directory, since 32 bits of the hash select halves.
pub const MAX_DEPTH: u32 = 32;

/// The words in which the kernels of a batch count, all 0 at first.
pub mod counts {
    /// The count of nodes that were found.
    pub const NODES: u64 = 0;
    /// The count of leaves of all rounds.
    pub const LEAVES: u64 = 1;
    /// The depth of the deepest leaf.
    pub const DEEPEST: u64 = 2;
    /// 1 if a leaf is deeper than its bucket table.
    pub const NEEDS: u64 = 3;
    /// The count of records that were removed.
    pub const REMOVED: u64 = 4;
    /// The count of buckets that were merged into others.
    pub const MERGED: u64 = 5;
    /// The count of buckets that have a new index.
    pub const WRITTEN: u64 = 6;
    /// 1 if a bucket was merged that was as deep as its bucket table.
    pub const DEEPEST_MERGED: u64 = 7;
    /// The count of words.
    pub const WORDS: usize = 8;
}

/// The layout of a table: its hash and the division of the hash range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Layout {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of parts of the hash range, with one bucket of depth 0 each. It is from 2 to 2^31,
    /// and a multiple of the count of parts of a group.
    pub roots: u32,
    /// The binary logarithm of the count of entries of a bucket table, which is also the count of
    /// parts of a group.
    pub table_bits: u32,
    /// The count of lines of a bucket.
    pub lines: u32,
    /// The most records of a bucket, at most the count of slots of its lines.
    pub records: u32,
    /// The global depth.
    pub depth: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

impl Layout {
    /// Returns the hash position of a mixed key: the index of its part in the upper 32 bits, and
    /// its position in the part in the lower 32 bits.
    #[inline(always)]
    pub fn hash_position<K: KeyWord>(&self, mixed: K) -> u64 {
        mixed.bits_from(K::BITS - 32) as u64 * self.roots as u64
    }

    /// Returns the count of groups of parts.
    #[inline(always)]
    pub fn groups(&self) -> u32 {
        self.roots >> self.table_bits
    }

    /// Returns the segment of a hash position in a directory of global depth `depth`.
    #[inline(always)]
    pub fn segment(&self, hash_position: u64, depth: u32) -> u64 {
        let group = hash_position >> (32 + self.table_bits);
        // The first halving depends on the highest bit of the position in its part. That bit is the
        // lowest in the segment index, so existing indices stay valid when the directory doubles
        // (Hu 2015, §2.1).
        let halves = (hash_position as u32).reverse_bits() as u64 & ((1 << depth) - 1);
        group + self.groups() as u64 * halves
    }

    /// Returns the index of the entry for a hash position in its bucket table.
    #[inline(always)]
    pub fn entry(&self, hash_position: u64) -> u64 {
        (hash_position >> 32) & ((1 << self.table_bits) - 1)
    }
}

/// Returns the length, in hash positions, of the range of a bucket of depth `depth`.
#[inline(always)]
pub fn span(depth: u32) -> u64 {
    (1 << 32) >> depth
}

/// An entry of the segment table: the address of a bucket table, and its depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment(pub u64);

const ADDRESS_BITS: u32 = 56;

impl Segment {
    /// Returns the entry for a bucket table at address `address`, which must be below 2^56.
    pub fn new(address: u64, depth: u32) -> Self {
        Self(address | (depth as u64) << ADDRESS_BITS)
    }

    /// Returns the depth of the bucket table.
    #[inline(always)]
    pub fn depth(self) -> u32 {
        (self.0 >> ADDRESS_BITS) as u32
    }

    /// Returns the address of the bucket table.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }

    #[inline(always)]
    fn table(self) -> Global<u32> {
        // SAFETY: the host writes addresses of tables that live as long as the directory, and lists
        // the tables with each launch.
        unsafe { Global::at_address(self.address()) }
    }
}

/// The state of a bucket, in one word: its depth and its record count, or that it is free or
/// merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State(pub u64);

const KIND: u64 = 3 << 8;
const FREE: u64 = 1 << 8;
const MERGED: u64 = 2 << 8;

impl State {
    /// The state of an index that no bucket uses.
    pub const FREE: Self = Self(FREE);

    /// Returns the state of a bucket with `records` records.
    #[inline(always)]
    pub fn live(depth: u32, records: u32) -> Self {
        Self(depth as u64 | (records as u64) << 32)
    }

    #[inline(always)]
    fn merged(depth: u32, into: u32) -> Self {
        Self(depth as u64 | MERGED | (into as u64) << 32)
    }

    /// Returns whether a bucket uses the index.
    #[inline(always)]
    pub fn is_live(self) -> bool {
        self.0 & KIND == 0
    }

    #[inline(always)]
    fn is_merged(self) -> bool {
        self.0 & KIND == MERGED
    }

    /// Returns the local depth of the bucket.
    #[inline(always)]
    pub fn depth(self) -> u32 {
        self.0 as u32 & 0xff
    }

    /// Returns the record count of a bucket. For a merged bucket returns the index of the bucket
    /// that absorbed it.
    #[inline(always)]
    pub fn records(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The header of a bucket, which is stored apart from its records: the start of its range, and its
/// state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketHeader {
    /// The lowest hash position of the bucket's range.
    pub first: u64,
    /// The state of the bucket.
    pub state: State,
}

impl BucketHeader {
    /// Returns the hash position after the highest one of the bucket's range.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.first + span(self.state.depth())
    }
}

/// The addresses of the pages of a table of keys `K` and values `V`. The type is only the target
/// type of pointers.
#[derive(Debug)]
pub struct Pages<K, V>(PhantomData<(K, V)>);

/// The word type of both keys and values: the wider of the two types.
pub type WordOf<K, V> = <K as KeyWord>::PackedWord<V>;

/// A table as an argument of kernels.
#[derive(Debug)]
pub struct Table<K, V> {
    segments: Global<u64>,
    pages: Global<Pages<K, V>>,
    layout: Layout,
}

/// A table of which only the headers are used, which do not depend on the types of keys and values.
type HeaderTable = Table<u32, u32>;

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for Table<K, V> {}

impl<K: KeyWord, V: ValueWord> Table<K, V> {
    /// Returns the table with these segments and pages.
    #[inline(always)]
    pub fn new(segments: Global<u64>, pages: Global<Pages<K, V>>, layout: Layout) -> Self {
        Self { segments, pages, layout }
    }

    #[inline(always)]
    fn segment(&self, number: u64) -> Segment {
        Segment(self.segments.load_read_only(number))
    }

    /// Returns the index of the bucket at a hash position. No thread of the launch may change
    /// bucket tables.
    #[inline(always)]
    fn bucket_at(&self, hash_position: u64) -> u32 {
        let segment = self.segment(self.layout.segment(hash_position, self.layout.depth));
        segment.table().load_read_only(self.layout.entry(hash_position))
    }

    #[inline(always)]
    fn page(&self, bucket: u32) -> Global<u64> {
        let address = self.pages.cast::<u64>().load_read_only(bucket as u64 / PAGE);
        // SAFETY: the host writes addresses of pages that live as long as the table, and lists the
        // pages with each launch.
        unsafe { Global::at_address(address) }
    }

    #[inline(always)]
    fn header_at(&self, bucket: u32) -> Global<u64> {
        self.page(bucket).offset(2 * (bucket as u64 % PAGE))
    }

    /// Loads the header of a bucket.
    #[inline(always)]
    fn header(&self, bucket: u32) -> BucketHeader {
        let [first, state] = self.header_at(bucket).load_pair_relaxed(0);
        BucketHeader { first, state: State(state) }
    }

    #[inline(always)]
    fn set_header(&self, bucket: u32, header: BucketHeader) {
        self.header_at(bucket).store_pair(0, [header.first, header.state.0]);
    }

    #[inline(always)]
    fn set_state(&self, bucket: u32, state: State) {
        self.header_at(bucket).atomic(1).store(state.0);
    }

    /// Returns bucket `number`, whose keys have hash positions of at least `first`.
    #[inline(always)]
    fn bucket(&self, number: u32, first: u64) -> Bucket<WordOf<K, V>> {
        let from = HEADER_WORDS + number as u64 % PAGE * self.layout.lines as u64 * bucket::LINE_WORDS;
        let words = self.page(number).offset(from).cast();
        Bucket::new(words, self.layout.lines, first >> 32 == 0, K::ALL_ONES.to_u64())
    }

    /// Mixes a key and finds its bucket. No thread of the launch may change bucket tables.
    #[inline(always)]
    fn bucket_of(&self, key: K) -> (WordOf<K, V>, Bucket<WordOf<K, V>>) {
        let mixed = key.mixed(self.layout.a, self.layout.b);
        let hash_position = self.layout.hash_position(mixed);
        (WordOf::<K, V>::from_u64(mixed.to_u64()), self.bucket(self.bucket_at(hash_position), hash_position))
    }

    /// Returns the value of a key. No thread of the launch may change the table.
    #[inline(always)]
    pub(crate) fn get(&self, key: K) -> Option<WordOf<K, V>> {
        let (mixed, bucket) = self.bucket_of(key);
        bucket.find(mixed).map(|found| bucket.value(found))
    }

    /// Points all directory entries of a bucket's range, which begins at `first` and has depth
    /// `depth`, to `bucket`. No bucket table of the range may be less deep than the bucket, since
    /// its entry would cover more than the range.
    #[inline(always)]
    fn install(&self, first: u64, depth: u32, bucket: u32) {
        let Layout { depth: global, .. } = self.layout;
        let (entry, mut hash_position) = (self.layout.entry(first), first);
        let end = first + span(depth);
        // At most as many steps as segments.
        while hash_position < end {
            let segment = self.segment(self.layout.segment(hash_position, global));
            segment.table().atomic(entry).store(bucket);
            // The segments that share the table are adjacent in the order of hash positions.
            hash_position += span(segment.depth());
        }
    }
}
