//! The plan of a join: by a hash table, on chip or in pages, and all sizes, which are known before
//! anything is allocated.

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

/// The rows of a bin's build side, about.
const BIN_ROWS: PerMachine<u64> = PerMachine { gpu: 2048, core: 1 << 13 };

/// The most rows of a build side that is looked up in memory: the second-level cache has them. The
/// pairs of a block's round fit a word.
const MAX_DIRECT: u64 = 1 << 20;
const _: () = assert!(MAX_DIRECT * (ROUND_ROWS as u64) < 1 << 32);

/// The most pages of a bin that a block fills one after the other, where what is written of a probe
/// row depends on all of them.
const LIGHT_PAGES: u32 = 8;

/// The blocks of bins that a multiprocessor runs at a time, and the work items for each of them
/// where there are fewer bins. Cores take whole bins, however few there are.
const BLOCKS_OF_PAGES: PerMachine<u64> = PerMachine { gpu: 2, core: 0 };
const ITEMS_A_BLOCK: u64 = 4;

/// The build rows of a bucket in memory that a warp may always read, and the share of all, one in
/// so many, that a bucket may have besides: where many keys have many rows, what is written takes
/// longer.
const SHORT_BUCKET: u64 = 256;
const SHARES_OF_BUCKET: u64 = 64;

/// The probe rows for each build row from which on sorting build rows, so that probe rows stay
/// where they are, takes less than splitting both.
const PROBES_OF_SORTED: u64 = 4;

/// The blocks that keep a GPU busy where build rows are in memory.
const BUSY_BLOCKS: u64 = 1024;
/// The most blocks that have the whole build side on chip. On a GPU each takes all memory of a
/// multiprocessor.
const BLOCKS_ON_CHIP: PerMachine<u64> = PerMachine { gpu: 1, core: 4 };
/// The words of a block's memory besides its page.
const WORDS_BESIDE: u32 = 128;

/// The slots of a table for each row.
const SLOTS_A_ROW: u64 = 2;

/// The fewest rows of a block that looks up its rows in memory.
const MIN_BLOCK_ROWS: u64 = 32;

/// The probe rows of a block of a CPU, for each build row, that are worth filling a page.
const PROBES_A_BUILD: u64 = 8;

/// The words of the headers: one for each side, the first of which is the join's, too.
pub(super) const HEADERS: u64 = 2 * header::WORDS as u64;

/// Which sides are arranged, and where the right one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToArrange {
    /// Both, in the scratch.
    Both,
    /// The right one, in memory of its own.
    Right,
    /// The left one, in the scratch; the right one is in memory of its own.
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

/// The sizes of a join, and the layout of its scratch: the words of radix passes, the headers,
/// which are 0 at first, and the rows of both sides.
#[derive(Clone, Debug)]
pub(super) struct JoinPlan {
    pub method: JoinMethod,
    pub to_arrange: ToArrange,
    pub sides: [SideLayout; 2],
    pub machine: Machine,
    /// The bits of a bin's index. If the build side is looked up in memory, the bits of the index
    /// of a bucket, or of a sector of its table.
    pub page_bits: u32,
    /// The most rows of a page, and the binary logarithm of the count of its buckets.
    pub page_rows: u32,
    pub bucket_bits: u32,
    /// The most build rows of a bin that is not heavy.
    pub light_rows: u32,
    /// Whether what is written of a row may depend on all build rows.
    needs_all: bool,
    pub headers_at: u64,
    /// The rows between two splits or radix passes; later the count of different keys of each heavy
    /// bin, and these keys.
    pub between_at: u64,
    /// The indices of rows, for radix passes.
    pub numbers_at: u64,
    pub items_at: u64,
    pub words: u64,
}

impl JoinPlan {
    /// Makes the plan for so many rows on each side, of both sides or of the right one. Some sides
    /// may be sorted because their splits overflowed.
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

    /// Returns the plan for a join of so many left rows with the right side of this plan, which is
    /// arranged.
    pub(super) fn probing<K: KeyWord>(&self, left: u64, is_skewed: bool) -> Self {
        let mut plan = Self { to_arrange: ToArrange::Left, ..self.clone() };
        plan.sides[LEFT] = SideLayout::whole(left);
        if self.method == JoinMethod::Split {
            plan.sides[LEFT].arrangement = if is_skewed { Arrangement::Sorted } else { Arrangement::Split };
        }
        plan.with_splits::<K>().with_layout::<K>()
    }

    /// Sets the splits of those sides that are arranged so; or has them sorted, if there are too
    /// many rows.
    fn with_splits<K: KeyWord>(self) -> Self {
        let mut plan = self;
        // A right side that is arranged alone is to meet as many rows.
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

    /// Sets the sizes of pages, if they are not the sizes for a GPU's bins.
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

    /// Lays the scratch out.
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
        // In some bins a side has the probe rows, in others the other side.
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

    /// Returns the words of the counts of different keys of heavy bins.
    pub(super) fn distinct_counts_words(&self) -> u64 {
        (1u64 << self.page_bits).div_ceil(2).next_multiple_of(2)
    }

    /// Returns the words of the different keys of heavy bins and of their counts, if some pass may
    /// want them.
    fn distinct_words<K: KeyWord>(&self) -> u64 {
        if self.method != JoinMethod::Split || !self.needs_all || self.to_arrange == ToArrange::Right {
            return 0;
        }
        let positions = |side: &SideLayout| side.rows.max(side.levels.last().map_or(0, Level::capacity));
        let keys = self.sides.iter().map(positions).max().unwrap_or(0);
        self.distinct_counts_words() + (keys * u64::from(K::BITS)).div_ceil(64)
    }

    /// Returns the most probe rows of a work item: fewer where bins are so few that they leave
    /// multiprocessors idle.
    pub(super) fn item_rows(&self, pass: Pass) -> u32 {
        let resident = self.machine.blocks(BLOCKS_OF_PAGES);
        if 1 << self.page_bits >= resident {
            return MAX_ITEM_ROWS;
        }
        (self.sides[pass.probe()].rows / (ITEMS_A_BLOCK * resident)).clamp(MIN_ITEM_ROWS.into(), MAX_ITEM_ROWS.into())
            as u32
    }

    /// Returns the most rows of a bucket of a sorted side of so many rows.
    pub(super) fn most_of_bucket(&self, rows: u64) -> u32 {
        match self.method {
            JoinMethod::Direct => (rows / SHARES_OF_BUCKET).max(SHORT_BUCKET) as u32,
            _ => u32::MAX,
        }
    }

    /// Returns whether build rows with repeated keys are to be sorted, to be looked up in memory.
    pub(super) fn is_worth_sorting(&self, pass: Pass) -> bool {
        self.sides[pass.probe()].rows > PROBES_OF_SORTED * self.sides[pass.build].rows
    }

    /// Returns the radix passes that sort so many rows by bin.
    pub(super) fn passes<K: KeyWord>(&self, constants: [u64; 2], rows: u64) -> RadixPasses<K, u32> {
        let mut constants = constants.into_iter().cycle();
        let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || constants.next().unwrap_or_default());
        RadixPasses::by_mixed_key(functions, self.page_bits, rows, self.machine)
    }

    /// Returns the count of probe rows of a round of a block that takes the whole build side, and
    /// the count of such blocks.
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

    /// Returns the count of probe rows of a block that looks them up in memory, and the count of
    /// such blocks.
    pub(super) fn direct_blocks(&self, pass: Pass) -> (u32, u64) {
        let probe = self.sides[pass.probe()].rows;
        let rows = (probe / BUSY_BLOCKS).next_multiple_of(32).clamp(MIN_BLOCK_ROWS, ROUND_ROWS as u64);
        (rows as u32, probe.div_ceil(rows))
    }
}

/// Returns the binary logarithm of the count of buckets of a page for so many rows, or `None` if a
/// block has not memory for it.
fn page_bucket_bits<K: KeyWord>(machine: Machine, rows: u64) -> Option<u32> {
    let bits = bits_for(rows).max(1);
    if rows > MAX_PAGE_ROWS as u64 {
        return None;
    }
    if machine.runs_in_order() {
        return Some(bits);
    }
    let words = machine.block_words() - WORDS_BESIDE;
    // A few rows more in a bucket cost less than the second-level cache.
    let fits = |bits: &u32| *bits != 0 && on_chip_words::<K>(rows as u32, *bits) <= words;
    [bits + 1, bits, bits - 1].into_iter().find(fits)
}

/// Returns the binary logarithm of the least power of two that is not less.
fn bits_for(number: u64) -> u32 {
    number.max(1).next_power_of_two().ilog2()
}
