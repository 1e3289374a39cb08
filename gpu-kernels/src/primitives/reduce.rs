//! Sums, minima and maxima of the segments of an array.
//!
//! A block reduces the segments that begin in its tile, as far as they are in it, and the head: the
//! items of a segment that began in an earlier tile. A second kernel adds the heads to their
//! segments' results. The order in which items are combined depends only on the segments, so sums
//! of floating-point numbers are the same in every run.

use super::combine::Results;
pub use super::combine::{Combine, ReduceParams, SumKind};
use crate::seam::{Block, Global, Shared};
use crate::types::Scalar;

/// The count of threads of a block.
const THREADS: u32 = 256;
/// The count of items of a tile.
pub const TILE: u64 = 4096;
/// The maximal length of a segment that a single thread reduces, in items.
const SHORT: u64 = 32;
/// The most longer segments in a tile.
const MAX_LONG: u32 = TILE as u32 / (SHORT as u32 + 1);
/// The most long segments that a block reduces concurrently, each with an equal part of the
/// threads.
const AT_ONCE: u32 = 8;
/// The id of the head's segment in a tile that has no head.
const NONE: u32 = u32::MAX;

kernel! {
    /// Reduces, for each segment `s`, the items `starts[s]..starts[s + 1]` of `values`, as far as
    /// they are in the tile where the segment begins. Sums are written to `sums`; minima and maxima
    /// are written to `results`, and `sums` is then null.
    ///
    /// The head of tile `t`, whose segment `head_ids[t]` began in an earlier tile, is reduced to
    /// `heads[t]`; `head_ids[t]` is all ones if the tile has no head. The launch has a block for
    /// each [`TILE`], and one block if there are no items.
    ///
    /// `segments_on` points to the count of segments, unless it is null. Of more than the
    /// `segments` of the plan, only the first `segments` are reduced. If `starts` does not ascend,
    /// results are unspecified.
    ReduceSegments<W: Scalar>, "reduce_segments", threads 256, resident 4, cpu cores, shared staging: W = 4096,
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
        let segments = args.segments();
        let tile = args.tile(block, segments, |block, item| starts_below(block, args.starts, segments, item));
        let mut nothing = block.local(|_| ());
        // Word 0 of `long` is the count of segments that more than one thread reduces. The head, if
        // there is one, is the first of these.
        block.phase(&mut nothing, |thread, _| {
            let mut item = tile.first + thread as u64;
            while item < tile.end {
                staging.set((item - tile.first) as u32, args.values.load_streaming(item));
                item += THREADS as u64;
            }
            if thread == 0 {
                args.head_ids.store(tile.number, tile.head_id);
                long.set(0, (tile.head_id != NONE) as u32);
            }
        });
        args.reduce_short(block, &tile, staging, long);
        args.reduce_long(block, &tile, staging, long, partials);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<W>, _: B::Shared<u32>, _: B::Shared<u64>) {
        let args = self;
        let segments = args.segments();
        let tile = args.tile(block, segments, |_, item| {
            let (mut low, mut high) = (0, segments);
            // At most 64 steps: each halves the range.
            while low < high {
                let middle = (low + high) / 2;
                if (args.starts.load_read_only(middle) as u64) < item {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        });
        let reduced = |(start, stop): (u64, u64)| {
            let mut sum = 0;
            for item in start..stop {
                sum = args.plan.combined(sum, args.plan.item(args.values.load_streaming(item)));
            }
            sum
        };
        args.head_ids.store(tile.number, tile.head_id);
        if tile.head_id != NONE {
            args.heads.store(tile.number, reduced((tile.first, tile.head_end)));
        }
        for segment in tile.from..tile.to {
            args.results().store(segment, reduced(args.range(&tile, segment)));
        }
    }

    /// Returns the count of segments.
    #[inline(always)]
    fn segments(&self) -> u64 {
        if self.segments_on.is_null() {
            self.plan.segments
        } else {
            self.plan.segments.min(self.segments_on.load_read_only(0) as u64)
        }
    }

    /// Returns the block's tile. `starts_below` counts the segments that start below an item.
    #[inline(always)]
    fn tile<B: Block>(&self, block: &mut B, segments: u64, starts_below: impl Fn(&mut B, u64) -> u64) -> Tile {
        let number = block.index() as u64;
        let first = number * TILE;
        let end = self.plan.items.min(first + TILE);
        let from = if number == 0 { 0 } else { starts_below(block, first) };
        let is_last = number + 1 == block.grid() as u64;
        let to = if is_last { segments } else { starts_below(block, end) };
        let head_end = if from == 0 { first } else { (self.starts.load_read_only(from) as u64).clamp(first, end) };
        let head_id = if head_end > first { (from - 1) as u32 } else { NONE };
        Tile { number, first, end, from, to, head_end, head_id }
    }

    #[inline(always)]
    fn results(&self) -> Results<W> {
        Results { sums: self.sums, values: self.results, plan: self.plan }
    }

    /// Returns the items of a segment that begins in the tile.
    #[inline(always)]
    fn range(&self, &Tile { first, end, .. }: &Tile, segment: u64) -> (u64, u64) {
        let start = (self.starts.load_read_only(segment) as u64).clamp(first, end.max(first));
        let stop = (self.starts.load_read_only(segment + 1) as u64).clamp(start, end.max(start));
        (start, stop)
    }

    /// Reduces each short segment with one thread, and lists the long segments.
    #[inline(always)]
    fn reduce_short<B: Block>(&self, block: &mut B, tile: &Tile, staging: impl Shared<W>, long: impl Shared<u32>) {
        let (plan, results) = (self.plan, self.results());
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let mut segment = tile.from + thread as u64;
            while segment < tile.to {
                let (start, stop) = self.range(tile, segment);
                if stop - start > SHORT {
                    let place = long.fetch_add(0, 1);
                    if place <= MAX_LONG {
                        long.set(1 + place, (segment - tile.from) as u32);
                    }
                } else {
                    let mut sum = 0;
                    for item in start..stop {
                        sum = plan.combined(sum, plan.item(staging.get((item - tile.first) as u32)));
                    }
                    results.store(segment, sum);
                }
                segment += THREADS as u64;
            }
        });
    }

    /// Reduces the listed long segments, several at a time, each with an equal part of the threads.
    #[inline(always)]
    fn reduce_long<B: Block>(
        &self,
        block: &mut B,
        tile: &Tile,
        staging: impl Shared<W>,
        long: impl Shared<u32>,
        partials: impl Shared<u64>,
    ) {
        let (plan, results) = (self.plan, self.results());
        let mut nothing = block.local(|_| ());
        let count = long.get(0).min(MAX_LONG + 1);
        let at_once = count.next_power_of_two().min(AT_ONCE);
        let width = THREADS / at_once;
        // The items of the long segment with index `place` in the list.
        let long_range = |place: u32| {
            if place >= count {
                (0, 0)
            } else if place == 0 && tile.head_id != NONE {
                (tile.first, tile.head_end)
            } else {
                self.range(tile, tile.from + long.get(1 + place) as u64)
            }
        };
        let mut done = 0;
        while done < count {
            block.phase(&mut nothing, |thread, _| {
                let (start, stop) = long_range(done + thread / width);
                let mut sum = 0;
                let mut item = start + (thread % width) as u64;
                while item < stop {
                    sum = plan.combined(sum, plan.item(staging.get((item - tile.first) as u32)));
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
                if place == 0 && tile.head_id != NONE {
                    self.heads.store(tile.number, sum);
                } else {
                    results.store(tile.from + long.get(1 + place) as u64, sum);
                }
            });
            done += at_once;
        }
    }
}

/// The tile of a block.
struct Tile {
    number: u64,
    /// The items of the tile are `first..end`.
    first: u64,
    end: u64,
    /// The segments that begin in the tile are `from..to`.
    from: u64,
    to: u64,
    /// The end of the head: the first item that is not of an earlier segment.
    head_end: u64,
    /// The id of the segment that the head belongs to, or [`NONE`].
    head_id: u32,
}

kernel! {
    /// Adds the heads of tiles, which [`ReduceSegments`] has written with the same arguments, to
    /// the results of their segments. The launch has one block for each tile.
    AddHeads<W: Scalar>, "add_heads", threads 256, cpu cores, shared partials: u64 = 256;
    {
        starts: Global<u32>, sums: Global<u64>, results: Global<W>, head_ids: Global<u32>, heads: Global<u64>,
        plan: ReduceParams,
    }
}

impl<W: Scalar> AddHeads<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, partials: B::Shared<u64>) {
        let args = self;
        let (plan, tile) = (args.plan, block.index() as u64);
        let Some((id, last)) = args.segment(tile, block.grid()) else { return };
        let results = Results { sums: args.sums, values: args.results, plan };
        let mut nothing = block.local(|_| ());
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

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, _: B::Shared<u64>) {
        let (plan, tile) = (self.plan, block.index() as u64);
        let Some((id, last)) = self.segment(tile, block.grid()) else { return };
        let mut sum = 0;
        for head in tile..=last {
            sum = plan.combined(sum, self.heads.load(head));
        }
        Results { sums: self.sums, values: self.results, plan }.add(id as u64, sum);
    }

    /// Returns the segment whose heads the block of `tile` adds, and the tile of the segment's last
    /// head. There is such a segment if the tile's own head is the first head of its segment.
    #[inline(always)]
    fn segment(&self, tile: u64, tiles: u32) -> Option<(u32, u64)> {
        let id = self.head_ids.load_read_only(tile);
        if id == NONE || self.head_ids.load_read_only(tile - 1) == id {
            return None;
        }
        let last = self.starts.load_read_only(id as u64 + 1).saturating_sub(1) as u64 / TILE;
        Some((id, last.min(tiles as u64 - 1)))
    }
}

/// Combines each group of `width` partial results into the first of the group. A barrier must
/// precede the call, and one ends it.
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

/// Returns the count of starts below `item`, among `segments` ascending starts. Each thread of the
/// block examines one start per step.
#[inline(always)]
fn starts_below<B: Block>(block: &mut B, starts: Global<u32>, segments: u64, item: u64) -> u64 {
    let below = |segment: u64| (starts.load_read_only(segment) as u64) < item;
    let (mut low, mut high) = (0, segments);
    let mut nothing = block.local(|_| ());
    // At most 64 steps: each step leaves less than half of the range.
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
