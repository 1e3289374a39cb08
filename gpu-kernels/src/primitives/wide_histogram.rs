//! A histogram of a bit field that has more values than there can be counters in shared memory.

use crate::seam::{Block, Global, Shared, Work, vectorized};
use crate::types::KeyWord;

/// The count of threads of a block.
const THREADS: u32 = 256;
/// The count of keys of a thread.
const ITEMS: u32 = 16;
/// The count of keys that a block counts at a time.
pub const TILE: u64 = (THREADS * ITEMS) as u64;
/// The binary logarithm of the count of a block's slots. Each has a word for a value and, after all
/// values, a counter.
const SLOT_BITS: u32 = 11;
const SLOTS: u32 = 1 << SLOT_BITS;

/// The arguments of a histogram.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WideHistogramParams {
    /// The count of keys.
    pub items: u64,
    /// The lowest bit of the field.
    pub shift: u32,
    /// The count of bits of the field: 1 to 32.
    pub bits: u32,
}

impl WideHistogramParams {
    /// Returns the value of a key.
    #[inline(always)]
    fn value<K: KeyWord>(&self, key: K) -> u32 {
        key.bits_from(self.shift) & (u32::MAX >> (u32::BITS - self.bits))
    }
}

kernel! {
    /// Adds to `counts[v]` the count of keys with value `v` in the bit field. The blocks, of any
    /// count, share the keys.
    ///
    /// A block processes one tile at a time. A slot on chip counts one of the tile's values, and
    /// adds the count to memory at the end; other values are added key by key. A frequent value
    /// gets a slot, unless it collides with another frequent value. Each tile has another hash
    /// function. So additions to memory for the same value are rare, whatever the keys and their
    /// order. On CPU cores the first block counts all keys.
    WideHistogram<K: KeyWord>, "wide_histogram", threads 256, cpu cores, shared slots: u32 = 4096;
    { keys: Global<K>, counts: Global<u32>, plan: WideHistogramParams }
}

/// The hash function of a tile: multiplication by an odd number, by Dietzfelbinger et al. (*A
/// Reliable Randomized Algorithm for the Closest-Pair Problem*, 1997, §2).
#[derive(Clone, Copy)]
struct SlotOf(u32);

impl SlotOf {
    #[inline(always)]
    fn new(tile: u64) -> Self {
        Self((tile as u32).wrapping_mul(0x9e37_79b1).wrapping_add(0x85eb_ca6b) | 1)
    }

    #[inline(always)]
    fn slot(self, value: u32) -> u32 {
        value.wrapping_mul(self.0) >> (u32::BITS - SLOT_BITS)
    }
}

impl<K: KeyWord> WideHistogram<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, slots: B::Shared<u32>) {
        let WideHistogramParams { items, .. } = self.plan;
        let mut held = block.local(|_| [0u32; ITEMS as usize]);
        block.phase(&mut held, |thread, _| {
            for i in 0..SLOTS / THREADS {
                slots.set(SLOTS + i * THREADS + thread, 0);
            }
        });
        let mut tile = block.index() as u64;
        while tile * TILE < items {
            let slot_of = SlotOf::new(tile);
            let left = (items - tile * TILE).min(TILE) as u32;
            let keys = self.keys.offset(tile * TILE);
            block.phase(&mut held, |thread, held| {
                for i in 0..ITEMS {
                    let item = i * THREADS + thread;
                    if item < left {
                        held[i as usize] = self.plan.value(keys.load_streaming(item as u64));
                    }
                }
                for i in 0..ITEMS {
                    let (value, item) = (held[i as usize], i * THREADS + thread);
                    if item < left {
                        // The last write to a slot wins. So every slot that is read below contains
                        // a value of this tile.
                        let slot = slot_of.slot(value);
                        if slots.load_relaxed(slot) != value {
                            slots.exchange(slot, value);
                        }
                    }
                }
            });
            block.phase(&mut held, |thread, held| {
                for i in 0..ITEMS {
                    let (value, item) = (held[i as usize], i * THREADS + thread);
                    if item < left {
                        let slot = slot_of.slot(value);
                        if slots.get(slot) == value {
                            slots.fetch_add(SLOTS + slot, 1);
                        } else {
                            self.counts.atomic(value as u64).fetch_add(1);
                        }
                    }
                }
            });
            block.phase(&mut held, |thread, _| {
                for i in 0..SLOTS / THREADS {
                    let slot = i * THREADS + thread;
                    let count = slots.get(SLOTS + slot);
                    if count != 0 {
                        self.counts.atomic(slots.get(slot) as u64).fetch_add(count);
                        slots.set(SLOTS + slot, 0);
                    }
                }
            });
            tile += block.grid() as u64;
        }
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<u32>) {
        // One thread counts all keys, since atomic additions by several threads take longer.
        if block.index() == 0 {
            vectorized(CountInTurn { keys: self.keys, counts: self.counts, plan: self.plan });
        }
    }
}

/// The count of keys whose counters are prefetched at a time.
const AHEAD: usize = 32;

/// The work of one thread that counts all keys.
struct CountInTurn<K> {
    keys: Global<K>,
    counts: Global<u32>,
    plan: WideHistogramParams,
}

impl<K: KeyWord> Work for CountInTurn<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, counts, plan } = self;
        let mut first = 0;
        while first < plan.items {
            let here = (plan.items - first).min(AHEAD as u64) as usize;
            let mut values = [0; AHEAD];
            for (i, value) in values.iter_mut().enumerate().take(here) {
                *value = plan.value(keys.load_streaming(first + i as u64)) as u64;
                counts.prefetch(*value);
            }
            for &value in &values[..here] {
                counts.store(value, counts.load(value).wrapping_add(1));
            }
            first += here as u64;
        }
    }
}
