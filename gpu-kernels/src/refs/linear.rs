//! Refs of a linear map, for lookups and for changes.

use super::{MapRef, SetRef, asked};
use crate::double_word::PackedPair;
use crate::linear::slot::IfHeld;
use crate::linear::{InUse, Inserted, Layout, find_in_unchanging, header, stripe_of};
use crate::seam::{Block, Global, Tile};
use crate::table::fold::Fold;
use crate::types::{KeyWord, ValueWord};

/// A linear map as a kernel's argument. No thread changes the map while the kernel runs.
///
/// A lookup reads buckets of 32 bytes from the key's home to its slot, or to the first bucket with
/// an empty slot. The ref only reads: keys and values do not change during the launch
/// ([`refs`](super)). A kernel can change a linear map by [`LinearRefMut`].
///
/// If keys or values have 64 bits, the kernel's declaration says `wide atomics` after its threads
/// ([`kernel!`](crate::kernel)). PTX for GPUs without such atomics then has no entry point for
/// these types.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LinearRef<K: KeyWord, V: ValueWord> {
    words: Global<PackedPair<K, V>>,
    header: Global<u64>,
    layout: Layout,
}

impl<K: KeyWord, V: ValueWord> LinearRef<K, V> {
    const BYTES: usize = 2 * size_of::<Global<u64>>() + size_of::<Layout>();

    /// Returns the ref of the table with these slots and this header.
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

/// The most buckets that an insertion through a ref probes, without and with linear probing, whose
/// searches are longer.
///
/// The limit ends searches in a table that has hardly any empty slots left. With one slot in twenty
/// empty, less than one search in 10^9 reaches the limit.
const MAX_PROBED_BUCKETS: [u32; 2] = [512, 16384];

/// A linear map that is lent exclusively to a kernel, as its argument. The kernel's threads insert,
/// look up, combine and remove, all concurrently.
///
/// **Concurrency.** Only threads of this kernel use the map while it runs. Each operation is
/// atomic: operations on one key have the results of some sequential order, and a lookup during an
/// insertion returns the value before or after it, and nothing else. Operations do not order other
/// memory: what a thread wrote elsewhere before it inserted a key may not be visible yet to a
/// thread that finds the key.
///
/// **Capacity.** A kernel cannot make the table grow: reserve capacity beforehand. The maximal load
/// of the table does not limit a kernel, which may fill it to the last slot. Searches for absent
/// keys then read much of the table, until a batch of insertions makes it grow. An insertion that
/// finds no slot among the first buckets of its search (512, or 16,384 with linear probing) reports
/// that and changes nothing. Up to a load of .95 that does not happen. The slot of a removed key
/// stays reserved for it until the host makes a batch of insertions.
///
/// If keys or values have 64 bits, the kernel's declaration says `wide atomics` after its threads
/// ([`kernel!`](crate::kernel)). PTX for GPUs without such atomics then has no entry point for
/// these types.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LinearRefMut<K: KeyWord, V: ValueWord>(LinearRef<K, V>);

impl<K: KeyWord, V: ValueWord> LinearRefMut<K, V> {
    /// Returns the ref of the table with these slots and this header, which counts the changes.
    #[inline]
    pub fn new(words: Global<PackedPair<K, V>>, header: Global<u64>, layout: Layout) -> Self {
        Self(LinearRef::new(words, header, layout))
    }

    /// Runs `work` once for each item below `items`, by one thread each, and passes it the thread's
    /// access to the map. There is no barrier before or after it.
    ///
    /// After the work, each warp adds its changes to the counts in the header.
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

/// The counts of a thread's changes.
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

/// A thread's access to a map that its kernel changes.
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

    /// Inserts the key, or replaces its value. The result contains the old value, or says that
    /// there was no slot for the key.
    #[inline(always)]
    pub fn insert(&mut self, key: K, value: V) -> Inserted<V> {
        self.put(key, value, IfHeld::Replace)
    }

    /// Inserts the key unless it has a value. The result contains the value that the key had and
    /// keeps, or says that there was no slot for the key.
    #[inline(always)]
    pub fn get_or_insert(&mut self, key: K, value: V) -> Inserted<V> {
        self.put(key, value, IfHeld::Keep)
    }

    /// Combines the value of the key with `value`; a key without a value gets `value`. The result
    /// contains the old value, or says that there was no slot for the key. `fold` must be a
    /// function of numbers as wide as the values.
    ///
    /// Threads with the same key retry until each has changed the slot. If many threads have the
    /// same key, `BulkMap::combine_many` is far faster.
    #[inline(always)]
    pub fn combine(&mut self, key: K, value: V, fold: Fold) -> Inserted<V> {
        self.put(key, value, IfHeld::Combine(fold))
    }

    /// Removes the key. Returns the value that it had.
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
