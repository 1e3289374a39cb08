//! Group-by of many groups: the rows of each bin are aggregated on chip, by a block for each bin.

use super::bin::{Groups, Rows};
use super::bin_table::GroupPage;
use super::bins_aggregate::aggregate;
use super::bins_write::{COUNTERS, FAILED, GROUPS, STOPPED, THREADS, Thread, WRITTEN, write};
use super::in_memory::InMemory;
use crate::column_values::ColumnParams;
use crate::page::header;
use crate::seam::{Block, Global, Shared, Tile};
use crate::split::{self, Pairs, bins};
use crate::types::{KeyWord, Row, WordOf};

/// The count of blocks that a multiprocessor runs concurrently. So 128 multiprocessors process 256
/// bins, the fewest, in one round.
pub const BLOCKS: u32 = 2;

/// The scalar arguments of [`GroupPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GroupPagesParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of rows, used if they do not come from a split.
    pub rows: u64,
    /// The distance between the first rows of two adjacent bins, used if they come from a split.
    pub bin_capacity: u64,
    /// The capacity of the outputs, in groups.
    pub capacity: u64,
    /// The count of groups that the outputs contain already. New groups are written after these.
    pub groups_before: u64,
    /// The rules for adding and comparing values.
    pub column: ColumnParams,
    /// The count of bits of a bin's index, at least 1: there are 2^`page_bits` bins.
    pub page_bits: u32,
    /// The count of slots of a page, from [`page_slots`](super::page_slots).
    pub slots: u32,
    /// The count of 32-bit words of the aggregates of listed columns of a group.
    pub listed_words: u32,
    /// The binary logarithm of the count of copies of a slot's aggregates, which are added to by
    /// different lanes.
    pub copy_bits: u32,
}

kernel! {
    /// Aggregates the rows of every bin by key, with a block for each bin, and writes the groups.
    ///
    /// Bin `p` begins at row `p` times the plan's bin capacity and has `counts[p]` rows, as a
    /// [`Split`](crate::split::Split) leaves them. If `counts` is null, rows are not split: each
    /// block reads all rows, and skips the rows of other bins. If the bin capacity is 0, there are
    /// no gaps between bins: bin `p` has the rows from `counts[p]` to `counts[p + 1]`.
    ///
    /// The header's [`header::LENGTH`], 0 at first, becomes the count of groups. They are written
    /// in any order, as far as the outputs have capacity. Each of `counts_out`, `sums_out`,
    /// `minima_out` and `maxima_out` may be null, and is then not computed. `values` is null only
    /// if there are no values, and then the last three outputs are null, too. If `V` is
    /// [`Columns`](crate::types::Columns), `columns` has the values and outputs instead.
    ///
    /// If a split has lost rows, nothing is done. If a bin has more groups than its page has slots,
    /// the header's [`header::FAILED`] counts the bin, and its groups are not written.
    GroupPages<K: KeyWord, V: Row>, "group_pages", threads 640, resident 2,
        dynamic words: u32 = |kernel| kernel.page((), 0).end.next_multiple_of(2),
        shared start: u64 = 1, shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, keys_out: Global<K>, counts_out: Global<u32>,
        sums_out: Global<u64>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>, columns: Global<u64>,
        header: Global<u64>, plan: GroupPagesParams,
    }
}

impl<K: KeyWord, V: Row> GroupPages<K, V> {
    /// Returns the outputs.
    #[inline(always)]
    fn outputs(&self) -> InMemory<WordOf<V>> {
        let Self { counts_out: counts, sums_out: sums, minima_out: minima, maxima_out: maxima, .. } = *self;
        InMemory { sums, counts, minima, maxima }
    }

    /// Returns the page of a bin, which is built in `words`.
    #[inline(always)]
    fn page<S: Copy>(&self, words: S, number: u32) -> GroupPage<S> {
        let GroupPagesParams { column, page_bits, slots, copy_bits, .. } = self.plan;
        let wanted = self.outputs().wanted();
        let mut page = GroupPage::new::<K, V::Word>(words, wanted, column, (number, page_bits), (slots, copy_bits));
        page.end = page.chip.end_after(self.plan.listed_words);
        page
    }

    /// Returns the rows of a bin.
    #[inline(always)]
    fn rows(&self, number: u32) -> Rows<K, V> {
        let GroupPagesParams { a, b, rows, bin_capacity, .. } = self.plan;
        let pairs = Pairs::new(self.keys, self.values);
        let split = !self.counts.is_null();
        let (first, count) =
            if split { bins::place(self.counts, bin_capacity, number as u64) } else { (0, rows as u32) };
        Rows { pairs, first, count, split, a, b }
    }

    /// Returns the arrays to which groups are written.
    #[inline(always)]
    fn groups(&self) -> Groups<K, V> {
        let GroupPagesParams { a, b, capacity, groups_before: before, .. } = self.plan;
        let Self { keys_out: keys, columns, .. } = *self;
        Groups { keys, aggregates: self.outputs(), columns, capacity, before, a, b }
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, start: B::Shared<u64>, counters: B::Shared<u32>) {
        let args = self;
        let wanted = args.outputs().wanted();
        let only_sums = wanted.sums && !(wanted.counts || wanted.minima || wanted.maxima);
        let number = block.index();
        let page = args.page(words, number);
        if split::overflowed(args.header) {
            return;
        }
        let (rows, groups) = (args.rows(number), args.groups());
        let mut threads = block.local(|_| Thread::<K, V::Word>::new());
        block.phase(&mut threads, |thread, _| {
            page.clear(thread, THREADS);
            if thread == 0 {
                counters.set(GROUPS, 0);
                counters.set(WRITTEN, 0);
                counters.set(FAILED, 0);
                // After a page has failed, the groups of other blocks are not used. `STOPPED` does
                // not change later, so all threads read the same value.
                counters.set(STOPPED, args.header.atomic(header::FAILED).load() as u32);
            }
        });
        if counters.get(STOPPED) != 0 {
            return;
        }
        let rows = (rows, args.columns);
        if V::VALUE_BITS != 0 && !V::IS_LIST && page.chip.adds_floats() {
            aggregate::<false, true, _, _, _, _>(block, &mut threads, rows, page, counters);
        } else if !V::IS_LIST && rows.0.split && only_sums {
            aggregate::<true, false, _, _, _, _>(block, &mut threads, rows, page, counters);
        } else {
            aggregate::<false, false, _, _, _, _>(block, &mut threads, rows, page, counters);
        }
        block.tiles_of(&mut threads, |warp, threads| {
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
        if !V::IS_LIST && only_sums {
            write::<true, _, _, _, _>(block, &mut threads, groups, page, counters, start);
        } else {
            write::<false, _, _, _, _>(block, &mut threads, groups, page, counters, start);
        }
    }
}
