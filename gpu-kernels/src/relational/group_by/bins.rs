//! Group-by of many groups: the rows of each bin are aggregated on chip, by a block for each bin.

use super::bin::{Groups, MAX_STEPS, Rows};
use super::bin_table::{GroupPage, NO_SLOT};
use super::bins_in_turn::GroupInTurn;
use super::bins_write::{COUNTERS, EMITTED, FAILED, GROUPS, STOPPED, THREADS, Thread, WRITTEN, write};
use super::on_chip::{MAX_ROWS, Wanted};
use crate::column::ColumnParams;
use crate::page::header;
use crate::seam::{Block, Global, Shared, Tile, vectorized};
use crate::split::{self, Pairs, bins};
use crate::types::{KeyWord, Payload, WordOf};

/// The blocks that a multiprocessor runs at a time. Then 256 bins, the fewest, are done in one
/// round by 128 multiprocessors.
pub const BLOCKS: u32 = 2;

/// Returns the number of rows that a thread has at once: fewer if they are wide, so that they fit
/// the registers.
const fn read<K: KeyWord, V: Payload>() -> usize {
    if K::BITS == 32 && V::VALUE_BITS <= 32 { MAX_ROWS } else { MAX_ROWS / 2 }
}

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
    /// The number of slots of a page: [`Wanted::slots`].
    pub slots: u32,
}

kernel! {
    /// Aggregates the rows of every bin by key, with a block for each bin, and writes the groups.
    ///
    /// Bin `p` has the rows from `p` times the plan's bin capacity on, `counts[p]` of them, as a
    /// [`Split`](crate::split::Split) has put them there. If `counts` is null, rows are not split:
    /// each block reads all of them, and leaves out those of other bins. If the bin capacity is 0,
    /// bins are as large as they must be: bin `p` has the rows from `counts[p]` to `counts[p + 1]`.
    ///
    /// The header's [`header::LENGTH`], 0 at first, becomes the number of groups. They are written
    /// in any order, as far as the outputs have capacity. Each of `counts_out`, `sums_out`,
    /// `minima_out` and `maxima_out` may be null, and is not computed then. `values` are null only
    /// if there are none, and then so are the last three outputs.
    ///
    /// If a split has lost rows, nothing is done. If a bin has more groups than its page has slots,
    /// the header's [`header::FAILED`] counts it, and its groups are not written.
    GroupPages<K: KeyWord, V: Payload>, "group_pages", threads 640, resident 2, dynamic words: u32,
        shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, keys_out: Global<K>, counts_out: Global<u32>,
        sums_out: Global<u64>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>, header: Global<u64>,
        plan: GroupPagesParams,
    }
}

impl<K: KeyWord, V: Payload> GroupPages<K, V> {
    /// Returns the number of words of a page.
    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        let GroupPagesParams { column, page_bits, slots, .. } = self.plan;
        GroupPage::new::<K, V::Word>((), self.wanted(), column, (0, page_bits), slots).chip.end.next_multiple_of(2)
    }

    #[inline(always)]
    fn wanted(&self) -> Wanted {
        Wanted {
            counts: !self.counts_out.is_null(),
            sums: !self.sums_out.is_null(),
            minima: !self.minima_out.is_null(),
            maxima: !self.maxima_out.is_null(),
        }
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        group_pages(block.strided(), self, words, start, counters);
    }
}

/// Returns what stands for the key of a row that there is not: no slot holds it, since its highest
/// bit is not set and it is not 0.
#[inline(always)]
fn absent<K: KeyWord>() -> K {
    K::from_u64(1)
}

#[inline(always)]
fn group_pages<K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    args: GroupPages<K, V>,
    words: impl Shared<u32>,
    start: impl Shared<u64>,
    counters: impl Shared<u32>,
) {
    let GroupPagesParams { a, b, rows, bin_capacity, capacity, groups_before, column, page_bits, slots } = args.plan;
    let wanted = args.wanted();
    let number = block.index();
    let page = GroupPage::new::<K, V::Word>(words, wanted, column, (number, page_bits), slots);
    if split::overflowed(args.header) {
        return;
    }
    let pairs = Pairs::<false, K, V>::new(args.keys, args.values);
    let split = !args.counts.is_null();
    let (first, count) = if split { bins::place(args.counts, bin_capacity, number as u64) } else { (0, rows as u32) };
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
        keys: [K::default(); MAX_ROWS],
        values: [<V::Word>::default(); MAX_ROWS],
        next_keys: [K::default(); MAX_ROWS],
        next_values: [<V::Word>::default(); MAX_ROWS],
        slots: [NO_SLOT; MAX_ROWS],
        pending: 0,
        slot: NO_SLOT,
        taken: 0,
        groups: [K::default(); EMITTED],
        written: 0,
    });
    block.phase(&mut threads, |thread, _| {
        page.clear(thread, THREADS);
        if thread == 0 {
            counters.set(GROUPS, 0);
            counters.set(WRITTEN, 0);
            counters.set(FAILED, 0);
            // Once a page has failed, nothing that others do is used. This word stays as it is, so
            // no thread of the block is told otherwise.
            counters.set(STOPPED, args.header.atomic(header::FAILED).load() as u32);
        }
    });
    if counters.get(STOPPED) != 0 {
        return;
    }

    if split && wanted.sums && !(wanted.counts || wanted.minima || wanted.maxima) {
        aggregate::<true, _, _, _, _>(block, &mut threads, rows, page, counters);
    } else {
        aggregate::<false, _, _, _, _>(block, &mut threads, rows, page, counters);
    }
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

    if wanted.sums && !(wanted.counts || wanted.minima || wanted.maxima) {
        write::<true, _, _, _, _>(block, &mut threads, groups, page, counters, start);
    } else {
        write::<false, _, _, _, _>(block, &mut threads, groups, page, counters, start);
    }
}

/// Adds all rows to their groups in the page, of which only sums are wanted if `SUMS` says so. If a
/// row finds no slot, the counter [`FAILED`] is set.
///
/// Each lane has several rows at once. Most find their group in their first slot, which all look
/// into together, and nearly all others in the next two. Then each lane goes through those that
/// have not, and all lanes go on until none has a row left: lanes that leave a loop by themselves
/// are slower.
#[inline(always)]
fn aggregate<const SUMS: bool, K: KeyWord, V: Payload, B: Block, S: Shared<u32>>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, V::Word>>,
    rows: Rows<K, V>,
    page: GroupPage<S>,
    counters: impl Shared<u32>,
) {
    let page = if SUMS { page.of_sums() } else { page };
    let rows = if SUMS { Rows { split: true, ..rows } } else { rows };
    let many = read::<K, V>() as u32 * THREADS;
    // Whether all rows of a warp's round are there. The last round of a block may have fewer.
    let is_full = |warp_first: u32| warp_first - warp_first % THREADS + many <= rows.count;
    let is_there = |row: u32| row < rows.count;
    // A round's rows are loaded before the rows of the round before it are added.
    let load = |warp_first: u32, lane: u32, thread: &mut Thread<K, V::Word>| {
        let from = rows.from(warp_first + lane);
        for i in 0..read::<K, V>() {
            if is_full(warp_first) || is_there(warp_first + i as u32 * THREADS + lane) {
                (thread.next_keys[i], thread.next_values[i]) = from.load(i as u32 * THREADS);
            }
        }
    };
    block.tiles_of::<32, _>(threads, |warp, threads| {
        let mut warp_first = warp.first_thread();
        if warp_first < rows.count {
            warp.each(threads, |lane, thread| load(warp_first, lane, thread));
        }
        while warp_first < rows.count {
            warp.each(threads, |lane, thread| {
                (thread.keys, thread.values) = (thread.next_keys, thread.next_values);
                if warp_first + many < rows.count {
                    load(warp_first + many, lane, thread);
                }
                if is_full(warp_first) && rows.split {
                    for i in 0..read::<K, V>() {
                        thread.keys[i] = page.held_for(thread.keys[i]);
                    }
                } else {
                    for i in 0..read::<K, V>() {
                        let key = thread.keys[i];
                        let mixed = if rows.split { key } else { key.mixed(rows.a, rows.b) };
                        let is_there = is_there(warp_first + i as u32 * THREADS + lane);
                        let is_own = is_there && (rows.split || page.has(mixed));
                        thread.keys[i] = if is_own { page.held_for(mixed) } else { absent() };
                    }
                }
                let mut seen = [K::default(); MAX_ROWS];
                for i in 0..read::<K, V>() {
                    thread.slots[i] = page.home(thread.keys[i]);
                    seen[i] = page.seen(thread.slots[i]);
                }
                thread.pending = 0;
                for i in 0..read::<K, V>() {
                    let held = thread.keys[i];
                    if seen[i] != held {
                        if held == absent() {
                            thread.slots[i] = page.slots() + lane;
                        } else {
                            let look = page.look_further(held, thread.slots[i], seen[i]);
                            thread.slots[i] = look.slot;
                            thread.taken += look.took as u32;
                            thread.pending |= ((look.slot == NO_SLOT) as u32) << i;
                        }
                    }
                }
                thread.slot = NO_SLOT;
            });
            let mut steps = 0;
            // At most `MAX_STEPS` for each row of a lane.
            while warp.ballot(threads, |_, thread| thread.pending != 0) != 0 {
                if steps == read::<K, V>() as u32 * MAX_STEPS {
                    warp.each(threads, |_, _| {
                        counters.fetch_max(FAILED, 1);
                    });
                    return;
                }
                steps += 1;
                warp.each(threads, |_, thread| {
                    if thread.pending == 0 {
                        return;
                    }
                    let row = thread.pending.trailing_zeros();
                    // A choice among the keys would become a load from an address that is chosen,
                    // and the keys would be on the stack.
                    let mut held = K::default();
                    for i in 0..read::<K, V>() {
                        held = held.either(thread.keys[i] & if i as u32 == row { K::ALL_ONES } else { K::default() });
                    }
                    if thread.slot == NO_SLOT {
                        thread.slot = page.second(held);
                    }
                    let look = page.look(held, thread.slot, page.seen(thread.slot));
                    thread.taken += look.took as u32;
                    if look.slot == NO_SLOT {
                        thread.slot = page.next(held, thread.slot);
                    } else {
                        for i in 0..read::<K, V>() {
                            thread.slots[i] = if i as u32 == row { look.slot } else { thread.slots[i] };
                        }
                        thread.pending &= thread.pending - 1;
                        thread.slot = NO_SLOT;
                    }
                });
            }
            warp.each(threads, |_, thread| {
                let at = thread.slots.map(|slot| slot.wrapping_add(page.chip.low));
                if read::<K, V>() == MAX_ROWS {
                    page.chip.add::<MAX_ROWS, V::Word>(at, thread.values);
                } else {
                    page.chip.add::<{ MAX_ROWS / 2 }, V::Word>(at, thread.values);
                }
            });
            warp_first += many;
        }
    });
}
