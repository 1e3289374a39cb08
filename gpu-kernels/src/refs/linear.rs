//! Refs of a linear map: to ask it, and to change it.

use super::{MapRef, SetRef, asked};
use crate::double::PackedPair;
use crate::linear::slot::IfHeld;
use crate::linear::{InUse, Inserted, Layout, find_in_unchanging, header, stripe_of};
use crate::seam::{Block, Global, Tile};
use crate::table::fold::Fold;
use crate::types::{KeyWord, ValueWord};

/// A linear map as a kernel's argument, which no thread changes meanwhile.
///
/// A lookup reads buckets of 32 bytes from the key's home to its slot, or to the first one with an
/// empty slot. The ref only reads: keys and values stay as they are while the kernel runs
/// ([`refs`](super)). A kernel changes them by [`LinearRefMut`].
///
/// With keys or values of 64 bits a kernel's declaration says `wide atomics` behind its threads
/// ([`kernel!`](crate::kernel)). Then PTX for GPUs that have none has no entry point for these
/// types.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LinearRef<K: KeyWord, V: ValueWord> {
    words: Global<PackedPair<K, V>>,
    header: Global<u64>,
    layout: Layout,
}

impl<K: KeyWord, V: ValueWord> LinearRef<K, V> {
    const BYTES: usize = 2 * size_of::<Global<u64>>() + size_of::<Layout>();

    /// Returns the ref of the table of these slots and this header.
    #[inline]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self { words, header, layout }
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<V> {
        find_in_unchanging(self.words, self.header, &self.layout, key)
    }
}

asked! { LinearRef, ValueWord }

/// The most buckets that an insertion through a ref probes, and those with linear probing, whose
/// searches are longer.
///
/// It ends searches in a table that has hardly an empty slot left. With one slot in twenty empty,
/// less than one search in 10^9 is as long as this.
const MAX_PROBED_BUCKETS: [u32; 2] = [512, 16384];

/// A linear map that is lent to a kernel exclusively, as its argument: threads insert, look up,
/// combine and remove, all at the same time.
///
/// **Beside other threads** of the kernel, the only ones that use the map while it runs. Each
/// operation is atomic: operations on one key give what they would give in some sequential order,
/// and a lookup beside an insertion gives the value before or after it, and nothing else. They
/// order no other memory: what a thread wrote elsewhere before it inserted a key may not be visible
/// yet to one that finds the key.
///
/// **Capacity.** A kernel cannot make the table grow: reserve capacity beforehand. The table's load
/// does not bind a kernel, which may fill it to the last slot. Searches for absent keys then read
/// much of it, until a batch of insertions makes it grow. An insertion that finds no slot among the
/// first buckets of its search (512, or 16,384 with linear probing) says so, and changes nothing.
/// In a table of a load of up to .95 that does not happen. A removed key's slot stays that key's
/// own until the host makes a batch of insertions.
///
/// With keys or values of 64 bits a kernel's declaration says `wide atomics` behind its threads
/// ([`kernel!`](crate::kernel)). Then PTX for GPUs that have none has no entry point for these
/// types.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LinearRefMut<K: KeyWord, V: ValueWord>(LinearRef<K, V>);

impl<K: KeyWord, V: ValueWord> LinearRefMut<K, V> {
    /// Returns the ref of the table of these slots and this header, which counts the changes.
    #[inline]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self(LinearRef::new(words, header, layout))
    }

    /// Runs `work` for each item of the grid's threads that there is, one thread an item, with the
    /// thread's hold of the map. No barrier comes before or behind it.
    ///
    /// What the threads change is counted by warp behind the work.
    #[inline(always)]
    pub fn each_item<B: Block>(&self, block: &mut B, items: u64, work: impl Fn(u64, &mut LinearThread<K, V>) + Sync) {
        let first = block.first_thread();
        let LinearRef { words, header, layout } = self.0;
        let most_probed = if layout.linear == 0 { MAX_PROBED_BUCKETS[0] } else { MAX_PROBED_BUCKETS[1] };
        let stripe = stripe_of(block);
        let mut changes = block.local(|thread| {
            let table = InUse::new(words, header, layout);
            let mut held = LinearThread { table, most_probed, changes: Changes::default() };
            let item = first + thread as u64;
            if item < items {
                work(item, &mut held);
            }
            held.changes
        });
        block.tiles_of(&mut changes, |warp, changes| {
            if warp.ballot(changes, |_, changes| changes.any()) == 0 {
                return;
            }
            let count_up = |which: u64, lane: u32, total: u32| {
                if lane == 0 && total != 0 {
                    header.atomic(stripe + which).fetch_add(total as u64);
                }
            };
            let tell = |which| move |lane: u32, _: &mut Changes, _: u32, total: u32| count_up(which, lane, total);
            warp.exclusive_sum(changes, |_, changes| changes.taken, tell(header::TAKEN));
            warp.exclusive_sum(changes, |_, changes| changes.gained, tell(header::GAINED));
            warp.exclusive_sum(changes, |_, changes| changes.lost, tell(header::LOST));
            warp.exclusive_sum(changes, |_, changes| changes.refused, tell(header::REFUSED));
        });
    }
}

/// The counts of what a thread changed.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    taken: u32,
    gained: u32,
    lost: u32,
    refused: u32,
}

impl Changes {
    #[inline(always)]
    fn any(&self) -> bool {
        self.taken | self.gained | self.lost | self.refused != 0
    }
}

/// A thread's hold of a map that its kernel changes.
#[derive(Debug)]
pub struct LinearThread<K: KeyWord, V: ValueWord> {
    table: InUse<K, V>,
    most_probed: u32,
    changes: Changes,
}

impl<K: KeyWord, V: ValueWord> LinearThread<K, V> {
    /// Returns the value of the key.
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        self.table.get(key)
    }

    /// Returns whether the map has the key.
    #[inline(always)]
    pub fn contains(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Gives the key the value. The result has the value that it had before, or says that there was
    /// no slot for it.
    #[inline(always)]
    pub fn insert(&mut self, key: K, value: V) -> Inserted<V> {
        self.put(key, value, IfHeld::Replace)
    }

    /// Gives the key the value unless it has one. The result has the value that it had before,
    /// which it keeps, or says that there was no slot for it.
    #[inline(always)]
    pub fn get_or_insert(&mut self, key: K, value: V) -> Inserted<V> {
        self.put(key, value, IfHeld::Keep)
    }

    /// Combines the value of the key with another one, which a key without a value gets. The result
    /// has the value that it had before, or says that there was no slot for it. `fold` must be of
    /// numbers as wide as the values.
    ///
    /// Threads with one key try again until each has changed the slot: where many have the same
    /// key, `BulkMap::combine_many` is far faster.
    #[inline(always)]
    pub fn combine(&mut self, key: K, value: V, fold: Fold) -> Inserted<V> {
        self.put(key, value, IfHeld::Combine(fold))
    }

    /// Removes the key; returns the value that it had.
    #[inline(always)]
    pub fn remove(&mut self, key: K) -> Option<V> {
        let removed = self.table.remove(key);
        self.changes.lost += removed.is_some() as u32;
        removed
    }

    #[inline(always)]
    fn put(&mut self, key: K, value: V, if_held: IfHeld) -> Inserted<V> {
        let inserted = self.table.insert_within(key, value, if_held, self.most_probed);
        self.changes.taken += inserted.taken as u32;
        self.changes.gained += inserted.is_new() as u32;
        self.changes.refused += inserted.refused as u32;
        inserted
    }
}
