//! Building the buckets, each by a parallel cuckoo hash in shared memory.

use super::{Layout, MAX_SUB_TABLES, header};
use crate::seam::{Block, Global, Shared};
use crate::table::slots::{EMPTY, Slot, Slots, packed};
use crate::types::{KeyWord, Scalar, ValueWord};

/// The count of threads of a block.
const THREADS: u32 = 128;
/// The count of items of a thread.
const ITEMS: usize = 4;
/// The most items of a bucket: 512 (Alcantara 2009).
pub const MAX_IN_BUCKET: u32 = THREADS * ITEMS as u32;
/// The most slots of a bucket.
pub const MAX_SLOTS: u32 = 1024;

/// The arguments of a build.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildParams {
    /// The layout of the table.
    pub layout: Layout,
    /// The most items of a bucket, at most [`MAX_IN_BUCKET`].
    pub capacity: u32,
    /// The seed from which the buckets' seeds are derived.
    pub seed: u32,
    /// The most seeds that a bucket tries.
    pub seeds: u32,
    /// The most rounds with one seed.
    pub rounds: u32,
    /// 1 to count rounds, else 0.
    pub statistics: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

/// The sub-table of an item that is in no sub-table.
const OUT: u32 = u32::MAX;
/// The index of the item in an empty slot.
const NONE: u32 = u32::MAX;

/// An item that is being inserted into the bucket.
#[derive(Clone, Copy)]
struct Item {
    /// The slots of the item in the sub-tables, 16 bits each.
    packed_slots: u64,
    /// The sub-table in which the item last wrote its index to a slot, or [`OUT`].
    table: u32,
    /// Whether there is an item, and its key is not the key that is kept in the header.
    live: bool,
}

impl Item {
    #[inline(always)]
    fn slot_in_bucket(&self, table: u32) -> u32 {
        (self.packed_slots >> (16 * table)) as u32 & 0xffff
    }
}

/// The words of shared memory besides the items and slots.
mod word {
    /// The index of the cell's word, which is 1 + the index of the last item whose key is all ones,
    /// or 0.
    pub const CELL: u32 = 0;
    /// The index of the word with the count of slots that contain an item.
    pub const OCCUPIED: u32 = 1;
}

kernel! {
    /// Builds bucket `b` by block `b`, from its pairs in their input order. If there are more pairs
    /// than the capacity, it sets [`header::OVERFLOW`] and builds nothing.
    ///
    /// All items that are in no sub-table write their index to their slots in the first sub-table.
    /// An item that finds another item in its slot, after a barrier, tries the second sub-table,
    /// and so on. An item that loses in the last sub-table starts again, as does each item that was
    /// overwritten. Sub-table `t` is written in step `t` only, and each item checks its slot in the
    /// next step, so no step reads the sub-table that it writes. If every item has a slot after a
    /// round, the bucket is built. After too many rounds, the block starts again with another seed.
    ///
    /// A slot contains the index of an item. Copies of a key have the same slots, and each copy
    /// accepts a slot that contains any of them. They move together and end in one slot, which the
    /// last copy in input order wins.
    BuildBuckets<K: KeyWord, V: ValueWord>, "two_level_build", threads 128, resident 12,
        shared pairs: u64 = 2 * MAX_IN_BUCKET as usize, shared slots: u32 = MAX_SLOTS as usize, shared words: u32 = 2;
    {
        keys: Global<K>, values: Global<V>, starts: Global<u32>, words_out: Global<Slot<K, V>>, seeds: Global<u32>,
        header: Global<u64>, plan: BuildParams,
    }
}

impl<K: KeyWord, V: ValueWord> BuildBuckets<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, pairs: B::Shared<u64>, slots: B::Shared<u32>, words: B::Shared<u32>) {
        let args = self;
        let number = block.index();
        let start = args.starts.load_read_only(number as u64);
        let size = args.starts.load_read_only(number as u64 + 1) - start;
        if size > args.plan.capacity {
            let mut nothing = block.local(|_| ());
            block.each(&mut nothing, |thread, _| {
                if thread == 0 {
                    args.header.atomic(header::OVERFLOW).store(1);
                }
            });
            return;
        }
        let bucket = Bucket { args, number, start, size, pairs, slots, words };
        let mut items = block.local(|_| [Item { packed_slots: 0, table: OUT, live: false }; ITEMS]);
        bucket.load(block, &mut items);
        let (mut tried, mut built, mut seed) = (0, false, 0);
        while !built && tried < args.plan.seeds {
            // The seed is mixed, so that the seeds of adjacent buckets and of later attempts are
            // unrelated.
            seed = (number ^ tried << 27).mix(args.plan.seed as u64, 0x9e37_79b9 ^ tried as u64);
            tried += 1;
            bucket.begin(block, &mut items, seed);
            built = bucket.place(block, &mut items);
        }
        bucket.write(block, &mut items, built);
        block.each(&mut items, |thread, _| {
            if thread == 0 {
                bucket.report(tried, built, seed);
            }
        });
    }
}

/// The build of a bucket by a block: the arguments, the bucket's index and pairs, and the block's
/// memory for pairs, for the indices of the items in slots, and for a few words.
struct Bucket<K: KeyWord, V: ValueWord, P, S, W> {
    args: BuildBuckets<K, V>,
    number: u32,
    start: u32,
    size: u32,
    pairs: P,
    slots: S,
    words: W,
}

impl<K: KeyWord, V: ValueWord, P: Shared<u64>, S: Shared<u32>, W: Shared<u32>> Bucket<K, V, P, S, W> {
    #[inline(always)]
    fn key_of(&self, item: u32) -> K {
        Slots::<K, V>::key_of(Scalar::from_u64(self.pairs.get(item)))
    }

    /// Returns whether the slot that the item wrote last now has an item with another key.
    #[inline(always)]
    fn lost(&self, item: &Item, number: u32) -> bool {
        let holder = self.slots.get(item.slot_in_bucket(item.table));
        holder != number && self.key_of(holder) != self.key_of(number)
    }

    /// Loads the pairs. Items whose keys are all ones belong in the cell, and are not live.
    #[inline(always)]
    fn load<B: Block>(&self, block: &mut B, items: &mut B::Local<[Item; ITEMS]>) {
        let Self { args, start, size, pairs, words, .. } = *self;
        block.phase(items, |thread, _| {
            if thread < 2 {
                words.set(thread, 0);
            }
        });
        block.phase(items, |thread, items| {
            let (keys, values) = (args.keys.offset(start as u64), args.values.offset(start as u64));
            let (mut key, mut value) = ([K::default(); ITEMS], [V::default(); ITEMS]);
            for i in 0..ITEMS {
                let number = thread + i as u32 * THREADS;
                if number < size {
                    key[i] = keys.load_streaming(number as u64);
                    value[i] = values.load_streaming(number as u64);
                }
            }
            for i in 0..ITEMS {
                let number = thread + i as u32 * THREADS;
                if number < size {
                    pairs.set(number, Slots::<K, V>::item(key[i], value[i]).to_u64());
                    if !packed::<K, V>() {
                        pairs.set(MAX_IN_BUCKET + number, value[i].to_u64());
                    }
                    items[i].live = key[i] != K::ALL_ONES;
                    if !items[i].live {
                        words.fetch_max(word::CELL, number + 1);
                    }
                }
            }
        });
    }

    /// Empties the slots, and computes each item's slots for a seed.
    #[inline(always)]
    fn begin<B: Block>(&self, block: &mut B, items: &mut B::Local<[Item; ITEMS]>, seed: u32) {
        let layout = self.args.plan.layout;
        block.phase(items, |thread, items| {
            let mut slot = thread;
            while slot < layout.bucket_slots() {
                self.slots.set(slot, NONE);
                slot += THREADS;
            }
            for i in 0..ITEMS {
                items[i].table = OUT;
                items[i].packed_slots = 0;
                if items[i].live {
                    let key = self.key_of(thread + i as u32 * THREADS);
                    for table in 0..MAX_SUB_TABLES {
                        let slot_in_bucket = layout.slot_in_bucket(seed, table, key) as u64 & 0xffff;
                        items[i].packed_slots |= slot_in_bucket << (16 * table);
                    }
                }
            }
        });
    }

    /// Lets the items write their indices to their slots, round after round. Returns whether every
    /// item had a slot after a round.
    #[inline(always)]
    fn place<B: Block>(&self, block: &mut B, items: &mut B::Local<[Item; ITEMS]>) -> bool {
        let Self { args, slots, .. } = *self;
        let BuildParams { layout, rounds, statistics, .. } = args.plan;
        let tables = layout.slot_hashes.count();
        let (mut round, mut built) = (0, false);
        while !built && round < rounds {
            round += 1;
            for table in 0..tables {
                block.phase(items, |thread, items| {
                    for i in 0..ITEMS {
                        let (item, number) = (&mut items[i], thread + i as u32 * THREADS);
                        // The item has lost its slot in the previous sub-table, or is in none
                        // (`OUT` precedes the first).
                        if item.live && item.table == table.wrapping_sub(1) && (table == 0 || self.lost(item, number)) {
                            // The exchange is atomic, since several threads may write here, and one
                            // must win.
                            slots.exchange(item.slot_in_bucket(table), number);
                            item.table = table;
                        }
                    }
                });
            }
            let out = block.count(items, |thread, items| {
                let mut any = false;
                for i in 0..ITEMS {
                    let (item, number) = (&mut items[i], thread + i as u32 * THREADS);
                    if item.live && item.table == tables - 1 && self.lost(item, number) {
                        item.table = OUT;
                        any = true;
                    }
                }
                any
            });
            built = out == 0;
        }
        if statistics != 0 {
            block.each(items, |thread, _| {
                if thread == 0 {
                    args.header.atomic(header::MAX_ROUNDS).fetch_max(round as u64);
                    args.header.atomic(header::ROUNDS).fetch_add(round as u64);
                }
            });
        }
        built
    }

    /// Writes the slots, and counts the occupied slots. Copies of a key share a slot, which gets
    /// the last copy.
    #[inline(always)]
    fn write<B: Block>(&self, block: &mut B, items: &mut B::Local<[Item; ITEMS]>, built: bool) {
        let Self { args, number: bucket, pairs, slots, words, .. } = *self;
        let bucket_slots = args.plan.layout.bucket_slots();
        block.phase(items, |thread, items| {
            for i in 0..ITEMS {
                if items[i].live && built {
                    slots.fetch_max(items[i].slot_in_bucket(items[i].table), thread + i as u32 * THREADS);
                }
            }
        });
        block.phase(items, |thread, _| {
            let table = Slots::<K, V>::new(args.words_out);
            let mut occupied = 0;
            let mut slot = thread;
            while slot < bucket_slots {
                let item = slots.get(slot);
                let mut pair = [EMPTY, 0];
                if item != NONE {
                    occupied += 1;
                    pair = [pairs.get(item), if packed::<K, V>() { 0 } else { pairs.get(MAX_IN_BUCKET + item) }];
                }
                table.store(bucket * bucket_slots + slot, pair);
                slot += THREADS;
            }
            words.fetch_add(word::OCCUPIED, occupied);
        });
    }

    /// Reports the result of the build to the host. One thread does this.
    #[inline(always)]
    fn report(&self, tried: u32, built: bool, seed: u32) {
        let Self { args, number, size, pairs, words, .. } = *self;
        args.seeds.store(number as u64, seed);
        if tried > 1 {
            args.header.atomic(header::RESEEDED).fetch_add(tried as u64 - 1);
        }
        if !built {
            args.header.atomic(header::FAILED).fetch_add(1);
        }
        let cell = words.get(word::CELL);
        if cell != 0 {
            let item = cell - 1;
            let value = pairs.get(if packed::<K, V>() { item } else { MAX_IN_BUCKET + item });
            args.header.store(header::CELL_VALUE, V::from_u64(value).to_u64());
            args.header.store(header::CELL, 1);
        }
        let repeats = size - words.get(word::OCCUPIED) - (cell != 0) as u32;
        if built && repeats != 0 {
            args.header.atomic(header::REPEATS).fetch_add(repeats as u64);
        }
    }
}
