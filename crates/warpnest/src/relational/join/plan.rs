//! The plan of a join: its method (a hash table, on chip, or pages) and all sizes, which are known
//! before anything is allocated.

use super::joined::JoinMethod;
use super::pass::{LEFT, Pass, RIGHT};
use super::side_layout::{Arrangement, SideLayout, levels_of, pairs_words};
use crate::primitives::{Pairs, RadixPasses};
use crate::runtime::machine::{Machine, PerMachine};
use crate::split::{Level, MAX_ROWS, are_valid};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::relational::join::{
    MAX_ITEM_ROWS, MAX_PAGE_ROWS, MIN_ITEM_ROWS, ON_CHIP_ROUND_ROWS, PAGE_BUCKET_BITS, PAGE_ROWS, ROUND_ROWS, header,
    on_chip_words, slots_of_sector,
};
use gpu_kernels::types::KeyWord;
use std::ops::Range;

/// The approximate count of build rows of a bin.
const BIN_ROWS: PerMachine<u64> = PerMachine { gpu: 2048, core: 1 << 13 };

/// The most rows of a build side that is looked up in memory, so that it fits into the second-level
/// cache. The count of pairs of a block's round must fit into a word.
const MAX_DIRECT: u64 = 1 << 20;
const _: () = assert!(MAX_DIRECT * (ROUND_ROWS as u64) < 1 << 32);

/// The most pages of a bin that one block fills one after the other, if the output for a probe row
/// depends on all of these pages.
const LIGHT_PAGES: u32 = 8;

/// The count of blocks for bins that a multiprocessor runs at a time, and the work items for each
/// of these blocks if there are fewer bins. On a CPU a core always processes whole bins.
const BLOCKS_OF_PAGES: PerMachine<u64> = PerMachine { gpu: 2, core: 0 };
const ITEMS_A_BLOCK: u64 = 4;

/// A warp may read a bucket in memory of at most `SHORT_BUCKET` build rows, or
/// `1 / SHARES_OF_BUCKET` of all build rows. If many keys have many rows, writing the result takes
/// longer.
const SHORT_BUCKET: u64 = 256;
const SHARES_OF_BUCKET: u64 = 64;

/// If there are more probe rows than this for each build row, sorting only the build rows is faster
/// than splitting both sides.
const PROBES_OF_SORTED: u64 = 4;

/// The count of blocks that keeps a GPU busy if build rows are in memory.
const BUSY_BLOCKS: u64 = 1024;
/// The most blocks per core that have the whole build side on chip. On a GPU each uses all shared
/// memory of a multiprocessor.
const BLOCKS_ON_CHIP: PerMachine<u64> = PerMachine { gpu: 1, core: 4 };
/// The words of a block's shared memory that its page does not use.
const WORDS_BESIDE: u32 = 128;

/// The count of slots of a table for each row.
const SLOTS_A_ROW: u64 = 2;

/// The fewest rows of a block that looks up rows in memory.
const MIN_BLOCK_ROWS: u64 = 32;

/// On a CPU, a block needs this many probe rows for each build row to make filling a page
/// worthwhile.
const PROBES_A_BUILD: u64 = 8;

/// The count of words of both headers: one for each side. The first is also the header of the whole
/// join.
pub(super) const HEADERS: u64 = 2 * header::WORDS as u64;

/// The sides that are arranged, and the memory of the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToArrange {
    /// Both sides, in the scratch.
    Both,
    /// The right side, in its own memory.
    Right,
    /// The left side, in the scratch. The right side is already arranged, in its own memory.
    Left,
}

impl ToArrange {
    pub(super) fn sides(self) -> Range<usize> {
        match self {
            Self::Both => 0..2,
            Self::Right => RIGHT..RIGHT + 1,
            Self::Left => LEFT..LEFT + 1,
        }
    }
}

/// The sizes of a join, and the layout of its scratch. The scratch contains the words of radix
/// passes, the headers, which are 0 at first, and the rows of both sides.
#[derive(Clone, Debug)]
pub(super) struct JoinPlan {
    pub method: JoinMethod,
    pub to_arrange: ToArrange,
    pub sides: [SideLayout; 2],
    pub machine: Machine,
    /// The count of bits of a bin's index. If the build side is looked up in memory, it is the bits
    /// of the index of a bucket or of a sector of the hash table.
    pub page_bits: u32,
    /// The most rows of a page, and the base-2 logarithm of the count of its buckets.
    pub page_rows: u32,
    pub bucket_bits: u32,
    /// The most build rows of a bin that is not heavy.
    pub light_rows: u32,
    /// Whether the output for a row may depend on all build rows.
    needs_all: bool,
    pub headers_at: u64,
    /// The offset of the rows between two splits or radix passes. Later it contains the distinct
    /// keys of heavy bins and their counts.
    pub between_at: u64,
    /// The offset of the row indices for radix passes.
    pub numbers_at: u64,
    pub items_at: u64,
    pub words: u64,
}

impl JoinPlan {
    /// Makes the plan for the given counts of rows of the sides. It arranges both sides or only the
    /// right side. Sides in `are_skewed` are sorted, because their splits overflowed.
    pub(super) fn new<K: KeyWord>(
        machine: Machine,
        rows: [u64; 2],
        (method, passes, light_rows): (JoinMethod, &[Pass], Option<u32>),
        are_skewed: [bool; 2],
        to_arrange: ToArrange,
    ) -> Self {
        let build = passes.iter().map(|pass| rows[pass.build]).max().unwrap_or(0);
        let is_direct = !machine.runs_in_order() && passes.len() == 1 && build <= MAX_DIRECT;
        let is_skewed = are_skewed.contains(&true);
        let on_chip = page_bucket_bits::<K>(machine, build);
        let method = match method {
            JoinMethod::Direct if !is_direct => JoinMethod::Split,
            JoinMethod::OnChip if on_chip.is_none() => JoinMethod::Split,
            JoinMethod::Auto if on_chip.is_some() => JoinMethod::OnChip,
            JoinMethod::Auto if is_direct => JoinMethod::Direct,
            JoinMethod::Auto => JoinMethod::Split,
            method => method,
        };
        let page_bits = match method {
            JoinMethod::Direct if is_skewed => bits_for(build).clamp(1, K::BITS - 1),
            JoinMethod::Direct => bits_for((SLOTS_A_ROW * build).div_ceil(slots_of_sector::<K>())).clamp(1, 31),
            JoinMethod::Split => bits_for(build.div_ceil(machine.pick(BIN_ROWS))).max(1),
            _ => 0,
        };
        let mut plan = Self {
            method,
            to_arrange,
            sides: [LEFT, RIGHT].map(|side| SideLayout::whole(rows[side])),
            machine,
            page_bits,
            page_rows: PAGE_ROWS,
            bucket_bits: PAGE_BUCKET_BITS,
            light_rows: 0,
            needs_all: passes.iter().any(|pass| pass.emit.needs_all()),
            headers_at: 0,
            between_at: 0,
            numbers_at: 0,
            items_at: 0,
            words: 0,
        };
        for side in to_arrange.sides() {
            let is_build = passes.iter().any(|pass| pass.build == side);
            plan.sides[side].arrangement = match method {
                JoinMethod::Direct if is_build && is_skewed => Arrangement::Sorted,
                JoinMethod::Direct if is_build => Arrangement::Table,
                JoinMethod::Split if are_skewed[side] => Arrangement::Sorted,
                JoinMethod::Split => Arrangement::Split,
                _ => Arrangement::Whole,
            };
        }
        let mut plan = plan.with_splits::<K>().with_page::<K>(passes);
        plan.light_rows = light_rows.unwrap_or(LIGHT_PAGES * plan.page_rows);
        plan.with_layout::<K>()
    }

    /// Returns the plan for a join of `left` left rows with the right side of this plan, which is
    /// already arranged.
    pub(super) fn probing<K: KeyWord>(&self, left: u64, is_skewed: bool) -> Self {
        let mut plan = Self { to_arrange: ToArrange::Left, ..self.clone() };
        plan.sides[LEFT] = SideLayout::whole(left);
        if self.method == JoinMethod::Split {
            plan.sides[LEFT].arrangement = if is_skewed { Arrangement::Sorted } else { Arrangement::Split };
        }
        plan.with_splits::<K>().with_layout::<K>()
    }

    /// Sets the splits of the sides that are arranged by splits. If a side has too many rows for
    /// splits, it is sorted instead.
    fn with_splits<K: KeyWord>(self) -> Self {
        let mut plan = self;
        // A right side that is arranged alone is planned for as many left rows.
        let [left, right] = [LEFT, RIGHT].map(|side| plan.sides[side].rows);
        let rows = if plan.to_arrange == ToArrange::Right { [right, right] } else { [left, right] };
        for side in plan.to_arrange.sides() {
            if plan.sides[side].arrangement == Arrangement::Split {
                let levels = levels_of::<K>(rows, side, plan.page_bits);
                if rows[side] > MAX_ROWS || !are_valid(&levels) {
                    plan.sides[side].arrangement = Arrangement::Sorted;
                } else {
                    plan.sides[side].levels = levels;
                }
            }
        }
        plan
    }

    /// Sets the sizes of pages, unless the default sizes for bins on a GPU are right.
    fn with_page<K: KeyWord>(self, passes: &[Pass]) -> Self {
        let is_on_chip = self.method == JoinMethod::OnChip;
        if !self.machine.runs_in_order() && !is_on_chip {
            return self;
        }
        let most = |pass: &Pass| match &self.sides[pass.build] {
            side if is_on_chip => side.rows,
            side => side.levels.last().map_or(u64::MAX, |last| last.bin_capacity),
        };
        let rows = passes.iter().map(most).max().unwrap_or(0).clamp(1, MAX_PAGE_ROWS as u64);
        let bucket_bits = page_bucket_bits::<K>(self.machine, rows).unwrap_or(PAGE_BUCKET_BITS);
        Self { page_rows: rows as u32, bucket_bits, ..self }
    }

    /// Sets the offsets of the scratch.
    fn with_layout<K: KeyWord>(self) -> Self {
        let mut plan = self;
        let arranged = plan.to_arrange.sides();
        let is_sorted = |side: &&SideLayout| side.arrangement == Arrangement::Sorted;
        let sorted = plan.sides[arranged.clone()].iter().filter(is_sorted).map(|side| side.rows).max();
        let of_passes = sorted.map_or(0, |rows| plan.passes::<K>([0; 2], rows).words());
        plan.headers_at = of_passes.next_multiple_of(2);
        let mut end = plan.headers_at + HEADERS;
        let mut region = |words: u64| {
            let at = end;
            end += words.next_multiple_of(2);
            at
        };
        let of_split = |side: &SideLayout| side.levels.iter().rev().nth(1).map_or(0, pairs_words::<K>);
        let between = plan.sides[arranged.clone()].iter().map(of_split).max().unwrap_or(0);
        let of_distinct = plan.distinct_words::<K>();
        plan.between_at = region(between.max(sorted.map_or(0, Pairs::<K, u32>::words)).max(of_distinct));
        plan.numbers_at = region(sorted.map_or(0, |rows| rows.div_ceil(2)));
        // In some bins the left side has the probe rows, and in others the right side.
        let all: u64 = plan.sides.iter().map(|side| side.rows).sum();
        let has_items = !plan.machine.runs_in_order() && plan.method == JoinMethod::Split;
        plan.items_at = region(if has_items { all / MIN_ITEM_ROWS as u64 + 1 } else { 0 });
        for number in arranged {
            let is_own = plan.to_arrange == ToArrange::Right;
            let side = plan.sides[number].clone().placed_at::<K>(if is_own { 0 } else { end }, plan.page_bits);
            end = if is_own { end } else { side.end };
            plan.sides[number] = side;
        }
        plan.words = end;
        plan
    }

    /// Returns the count of words for the counts of distinct keys of heavy bins.
    pub(super) fn distinct_counts_words(&self) -> u64 {
        (1u64 << self.page_bits).div_ceil(2).next_multiple_of(2)
    }

    /// Returns the count of words for the distinct keys of heavy bins and their counts, if some
    /// pass may need them.
    fn distinct_words<K: KeyWord>(&self) -> u64 {
        if self.method != JoinMethod::Split || !self.needs_all || self.to_arrange == ToArrange::Right {
            return 0;
        }
        let positions = |side: &SideLayout| side.rows.max(side.levels.last().map_or(0, Level::capacity));
        let keys = self.sides.iter().map(positions).max().unwrap_or(0);
        self.distinct_counts_words() + (keys * u64::from(K::BITS)).div_ceil(64)
    }

    /// Returns the most probe rows of a work item. It is lower if there are so few bins that
    /// multiprocessors would be idle.
    pub(super) fn item_rows(&self, pass: Pass) -> u32 {
        let resident = self.machine.blocks(BLOCKS_OF_PAGES);
        if 1 << self.page_bits >= resident {
            return MAX_ITEM_ROWS;
        }
        (self.sides[pass.probe()].rows / (ITEMS_A_BLOCK * resident)).clamp(MIN_ITEM_ROWS.into(), MAX_ITEM_ROWS.into())
            as u32
    }

    /// Returns the most rows of a bucket of a sorted side of `rows` rows.
    pub(super) fn most_of_bucket(&self, rows: u64) -> u32 {
        match self.method {
            JoinMethod::Direct => (rows / SHARES_OF_BUCKET).max(SHORT_BUCKET) as u32,
            _ => u32::MAX,
        }
    }

    /// Returns whether build rows with repeated keys should be sorted and looked up in memory.
    pub(super) fn is_worth_sorting(&self, pass: Pass) -> bool {
        self.sides[pass.probe()].rows > PROBES_OF_SORTED * self.sides[pass.build].rows
    }

    /// Returns the radix passes that sort `rows` rows by bin.
    pub(super) fn passes<K: KeyWord>(&self, constants: [u64; 2], rows: u64) -> RadixPasses<K, u32> {
        let mut constants = constants.into_iter().cycle();
        let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || constants.next().unwrap_or_default());
        RadixPasses::by_mixed_key(functions, self.page_bits, rows, self.machine)
    }

    /// Returns the count of probe rows of a round, for blocks that have the whole build side on
    /// chip, and the count of such blocks.
    pub(super) fn on_chip_blocks(&self, pass: Pass) -> (u32, u64) {
        let [build, probe] = [pass.build, pass.probe()].map(|side| self.sides[side].rows);
        let most = self.machine.blocks(BLOCKS_ON_CHIP);
        if self.machine.runs_in_order() {
            let worth_it = probe / (PROBES_A_BUILD * build.max(1));
            return (ON_CHIP_ROUND_ROWS, worth_it.clamp(1, most));
        }
        let rows = probe.div_ceil(most).clamp(MIN_BLOCK_ROWS, ON_CHIP_ROUND_ROWS as u64);
        (rows as u32, probe.div_ceil(rows).clamp(1, most))
    }

    /// Returns the count of probe rows of a block that looks up its rows in memory, and the count
    /// of such blocks.
    pub(super) fn direct_blocks(&self, pass: Pass) -> (u32, u64) {
        let probe = self.sides[pass.probe()].rows;
        let rows = (probe / BUSY_BLOCKS).next_multiple_of(32).clamp(MIN_BLOCK_ROWS, ROUND_ROWS as u64);
        (rows as u32, probe.div_ceil(rows))
    }
}

/// Returns the base-2 logarithm of the count of buckets of a page for `rows` rows, or `None` if a
/// block does not have enough memory for the page.
fn page_bucket_bits<K: KeyWord>(machine: Machine, rows: u64) -> Option<u32> {
    let bits = bits_for(rows).max(1);
    if rows > MAX_PAGE_ROWS as u64 {
        return None;
    }
    if machine.runs_in_order() {
        return Some(bits);
    }
    let words = machine.block_words() - WORDS_BESIDE;
    // A few more rows per bucket cost less than reading from the second-level cache.
    let fits = |bits: &u32| *bits != 0 && on_chip_words::<K>(rows as u32, *bits) <= words;
    [bits + 1, bits, bits - 1].into_iter().find(fits)
}

/// Returns the base-2 logarithm of the least power of two that is not less than `number`.
fn bits_for(number: u64) -> u32 {
    number.max(1).next_power_of_two().ilog2()
}
