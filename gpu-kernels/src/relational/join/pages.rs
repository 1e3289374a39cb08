//! Joins of bins: a block loads the rows of a bin's build side on chip, and the rows of the bin's
//! probe side search their keys there.

use super::buckets::Page;
use super::emit::{Outputs, emit_last, emit_pairs};
use super::fill::{COUNTERS, TOTAL, fill};
use super::header;
use super::in_turn::JoinInTurn;
use super::probe::{HELD, ROUND_ROWS, THREADS, Thread, find, row};
use super::rows::{Bins, Rows};
use super::written::Emit;
use crate::seam::{Block, Global, Shared, opaque, vectorized};
use crate::split;
use crate::types::KeyWord;

/// The most rows of a page of a GPU. A larger bin is processed one page after the other.
pub const PAGE_ROWS: u32 = ROUND_ROWS;

/// The binary logarithm of the count of buckets of a page of a GPU.
pub const PAGE_BUCKET_BITS: u32 = 12;

/// The most probe rows of a work item.
pub const MAX_ITEM_ROWS: u32 = 8 * ROUND_ROWS;

/// The approximate count of row comparisons of a block, if the build side of its bin has several
/// pages. With the keys that cause such bins, it writes about as many pairs.
const COMPARED: u32 = 1 << 22;

/// The fewest probe rows of a work item, except for the last item of a bin.
pub const MIN_ITEM_ROWS: u32 = THREADS;

/// The scalar arguments of [`JoinPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinPagesParams {
    /// The first constant of the mix, if keys are written.
    pub a: u64,
    /// The inverse multiplier of the second constant.
    pub inverse_of_b: u64,
    /// The distance between the first build rows of two adjacent bins, or 0 if `build_counts`
    /// contains the starts of bins.
    pub build_capacity: u64,
    /// The same distance for the probe side.
    pub probe_capacity: u64,
    /// The capacity of the outputs, in pairs; if 0, pairs are only counted.
    pub capacity: u64,
    /// The outputs for a probe row, an [`Emit`].
    pub emit: u32,
    /// The count of bits of a bin's index.
    pub page_bits: u32,
    /// The most rows of a page: [`PAGE_ROWS`], or on CPU cores at most
    /// [`MAX_PAGE_ROWS`](super::MAX_PAGE_ROWS).
    pub page_rows: u32,
    /// The binary logarithm of the count of buckets of a page, at least 1.
    pub bucket_bits: u32,
    /// The most probe rows of a work item, from [`MIN_ITEM_ROWS`] to [`MAX_ITEM_ROWS`].
    pub item_rows: u32,
    /// 1 if the keys and row indices of the build side are in two arrays, as after a sort, or 0 if
    /// they are as after a split.
    pub build_apart: u32,
    /// The same flag for the probe side.
    pub probe_apart: u32,
    /// The most build rows of a bin that is not heavy; 2^32 - 1 if no bin is heavy.
    pub light_rows: u32,
    /// 1 if the launch joins only the heavy bins, and 0 if it joins all other bins.
    pub heavy: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Joins the rows of both sides of each bin, with a block for each bin. Writes the row indices
    /// that the plan's [`Emit`] selects, and the keys of pairs unless `keys_out` is null. Rows may
    /// have any words in place of their indices.
    ///
    /// Both sides come from splits by the same bits of mixed keys, and are stored as
    /// [`Pairs`](crate::split::Pairs) of a mixed key and a row index. Bin `p` of a side begins at
    /// row `p` times its capacity and has `counts[p]` rows. If the capacity is 0, the bin consists
    /// of the rows from `counts[p]` to `counts[p + 1]`.
    ///
    /// A block joins a limited count of probe rows of its bin. For the others, `items` gets a word
    /// for each further block: the bin in its upper half, and the index in the bin of the first row
    /// in its lower half. The header's [`ITEMS`](super::header::ITEMS) becomes the count of items.
    /// With `LISTED` the blocks process these items. The list has capacity for one item for each
    /// [`MIN_ITEM_ROWS`] rows of both sides.
    ///
    /// Bins with more build rows than the plan's `light_rows` are heavy. A launch joins only these,
    /// or joins the others and counts the heavy bins in the header's
    /// [`HEAVY`](super::header::HEAVY). If `distinct` is not null, it has the count of distinct
    /// keys of each heavy bin ([`JoinDistinct`](super::JoinDistinct)). In that case the build keys
    /// are these keys, at the positions of the bin's rows in the arrangement, and the words beside
    /// them are arbitrary.
    ///
    /// The count of pairs is added to the header's [`LENGTH`](super::header::LENGTH). All pairs are
    /// written if there is capacity for them. If a split of either side has lost rows, nothing is
    /// done. The header of the second side follows the header of the first.
    JoinPages<K: KeyWord; const LISTED: bool>, "join_pages" | "join_pages_listed", threads 512, resident 2, cpu cores,
        dynamic memory: u32 = |kernel| kernel.words(), shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        build_keys: Global<K>, build_rows: Global<u32>, build_counts: Global<u32>, distinct: Global<u32>,
        probe_keys: Global<K>, probe_rows: Global<u32>, probe_counts: Global<u32>, items: Global<u64>, build_out: Global<u32>,
        probe_out: Global<u32>, keys_out: Global<K>, header: Global<u64>, plan: JoinPagesParams,
    }
}

/// Returns the count of probe rows that a block joins in a bin with `build` build rows, at most
/// `most`.
#[inline(always)]
pub fn item_rows(build: u32, emit: Emit, most: u32) -> u32 {
    if build <= PAGE_ROWS {
        most
    } else {
        let few = COMPARED / build;
        let most = if emit.needs_all() && most > ROUND_ROWS { ROUND_ROWS } else { most };
        if few < MIN_ITEM_ROWS {
            MIN_ITEM_ROWS
        } else if few > most {
            most
        } else {
            few
        }
    }
}

impl<K: KeyWord, const LISTED: bool> JoinPages<K, LISTED> {
    /// Returns the count of words of a page.
    fn words(&self) -> u32 {
        let JoinPagesParams { page_rows, bucket_bits, .. } = self.plan;
        Page::<K, ()>::new((), 0, bucket_bits, page_rows).words()
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, memory: B::Shared<u32>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        let args = self;
        if args.overflowed() {
            return;
        }
        let share = Share::new(args, block.index());
        if !share.is_taken(block) || share.is_empty() {
            return;
        }
        if !LISTED {
            share.list_others(block, start);
        }
        share.join(block, memory, start, counters);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, memory: B::Shared<u32>, _: B::Shared<u64>, _: B::Shared<u32>) {
        let (args, plan) = (self, self.plan);
        if args.overflowed() {
            return;
        }
        let share = Share::new(args, block.index());
        if !share.is_taken(block) || share.is_empty() {
            return;
        }
        let Share { bin, build, first, probe, .. } = share;
        // A thread joins all rows of a bin, or only the rows of a work item if items are listed.
        let (begin, end) = if LISTED { (first, first + share.rows()) } else { (0, probe) };
        vectorized(JoinInTurn {
            page: Page::new(memory, plan.page_bits, plan.bucket_bits, plan.page_rows),
            page_rows: plan.page_rows,
            build: Rows { count: build, ..bin.build() },
            probe: Rows { count: end - begin, ..bin.probe().from(begin) },
            outputs: bin.outputs(),
            emit: Emit(plan.emit),
        });
    }

    /// Returns whether a split of either side has lost rows.
    #[inline(always)]
    fn overflowed(&self) -> bool {
        split::overflowed(self.header) || split::overflowed(self.header.offset(header::WORDS as u64))
    }
}

/// A bin, and the arguments of its kernel. Values are computed from these when they are needed,
/// since keeping them takes registers.
#[derive(Clone, Copy)]
struct Bin<K: KeyWord, const LISTED: bool> {
    args: JoinPages<K, LISTED>,
    number: u32,
    /// Whether the plan's probe side is the build side of this bin.
    is_swapped: bool,
}

impl<K: KeyWord, const LISTED: bool> Bin<K, LISTED> {
    /// Returns the bin, the counts of its build and probe rows, and whether it is heavy. If only
    /// pairs are written, the sides may be swapped so that one page is enough.
    #[inline(always)]
    fn new(args: JoinPages<K, LISTED>, number: u32) -> (Self, u32, u32, bool) {
        let bin = Self { args, number, is_swapped: false };
        let (build, probe) = (bin.of_build().count, bin.of_probe().count);
        let is_heavy = build > args.plan.light_rows;
        let build =
            if args.distinct.is_null() || !is_heavy { build } else { args.distinct.load_read_only(number as u64) };
        let is_swapped = !Emit(args.plan.emit).needs_all() && build > args.plan.page_rows && probe < build;
        let (build, probe) = if is_swapped { (probe, build) } else { (build, probe) };
        (Self { is_swapped, ..bin }, build, probe, is_heavy)
    }

    /// Returns the rows of the build side.
    #[inline(always)]
    fn build(&self) -> Rows<K> {
        if self.is_swapped { self.of_probe() } else { self.of_build() }
    }

    /// Returns the rows of the probe side.
    #[inline(always)]
    fn probe(&self) -> Rows<K> {
        if self.is_swapped { self.of_build() } else { self.of_probe() }
    }

    #[inline(always)]
    fn of_build(&self) -> Rows<K> {
        let JoinPages { build_keys: keys, build_rows: numbers, build_counts: counts, plan, .. } = self.args;
        self.rows(Bins { keys, numbers, counts, capacity: plan.build_capacity, apart: plan.build_apart })
    }

    #[inline(always)]
    fn of_probe(&self) -> Rows<K> {
        let JoinPages { probe_keys: keys, probe_rows: numbers, probe_counts: counts, plan, .. } = self.args;
        self.rows(Bins { keys, numbers, counts, capacity: plan.probe_capacity, apart: plan.probe_apart })
    }

    #[inline(always)]
    fn rows(&self, bins: Bins<K>) -> Rows<K> {
        bins.rows(opaque(self.number) as u64)
    }

    /// Returns the arrays to which pairs are written.
    #[inline(always)]
    fn outputs(&self) -> Outputs<K> {
        let JoinPages { build_out, probe_out, keys_out: keys, header, plan, .. } = self.args;
        let (build, probe) = if self.is_swapped { (probe_out, build_out) } else { (build_out, probe_out) };
        Outputs { build, probe, keys, mix: [plan.a, plan.inverse_of_b], capacity: plan.capacity, header }
    }
}

/// The probe rows of a bin that a block joins.
#[derive(Clone, Copy)]
struct Share<K: KeyWord, const LISTED: bool> {
    bin: Bin<K, LISTED>,
    /// The counts of the bin's build and probe rows, and whether it is heavy.
    build: u32,
    probe: u32,
    is_heavy: bool,
    /// The index in the bin of the first row, and the most rows that a block joins.
    first: u32,
    most: u32,
}

impl<K: KeyWord, const LISTED: bool> Share<K, LISTED> {
    #[inline(always)]
    fn new(args: JoinPages<K, LISTED>, block: u32) -> Self {
        let item = if LISTED { args.items.load_read_only(block as u64) } else { (block as u64) << 32 };
        let (bin, build, probe, is_heavy) = Bin::new(args, (item >> 32) as u32);
        let most = item_rows(build, Emit(args.plan.emit), args.plan.item_rows);
        Self { bin, build, probe, is_heavy, first: item as u32, most }
    }

    #[inline(always)]
    fn emit(&self) -> Emit {
        Emit(self.bin.args.plan.emit)
    }

    /// Returns the count of rows.
    #[inline(always)]
    fn rows(&self) -> u32 {
        (self.probe - self.first).min(self.most)
    }

    /// Returns whether the launch joins the bin. A heavy bin that it does not join is counted.
    #[inline(always)]
    fn is_taken<B: Block>(&self, block: &mut B) -> bool {
        let Self { bin: Bin { args, .. }, probe, is_heavy, .. } = *self;
        if is_heavy == (args.plan.heavy != 0) {
            return true;
        }
        block.each_thread(|thread| {
            if thread == 0 && is_heavy && probe != 0 {
                args.header.atomic(header::HEAVY).fetch_add(1);
            }
        });
        false
    }

    /// Returns whether there are no rows to join.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.first >= self.probe || (self.build == 0 && !self.emit().needs_all())
    }

    /// Lists the rows that the block does not join.
    #[inline(always)]
    fn list_others<B: Block>(&self, block: &mut B, start: impl Shared<u64>) {
        let (Bin { args, number, .. }, most) = (self.bin, self.most);
        if self.probe <= most {
            return;
        }
        let others = (self.probe - 1) / most;
        block.each_thread(|thread| {
            if thread == 0 {
                start.set(0, args.header.atomic(header::ITEMS).fetch_add(others as u64));
            }
        });
        block.sync();
        block.each_thread(|thread| {
            let mut other = thread;
            while other < others {
                let item = (number as u64) << 32 | ((other + 1) * most) as u64;
                args.items.store(start.get(0) + other as u64, item);
                other += THREADS;
            }
        });
    }

    /// Joins the rows with the build rows of the bin, page by page.
    #[inline(always)]
    fn join<B: Block>(
        &self,
        block: &mut B,
        memory: impl Shared<u32>,
        start: impl Shared<u64>,
        counters: impl Shared<u32>,
    ) {
        let (bin, first, emit) = (self.bin, self.first, self.emit());
        let end = first + self.rows();
        let page = Page::<K, _>::new(memory, bin.args.plan.page_bits, PAGE_BUCKET_BITS, PAGE_ROWS);
        let mut threads = block.local(|_| Thread::<K>::new());
        let probe = bin.probe().from(first);
        block.each(&mut threads, |thread, _| {
            if thread == 0 {
                counters.set(TOTAL, 0);
            }
            probe.prefetch(end - first, thread);
        });
        let mut page_first = 0;
        // At most as many steps as pages of the build side.
        loop {
            let count = (self.build - page_first).min(PAGE_ROWS);
            let build = bin.build().from(page_first);
            fill(block, &mut threads, page, counters, count, |row| build.load(row));
            let mut is_last = page_first + count == self.build;
            let mut round = first;
            while round < end {
                let probe = bin.probe().from(round);
                block.each(&mut threads, |thread, state| {
                    state.there = 0;
                    for i in 0..HELD {
                        if row(thread, i) < end - round {
                            (state.keys[i], state.rows[i]) = probe.load(row(thread, i));
                            state.there |= 1 << i;
                        }
                    }
                    // A round that needs all build rows is the only round of the block, or the
                    // build rows are in one page.
                    if page_first == 0 {
                        state.matched = 0;
                    }
                });
                find(block, &mut threads, page, emit);
                if emit.has(Emit::PAIRS) {
                    emit_pairs(block, &mut threads, bin.outputs(), (start, counters), page);
                } else if !is_last {
                    // Other pages add nothing if all rows have a match and one is enough.
                    is_last = block.count(&mut threads, |_, state| state.there & !state.matched != 0) == 0;
                }
                if is_last {
                    emit_last(block, &mut threads, bin.outputs(), (start, counters), emit);
                }
                // The addition saturates, since the last row may have the highest possible index.
                round = round.saturating_add(ROUND_ROWS);
            }
            if is_last {
                return;
            }
            page_first += count;
        }
    }
}
