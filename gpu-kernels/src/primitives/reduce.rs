//! Sums, minima and maxima of the segments of an array.
//!
//! A block reduces the segments that begin in its tile, as far as the tile reaches, and the head of
//! the tile: the items of a segment that began before it. Then the heads are added to their
//! segments. Items are combined in an order that depends on nothing but the segments. So sums of
//! floating-point numbers are the same from run to run.

use crate::column::ColumnParams;
use crate::seam::{Block, Global, Shared};
use crate::types::Scalar;

/// The number of threads of a block.
const THREADS: u32 = 256;
/// The number of items of a tile.
pub const TILE: u64 = 4096;
/// The most items of a segment that one thread reduces.
const SHORT: u64 = 32;
/// The most segments of a tile that are longer.
const MAX_LONG: u32 = TILE as u32 / (SHORT as u32 + 1);
/// The most segments that the threads of a block reduce together, a part of the threads each.
const AT_ONCE: u32 = 8;
/// The number of the segment of a tile's head if there is none.
const NONE: u32 = u32::MAX;

/// A function that combines two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Combine {
    /// The sum of [widened](ColumnParams::widened) words, wrapping.
    Sum,
    /// The sum of the [upper halves](ColumnParams::upper_half) of words, wrapping.
    SumOfUpper,
    /// The sum of floating-point numbers, as `f64`.
    SumOfFloats,
    /// The least, by [`ColumnParams::min_rank`].
    Min,
    /// The greatest, by [`ColumnParams::max_rank`].
    Max,
}

/// The scalar arguments of a reduction.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReduceParams {
    /// How items are added and compared.
    pub column: ColumnParams,
    /// The number of items.
    pub items: u64,
    /// The number of segments, below 2^32 - 1, if no count on the device says it.
    pub segments: u64,
    /// A [`Combine`].
    pub combine: u32,
    /// 0.
    pub padding: u32,
}

impl ReduceParams {
    /// Combines two results, which are 0 of no items: sums or ranks.
    #[inline(always)]
    fn combined(self, a: u64, b: u64) -> u64 {
        if self.combine == Combine::Sum as u32 || self.combine == Combine::SumOfUpper as u32 {
            a.wrapping_add(b)
        } else if self.combine == Combine::SumOfFloats as u32 {
            (f64::from_bits(a) + f64::from_bits(b)).to_bits()
        } else {
            a.max(b)
        }
    }

    /// Returns the word by which an item is combined.
    #[inline(always)]
    fn item<W: Scalar>(self, word: W) -> u64 {
        if self.combine == Combine::Sum as u32 {
            self.column.widened(word)
        } else if self.combine == Combine::SumOfUpper as u32 {
            self.column.upper_half(word)
        } else if self.combine != Combine::SumOfFloats as u32 {
            self.rank(word)
        } else if W::BITS == 32 {
            (f32::from_bits(word.bits_from(0)) as f64).to_bits()
        } else {
            word.to_u64()
        }
    }

    #[inline(always)]
    fn rank<W: Scalar>(self, word: W) -> u64 {
        let is_min = self.combine == Combine::Min as u32;
        if is_min { self.column.min_rank(word).to_u64() } else { self.column.max_rank(word).to_u64() }
    }

    #[inline(always)]
    fn of_rank<W: Scalar>(self, rank: u64) -> W {
        let (is_min, rank) = (self.combine == Combine::Min as u32, W::from_u64(rank));
        if is_min { self.column.of_min_rank(rank) } else { self.column.of_max_rank(rank) }
    }
}

/// The arrays of results: one of the two is null.
#[derive(Clone, Copy)]
struct Results<W> {
    sums: Global<u64>,
    values: Global<W>,
    plan: ReduceParams,
}

impl<W: Scalar> Results<W> {
    #[inline(always)]
    fn store(self, segment: u64, combined: u64) {
        if self.sums.is_null() {
            self.values.store(segment, self.plan.of_rank(combined));
        } else {
            self.sums.store(segment, combined);
        }
    }

    /// Combines a result that was stored with more items.
    #[inline(always)]
    fn add(self, segment: u64, more: u64) {
        let held =
            if self.sums.is_null() { self.plan.rank(self.values.load(segment)) } else { self.sums.load(segment) };
        self.store(segment, self.plan.combined(held, more));
    }
}

kernel! {
    /// Reduces, for each segment `s`, the items `starts[s]..starts[s + 1]` of `values`, as far as
    /// they are in the tile where the segment begins. The results of sums go to `sums`, which is
    /// null if the least or greatest items are wanted: those go to `results`.
    ///
    /// The head of tile `t`, whose segment `head_ids[t]` began in an earlier tile, is reduced to
    /// `heads[t]`; `head_ids[t]` is all ones if there is none. One block a [`TILE`], and one if
    /// there are no items.
    ///
    /// `segments_on`, if it is not null, has the number of segments; it may be more than the
    /// `segments` of the plan, which are the most that are reduced. `starts` ascends; otherwise
    /// results are unspecified.
    ReduceSegments<W: Scalar>, "reduce_segments", threads 256, resident 4, shared staging: W = 4096,
        shared long: u32 = 128, shared partials: u64 = 256;
    {
        values: Global<W>, starts: Global<u32>, segments_on: Global<u32>, sums: Global<u64>, results: Global<W>,
        head_ids: Global<u32>, heads: Global<u64>, plan: ReduceParams,
    }
}

impl<W: Scalar> ReduceSegments<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, staging: B::Shared<W>, long: B::Shared<u32>, partials: B::Shared<u64>) {
        let args = self;
        let plan = args.plan;
        let segments = if args.segments_on.is_null() {
            plan.segments
        } else {
            plan.segments.min(args.segments_on.load_read_only(0) as u64)
        };
        let tile = block.index() as u64;
        let first = tile * TILE;
        let end = plan.items.min(first + TILE);
        let from = if tile == 0 { 0 } else { starts_below(block, args.starts, segments, first) };
        let is_last = tile + 1 == block.grid() as u64;
        let to = if is_last { segments } else { starts_below(block, args.starts, segments, end) };
        let results = Results { sums: args.sums, values: args.results, plan };
        // The first item that belongs to no segment of an earlier tile.
        let head_end = if from == 0 { first } else { (args.starts.load_read_only(from) as u64).clamp(first, end) };
        let head_id = if head_end > first { (from - 1) as u32 } else { NONE };
        // The items of a segment that begins in this tile.
        let range = |segment: u64| {
            let start = (args.starts.load_read_only(segment) as u64).clamp(first, end.max(first));
            let stop = (args.starts.load_read_only(segment + 1) as u64).clamp(start, end.max(start));
            (start, stop)
        };
        let mut nothing = block.local(|_| ());
        if B::IN_TURN {
            let reduced = |start: u64, stop: u64| {
                let mut sum = 0;
                for item in start..stop {
                    sum = plan.combined(sum, plan.item(args.values.load_streaming(item)));
                }
                sum
            };
            args.head_ids.store(tile, head_id);
            if head_id != NONE {
                args.heads.store(tile, reduced(first, head_end));
            }
            for segment in from..to {
                let (start, stop) = range(segment);
                results.store(segment, reduced(start, stop));
            }
            return;
        }

        // Word 0 of `long` is the number of segments that take more than one thread. The head is
        // the first of them, if there is one.
        block.phase(&mut nothing, |thread, _| {
            let mut item = first + thread as u64;
            while item < end {
                staging.set((item - first) as u32, args.values.load_streaming(item));
                item += THREADS as u64;
            }
            if thread == 0 {
                args.head_ids.store(tile, head_id);
                long.set(0, (head_id != NONE) as u32);
            }
        });
        let staged = |item: u64| plan.item(staging.get((item - first) as u32));
        block.phase(&mut nothing, |thread, _| {
            let mut segment = from + thread as u64;
            while segment < to {
                let (start, stop) = range(segment);
                if stop - start > SHORT {
                    let place = long.fetch_add(0, 1);
                    if place <= MAX_LONG {
                        long.set(1 + place, (segment - from) as u32);
                    }
                } else {
                    let mut sum = 0;
                    for item in start..stop {
                        sum = plan.combined(sum, staged(item));
                    }
                    results.store(segment, sum);
                }
                segment += THREADS as u64;
            }
        });

        let count = long.get(0).min(MAX_LONG + 1);
        let at_once = count.next_power_of_two().min(AT_ONCE);
        let width = THREADS / at_once;
        // The items of the long segment that a thread has a share of.
        let long_range = |place: u32| {
            if place >= count {
                (0, 0)
            } else if place == 0 && head_id != NONE {
                (first, head_end)
            } else {
                range(from + long.get(1 + place) as u64)
            }
        };
        let mut done = 0;
        while done < count {
            block.phase(&mut nothing, |thread, _| {
                let (start, stop) = long_range(done + thread / width);
                let mut sum = 0;
                let mut item = start + (thread % width) as u64;
                while item < stop {
                    sum = plan.combined(sum, staged(item));
                    item += width as u64;
                }
                partials.set(thread, sum);
            });
            add_up(block, partials, width, plan);
            block.phase(&mut nothing, |thread, _| {
                let place = done + thread / width;
                if thread % width != 0 || place >= count {
                    return;
                }
                let sum = partials.get(thread);
                if place == 0 && head_id != NONE {
                    args.heads.store(tile, sum);
                } else {
                    results.store(from + long.get(1 + place) as u64, sum);
                }
            });
            done += at_once;
        }
    }
}

kernel! {
    /// Adds the heads of tiles, which [`ReduceSegments`] has written with the same arguments, to
    /// the results of their segments. One block a tile.
    AddHeads<W: Scalar>, "add_heads", threads 256, shared partials: u64 = 256;
    {
        starts: Global<u32>, sums: Global<u64>, results: Global<W>, head_ids: Global<u32>, heads: Global<u64>,
        plan: ReduceParams,
    }
}

impl<W: Scalar> AddHeads<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, partials: B::Shared<u64>) {
        let args = self;
        let plan = args.plan;
        let tile = block.index() as u64;
        let id = args.head_ids.load_read_only(tile);
        // The block of a segment's first head adds all of them.
        if id == NONE || args.head_ids.load_read_only(tile - 1) == id {
            return;
        }
        let last = args.starts.load_read_only(id as u64 + 1).saturating_sub(1) as u64 / TILE;
        let last = last.min(block.grid() as u64 - 1);
        let results = Results { sums: args.sums, values: args.results, plan };
        let mut nothing = block.local(|_| ());
        if B::IN_TURN {
            let mut sum = 0;
            for head in tile..=last {
                sum = plan.combined(sum, args.heads.load(head));
            }
            results.add(id as u64, sum);
            return;
        }
        block.phase(&mut nothing, |thread, _| {
            let mut sum = 0;
            let mut head = tile + thread as u64;
            while head <= last {
                sum = plan.combined(sum, args.heads.load_read_only(head));
                head += THREADS as u64;
            }
            partials.set(thread, sum);
        });
        add_up(block, partials, THREADS, plan);
        block.each(&mut nothing, |thread, _| {
            if thread == 0 {
                results.add(id as u64, partials.get(0));
            }
        });
    }
}

/// Combines each `width` partial results in the first of them. A barrier comes before it and ends
/// it.
#[inline(always)]
fn add_up<B: Block>(block: &mut B, partials: impl Shared<u64>, width: u32, plan: ReduceParams) {
    let mut nothing = block.local(|_| ());
    let mut half = width / 2;
    // At most ten steps: each halves the width.
    while half != 0 {
        block.phase(&mut nothing, |thread, _| {
            if thread % width < half {
                partials.set(thread, plan.combined(partials.get(thread), partials.get(thread + half)));
            }
        });
        half /= 2;
    }
}

/// Returns the number of starts below `item`, of `segments` that ascend. The threads of a block
/// look at as many starts at once.
#[inline(always)]
fn starts_below<B: Block>(block: &mut B, starts: Global<u32>, segments: u64, item: u64) -> u64 {
    let below = |segment: u64| (starts.load_read_only(segment) as u64) < item;
    let (mut low, mut high) = (0, segments);
    if B::IN_TURN {
        // At most 64 steps: each halves the range.
        while low < high {
            let middle = (low + high) / 2;
            if below(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    let mut nothing = block.local(|_| ());
    // At most 64 steps: each leaves less than half of the range.
    while low < high {
        let step = (high - low).div_ceil(THREADS as u64);
        let count = block.count(&mut nothing, |thread, _| {
            let segment = low + thread as u64 * step;
            segment < high && below(segment)
        }) as u64;
        if count == 0 {
            break;
        }
        high = high.min(low + count * step);
        low += (count - 1) * step + 1;
    }
    low
}

/// The type of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SumKind {
    /// `u64`.
    Unsigned,
    /// `i64`.
    Signed,
    /// `f64`.
    Float,
}
