//! Splitting buckets as predicted, and inserting the new keys.

use super::bucket::{LINE_WORDS, home_line, lines_for, next_line, records_of_line};
use super::predict::{Leaf, end_of_run, is_first};
use super::{BucketHeader, Layout, Pages, SearchParams, State, Table, WordOf, span};
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Scalar, ValueWord};
use core::marker::PhantomData;

/// The arguments of [`CopyTables`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CopyParams {
    /// The count of bucket tables.
    pub tables: u64,
    /// The count of entries of each table.
    pub entries: u64,
}

kernel! {
    /// Copies bucket tables. Pair `i` of `addresses` contains the source and the target of a copy.
    /// A thread copies four entries, 16 bytes; the count of entries of a table is a multiple of
    /// four.
    CopyTables<>, "extendible_copy_tables", threads 256;
    { addresses: Global<u64>, plan: CopyParams }
}

impl CopyTables {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let fours = args.plan.entries / 4;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let index = first + thread as u64;
            if index < args.plan.tables * fours {
                let [from, to] = args.addresses.load_pair_read_only(2 * (index / fours));
                // SAFETY: these are addresses of bucket tables, which the host lists with the
                // launch.
                let (from, to) = unsafe { (Global::<u32>::at_address(from), Global::<u32>::at_address(to)) };
                let entry = 4 * (index % fours);
                to.store_four_streaming(entry, from.load_four_streaming(entry));
            }
        });
    }
}

/// The arguments of [`BuildLeaves`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildParams {
    /// The table's layout, with its global depth at the time of the build.
    pub layout: Layout,
    /// The count of leaves.
    pub leaves: u64,
    /// The count of free bucket indices, which are used first.
    pub free: u64,
    /// The end of the range of bucket indices that were used before.
    pub used: u64,
}

/// The count of threads of a leaf.
const LANES: u32 = 32;
/// The count of leaves of a block.
const LEAVES: usize = 4;
/// The most records of a bucket. It is limited because a block builds its leaves in shared memory.
pub const MAX_RECORDS: u32 = 256;
/// The most lines of a bucket: the lines of [`MAX_RECORDS`] wide records, with spare slots
/// ([`lines_for`]).
const MAX_LINES: usize = lines_for(MAX_RECORDS, 4) as usize;
/// The count of 64-bit words that these lines take in shared memory.
const STAGING_WORDS: usize = MAX_LINES * LINE_WORDS as usize;

kernel! {
    /// Builds buckets for the leaves, from records of their sources and from new pairs, and points
    /// the directory to them. The buckets get the last of the free indices, and then new indices.
    /// `placed`, all 0 at first, gets a bit for each new key that is stored in this step. A warp
    /// builds a leaf.
    BuildLeaves<K: KeyWord, V: ValueWord>, "extendible_build_leaves", threads 128, cpu cores,
        shared staging: u64 = LEAVES * STAGING_WORDS, shared held: u32 = LEAVES * MAX_LINES;
    {
        leaves: Global<u64>, keys: Global<K>, values: Global<V>, placed: Global<u32>, free: Global<u32>, segments: Global<u64>,
        pages: Global<Pages<K, V>>, plan: BuildParams,
    }
}

impl<K: KeyWord, V: ValueWord> BuildLeaves<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, staging: B::Shared<u64>, held: B::Shared<u32>) {
        self.build::<B, LANES>(block, staging, held);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, staging: B::Shared<u64>, held: B::Shared<u32>) {
        self.build::<B, 1>(block, staging, held);
    }

    /// Builds the block's leaves, each by the first `WORKING` of its threads.
    #[inline(always)]
    fn build<B: Block, const WORKING: u32>(self, block: &mut B, staging: impl Shared<u64>, held: impl Shared<u32>) {
        let args = self;
        let BuildParams { layout, leaves, free, used } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let words = staging.cast::<WordOf<K, V>>();
        let first_leaf = block.first_thread() / LANES as u64;
        let place = |thread: u32| (first_leaf + (thread / LANES) as u64, thread % LANES);
        let of_word = (64 / <WordOf<K, V> as Scalar>::BITS) as usize;
        let staging_of = |thread: u32| Staging::<WordOf<K, V>, _, _> {
            words,
            held,
            first: thread / LANES * (STAGING_WORDS * of_word) as u32,
            first_line: thread / LANES * MAX_LINES as u32,
            lines: layout.lines,
            types: PhantomData,
        };
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let (own, mut line) = (thread / LANES * MAX_LINES as u32, thread % LANES);
            if line >= WORKING {
                return;
            }
            while line < layout.lines {
                held.set(own + line, 0);
                line += WORKING;
            }
        });
        block.phase(&mut nothing, |thread, _| {
            let (number, lane) = place(thread);
            if number < leaves && lane < WORKING {
                args.gather::<WORKING>(&table, Leaf::read(args.leaves, number), lane, staging_of(thread));
            }
        });
        block.each(&mut nothing, |thread, _| {
            let (number, lane) = place(thread);
            if number >= leaves || lane >= WORKING {
                return;
            }
            let Leaf { first, state, .. } = Leaf::read(args.leaves, number);
            let id =
                if number < free { args.free.load_read_only(free - 1 - number) } else { (used + number - free) as u32 };
            let own = staging_of(thread);
            let bucket = table.bucket(id, first);
            let mut four = lane;
            while four < bucket.fours() {
                bucket.write_four(four, |line| held.get(own.first_line + line), |word| words.get(own.first + word));
                four += WORKING;
            }
            if lane == 0 {
                table.set_header(id, BucketHeader { first, state });
                table.install(first, state.depth(), id);
            }
        });
    }

    /// Copies a lane's part of a leaf's records and of its new pairs to the staging memory.
    #[inline(always)]
    fn gather<const WORKING: u32>(
        &self,
        table: &Table<K, V>,
        leaf: Leaf,
        lane: u32,
        staging: Staging<WordOf<K, V>, impl Shared<WordOf<K, V>>, impl Shared<u32>>,
    ) {
        let layout = self.plan.layout;
        let mut new = leaf.keys[0] + lane as u64;
        let mut record = lane;
        if leaf.source == Leaf::NO_SOURCE {
            record = u32::MAX;
        }
        let source = table.bucket(if leaf.source == Leaf::NO_SOURCE { 0 } else { leaf.source }, leaf.first);
        let end = leaf.first + span(leaf.state.depth());
        while record < source.slots() || new < leaf.keys[1] {
            let pair;
            if record < source.slots() {
                pair = source.record(record).filter(|(mixed, _)| {
                    let hash_position = layout.hash_position(K::from_u64(mixed.to_u64()));
                    hash_position >= leaf.first && hash_position < end
                });
                record += WORKING;
            } else {
                let (mixed, value) = (self.keys.load_streaming(new), self.values.load_streaming(new));
                pair = Some((Scalar::from_u64(mixed.to_u64()), Scalar::from_u64(value.to_u64())));
                self.placed.atomic(new / 32).fetch_add(1 << (new % 32));
                new += WORKING as u64;
            }
            if let Some((mixed, value)) = pair {
                staging.put(mixed, value);
            }
        }
    }
}

/// The memory in which a leaf is built: its words, and the count of requested slots of each of its
/// lines.
struct Staging<W, S, N> {
    words: S,
    held: N,
    /// The indices of the leaf's first word and of its first line.
    first: u32,
    first_line: u32,
    lines: u32,
    types: PhantomData<W>,
}

impl<W: KeyWord, S: Shared<W>, N: Shared<u32>> Staging<W, S, N> {
    /// Stores a record. The slots of a line are used in order.
    #[inline(always)]
    fn put(&self, mixed: W, value: W) {
        let (records, mut line) = (records_of_line::<W>(), home_line(mixed, self.lines));
        let mut slot = self.held.fetch_add(self.first_line + line, 1);
        // At most as many steps as lines: there are no more records than slots.
        while slot >= records {
            line = next_line(line, self.lines);
            slot = self.held.fetch_add(self.first_line + line, 1);
        }
        self.words.set(self.first + 2 * records * line + slot, mixed);
        self.words.set(self.first + 2 * records * line + records + slot, value);
    }
}

kernel! {
    /// Inserts the new keys that are not stored yet and for which there is space, and adds them to
    /// the record counts of their buckets. The keys are mixed, different and in order. One thread
    /// processes a key.
    InsertFresh<K: KeyWord, V: ValueWord>, "extendible_insert_fresh", threads 256;
    {
        keys: Global<K>, values: Global<V>, placed: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>,
        plan: SearchParams,
    }
}

impl<K: KeyWord, V: ValueWord> InsertFresh<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let SearchParams { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let first = block.first_thread();
        block.each_thread(|thread| {
            let index = first + thread as u64;
            if index >= pairs || args.placed.load_read_only(index / 32) >> (index % 32) & 1 != 0 {
                return;
            }
            let mixed = args.keys.load_read_only(index);
            let hash_position = layout.hash_position(mixed);
            let number = table.bucket_at(hash_position);
            let value = WordOf::<K, V>::from_u64(args.values.load_streaming(index).to_u64());
            table.bucket(number, hash_position).insert(WordOf::<K, V>::from_u64(mixed.to_u64()), value);
            let header = table.header(number);
            if is_first(args.keys, &layout, index, &header) {
                // Only one thread per bucket gets here.
                let more = end_of_run(args.keys, &layout, index, pairs, header.end()) - index;
                let State(state) = header.state;
                table.set_state(number, State(state + (more << 32)));
            }
        });
    }
}
