//! Stream compaction, in one pass over the data ([`crate::primitives::look_back`]).

use crate::primitives::look_back;
use crate::seam::{Block, Global, Shared, Tile, Work, vectorized};
use crate::types::{KeyWord, Scalar};

/// The count of threads of a block.
const THREADS: usize = 256;
/// The most items of a thread.
const MAX_ITEMS: usize = 28;

/// Returns the count of items of a thread. It is smaller for wide items, so that they fit the
/// registers.
const fn items<T: Scalar>() -> usize {
    if T::BITS == 32 { MAX_ITEMS } else { MAX_ITEMS / 2 }
}

/// Returns the count of items of a tile, which one block compacts.
pub const fn tile<T: Scalar>() -> u64 {
    (THREADS * items::<T>()) as u64
}

const WARPS: u32 = THREADS as u32 / 32;

/// Returns the count of words in which a compaction of `items` items publishes its sums. All words
/// must be 0 before the launch.
pub const fn state_words<T: Scalar>(items: u64) -> u64 {
    look_back::words::<u32>(items.div_ceil(tile::<T>()))
}

/// The arguments of a compaction.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompactParams {
    /// The count of items, below 2^32.
    pub items: u64,
}

kernel! {
    /// Writes the items `input[i]` whose bit `i mod 32` of `keep[i / 32]` is set to the front of
    /// `output`, in their order, and their count to `count`. `output` must not be `input`. The
    /// launch has one block for each [`tile`]; `state` has [`state_words`].
    Compact<T: Scalar>, "compact", threads 256, resident 4, cpu cores, shared ticket: u64 = 1, shared sums: u32 = 17;
    { input: Global<T>, keep: Global<u32>, output: Global<T>, count: Global<u32>, state: Global<u64>, plan: CompactParams }
}

impl<T: Scalar> Compact<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<u32>) {
        let args = self;
        compact(block, (ticket, sums), &args.source(), |target, _, item| args.output.store(target, item));
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, _: B::Shared<u32>) {
        let args = self;
        compact_in_turn(block, ticket, &args.source(), |target, _, item| args.output.store(target, item));
    }

    #[inline(always)]
    fn source(&self) -> Source<T> {
        Source { input: self.input, keep: self.keep, count: self.count, state: self.state, plan: self.plan }
    }
}

/// The arguments of a compaction of runs of equal keys.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RunsParams {
    /// The count of keys, below 2^32.
    pub items: u64,
    /// The first constant that the keys are mixed with.
    pub a: u64,
    /// The second constant that the keys are mixed with.
    pub b: u64,
}

kernel! {
    /// Compacts mixed keys as [`Compact`] does, but writes the keys unmixed to `output`, and their
    /// indices in the input to `ends`.
    CompactRuns<K: KeyWord>, "compact_runs", threads 256, resident 4, cpu cores, shared ticket: u64 = 1, shared sums: u32 = 17;
    {
        input: Global<K>, keep: Global<u32>, output: Global<K>, ends: Global<u32>, count: Global<u32>, state: Global<u64>,
        plan: RunsParams,
    }
}

impl<K: KeyWord> CompactRuns<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<u32>) {
        let args = self;
        compact(block, (ticket, sums), &args.source(), |target, index, item| args.write(target, index, item));
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, _: B::Shared<u32>) {
        let args = self;
        compact_in_turn(block, ticket, &args.source(), |target, index, item| args.write(target, index, item));
    }

    #[inline(always)]
    fn source(&self) -> Source<K> {
        let plan = CompactParams { items: self.plan.items };
        Source { input: self.input, keep: self.keep, count: self.count, state: self.state, plan }
    }

    #[inline(always)]
    fn write(&self, target: u64, index: u64, item: K) {
        self.output.store(target, item.unmixed(self.plan.a, self.plan.b));
        self.ends.store(target, index as u32);
    }
}

/// The arguments of [`SortedRuns`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SortedRunsParams {
    /// The count of keys, below 2^32.
    pub items: u64,
    /// The most runs that are written; all runs are counted.
    pub capacity: u64,
}

kernel! {
    /// Compacts sorted keys as [`Compact`] does. Sets `starts[r + 1]` to the index after the last
    /// item of run `r`, and `starts[0]` to 0. `keep` has a set bit for the last item of each run.
    SortedRuns<K: KeyWord>, "sorted_runs", threads 256, resident 4, cpu cores, shared ticket: u64 = 1, shared sums: u32 = 17;
    {
        input: Global<K>, keep: Global<u32>, output: Global<K>, starts: Global<u32>, count: Global<u32>, state: Global<u64>,
        plan: SortedRunsParams,
    }
}

impl<K: KeyWord> SortedRuns<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<u32>) {
        let args = self;
        compact(block, (ticket, sums), &args.source(), |target, index, item| args.write(target, index, item));
        let is_first = block.index() == 0;
        block.each_thread(|thread| {
            if thread == 0 && is_first {
                args.starts.store(0, 0);
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, _: B::Shared<u32>) {
        let args = self;
        compact_in_turn(block, ticket, &args.source(), |target, index, item| args.write(target, index, item));
        if block.index() == 0 {
            args.starts.store(0, 0);
        }
    }

    #[inline(always)]
    fn source(&self) -> Source<K> {
        let plan = CompactParams { items: self.plan.items };
        Source { input: self.input, keep: self.keep, count: self.count, state: self.state, plan }
    }

    #[inline(always)]
    fn write(&self, target: u64, index: u64, item: K) {
        if target < self.plan.capacity {
            self.output.store(target, item);
            self.starts.store(target + 1, index as u32 + 1);
        }
    }
}

/// The input of a compaction, and the words in which tiles publish sums.
struct Source<T> {
    input: Global<T>,
    keep: Global<u32>,
    count: Global<u32>,
    state: Global<u64>,
    plan: CompactParams,
}

/// Passes each kept item to `write`, with its offsets in the output and in the input.
#[inline(always)]
fn compact<T: Scalar, B: Block>(
    block: &mut B,
    (ticket, sums): (impl Shared<u64>, impl Shared<u32>),
    from: &Source<T>,
    write: impl Fn(u64, u64, T) + Sync,
) {
    let tiles = from.plan.items.div_ceil(tile::<T>());
    look_back::take_ticket(block, ticket, from.state);
    let mut held = block.local(|_| Held { items: [T::default(); MAX_ITEMS], keep: 0, before: 0, ahead: 0 });
    block.tiles_of(&mut held, |warp, held| {
        let first_thread = warp.first_thread();
        warp.each(held, |lane, held| {
            let (first, left) = rows::<T>(&from.plan, ticket.get(0), first_thread);
            held.keep = keep_of(from.keep, first, left, lane, items::<T>() as u32);
            let (first, left) = rows::<T>(&from.plan, ticket.get(0) + look_back::ahead(tiles), first_thread);
            held.ahead = keep_of(from.keep, first, left, lane, items::<T>() as u32);
            // All items are loaded, whether they are kept or not, so that the loads need not wait
            // for the words of `keep`.
            let (first, left) = rows::<T>(&from.plan, ticket.get(0), first_thread);
            let input = from.input.offset(first + lane as u64);
            for row in 0..items::<T>() {
                if row as u32 * 32 + lane < left {
                    held.items[row] = input.load_streaming(row as u64 * 32);
                }
            }
        });
        warp.exclusive_sum(
            held,
            |_, held| held.keep.count_ones(),
            |lane, held, before, total| {
                held.before = before;
                if lane == 0 {
                    sums.set(first_thread / 32, total);
                }
            },
        );
        warp.exclusive_sum(
            held,
            |_, held| held.ahead.count_ones(),
            |lane, _, _, total| {
                if lane == 0 {
                    sums.set(WARPS + 1 + first_thread / 32, total);
                }
            },
        );
    });
    block.sync();
    look_back::sum_before(block, sums, WARPS, ticket, from.state, tiles);
    block.tiles_of(&mut held, |warp, held| {
        let before_warp = sums.get(warp.first_thread() / 32);
        let (first, _) = rows::<T>(&from.plan, ticket.get(0), warp.first_thread());
        for row in 0..items::<T>() {
            let keep = warp.pick(held, row as u32, |held| held.keep);
            let before = before_warp + warp.pick(held, row as u32, |held| held.before);
            warp.each(held, |lane, held| {
                if keep >> lane & 1 != 0 {
                    let rank = (keep & ((1 << lane) - 1)).count_ones();
                    write((before + rank) as u64, first + row as u64 * 32 + lane as u64, held.items[row]);
                }
            });
        }
    });
    block.each(&mut held, |thread, _| {
        if thread == 0 && (ticket.get(0) + 1) * tile::<T>() >= from.plan.items {
            from.count.store(0, sums.get(WARPS));
        }
    });
}

/// Compacts a tile with one thread.
#[inline(always)]
fn compact_in_turn<T: Scalar, B: Block>(
    block: &mut B,
    ticket: B::Shared<u64>,
    from: &Source<T>,
    write: impl Fn(u64, u64, T),
) {
    look_back::take_ticket(block, ticket, from.state);
    let index = ticket.get(0);
    // Tiles begin at whole words of `keep`.
    const { assert!(tile::<T>().is_multiple_of(32)) };
    let (input, keep, items) = (from.input, from.keep, from.plan.items);
    let first = index * tile::<T>();
    let here = items.saturating_sub(first).min(tile::<T>());
    let words = here.div_ceil(32);
    // The bits of a word of `keep` that belong to items.
    let word = |number: u64| {
        let beyond = (32 * (number + 1)).saturating_sub(here) as u32;
        keep.load_read_only(first / 32 + number) & u32::MAX >> beyond
    };
    let own: u32 = (0..words).map(|number| word(number).count_ones()).sum();
    let mut target = look_back::sum_before_in_turn(from.state, index, own) as u64;
    for number in 0..words {
        let (mut bits, at) = (word(number), first + 32 * number);
        if bits == u32::MAX {
            for item in 0..32 {
                write(target + item, at + item, input.load_streaming(at + item));
            }
            target += 32;
            continue;
        }
        // At most 64 steps: each clears a bit.
        while bits != 0 {
            let item = at + bits.trailing_zeros() as u64;
            write(target, item, input.load_streaming(item));
            target += 1;
            bits &= bits - 1;
        }
    }
    if first + here >= items {
        from.count.store(0, target as u32);
    }
}

/// The state of a thread. `items[i]` is the thread's item in row `i` of its warp. The other fields
/// are for the row with the lane's index.
struct Held<T> {
    items: [T; MAX_ITEMS],
    /// The bits of the row's kept items.
    keep: u32,
    /// The count of kept items in the rows before.
    before: u32,
    /// The bits of the kept items of the same row in the tile [`look_back::ahead`].
    ahead: u32,
}

/// Returns the bits of the kept items of row `row`, where a warp has `rows` rows. `first` is the
/// warp's first item, and `left` the count of items from there to the end of the input.
#[inline(always)]
fn keep_of(keep: Global<u32>, first: u64, left: u32, row: u32, rows: u32) -> u32 {
    let beyond = (row * 32 + 32).saturating_sub(left);
    if row >= rows || beyond >= 32 { 0 } else { keep.load_read_only(first / 32 + row as u64) & u32::MAX >> beyond }
}

/// Returns the first item of the warp that begins with `thread`, and the count of items from there
/// to the end of the input. The count is capped, but never below the count of items in the warp's
/// rows.
#[inline(always)]
fn rows<T: Scalar>(plan: &CompactParams, index: u64, thread: u32) -> (u64, u32) {
    let first = index * tile::<T>() + thread as u64 * items::<T>() as u64;
    (first, plan.items.saturating_sub(first).min(1 << 30) as u32)
}

kernel! {
    /// Inverts the bits of all items in `keep`, and the bits after them in the last word: kept
    /// items are then left out, and left-out items are kept. One thread inverts a word.
    Invert<>, "flip", threads 256;
    { keep: Global<u32>, plan: CompactParams }
}

impl Invert {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let word = first + thread as u64;
            if word < args.plan.items.div_ceil(32) {
                args.keep.store(word, !args.keep.load(word));
            }
        });
    }
}

kernel! {
    /// Sets bit `i mod 32` of `keep[i / 32]` if `keys[i]` is the last key of its run of equal keys.
    /// There are `items` keys, which are sorted. Bits after the last key become 0.
    LastOfEach<K: KeyWord>, "last_of_each", threads 256, cpu cores;
    { keys: Global<K>, keep: Global<u32>, plan: CompactParams }
}

impl<K: KeyWord> LastOfEach<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let block_first = block.first_thread();
        block.tiles(|warp| {
            let first = block_first + warp.first_thread() as u64;
            let mut last = warp.local(|lane| {
                let index = first + lane as u64;
                index < args.plan.items
                    && (index + 1 == args.plan.items
                        || args.keys.load_read_only(index) != args.keys.load_read_only(index + 1))
            });
            let keep = warp.ballot(&last, |_, &last| last);
            warp.each(&mut last, |lane, _| {
                if lane == 0 && first < args.plan.items {
                    args.keep.store(first / 32, keep);
                }
            });
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let Self { keys, keep, plan: CompactParams { items } } = self;
        let first = block.first_thread();
        let end = items.min(first + block.threads() as u64);
        vectorized(FlagsInTurn { keys, keep, first, end, items });
    }
}

/// The work of one thread that sets the flags of the keys `first..end`. `first` is a multiple of
/// 32.
struct FlagsInTurn<K> {
    keys: Global<K>,
    keep: Global<u32>,
    first: u64,
    end: u64,
    items: u64,
}

impl<K: KeyWord> Work for FlagsInTurn<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, keep, first, end, items } = self;
        let mut at = first;
        while at < end {
            // The last key of all has no next key to compare with.
            let compared = (items - 1 - at).min(32);
            let mut bits = if compared < 32 { 1 << compared } else { 0 };
            for item in 0..compared {
                let differs = keys.load_read_only(at + item) != keys.load_read_only(at + item + 1);
                bits |= (differs as u32) << item;
            }
            keep.store(at / 32, bits);
            at += 32;
        }
    }
}
