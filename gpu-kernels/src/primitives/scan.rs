//! Device-wide scans, exclusive and inclusive, in one pass over the data
//! ([`crate::primitives::look_back`]).

use crate::primitives::look_back;
use crate::seam::{Block, Global, Shared, Tile, Work, vectorized};
use crate::types::Scalar;

/// The count of threads of a block.
const THREADS: usize = 256;
/// The most items of a thread.
const MAX_ITEMS: usize = 32;
/// The count of items that a thread loads or stores at a time.
const FOUR: usize = 4;

/// Returns the count of items of a thread. It is smaller for wide items, so that they fit the
/// registers.
const fn items<T: Scalar>() -> usize {
    if T::BITS == 32 { MAX_ITEMS } else { 8 }
}

/// Returns the count of items of a tile, which one block scans.
pub const fn tile<T: Scalar>() -> u64 {
    (THREADS * items::<T>()) as u64
}

const WARPS: u32 = THREADS as u32 / 32;

/// Returns the count of words in which a scan of `items` items publishes its sums. All words must
/// be 0 before the launch.
pub const fn state_words<T: Scalar>(items: u64) -> u64 {
    look_back::words::<T>(items.div_ceil(tile::<T>()))
}

/// The arguments of a scan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScanParams {
    /// The count of items.
    pub items: u64,
}

/// The state of a thread. `fours[i]` is the thread's part of row `i` of its warp; adjacent lanes
/// hold adjacent parts of the row.
struct Held<T> {
    fours: [[T; FOUR]; MAX_ITEMS / FOUR],
    /// The sum of the warp's rows so far.
    sum: T,
    /// The sum of the thread's items of the tile [`look_back::ahead`].
    ahead: T,
}

kernel! {
    /// Sets `output[i]` to the wrapping sum of `input[..i]`. Unless `total` is null, sets it to the
    /// sum of all items. `output` may be `input`. The launch has one block for each [`tile`];
    /// `state` has [`state_words`].
    Scan<T: Scalar>, "scan", threads 256, resident 4, cpu cores, shared ticket: u64 = 1, shared sums: T = 17;
    { input: Global<T>, output: Global<T>, total: Global<T>, state: Global<u64>, plan: ScanParams }
}

kernel! {
    /// Sets `output[i]` to the wrapping sum of `input[..=i]`. Everything else is as for [`Scan`].
    InclusiveScan<T: Scalar>, "inclusive_scan", threads 256, resident 4, cpu cores,
        shared ticket: u64 = 1, shared sums: T = 17;
    { input: Global<T>, output: Global<T>, state: Global<u64>, plan: ScanParams }
}

impl<T: Scalar> Scan<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<T>) {
        self.scan::<B, false>(block, ticket, sums);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, _: B::Shared<T>) {
        look_back::take_ticket(block, ticket, self.state);
        self.scan_in_turn::<false>(ticket.get(0));
    }
}

impl<T: Scalar> InclusiveScan<T> {
    #[inline(always)]
    fn as_scan(self) -> Scan<T> {
        let Self { input, output, state, plan } = self;
        // SAFETY: `Scan` allows a null `total`. An inclusive scan has the total in its last item.
        let total = unsafe { Global::null() };
        Scan { input, output, total, state, plan }
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<T>) {
        self.as_scan().scan::<B, true>(block, ticket, sums);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, ticket: B::Shared<u64>, _: B::Shared<T>) {
        look_back::take_ticket(block, ticket, self.state);
        self.as_scan().scan_in_turn::<true>(ticket.get(0));
    }
}

impl<T: Scalar> Scan<T> {
    /// Scans a tile. If the scan is inclusive, each item is added to its own sum.
    #[inline(always)]
    fn scan<B: Block, const INCLUSIVE: bool>(self, block: &mut B, ticket: B::Shared<u64>, sums: B::Shared<T>) {
        let args = self;
        let tiles = args.plan.items.div_ceil(tile::<T>());
        look_back::take_ticket(block, ticket, args.state);
        let mut held = block.local(|_| Held {
            fours: [[T::default(); FOUR]; MAX_ITEMS / FOUR],
            sum: T::default(),
            ahead: T::default(),
        });
        block.tiles_of(&mut held, |warp, held| {
            let first_thread = warp.first_thread();
            warp.each(held, |lane, held| args.load(ticket.get(0), first_thread + lane, held));
            warp.each(held, |lane, held| {
                args.add_ahead(ticket.get(0) + look_back::ahead(tiles), first_thread + lane, held);
            });
            for row in 0..rows_of_warp::<T>() {
                warp.exclusive_sum(
                    held,
                    |_, held| held.fours[row].iter().fold(T::default(), |sum, &item| sum.plus(item)),
                    |_, held, before, total| {
                        let mut sum = held.sum.plus(before);
                        for i in 0..FOUR {
                            let item = held.fours[row][i];
                            let with_own = sum.plus(item);
                            held.fours[row][i] = if INCLUSIVE { with_own } else { sum };
                            sum = with_own;
                        }
                        held.sum = held.sum.plus(total);
                    },
                );
            }
            warp.each(held, |lane, held| {
                if lane == 0 {
                    sums.set(first_thread / 32, held.sum);
                }
            });
            warp.exclusive_sum(
                held,
                |_, held| held.ahead,
                |lane, _, _, total| {
                    if lane == 0 {
                        sums.set(WARPS + 1 + first_thread / 32, total);
                    }
                },
            );
        });
        block.sync();
        look_back::sum_before(block, sums, WARPS, ticket, args.state, tiles);
        block.each(&mut held, |thread, held| {
            args.store(ticket.get(0), thread, held, sums.get(thread / 32));
            if thread == 0 && (ticket.get(0) + 1) * tile::<T>() >= args.plan.items && !args.total.is_null() {
                args.total.store(0, sums.get(WARPS));
            }
        });
    }

    /// Loads a thread's items of a tile.
    #[inline(always)]
    fn load(&self, tile: u64, thread: u32, held: &mut Held<T>) {
        let (first, left) = rows::<T>(&self.plan, tile, thread);
        let input = self.input.offset(first);
        if whole::<T>(&self.plan, tile) {
            for row in 0..rows_of_warp::<T>() {
                held.fours[row] = input.load_four_streaming((row * ROW) as u64);
            }
        } else {
            for row in 0..rows_of_warp::<T>() {
                for i in 0..FOUR {
                    if ((row * ROW + i) as u32) < left {
                        held.fours[row][i] = input.load_streaming((row * ROW + i) as u64);
                    }
                }
            }
        }
    }

    /// Adds up a thread's items of the tile ahead, without keeping the items.
    #[inline(always)]
    fn add_ahead(&self, tile: u64, thread: u32, held: &mut Held<T>) {
        let (first, left) = rows::<T>(&self.plan, tile, thread);
        let input = self.input.offset(first);
        if whole::<T>(&self.plan, tile) {
            for row in 0..rows_of_warp::<T>() {
                let four = input.load_four((row * ROW) as u64);
                held.ahead = held.ahead.plus(four[0].plus(four[1])).plus(four[2].plus(four[3]));
            }
        } else {
            for row in 0..rows_of_warp::<T>() {
                for i in 0..FOUR {
                    if ((row * ROW + i) as u32) < left {
                        held.ahead = held.ahead.plus(input.load((row * ROW + i) as u64));
                    }
                }
            }
        }
    }

    /// Adds the sum before the warp to a thread's sums, and writes them.
    #[inline(always)]
    fn store(&self, tile: u64, thread: u32, held: &mut Held<T>, before: T) {
        let (first, left) = rows::<T>(&self.plan, tile, thread);
        let output = self.output.offset(first);
        for row in 0..rows_of_warp::<T>() {
            for i in 0..FOUR {
                held.fours[row][i] = before.plus(held.fours[row][i]);
            }
        }
        if whole::<T>(&self.plan, tile) {
            for row in 0..rows_of_warp::<T>() {
                output.store_four_streaming((row * ROW) as u64, held.fours[row]);
            }
        } else {
            for row in 0..rows_of_warp::<T>() {
                for i in 0..FOUR {
                    if ((row * ROW + i) as u32) < left {
                        output.store_streaming((row * ROW + i) as u64, held.fours[row][i]);
                    }
                }
            }
        }
    }

    /// Scans a tile with one thread.
    #[inline(always)]
    fn scan_in_turn<const INCLUSIVE: bool>(self, index: u64) {
        let Self { input, output, total, state, plan } = self;
        let first = index * tile::<T>();
        let here = plan.items.saturating_sub(first).min(tile::<T>());
        let own = vectorized(Sum { from: input.offset(first), here });
        let before = look_back::sum_before_in_turn(state, index, own);
        let (from, to) = (input.offset(first), output.offset(first));
        let mut sum = before;
        for item in 0..here {
            let value = from.load_streaming(item);
            let with_own = sum.plus(value);
            to.store(item, if INCLUSIVE { with_own } else { sum });
            sum = with_own;
        }
        if first + here >= plan.items && !total.is_null() {
            total.store(0, sum);
        }
    }
}

/// The work of one thread that adds up `here` items.
struct Sum<T> {
    from: Global<T>,
    here: u64,
}

impl<T: Scalar> Work for Sum<T> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let mut sum = T::default();
        for item in 0..self.here {
            sum = sum.plus(self.from.load_streaming(item));
        }
        sum
    }
}

/// The count of items of a warp's row.
const ROW: usize = 32 * FOUR;

/// Returns the count of rows of a warp.
const fn rows_of_warp<T: Scalar>() -> usize {
    items::<T>() / FOUR
}

/// Returns whether the tile is full.
#[inline(always)]
fn whole<T: Scalar>(plan: &ScanParams, index: u64) -> bool {
    (index + 1) * tile::<T>() <= plan.items
}

/// Returns the first item of a thread, and the count of items from there to the end of the input. A
/// thread has [`FOUR`] adjacent items in each row of its warp. The count is capped, but never below
/// what the thread's rows reach.
#[inline(always)]
fn rows<T: Scalar>(plan: &ScanParams, index: u64, thread: u32) -> (u64, u32) {
    let of_warp = (thread & !31) as u64 * items::<T>() as u64;
    let first = index * tile::<T>() + of_warp + (thread % 32) as u64 * FOUR as u64;
    (first, plan.items.saturating_sub(first).min(1 << 30) as u32)
}
