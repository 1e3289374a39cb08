//! Group-by of many groups: the rows of each bin are aggregated on chip, by a block for each bin.

use super::bin::{Groups, MAX_STEPS, Rows};
use super::column::ColumnParams;
use super::group_page::{GroupPage, PAGE_WORDS, Seeker, Wanted};
use super::pages_in_turn::GroupInTurn;
use crate::page::{Pairs, header, split_overflowed};
use crate::seam::{Block, Global, Shared, Tile, vectorized};
use crate::types::{KeyWord, Payload, WordOf};

/// The threads of a block.
const THREADS: u32 = 384;

/// The rows that a thread reads at once.
const READ: usize = 4;

/// The counters of a block: whether a row found no slot, the number of groups, and how many of them
/// are written.
const FAILED: u32 = 0;
const GROUPS: u32 = 1;
const WRITTEN: u32 = 2;
const COUNTERS: usize = 4;

/// The scalar arguments of [`GroupPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GroupPagesParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The number of rows, if they do not come from a split.
    pub rows: u64,
    /// The distance from the first row of one bin to that of the next, if they come from a split.
    pub bin_capacity: u64,
    /// The number of groups that the outputs have capacity for.
    pub capacity: u64,
    /// The number of groups that are there already: the outputs are written from here on.
    pub groups_before: u64,
    /// How values are added and compared.
    pub column: ColumnParams,
    /// The bits of a bin's number, at least 1: there are 2^`page_bits` bins.
    pub page_bits: u32,
    /// The number of buckets of a page: [`Wanted::buckets`].
    pub buckets: u32,
}

kernel! {
    /// Aggregates the rows of every bin by key, with a block for each bin, and writes the groups.
    ///
    /// Bin `p` has the rows from `p` times the plan's bin capacity on, `counts[p]` of them, as a
    /// [`Split`](crate::page::Split) has put them there. If `counts` is null, rows are not split:
    /// each block reads all of them, and leaves out those of other bins.
    ///
    /// The header's [`header::LENGTH`], 0 at first, becomes the number of groups. They are written
    /// in any order, as far as the outputs have capacity. Each of `counts_out`, `sums_out`,
    /// `minima_out` and `maxima_out` may be null, and is not computed then. `values` are null only
    /// if there are none, and then so are the last three outputs.
    ///
    /// If a split has lost rows, nothing is done. If a bin has more groups than its page has slots,
    /// the header's [`header::FAILED`] counts it, and its groups are not written.
    GroupPages<K: KeyWord, V: Payload>, "group_pages", threads 384, resident 4,
        shared memory: u64 = PAGE_WORDS as usize / 2, shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, keys_out: Global<K>, counts_out: Global<u32>,
        sums_out: Global<u64>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>, header: Global<u64>,
        plan: GroupPagesParams,
    }
}

impl<K: KeyWord, V: Payload> GroupPages<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, memory: B::Shared<u64>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        group_pages(block.strided(), self, memory, start, counters);
    }
}

/// The state of a thread.
struct Thread<K, W> {
    keys: [K; READ],
    values: [W; READ],
    seeker: Seeker<K>,
    /// The number of slots that its rows have taken.
    taken: u32,
    /// The key of a group that is written, if there is one, and the number of the warp's first.
    group: Option<K>,
    written: u32,
}

#[inline(always)]
fn group_pages<K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    args: GroupPages<K, V>,
    memory: impl Shared<u64>,
    start: impl Shared<u64>,
    counters: impl Shared<u32>,
) {
    let GroupPagesParams { a, b, rows, bin_capacity, capacity, groups_before, column, page_bits, buckets } = args.plan;
    let wanted = Wanted {
        counts: !args.counts_out.is_null(),
        sums: !args.sums_out.is_null(),
        minima: !args.minima_out.is_null(),
        maxima: !args.maxima_out.is_null(),
    };
    let number = block.index();
    let page = GroupPage::new::<K, V>(memory, wanted, column, (number, page_bits), buckets);
    if split_overflowed(args.header) {
        return;
    }
    let pairs = Pairs::<false, K, V>::new(args.keys, args.values);
    let split = !args.counts.is_null();
    let (first, count) = if split {
        (number as u64 * bin_capacity, args.counts.load_read_only(number as u64))
    } else {
        (0, rows as u32)
    };
    let rows = Rows { pairs, first, count, split, a, b };
    let groups = Groups {
        keys: args.keys_out,
        counts: args.counts_out,
        sums: args.sums_out,
        minima: args.minima_out,
        maxima: args.maxima_out,
        capacity,
        before: groups_before,
        a,
        b,
    };
    if B::IN_TURN {
        vectorized(GroupInTurn { rows, page, groups, header: args.header });
        return;
    }
    let mut threads = block.local(|_| Thread::<K, V::Word> {
        keys: [K::default(); READ],
        values: [<V::Word>::default(); READ],
        seeker: Seeker::absent(),
        taken: 0,
        group: None,
        written: 0,
    });
    block.phase(&mut threads, |thread, _| {
        page.clear(thread, THREADS);
        if thread == 0 {
            for counter in 0..COUNTERS as u32 {
                counters.set(counter, 0);
            }
        }
    });

    block.tiles_of::<32, _>(&mut threads, |warp, threads| {
        let mut warp_first = warp.first_thread();
        while warp_first < count {
            warp.each(threads, |lane, thread| {
                for i in 0..READ {
                    let row = warp_first + i as u32 * THREADS + lane;
                    if row < count {
                        let at = first + row as u64;
                        (thread.keys[i], thread.values[i]) = if split { pairs.load(at) } else { pairs.load_apart(at) };
                    }
                }
            });
            for i in 0..READ {
                warp.each(threads, |lane, thread| {
                    let mixed = if split { thread.keys[i] } else { thread.keys[i].mixed(a, b) };
                    let here = warp_first + i as u32 * THREADS + lane < count && (split || page.has(mixed));
                    thread.seeker = if here { page.seek(mixed) } else { Seeker::absent() };
                    thread.group = here.then_some(mixed);
                });
                // All lanes go on until none has a row left: lanes that leave a loop by themselves
                // are slower.
                let mut steps = 0;
                while warp.ballot(threads, |_, thread| thread.seeker.pending()) != 0 {
                    if steps == MAX_STEPS {
                        warp.each(threads, |_, _| {
                            counters.fetch_max(FAILED, 1);
                        });
                        return;
                    }
                    warp.each(threads, |_, thread| {
                        if thread.seeker.pending() {
                            thread.taken += page.step(&mut thread.seeker) as u32;
                        }
                    });
                    steps += 1;
                }
                warp.each(threads, |_, thread| {
                    if thread.group.is_some() {
                        page.add::<V>(thread.seeker.slot, thread.values[i]);
                    }
                });
            }
            warp_first += READ as u32 * THREADS;
        }
    });
    block.tiles_of::<32, _>(&mut threads, |warp, threads| {
        warp.exclusive_sum(
            threads,
            |_, thread| thread.taken,
            |lane, _, _, total| {
                if lane == 0 {
                    counters.fetch_add(GROUPS, total);
                }
            },
        );
    });
    block.sync();
    block.phase(&mut threads, |thread, _| {
        if thread != 0 {
            return;
        }
        if counters.get(FAILED) != 0 {
            args.header.atomic(header::FAILED).fetch_add(1);
        } else {
            start.set(0, args.header.atomic(header::LENGTH).fetch_add(counters.get(GROUPS) as u64));
        }
    });
    if counters.get(FAILED) != 0 {
        return;
    }

    block.tiles_of::<32, _>(&mut threads, |warp, threads| {
        let mut warp_first = warp.first_thread();
        while warp_first < page.slots() {
            warp.each(threads, |lane, thread| {
                let slot = warp_first + lane;
                thread.group = if slot < page.slots() { page.mixed(slot) } else { None };
            });
            let taken = warp.ballot(threads, |_, thread| thread.group.is_some());
            warp.each(threads, |lane, thread| {
                if lane == 0 && taken != 0 {
                    thread.written = counters.fetch_add(WRITTEN, taken.count_ones());
                }
            });
            let written = warp.pick(threads, 0, |thread| thread.written);
            warp.each(threads, |lane, thread| {
                let rank = (taken & ((1 << lane) - 1)).count_ones();
                let target = start.get(0) + (written + rank) as u64;
                if let Some(mixed) = thread.group {
                    groups.write(target, mixed, (&page, warp_first + lane), GroupPage::sum);
                }
            });
            warp_first += THREADS;
        }
    });
}
