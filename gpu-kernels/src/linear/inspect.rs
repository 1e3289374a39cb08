//! Writing out all pairs, counting them, and measuring how many slots the searches for keys read.

use super::slot::{is_empty, value_of};
use super::table::{in_cell, resized};
use super::{Layout, count_up, header};
use crate::double_word::{Double, Doubled, PackedPair};
use crate::primitives::append::{WARPS, append_pairs};
use crate::seam::{Block, Global, Tile};
use crate::types::{KeyWord, ValueWord};

/// The scalar arguments of [`Unpack`], [`Recount`] and [`ProbeLengths`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InspectParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of words of a histogram, or the capacity of the output in pairs.
    pub capacity: u64,
}

kernel! {
    /// Writes the pairs of all slots and of the cell to `keys_out` and `values_out`, up to their
    /// capacity. There is one thread per slot.
    ///
    /// `count[0]`, 0 at first, becomes the count of pairs. The pairs are in the order in which
    /// blocks reserve their output.
    Unpack<K: KeyWord, V: ValueWord>, "linear_unpack", threads 256, wide atomics, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        words: Global<PackedPair<K, V>>, header: Global<u64>, keys_out: Global<K>, values_out: Global<V>, count: Global<u64>,
        plan: InspectParams,
    }
}

impl<K: KeyWord, V: ValueWord> Unpack<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let InspectParams { layout, capacity } = args.plan;
        let (slots, output) = (layout.slots::<PackedPair<K, V>>(), (args.keys_out, args.values_out, capacity));
        append_pairs::<K, V, _>(block, (sums, start), args.count, output, |slot| {
            if slot < slots {
                let word = args.words.load_streaming(slot);
                value_of(word).map(|value| (resized(word.upper()), resized(value)))
            } else if slot == slots {
                let cell = args.header.cast::<PackedPair<K, V>>().load(header::CELL);
                in_cell(cell).map(|value| (K::ALL_ONES, resized(value)))
            } else {
                None
            }
        });
    }
}

kernel! {
    /// Adds the count of keys, and the count of slots that are not empty, to the header's counters,
    /// 0 at first. There is one thread per slot. `H` is half of a word.
    Recount<H: KeyWord>, "linear_recount", threads 256, wide atomics;
    { words: Global<Doubled<H>>, header: Global<u64>, plan: InspectParams }
}

impl<H: KeyWord> Recount<H> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        let mut words = block.local(|thread| {
            let slot = first + thread as u64;
            let there = slot < args.plan.layout.slots::<Doubled<H>>();
            if there { args.words.load_streaming(slot) } else { Double::ALL_ONES }
        });
        let taken = block.count(&mut words, |_, word| !is_empty(*word));
        let keys = block.count(&mut words, |_, word| value_of(*word).is_some());
        let cell = args.header.cast::<Doubled<H>>().load(header::CELL);
        let beside = (block.index() == 0 && in_cell(cell).is_some()) as u32;
        count_up(block, args.header, [(header::TAKEN, taken), (header::GAINED, keys + beside)]);
    }
}

kernel! {
    /// Makes a histogram of the count of slots that a search reads for each key in a slot. There is
    /// one thread per slot.
    ///
    /// `histogram[n]` counts the keys whose search reads n slots, and its last word also the keys
    /// with longer searches. `H` is half of a word. `totals[0]` becomes the sum of n over all keys,
    /// and `totals[1]` the largest n. All words are 0 at first.
    ProbeLengths<H: KeyWord>, "linear_probe_lengths", threads 256, wide atomics;
    { words: Global<Doubled<H>>, histogram: Global<u64>, totals: Global<u64>, plan: InspectParams }
}

impl<H: KeyWord> ProbeLengths<H> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let InspectParams { layout, capacity } = args.plan;
        let first = block.first_thread();
        let mut lengths = block.local(|thread| {
            let slot = first + thread as u64;
            let there = slot < layout.slots::<Doubled<H>>();
            let word = if there { args.words.load_streaming(slot) } else { Double::ALL_ONES };
            if value_of(word).is_none() {
                return 0;
            }
            let of_bucket = <Doubled<H>>::IN_SECTOR;
            let (bucket, within) = ((slot / of_bucket as u64) as u32, (slot % of_bucket as u64) as u32);
            let mut probe = layout.probe::<Doubled<H>>(word.upper());
            let mut length = 1 + (within + of_bucket - probe.start) % of_bucket;
            // At most as many steps as buckets: the steps lead to every bucket.
            while probe.bucket != bucket {
                layout.advance(&mut probe);
                length += of_bucket;
            }
            length
        });
        block.tiles_of(&mut lengths, |warp, lengths| {
            warp.exclusive_sum(
                lengths,
                |_, length| *length,
                |lane, length, _, total| {
                    if lane == 0 && total != 0 {
                        args.totals.atomic(0).fetch_add(total as u64);
                    }
                    if *length != 0 {
                        args.histogram.atomic((*length as u64).min(capacity - 1)).fetch_add(1);
                        if *length as u64 > args.totals.atomic(1).load() {
                            args.totals.atomic(1).fetch_max(*length as u64);
                        }
                    }
                },
            );
        });
    }
}
