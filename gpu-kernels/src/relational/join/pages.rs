//! Joins of bins: a block takes the rows of a bin's build side on chip, and those of its probe side
//! look for their keys there.

use super::buckets::{PAGE_BUCKET_BITS, PAGE_ROWS, Page};
use super::emit::{Emit, Outputs, emit_last, emit_pairs};
use super::fill::{COUNTERS, TOTAL, fill};
use super::header;
use super::in_turn::{JoinInTurn, Rows};
use super::probe::{HELD, ROUND_ROWS, THREADS, Thread, find, row};
use crate::page::{Pairs, split_overflowed};
use crate::seam::{Block, Global, Shared, vectorized};
use crate::types::KeyWord;

/// The most rounds of a block.
pub const MAX_ROUNDS: u32 = 8;

/// The pairs of rows that a block compares, about, if the build side of its bin has several pages.
/// With the keys that such bins come of, it writes as many.
const COMPARED: u32 = 1 << 22;

/// The fewest probe rows of a work item, but for the last of a bin.
pub const MIN_ITEM_ROWS: u32 = THREADS;

/// The rows of a side of the join.
#[derive(Clone, Copy)]
pub(super) struct Side<K> {
    pub pairs: Pairs<false, K, u32>,
    pub keys: Global<K>,
    /// The numbers of rows of the bins, or their starts if their capacity is 0; null if rows are
    /// not split.
    pub counts: Global<u32>,
    pub bin_capacity: u64,
    /// The number of all rows, if they are not split.
    pub rows: u64,
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord> Side<K> {
    /// Returns the number of a bin's first row, and how many there are.
    #[inline(always)]
    pub fn bin(&self, bin: u64) -> (u64, u32) {
        if self.counts.is_null() {
            (0, self.rows as u32)
        } else if self.bin_capacity == 0 {
            let start = self.counts.load_read_only(bin);
            (start as u64, self.counts.load_read_only(bin + 1) - start)
        } else {
            (bin * self.bin_capacity, self.counts.load_read_only(bin))
        }
    }

    /// Returns the mixed key of a row and its number in its table.
    #[inline(always)]
    pub fn load(&self, at: u64) -> (K, u32) {
        if self.counts.is_null() {
            (self.keys.load_streaming(at).mixed(self.a, self.b), at as u32)
        } else if self.bin_capacity == 0 {
            // A radix partition keeps keys and values apart.
            self.pairs.load_apart(at)
        } else {
            self.pairs.load(at)
        }
    }
}

/// The scalar arguments of [`JoinPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinPagesParams {
    /// The first constant of the mix, for rows that are not split.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The number of build rows.
    pub build: u64,
    /// The number of probe rows.
    pub probe: u64,
    /// The distance from the first build row of one bin to that of the next, or 0 if the counts are
    /// the starts of bins.
    pub build_capacity: u64,
    /// The same of the probe side.
    pub probe_capacity: u64,
    /// The number of pairs that the outputs have capacity for; with 0 they are counted alone.
    pub capacity: u64,
    /// What is written of each probe row: an [`Emit`].
    pub emit: u32,
    /// The bits of a bin's number.
    pub page_bits: u32,
    /// The most rows of a page: [`PAGE_ROWS`], or where threads take turns at most
    /// [`MAX_PAGE_ROWS`](super::MAX_PAGE_ROWS).
    pub page_rows: u32,
    /// The binary logarithm of the number of buckets of a page, at least 1.
    pub bucket_bits: u32,
    /// The most rounds of a block, from 1 to [`MAX_ROUNDS`].
    pub rounds: u32,
    /// 0.
    pub padding: u32,
}

kernel! {
    /// Joins the rows of both sides of each bin, with a block for each bin, and writes the numbers of
    /// rows that the plan's [`Emit`] asks for.
    ///
    /// Both sides come from splits by the same bits of mixed keys, and are stored as
    /// [`Pairs`] of a mixed key and the number of the row. Bin `p` of a side has the rows
    /// from `p` times its capacity on, `counts[p]` of them. If the capacity is 0, keys and numbers
    /// are stored apart, and the bin goes from `counts[p]` to `counts[p + 1]`. If the counts of both
    /// sides are null, rows are not split: there is one bin, of keys as they are, and each block
    /// takes other probe rows.
    ///
    /// A block takes so many probe rows of its bin. If there are more, others are listed: in
    /// `items` there is a word for each further block, the bin in its upper half and the number of
    /// the first row within the bin in the lower one. The header's
    /// [`ITEMS`](super::header::ITEMS) becomes their number. With `LISTED` the blocks take these.
    /// The list has capacity for one item for each [`MIN_ITEM_ROWS`] probe rows.
    ///
    /// The header's [`LENGTH`](super::header::LENGTH) is increased by the number of pairs, of which
    /// as many are written as there is capacity for. If a split has lost rows, nothing is done.
    JoinPages<K: KeyWord; const LISTED: bool>, "join_pages" | "join_pages_listed", threads 384, resident 3,
        dynamic memory: u32, shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        build_keys: Global<K>, build_rows: Global<u32>, build_counts: Global<u32>, probe_keys: Global<K>,
        probe_rows: Global<u32>, probe_counts: Global<u32>, items: Global<u64>, build_out: Global<u32>,
        probe_out: Global<u32>, header: Global<u64>, plan: JoinPagesParams,
    }
}

/// Returns the number of probe rows that a block takes of a bin with so many build rows, in at most
/// so many rounds.
#[inline(always)]
pub fn item_rows(build: u32, emit: Emit, rounds: u32) -> u32 {
    if build <= PAGE_ROWS {
        rounds * ROUND_ROWS
    } else {
        let few = COMPARED / build;
        let most = if emit.needs_all() { ROUND_ROWS } else { rounds * ROUND_ROWS };
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
    /// Returns the number of words of a page.
    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        let JoinPagesParams { page_rows, bucket_bits, .. } = self.plan;
        Page::<K, ()>::new((), 0, bucket_bits, page_rows).words().next_multiple_of(2)
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, memory: B::Shared<u32>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        join_pages(block, self, memory, start, counters);
    }
}

#[inline(always)]
fn join_pages<K: KeyWord, const LISTED: bool, B: Block>(
    block: &mut B,
    args: JoinPages<K, LISTED>,
    memory: impl Shared<u32>,
    start: impl Shared<u64>,
    counters: impl Shared<u32>,
) {
    let plan = args.plan;
    if split_overflowed(args.header) {
        return;
    }
    let JoinPagesParams { a, b, emit, .. } = plan;
    let emit = Emit(emit);
    let side = |keys, rows, counts, bin_capacity, all| Side {
        pairs: Pairs::new(keys, rows),
        keys,
        counts,
        bin_capacity,
        rows: all,
        a,
        b,
    };
    let build = side(args.build_keys, args.build_rows, args.build_counts, plan.build_capacity, plan.build);
    let probe = side(args.probe_keys, args.probe_rows, args.probe_counts, plan.probe_capacity, plan.probe);
    let is_split = !args.build_counts.is_null();
    let item = if LISTED { args.items.load_read_only(block.index() as u64) } else { (block.index() as u64) << 32 };
    let bin = if is_split { item >> 32 } else { 0 };
    let ((build_first, build_count), (probe_first, probe_count)) = (build.bin(bin), probe.bin(bin));
    let outputs =
        Outputs { build: args.build_out, probe: args.probe_out, capacity: plan.capacity, header: args.header };
    if B::IN_TURN {
        // Rows that are not split are shared out among the blocks.
        let (share, of) = if is_split { (0, 1) } else { (block.index() as u64, block.grid() as u64) };
        let [begin, end] = [share, share + 1].map(|share| probe_count as u64 * share / of);
        vectorized(JoinInTurn {
            page: Page::new(memory, plan.page_bits, plan.bucket_bits, plan.page_rows),
            page_rows: plan.page_rows,
            build: Rows { side: build, first: build_first, count: build_count },
            probe: Rows { side: probe, first: probe_first + begin, count: (end - begin) as u32 },
            outputs,
            emit,
        });
        return;
    }

    let most = item_rows(build_count, emit, plan.rounds);
    let first = if is_split { item as u32 } else { block.index() * most };
    if first >= probe_count || (build_count == 0 && !emit.needs_all()) {
        return;
    }
    if !LISTED && is_split && probe_count > most {
        let others = (probe_count - 1) / most;
        block.each_thread(|thread| {
            if thread == 0 {
                start.set(0, args.header.atomic(header::ITEMS).fetch_add(others as u64));
            }
        });
        block.sync();
        block.each_thread(|thread| {
            let mut other = thread;
            while other < others {
                args.items.store(start.get(0) + other as u64, bin << 32 | ((other + 1) * most) as u64);
                other += THREADS;
            }
        });
    }
    let here = (probe_count - first).min(most);
    let (probe_first, page) =
        (probe_first + first as u64, Page::<K, _>::new(memory, plan.page_bits, PAGE_BUCKET_BITS, PAGE_ROWS));
    let mut threads = block.local(|_| Thread::<K>::new());
    block.each(&mut threads, |thread, _| {
        if thread == 0 {
            counters.set(TOTAL, 0);
        }
    });
    let mut page_first = 0;
    loop {
        let count = (build_count - page_first).min(PAGE_ROWS);
        let from = build_first + page_first as u64;
        fill(block, &mut threads, page, counters, count, |row| build.load(from + row as u64));
        let mut round = 0;
        while round < here {
            block.each(&mut threads, |thread, state| {
                state.there = 0;
                for i in 0..HELD {
                    if round + row(thread, i) < here {
                        (state.keys[i], state.rows[i]) = probe.load(probe_first + (round + row(thread, i)) as u64);
                        state.there |= 1 << i;
                    }
                }
                // A round that needs all build rows is the block's only one, or meets all of them at
                // once.
                if page_first == 0 {
                    state.matched = 0;
                }
            });
            find(block, &mut threads, page);
            if emit.has(Emit::PAIRS) {
                emit_pairs(block, &mut threads, outputs, (start, counters), page);
            }
            if page_first + count == build_count {
                emit_last(block, &mut threads, outputs, (start, counters), emit);
            }
            round += ROUND_ROWS;
        }
        page_first += count;
        if page_first == build_count {
            return;
        }
    }
}
