//! A histogram of the values of several digits at once.

use super::{Digit, MAX_BITS_IN_TURN};
use crate::seam::{Block, Global, STAGED_TIMES, Shared, Work, vectorized};
use crate::types::KeyWord;

/// The most counters: the count of digits times the count of values of each digit.
pub const MAX_COUNTERS: u32 = 4096;

/// The count of counters in a block's shared memory. It is larger on a CPU, whose digits have more
/// values.
const COUNTERS: usize = if STAGED_TIMES == 1 { MAX_COUNTERS as usize } else { 6 << MAX_BITS_IN_TURN };

/// The count of keys that a thread loads at a time.
const ITEMS: usize = 8;

/// The arguments of a histogram.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HistogramParams {
    /// The first digit. The other digits have the same count of bits each, and follow it upwards.
    pub digit: Digit,
    /// The count of keys.
    pub items: u64,
    /// The count of digits. Together the digits have at most [`MAX_COUNTERS`] values.
    pub digits: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

kernel! {
    /// Adds to `counts[d << bits | v]` the count of keys with value `v` in digit `d`. The blocks,
    /// of any count, share the keys.
    Histogram<K: KeyWord>, "radix_histogram", threads 256, cpu cores, shared counters: u32 = COUNTERS;
    { keys: Global<K>, counts: Global<u32>, plan: HistogramParams }
}

impl<K: KeyWord> Histogram<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, counters: B::Shared<u32>) {
        let args = self;
        let HistogramParams { digit, items, digits, .. } = args.plan;
        let (threads, used) = (block.threads(), digits << digit.bits);
        let step = block.grid() as u64 * threads as u64;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let mut counter = thread;
            while counter < used {
                counters.set(counter, 0);
                counter += threads;
            }
        });
        block.phase(&mut nothing, |thread, _| {
            let mut next = first + thread as u64;
            while next < items {
                let keys: [K; ITEMS] = core::array::from_fn(|i| {
                    let index = next + i as u64 * step;
                    if index < items { args.keys.load_streaming(index) } else { K::default() }
                });
                for (i, &key) in keys.iter().enumerate() {
                    if next + (i as u64) * step < items {
                        let word = digit.word(key) >> digit.shift;
                        let mut d = 0;
                        while d < digits {
                            let value = (word >> (d * digit.bits)) as u32 & (digit.bins() - 1);
                            counters.fetch_add(d << digit.bits | value, 1);
                            d += 1;
                        }
                    }
                }
                next += ITEMS as u64 * step;
            }
        });
        block.each(&mut nothing, |thread, _| {
            let mut counter = thread;
            while counter < used {
                let count = counters.get(counter);
                if count != 0 {
                    args.counts.atomic(counter as u64).fetch_add(count);
                }
                counter += threads;
            }
        });
    }

    // Counts an adjacent part of the keys. A block that is alone counts in the device's memory
    // directly.
    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, counters: B::Shared<u32>) {
        let Self { keys, counts, plan } = self;
        let (index, grid) = (block.index(), block.grid());
        let used = plan.digits << plan.digit.bits;
        let part = plan.items.div_ceil(grid as u64);
        let first = (index as u64 * part).min(plan.items);
        let (keys, items) = (keys.offset(first), part.min(plan.items - first));
        if grid == 1 {
            return vectorized(CountInTurn { keys, items, plan, counters: counters.staged(counts, used) });
        }
        counters.clear(0, used);
        vectorized(CountInTurn { keys, items, plan, counters });
        for counter in 0..used {
            let count = counters.get(counter);
            if count != 0 {
                counts.atomic(counter as u64).fetch_add(count);
            }
        }
    }
}

/// The work of one thread that counts the digits of adjacent keys.
struct CountInTurn<K, S> {
    keys: Global<K>,
    items: u64,
    plan: HistogramParams,
    counters: S,
}

impl<K: KeyWord, S: Shared<u32>> Work for CountInTurn<K, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // For the usual counts of digits, the code is compiled without an inner loop.
        match self.plan.digits {
            1 => self.count::<1>(),
            3 => self.count::<3>(),
            4 => self.count::<4>(),
            6 => self.count::<6>(),
            8 => self.count::<8>(),
            _ => self.count::<0>(),
        }
    }
}

impl<K: KeyWord, S: Shared<u32>> CountInTurn<K, S> {
    /// Counts `DIGITS` digits for each key, or the count of digits in the plan if `DIGITS` is 0.
    #[inline(always)]
    fn count<const DIGITS: u32>(self) {
        let Self { keys, items, plan: HistogramParams { digit, digits, .. }, counters } = self;
        let digits = if DIGITS == 0 { digits } else { DIGITS };
        let (bits, mask) = (digit.bits, digit.bins() - 1);
        for item in 0..items {
            let word = digit.word(keys.load_streaming(item)) >> digit.shift;
            for d in 0..digits {
                counters.fetch_add(d << bits | (word >> (d * bits)) as u32 & mask, 1);
            }
        }
    }
}
