//! Flags, one bit an item: expanding them to bytes, counting them, and writing a default to the
//! items whose flag is 0.

use crate::seam::{Block, Global, Shared, Tile, Work, vectorized};
use crate::types::ValueWord;

/// The count of flags that a thread of [`ExpandFlags`] expands. Each becomes a byte; one
/// instruction can store no more.
pub const EXPANDED: u64 = 16;
/// The count of flags that a thread of [`CountFlags`] reads at once.
pub const COUNTED: u64 = 128;

/// The scalar arguments of [`ExpandFlags`] and [`CountFlags`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FlagsParams {
    /// The count of items, each of which has a flag.
    pub items: u64,
}

kernel! {
    /// Sets byte `i` of `output` to bit `i mod 32` of `flags[i / 32]` for each item `i`, and writes
    /// no bytes after them. One thread expands [`EXPANDED`] items.
    ExpandFlags<>, "expand_flags", threads 256, cpu cores;
    { flags: Global<u32>, output: Global<u8>, plan: FlagsParams }
}

impl ExpandFlags {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let items = args.plan.items;
        let block_first = block.first_thread() * EXPANDED;
        block.each_thread(|thread| {
            let first = block_first + thread as u64 * EXPANDED;
            if first < items {
                let flags = args.flags.load_read_only(first / 32) >> (first % 32);
                expand(args.output, first, items, flags);
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let first = block.first_thread() * EXPANDED;
        let end = self.plan.items.min(first + block.threads() as u64 * EXPANDED);
        vectorized(ExpandInTurn { flags: self.flags, output: self.output, first, end });
    }
}

/// Writes the bytes of [`EXPANDED`] items starting at `first`, or of fewer items if the array ends
/// earlier. `first` is a multiple of [`EXPANDED`], and item `first` has bit 0 of `flags`.
#[inline(always)]
pub(crate) fn expand(output: Global<u8>, first: u64, items: u64, flags: u32) {
    let words = [bytes_of(flags), bytes_of(flags >> 4), bytes_of(flags >> 8), bytes_of(flags >> 12)];
    let output = output.offset(first);
    if first + EXPANDED <= items {
        output.cast::<u32>().store_four_streaming(0, words);
        return;
    }
    let left = (items - first) as u32;
    for word in 0..4 {
        if 4 * word as u32 + 4 <= left {
            output.cast::<u32>().store(word as u64, words[word]);
        }
    }
    for byte in 0..3 {
        let byte = left / 4 * 4 + byte;
        if byte < left {
            output.store_byte(byte as u64, (flags >> byte & 1) as u8);
        }
    }
}

/// Returns the lowest four bits of a word as bytes.
#[inline(always)]
fn bytes_of(flags: u32) -> u32 {
    // The product moves bit `i` up by 0, 7, 14 and 21 bits, and one of these moves ends at bit 8 i.
    ((flags & 0xf) * (1 | 1 << 7 | 1 << 14 | 1 << 21)) & 0x0101_0101
}

/// The work of one thread that writes the bytes of the items `first..end`. `first` is a multiple of
/// 32.
struct ExpandInTurn {
    flags: Global<u32>,
    output: Global<u8>,
    first: u64,
    end: u64,
}

impl Work for ExpandInTurn {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { flags, output, first, end } = self;
        let mut at = first;
        while at < end {
            expand(output, at, end, flags.load_read_only(at / 32) >> (at % 32));
            at += EXPANDED;
        }
    }
}

/// The scalar arguments of [`FillAbsent`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FillParams {
    /// The count of items, each of which has a flag.
    pub items: u64,
    /// The word that is written to items whose flag is 0.
    pub value: u64,
}

kernel! {
    /// Sets `values[i]` to the plan's value for each item whose bit `i mod 32` of `flags[i / 32]`
    /// is 0, or for each item if `flags` is null. The kernel does not read the values. One thread
    /// processes 32 items.
    FillAbsent<V: ValueWord>, "fill_absent", threads 256, cpu cores;
    { flags: Global<u32>, values: Global<V>, plan: FillParams }
}

impl<V: ValueWord> FillAbsent<V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let value = V::from_u64(args.plan.value);
        let block_first = block.first_thread();
        // Each lane reads one word of flags. Then the warp writes the items of these words, word
        // after word.
        block.tiles(|warp| {
            let first = block_first + warp.first_thread() as u64;
            let mut bits = warp.local(|lane| args.absent(first + lane as u64));
            let mut words = warp.ballot(&bits, |_, &bits| bits != 0);
            // At most 32 steps: each clears a bit.
            while words != 0 {
                let word = words.trailing_zeros();
                let picked = warp.pick(&bits, word, |&bits| bits);
                warp.each(&mut bits, |lane, _| {
                    if picked >> lane & 1 != 0 {
                        args.values.store(32 * (first + word as u64) + lane as u64, value);
                    }
                });
                words &= words - 1;
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let value = V::from_u64(self.plan.value);
        let first = block.first_thread();
        for word in first..self.plan.items.div_ceil(32).min(first + block.threads() as u64) {
            let mut bits = self.absent(word);
            // At most 32 steps: each clears a bit.
            while bits != 0 {
                self.values.store(32 * word + bits.trailing_zeros() as u64, value);
                bits &= bits - 1;
            }
        }
    }

    /// Returns the bits of a word that belong to items whose flag is 0.
    #[inline(always)]
    fn absent(&self, word: u64) -> u32 {
        let beyond = (32 * (word + 1)).saturating_sub(self.plan.items);
        if beyond >= 32 {
            return 0;
        }
        let flags = if self.flags.is_null() { 0 } else { self.flags.load_read_only(word) };
        !flags & u32::MAX >> beyond
    }
}

kernel! {
    /// Adds to `count[0]` the count of items `i` whose bit `i mod 32` of `flags[i / 32]` is set. A
    /// launch may have any count of blocks. Each thread reads [`COUNTED`] flags at a time, a group
    /// of four words.
    CountFlags<>, "count_flags", threads 256, cpu cores, shared total: u64 = 1;
    { flags: Global<u32>, count: Global<u64>, plan: FlagsParams }
}

impl CountFlags {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, total: B::Shared<u64>) {
        let args = self;
        // The first block counts the words after the last whole group of four.
        let quads = args.plan.items / COUNTED;
        let (first_thread, step) = (block.first_thread(), block.grid() as u64 * block.threads() as u64);
        let mut counts = block.local(|_| 0u32);
        block.phase(&mut counts, |thread, count| {
            if thread == 0 {
                total.set(0, 0);
            }
            let mut quad = first_thread + thread as u64;
            while quad < quads {
                let [a, b, c, d] = args.flags.load_four_read_only(4 * quad);
                *count += a.count_ones() + b.count_ones() + c.count_ones() + d.count_ones();
                quad += step;
            }
            if first_thread + (thread as u64) < 4 {
                *count += args.rest(4 * quads + first_thread + thread as u64);
            }
        });
        block.tiles_of(&mut counts, |warp, counts| {
            warp.exclusive_sum(
                counts,
                |_, count| *count,
                |lane, _, _, sum| {
                    if lane == 0 {
                        total.fetch_add(0, sum as u64);
                    }
                },
            );
        });
        block.sync();
        block.each_thread(|thread| {
            let sum = total.get(0);
            if thread == 0 && sum != 0 {
                args.count.atomic(0).fetch_add(sum);
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<u64>) {
        let Self { flags, count, plan: FlagsParams { items } } = self;
        let (index, quads) = (block.index() as u64, items / COUNTED);
        let share = quads.div_ceil(block.grid() as u64);
        let first = (index * share).min(quads);
        let end = (first + share).min(quads);
        let mut own = vectorized(CountInTurn { flags, first: 4 * first, end: 4 * end });
        if index == 0 {
            own += (4 * quads..items.div_ceil(32)).map(|word| self.rest(word) as u64).sum::<u64>();
        }
        if own != 0 {
            count.atomic(0).fetch_add(own);
        }
    }

    /// Returns the count of set bits of a word after the last whole group of four.
    #[inline(always)]
    fn rest(&self, word: u64) -> u32 {
        let beyond = (32 * (word + 1)).saturating_sub(self.plan.items);
        if beyond >= 32 { 0 } else { (self.flags.load_read_only(word) & u32::MAX >> beyond).count_ones() }
    }
}

/// The work of one thread that counts the set bits of the words `first..end`.
struct CountInTurn {
    flags: Global<u32>,
    first: u64,
    end: u64,
}

impl Work for CountInTurn {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let Self { flags, first, end } = self;
        let (mut at, mut sum) = (first, 0);
        while at < end {
            sum += flags.load_read_only(at).count_ones() as u64;
            at += 1;
        }
        sum
    }
}
