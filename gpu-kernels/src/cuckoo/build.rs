//! Building: every thread inserts one pair. Then a second kernel counts the keys and finds copies
//! of repeated keys.

use super::{Slot, Table, fillers, header};
use crate::hash::{HashFunctions, MAX_FUNCTIONS, NO_SLOT};
use crate::seam::{Block, Global, Shared, Tile};
use crate::table::slots::Slots;
use crate::types::{KeyWord, Payload, Scalar, SlotWordOf, WordOf};

/// The arguments of a build.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InsertParams {
    /// The table's hash functions.
    pub functions: HashFunctions,
    /// The count of pairs.
    pub pairs: u64,
    /// The most exchanges that one thread makes before it declares failure.
    pub chain_limit: u32,
    /// 1 to count exchanges, else 0.
    pub statistics: u32,
}

/// A pair that is being inserted, represented by the first word of its slots.
struct Journey<W> {
    item: W,
    slot: u32,
    exchanges: u32,
}

kernel! {
    /// Inserts pair `i` by thread `i` (Alcantara 2011, §4.3.1.2, listing 4.1). All slots must be
    /// [`Slots::EMPTY`] before, and the header 0.
    ///
    /// An evicted pair goes to its next slot. A thread is done when it finds an empty slot, or
    /// another copy of the key that it carries; one of the two copies then remains. On a long
    /// eviction chain the thread searches such a copy in all slots of the key, so that copies do
    /// not make a build fail. Blocks have 64 threads (Alcantara 2011), so that a long chain keeps
    /// few threads waiting.
    ///
    /// For a set `values` is not used.
    Insert<K: KeyWord, V: Payload>, "cuckoo_insert", threads 64, shared totals: u64 = 2;
    { keys: Global<K>, values: Global<WordOf<V>>, words: Global<Slot<K, V>>, header: Global<u64>, plan: InsertParams }
}

impl<K: KeyWord, V: Payload> Insert<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, totals: B::Shared<u64>) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let block_first = block.first_thread();
        let statistics = args.plan.statistics != 0;
        let mut nothing = block.local(|_| ());
        if statistics {
            block.phase(&mut nothing, |thread, _| {
                if thread < 2 {
                    totals.set(thread, 0);
                }
            });
        }
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut journeys = tile.local(|lane| start(&table, &args, first + lane as u64));
            // All lanes do one exchange at a time. On the CPU, each lane's next slot is being
            // fetched while the other lanes exchange. At most `chain_limit` exchanges a lane.
            while tile.ballot(&journeys, |_, journey| journey.slot != NO_SLOT) != 0 {
                tile.each(&mut journeys, |_, journey| {
                    if journey.slot != NO_SLOT {
                        journey.slot = step(&table, &args, journey);
                    }
                });
            }
            if statistics {
                tile.each(&mut journeys, |_, journey| {
                    totals.fetch_max(0, journey.exchanges as u64);
                    totals.fetch_add(1, journey.exchanges as u64);
                });
            }
        });
        if statistics {
            block.phase(&mut nothing, |_, _| ());
            block.each(&mut nothing, |thread, _| {
                if thread == 0 {
                    args.header.atomic(header::LONGEST).fetch_max(totals.get(0));
                    args.header.atomic(header::EXCHANGES).fetch_add(totals.get(1));
                }
            });
        }
    }
}

/// Reads pair `index` and finds its first slot, or [`NO_SLOT`] if there is no pair to insert.
#[inline(always)]
fn start<K: KeyWord, V: Payload>(table: &Table<K, V>, args: &Insert<K, V>, index: u64) -> Journey<SlotWordOf<K, V>> {
    let nothing = Journey { item: Slots::<K, V>::EMPTY, slot: NO_SLOT, exchanges: 0 };
    // After one thread has failed the build is void, so other threads need not start.
    if index >= args.plan.pairs || args.header.atomic(header::FAILED).load() != 0 {
        return nothing;
    }
    let key = args.keys.load_streaming(index);
    let value = if V::VALUE_BITS == 0 {
        WordOf::<V>::default()
    } else if super::packed::<K, V>() || key == K::ALL_ONES {
        args.values.load_streaming(index)
    } else {
        WordOf::<V>::default()
    };
    if key == K::ALL_ONES {
        if args.header.atomic(header::CELL).fetch_max(index + 1) != 0 {
            raise(args.header, header::REPEATED);
        }
        if V::VALUE_BITS != 0 {
            // If keys are repeated, `StoreValues` stores the last value later. Until then the cell
            // contains one of the values as a whole.
            args.header.atomic(header::CELL_VALUE).store(value.to_u64());
        }
        return nothing;
    }
    let slot = table.functions.slot(0, key);
    table.slots.prefetch(slot);
    Journey { item: Slots::<K, V>::item(key, value), slot, exchanges: 0 }
}

/// Exchanges the pair that the thread carries with its slot. Returns the next slot of the evicted
/// pair, or [`NO_SLOT`] at the end.
#[inline(always)]
fn step<K: KeyWord, V: Payload>(
    table: &Table<K, V>,
    args: &Insert<K, V>,
    journey: &mut Journey<SlotWordOf<K, V>>,
) -> u32 {
    if journey.exchanges == args.plan.chain_limit {
        raise(args.header, header::FAILED);
        return NO_SLOT;
    }
    let evicted = table.slots.exchange(journey.slot, journey.item);
    journey.exchanges += 1;
    if evicted == Slots::<K, V>::EMPTY {
        return NO_SLOT;
    }
    let key = Slots::<K, V>::key_of(evicted);
    if key == Slots::<K, V>::key_of(journey.item) {
        raise(args.header, header::REPEATED);
        return NO_SLOT;
    }
    let slots = table.functions.slots_of(key);
    let check = journey.exchanges.is_multiple_of(CHECK_EVERY) || journey.exchanges == args.plan.chain_limit;
    if check && in_one_of(table, key, &slots) {
        raise(args.header, header::REPEATED);
        if V::VALUE_BITS == 0 {
            raise(args.header, header::DROPPED);
        }
        return NO_SLOT;
    }
    let next = next_slot(&slots, journey.slot);
    table.slots.prefetch(next);
    journey.item = evicted;
    next
}

/// The count of exchanges after which a thread checks for another copy of its key in the table.
const CHECK_EVERY: u32 = 16;

/// Returns whether `key` is in one of `slots` now. If so, a thread that carries a copy of the key
/// may drop its copy.
///
/// Without this, copies of two keys that share all their slots could evict each other forever,
/// since each thread finds the other key in every slot. The key is not lost: the copy that was seen
/// was in its slot at that moment. A thread that evicts it can drop it only after seeing another
/// copy. (That requires one order of reads and exchanges for all threads. The atomics of GPUs and
/// of x86 have such an order; relaxed atomics need not. [`Last`](super::Last) detects keys that
/// were lost for lack of it.)
#[inline(always)]
fn in_one_of<K: KeyWord, V: Payload>(table: &Table<K, V>, key: K, slots: &[u32; MAX_FUNCTIONS]) -> bool {
    let mut found = false;
    for &slot in slots {
        if slot != NO_SLOT {
            let item = table.slots.item_at(slot);
            found |= item != Slots::<K, V>::EMPTY && Slots::<K, V>::key_of(item) == key;
        }
    }
    found
}

/// Sets a flag that many threads may set. The flag is written only a few times, and otherwise only
/// read.
#[inline(always)]
pub(super) fn raise(words: Global<u64>, flag: u64) {
    if words.atomic(flag).load() == 0 {
        words.atomic(flag).store(1);
    }
}

/// Returns the next slot of a key evicted from `current`: round-robin over its *distinct* slots.
///
/// Listing 4.1 (Alcantara 2011) takes the first function that gives the current slot and continues
/// with the next function. When two functions of a key agree, that sequence may never reach the
/// slots of later functions; §4.3.1.2 names the problem, for tables of a few hundred items. Here a
/// function counts only if no earlier function gives its slot, so the sequence visits all slots.
#[inline(always)]
pub fn next_slot(slots: &[u32; MAX_FUNCTIONS], current: u32) -> u32 {
    let mut next = slots[0];
    let mut passed_current = slots[0] == current;
    let mut found = false;
    for function in 1..MAX_FUNCTIONS {
        let slot = slots[function];
        let distinct = slot != NO_SLOT && slots[..function].iter().all(|&earlier| earlier != slot);
        if distinct && passed_current && !found {
            next = slot;
            found = true;
        }
        passed_current |= distinct && slot == current;
    }
    next
}

kernel! {
    /// Counts the keys after the insertion, slot `i` by thread `i`. A copy of the key in the slot
    /// of an earlier function shows that the key was repeated. After a failed insertion the kernel
    /// does nothing.
    ///
    /// In a map copies stay: lookups find the earliest copy, which gets the value of the last pair.
    /// In a set they are erased (Alcantara 2011, §4.4), but their slots do not become empty
    /// ([`fillers`]). Only the slots of earlier functions are read, on average one for each key.
    /// That is about half of the reads of a lookup of every key.
    Census<K: KeyWord, V: Payload>, "cuckoo_census", threads 256;
    { words: Global<Slot<K, V>>, header: Global<u64>, functions: HashFunctions }
}

impl<K: KeyWord, V: Payload> Census<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.functions);
        let first = block.first_thread();
        let mut items = block.local(|thread| {
            let index = first + thread as u64;
            if index >= args.functions.slots() as u64 || failed(args.header, V::VALUE_BITS == 0) {
                return Slots::<K, V>::EMPTY;
            }
            let item = table.slots.item_at(index as u32);
            if item != Slots::<K, V>::EMPTY {
                for_each_earlier(&table, Slots::<K, V>::key_of(item), index as u32, |_, slot| {
                    table.slots.prefetch(slot)
                });
            }
            item
        });
        let keys = block.count(&mut items, |thread, item| {
            if *item == Slots::<K, V>::EMPTY {
                return false;
            }
            let slot = (first + thread as u64) as u32;
            let earlier = has_earlier_copy(&table, Slots::<K, V>::key_of(*item), slot);
            if earlier {
                raise(args.header, header::REPEATED);
                // The copy that was seen may be erased concurrently, but not the copy in the slot
                // of the first function with a copy.
                if V::VALUE_BITS == 0 && !fillers::put_filler(&table, slot) {
                    raise(args.header, header::FAILED);
                }
            }
            !earlier
        });
        block.each(&mut items, |thread, _| {
            if thread == 0 && keys != 0 {
                args.header.atomic(header::KEYS).fetch_add(keys as u64);
            }
        });
    }
}

/// Returns whether the build has failed. If `in_this_launch` is true, other threads may be changing
/// the flag, so a cached read is not allowed.
#[inline(always)]
fn failed(words: Global<u64>, in_this_launch: bool) -> bool {
    let failed =
        if in_this_launch { words.atomic(header::FAILED).load() } else { words.load_read_only(header::FAILED) };
    failed != 0
}

/// Returns whether `key`, found in `slot`, is also in a slot of an earlier function.
#[inline(always)]
pub(crate) fn has_earlier_copy<K: KeyWord, V: Payload>(table: &Table<K, V>, key: K, slot: u32) -> bool {
    let mut items = [Slots::<K, V>::EMPTY; MAX_FUNCTIONS - 1];
    // All reads come before the comparisons, so that no read waits for another.
    for_each_earlier(table, key, slot, |function, earlier| items[function] = table.slots.item_at(earlier));
    items.iter().any(|&item| item != Slots::<K, V>::EMPTY && Slots::<K, V>::key_of(item) == key)
}

/// Visits the slots of `key` before `slot`, with the indices of their functions.
#[inline(always)]
fn for_each_earlier<K: KeyWord, V: Payload>(table: &Table<K, V>, key: K, slot: u32, mut visit: impl FnMut(usize, u32)) {
    let slots = table.functions.slots_of(key);
    let mut before = true;
    for (function, &earlier) in slots[..MAX_FUNCTIONS - 1].iter().enumerate() {
        // A key of a damaged table may be in none of its slots, so the loop also ends after its
        // last function.
        before &= earlier != slot && earlier != NO_SLOT;
        if before {
            visit(function, earlier);
        }
    }
}
