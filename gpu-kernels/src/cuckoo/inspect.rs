//! Inspecting a table: where its keys are, and why a build failed.

use super::build::has_earlier_copy;
use super::{PairsParams, Slot, Table, fillers, header};
use crate::hash::{HashFunctions, MAX_FUNCTIONS, NO_SLOT};
use crate::seam::{Global, Shared};
use crate::table::slots::Slots;
use crate::types::{Key, Payload};

kernel! {
    /// Counts in `probes[p]` the keys that a lookup finds with its probe `p` (0 for the first).
    /// `probes` has [`MAX_FUNCTIONS`] words.
    Histogram<K: Key, V: Payload>, "cuckoo_histogram", threads 256, shared counts: u64 = MAX_FUNCTIONS;
    { words: Global<Slot<K, V>>, probes: Global<u64>, functions: HashFunctions }
    |args, block| {
        let table = Table::<K, V>::new(args.words, args.functions);
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            if thread < MAX_FUNCTIONS as u32 {
                counts.set(thread, 0);
            }
        });
        block.phase(&mut nothing, |thread, _| {
            let slot = first + thread as u64;
            if slot >= args.functions.slots() as u64 {
                return;
            }
            let item = table.slots.item_at(slot as u32);
            if item == Slots::<K, V>::EMPTY {
                return;
            }
            let key = Slots::<K, V>::key_of(item);
            let filler = V::VALUE_BITS == 0 && fillers::is_filler(&table, key, slot as u32);
            if filler || has_earlier_copy(&table, key, slot as u32) {
                return;
            }
            let slots = table.functions.slots_of(key);
            let mut probe = 0;
            for function in (0..MAX_FUNCTIONS).rev() {
                if slots[function] == slot as u32 {
                    probe = function as u32;
                }
            }
            counts.fetch_add(probe, 1);
        });
        block.each(&mut nothing, |thread, _| {
            if thread < MAX_FUNCTIONS as u32 {
                args.probes.atomic(thread as u64).fetch_add(counts.get(thread));
            }
        });
    }
}

kernel! {
    /// Records a key for which no constants give a slot, if it finds one after a failed build with
    /// the exact linear form.
    ///
    /// Keys that agree modulo the prime share all their slots. Suppose that a key is left over,
    /// that all its slots are distinct, and that they hold as many other keys of its own residue.
    /// That proves that there are more such keys than functions.
    Unplaceable<K: Key, V: Payload>, "cuckoo_unplaceable", threads 256;
    { keys: Global<K>, words: Global<Slot<K, V>>, header: Global<u64>, plan: PairsParams }
    |args, block| {
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index >= args.plan.pairs {
                return;
            }
            let key = args.keys.load_streaming(index);
            if key != K::ALL_ONES && shares_all_slots(&table, key) {
                args.header.atomic(header::UNPLACEABLE_KEY).store(key.to_u64());
                args.header.atomic(header::UNPLACEABLE).store(1);
            }
        });
    }
}

#[inline(always)]
fn shares_all_slots<K: Key, V: Payload>(table: &Table<K, V>, key: K) -> bool {
    let residue = table.functions.residue(key);
    let slots = table.functions.slots_of(key);
    let mut holders = [key; MAX_FUNCTIONS];
    for function in 0..MAX_FUNCTIONS {
        let slot = slots[function];
        if slot == NO_SLOT {
            break;
        }
        if slots[..function].contains(&slot) {
            return false;
        }
        let item = table.slots.item_at(slot);
        let holder = Slots::<K, V>::key_of(item);
        // The holders must differ from the key and from each other: copies of one key prove
        // nothing.
        let seen = holder == key || holders[..function].contains(&holder);
        if item == Slots::<K, V>::EMPTY || seen || table.functions.residue(holder) != residue {
            return false;
        }
        holders[function] = holder;
    }
    true
}
