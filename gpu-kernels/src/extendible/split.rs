//! Splitting buckets as predicted, and inserting the new keys.

use super::predict::{end_of_run, is_first};
use super::{LEAF_WORDS, Layout, NODE_WORDS, Note, Pages, SearchPlan, State, Table, WordOf};
use crate::seam::{Global, Tile};
use crate::types::{Key, Scalar, Value};

/// What is to be copied.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CopyPlan {
    /// The number of bucket tables.
    pub tables: u64,
    /// Entries of each.
    pub entries: u64,
}

kernel! {
    /// Copies bucket tables: pair `i` of `addresses` says from where and to where. Four entries, 16 bytes, a thread; tables have a multiple of four.
    CopyTables<>, "extendible_copy_tables", threads 256;
    { addresses: Global<u64>, plan: CopyPlan }
    |args, block| {
        let fours = args.plan.entries / 4;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index < args.plan.tables * fours {
                let [from, to] = args.addresses.load_pair_read_only(2 * (index / fours));
                // SAFETY: the host names the tables that these are the addresses of.
                let (from, to) = unsafe { (Global::<u32>::at_address(from), Global::<u32>::at_address(to)) };
                let entry = 4 * (index % fours);
                to.store_four_streaming(entry, from.load_four_streaming(entry));
            }
        });
    }
}

/// Which buckets are to be opened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OpenPlan {
    /// The table's layout, with the depth that it has then.
    pub layout: Layout,
    /// The number of leaves.
    pub leaves: u64,
    /// How many numbers are free to be used again.
    pub free: u64,
    /// Numbers below this were used before.
    pub used: u64,
}

kernel! {
    /// Makes buckets of the leaves, without records yet, and lets the directory point to them. They get the last of the free numbers, and then new
    /// ones. A tile a leaf.
    OpenLeaves<K: Key, V: Value>, "extendible_open_leaves", threads 256;
    {
        leaves: Global<u64>, free: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>, plan: OpenPlan,
    }
    |args, block| {
        let OpenPlan { layout, leaves, free, used } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let leaf = (block_first + tile.first_thread() as u64) / 32;
            if leaf >= leaves {
                return;
            }
            let [first, state] = args.leaves.load_pair_read_only(leaf * LEAF_WORDS);
            let number = if leaf < free { args.free.load_read_only(free - 1 - leaf) } else { (used + leaf - free) as u32 };
            let bucket = table.bucket(number, first);
            let mut nothing = tile.local(|_| ());
            tile.each(&mut nothing, |lane, _| {
                if lane == 0 {
                    table.set_note(number, Note { first, state: State(state) });
                    table.install(first, State(state).depth(), number);
                }
                let mut four = lane;
                while four < bucket.fours() {
                    bucket.clear(four);
                    four += 32;
                }
            });
        });
    }
}

kernel! {
    /// Moves the records of the nodes' buckets to where the directory points now, each once, and frees the buckets: their numbers go to `free`, from
    /// place `free` of the plan on. A tile a node; `leaves` of the plan is their number.
    MoveRecords<K: Key, V: Value>, "extendible_move_records", threads 256;
    { nodes: Global<u64>, free: Global<u32>, segments: Global<u64>, pages: Global<Pages<K, V>>, plan: OpenPlan }
    |args, block| {
        let OpenPlan { layout, leaves: nodes, free, .. } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let node = (block_first + tile.first_thread() as u64) / 32;
            if node >= nodes {
                return;
            }
            let [first, number] = args.nodes.load_pair_read_only(node * NODE_WORDS);
            let number = number as u32;
            let bucket = table.bucket(number, first);
            let mut nothing = tile.local(|_| ());
            tile.each(&mut nothing, |lane, _| {
                let mut record = lane;
                while record < bucket.capacity() {
                    if let Some((mixed, value)) = bucket.record(record) {
                        let place = layout.place(K::from_u64(mixed.to_u64()));
                        // A bucket holds what was predicted for it, so there is a slot.
                        table.bucket(table.bucket_at(place), place).insert(mixed, value);
                    }
                    record += 32;
                }
                if lane == 0 {
                    table.set_state(number, State::FREE);
                    args.free.store(free + node, number);
                }
            });
        });
    }
}

kernel! {
    /// Inserts the new keys, for which there is room, and counts them in their buckets. They are mixed, different, and in order; one thread each.
    InsertFresh<K: Key, V: Value>, "extendible_insert_fresh", threads 256;
    { keys: Global<K>, values: Global<V>, segments: Global<u64>, pages: Global<Pages<K, V>>, plan: SearchPlan }
    |args, block| {
        let SearchPlan { layout, pairs } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index >= pairs {
                return;
            }
            let mixed = args.keys.load_read_only(index);
            let place = layout.place(mixed);
            let number = table.bucket_at(place);
            let value = WordOf::<K, V>::from_u64(args.values.load_streaming(index).to_u64());
            table.bucket(number, place).insert(WordOf::<K, V>::from_u64(mixed.to_u64()), value);
            let note = table.note(number);
            if is_first(args.keys, &layout, index, &note) {
                // One thread a bucket comes here.
                let more = end_of_run(args.keys, &layout, index, pairs, note.end()) - index;
                let State(state) = note.state;
                table.set_state(number, State(state + (more << 32)));
            }
        });
    }
}
