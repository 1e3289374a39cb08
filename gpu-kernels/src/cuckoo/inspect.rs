//! Counting the probes that lookups of a table's keys need.

use super::build::has_earlier_copy;
use super::{Slot, Table, fillers};
use crate::hash::{HashFunctions, MAX_FUNCTIONS};
use crate::seam::{Block, Global, Shared};
use crate::table::slots::Slots;
use crate::types::{KeyWord, Payload};

kernel! {
    /// Counts in `probes[p]` the keys that a lookup finds with its probe `p` (0 for the first).
    /// `probes` has [`MAX_FUNCTIONS`] words.
    Histogram<K: KeyWord, V: Payload>, "cuckoo_histogram", threads 256, shared counts: u64 = MAX_FUNCTIONS;
    { words: Global<Slot<K, V>>, probes: Global<u64>, functions: HashFunctions }
}

impl<K: KeyWord, V: Payload> Histogram<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, counts: B::Shared<u64>) {
        let args = self;
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
