//! Counting the keys in each sub-table.

use super::{Layout, MAX_SUB_TABLES};
use crate::seam::{Block, Global, Shared};
use crate::table::slots::{Slot, Slots};
use crate::types::{KeyWord, ValueWord};

kernel! {
    /// Counts in `probes[t]` the keys in sub-table `t` of their bucket. `probes` has
    /// [`MAX_SUB_TABLES`] words.
    Histogram<K: KeyWord, V: ValueWord>, "two_level_histogram", threads 256, shared counts: u64 = MAX_SUB_TABLES;
    { words: Global<Slot<K, V>>, probes: Global<u64>, layout: Layout }
}

impl<K: KeyWord, V: ValueWord> Histogram<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, counts: B::Shared<u64>) {
        let args = self;
        let slots = Slots::<K, V>::new(args.words);
        let all = args.layout.buckets.slots() as u64 * args.layout.bucket_slots() as u64;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            if thread < MAX_SUB_TABLES as u32 {
                counts.set(thread, 0);
            }
        });
        block.phase(&mut nothing, |thread, _| {
            let slot = first + thread as u64;
            if slot < all && slots.item_at(slot as u32) != Slots::<K, V>::EMPTY {
                let table = slot as u32 % args.layout.bucket_slots() / args.layout.slot_hashes.slots();
                counts.fetch_add(table, 1);
            }
        });
        block.each(&mut nothing, |thread, _| {
            if thread < MAX_SUB_TABLES as u32 {
                args.probes.atomic(thread as u64).fetch_add(counts.get(thread));
            }
        });
    }
}
