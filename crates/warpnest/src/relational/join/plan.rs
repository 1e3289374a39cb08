//! The sizes of a join, all of which are known before anything is allocated.

use super::joined::{JoinKind, JoinMethod};
use crate::Stream;
use crate::primitives::{Pairs, RadixPasses};
use crate::split::{Level, MAX_ROWS, are_valid, levels, split_bits, starts_state_words};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::relational::join::{
    Emit, MAX_ITEM_ROWS, MAX_PAGE_ROWS, MIN_ITEM_ROWS, ON_CHIP_ROUND_ROWS, PAGE_BUCKET_BITS, PAGE_ROWS, ROUND_ROWS,
    SECTOR_WORDS, header, on_chip_words, slots_of_sector,
};
use gpu_kernels::types::KeyWord;
use std::ops::Range;

/// The rows of a bin's build side, about.
const BIN_ROWS: u64 = 2048;
const BIN_ROWS_ON_CORES: u64 = 1 << 13;

/// The most rows of a build side that is looked up in memory: the second-level cache has them. The
/// pairs of a block's round fit a word.
const MAX_DIRECT: u64 = 1 << 20;
const _: () = assert!(MAX_DIRECT * (ROUND_ROWS as u64) < 1 << 32);

/// The rows of a key that bins of the last split have capacity for, if all keys have as many, and
/// the keys of a bin of an earlier split. If bins of the last one get more rows it is made again.
const ROWS_A_KEY: u64 = 4;
const KEYS_OF_EARLY_BIN: u64 = 1 << 10;
/// The fewest keys of a bin of the last split that it has capacity for: with fewer it would be
/// several times as large as the mean.
const MIN_KEYS_OF_BIN: u64 = 1 << 8;

/// The most pages of a bin that a block fills one after the other, where what is written of a probe
/// row depends on all of them.
const LIGHT_PAGES: u32 = 8;

/// The blocks of bins that a multiprocessor runs at a time, and the work items for each of them
/// where there are fewer bins.
const BLOCKS_OF_PAGES: u64 = 2;
const ITEMS_A_BLOCK: u64 = 4;

/// The build rows of a bucket in memory that a warp may always read, and the share of all, one in
/// so many, that a bucket may have besides: where many keys have many rows, what is written takes
/// longer.
const SHORT_BUCKET: u64 = 256;
const SHARES_OF_BUCKET: u64 = 64;

/// The probe rows for each build row from which on sorting build rows, so that probe rows stay
/// where they are, takes less than splitting both.
const PROBES_OF_SORTED: u64 = 4;

/// The blocks that keep a GPU busy, and a core of a CPU.
const BUSY_BLOCKS: u64 = 1024;
const BLOCKS_A_CORE: u64 = 4;

/// The words of a block beside those of its page.
const WORDS_BESIDE: u32 = 128;

/// The multiprocessors of a device that does not say how many it has.
const MULTIPROCESSORS: u32 = 4;

/// The slots of a table for each row.
const SLOTS_A_ROW: u64 = 2;

/// The fewest rows of a block that looks up its rows in memory.
const MIN_BLOCK_ROWS: u64 = 32;

/// The probe rows of a block of a CPU, for each build row, that are worth filling a page.
const PROBES_A_BUILD: u64 = 8;

/// A side of the join: the left one, or the right one.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// The words of the headers: one for each side, the first of which is the join's, too.
pub(super) const HEADERS: u64 = 2 * header::WORDS as u64;

/// A pass over the rows of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The side that is the build side.
    pub build: usize,
    pub emit: Emit,
    pub bins: Bins,
}

/// The bins that a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bins {
    /// The bins that are not heavy; or all of them, if only pairs are written.
    Light,
    /// The bins with more build rows than a block should read for each of its probe rows.
    Heavy,
}

impl Pass {
    /// Returns the passes of a join with so many rows on each side.
    pub fn of(kind: JoinKind, [left, right]: [u64; 2]) -> Vec<Self> {
        let outer = Emit::PAIRS.and(Emit::UNMATCHED);
        let pass = |build, emit| Self { build, emit, bins: Bins::Light };
        match kind {
            JoinKind::Inner => vec![pass(if left < right { LEFT } else { RIGHT }, Emit::PAIRS)],
            JoinKind::Left => vec![pass(RIGHT, outer)],
            JoinKind::Right => vec![pass(LEFT, outer)],
            JoinKind::Full => vec![pass(RIGHT, outer), pass(LEFT, Emit::UNMATCHED)],
            JoinKind::Semi => vec![pass(RIGHT, Emit::MATCHED)],
            JoinKind::Anti => vec![pass(RIGHT, Emit::UNMATCHED)],
        }
    }

    /// Returns the pass of a join of left rows with a right side that is kept.
    pub fn of_kept(kind: JoinKind) -> Vec<Self> {
        let emit = Self::of(kind, [0, 0])[0].emit;
        vec![Self { build: RIGHT, emit, bins: Bins::Light }]
    }

    /// Returns the passes over the heavy bins: one for pairs, in which the smaller side of a bin is
    /// the build side, and one for rows whose key is there or not.
    pub fn of_heavy_bins(self) -> impl Iterator<Item = Self> {
        [Emit::PAIRS, Emit::UNMATCHED, Emit::MATCHED]
            .into_iter()
            .filter(move |&emit| self.emit.has(emit))
            .map(move |emit| Self { emit, bins: Bins::Heavy, ..self })
    }

    /// Returns whether the build side is that of the different keys of each bin.
    pub fn is_of_distinct_keys(&self) -> bool {
        self.bins == Bins::Heavy && self.emit.needs_all()
    }

    /// Returns the other side.
    pub fn probe(&self) -> usize {
        1 - self.build
    }
}

/// How the rows of a side are brought together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// As they are: blocks read all of them, or each block a part.
    Whole,
    /// Split into bins.
    Split,
    /// Sorted by bin, or by bucket.
    Sorted,
    /// In a hash table, if their keys differ.
    Table,
}

/// The layout of a side in the scratch, in 64-bit words.
#[derive(Clone, Debug)]
pub(super) struct SideLayout {
    pub rows: u64,
    pub arrangement: Arrangement,
    pub levels: Vec<Level>,
    /// The counts of the bins of all levels, and what a scan of the last ones publishes.
    pub counts_at: u64,
    /// The end of these words, which are 0 at first.
    pub counts_end: u64,
    /// The starts of the bins, if they have no capacity.
    pub starts_at: u64,
    /// The pairs of mixed keys and row numbers, in the order of bins.
    pub pairs_at: u64,
    /// The end of the side's words.
    pub end: u64,
}

impl SideLayout {
    /// Returns the layout of so many rows as they are.
    fn whole(rows: u64) -> Self {
        let (arrangement, levels) = (Arrangement::Whole, Vec::new());
        Self { rows, arrangement, levels, counts_at: 0, counts_end: 0, starts_at: 0, pairs_at: 0, end: 0 }
    }

    /// Returns the layout of a side with `page_bits` bits of bins, from word `at` on.
    fn placed_at<K: KeyWord>(self, at: u64, page_bits: u32) -> Self {
        let mut side = Self { counts_at: at, ..self };
        let of_scan = side.levels.last().map_or(0, |_| starts_state_words(1 << page_bits));
        side.counts_end = (side.counts_of(side.levels.len()) + of_scan).next_multiple_of(2);
        let has_starts = matches!(side.arrangement, Arrangement::Split | Arrangement::Sorted);
        let starts = if has_starts { ((1u64 << page_bits) + 1).div_ceil(2) } else { 0 };
        side.starts_at = side.counts_end;
        side.pairs_at = side.starts_at + starts.next_multiple_of(2);
        let pairs = match side.arrangement {
            Arrangement::Whole => 0,
            Arrangement::Sorted => Pairs::<K, u32>::words(side.rows),
            Arrangement::Table => SECTOR_WORDS << page_bits,
            // The last split writes to the side's own memory, and those before it in turn.
            Arrangement::Split => side.levels.iter().rev().step_by(2).map(pairs_words::<K>).max().unwrap_or(0),
        };
        side.end = side.pairs_at + pairs.next_multiple_of(2);
        side
    }

    /// Returns the offset of the counts of the bins of a level, or of the end of all counts.
    pub fn counts_of(&self, level: usize) -> u64 {
        self.counts_at + self.levels[..level].iter().map(Level::counts_words).sum::<u64>()
    }
}

/// What a plan depends on of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Its cores, if it is a CPU.
    pub cores: Option<usize>,
    /// The blocks that are resident at a time, if each takes all memory of a multiprocessor.
    pub resident: u64,
    /// The 32-bit words of a block's page.
    pub page_words: u32,
}

impl Machine {
    pub fn of(stream: &Stream) -> Self {
        let engine = stream.engine();
        Self {
            cores: stream.cores(),
            resident: engine.multiprocessors().unwrap_or(MULTIPROCESSORS) as u64,
            page_words: (engine.block_memory() / 4) as u32 - WORDS_BESIDE,
        }
    }

    /// Returns the binary logarithm of the number of buckets of a page for so many rows, or `None`
    /// if a block has not memory for it.
    fn bucket_bits<K: KeyWord>(&self, rows: u64) -> Option<u32> {
        let bits = bits_for(rows).max(1);
        if rows > MAX_PAGE_ROWS as u64 {
            return None;
        }
        if self.cores.is_some() {
            return Some(bits);
        }
        // A few rows more in a bucket cost less than the second-level cache.
        let fits = |bits: &u32| *bits != 0 && on_chip_words::<K>(rows as u32, *bits) <= self.page_words;
        [bits + 1, bits, bits - 1].into_iter().find(fits)
    }
}

/// Returns the words of the pairs of all bins of a split.
fn pairs_words<K: KeyWord>(level: &Level) -> u64 {
    Pairs::<K, u32>::words(level.capacity())
}

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
    pub fn sides(self) -> Range<usize> {
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
    /// The bits of a bin's number, or if the build side is looked up in memory those of a bucket's,
    /// or of a sector's of its table.
    pub page_bits: u32,
    /// The most rows of a page, and the binary logarithm of the number of its buckets.
    pub page_rows: u32,
    pub bucket_bits: u32,
    /// The most build rows of a bin that is not heavy.
    pub light_rows: u32,
    /// Whether what is written of a row may depend on all build rows.
    needs_all: bool,
    pub headers_at: u64,
    /// The rows between two splits or radix passes; later the number of different keys of each
    /// heavy bin, and these keys.
    pub between_at: u64,
    /// The numbers of rows, for radix passes.
    pub numbers_at: u64,
    pub items_at: u64,
    pub words: u64,
}

/// Returns the binary logarithm of the least power of two that is not less.
fn bits_for(number: u64) -> u32 {
    number.max(1).next_power_of_two().ilog2()
}

impl JoinPlan {
    /// Makes the plan for so many rows on each side, of both sides or of the right one. Some sides
    /// may be sorted because their splits overflowed.
    pub fn new<K: KeyWord>(
        machine: Machine,
        rows: [u64; 2],
        (method, passes, light_rows): (JoinMethod, &[Pass], Option<u32>),
        are_skewed: [bool; 2],
        to_arrange: ToArrange,
    ) -> Self {
        let build = passes.iter().map(|pass| rows[pass.build]).max().unwrap_or(0);
        let cores = machine.cores;
        let is_direct = cores.is_none() && passes.len() == 1 && build <= MAX_DIRECT;
        let is_skewed = are_skewed.contains(&true);
        let on_chip = machine.bucket_bits::<K>(build);
        let method = match method {
            JoinMethod::Direct if !is_direct => JoinMethod::Split,
            JoinMethod::OnChip if on_chip.is_none() => JoinMethod::Split,
            JoinMethod::Auto if on_chip.is_some() => JoinMethod::OnChip,
            JoinMethod::Auto if is_direct => JoinMethod::Direct,
            JoinMethod::Auto => JoinMethod::Split,
            method => method,
        };
        let bin_rows = if cores.is_some() { BIN_ROWS_ON_CORES } else { BIN_ROWS };
        let page_bits = match method {
            JoinMethod::Direct if is_skewed => bits_for(build).clamp(1, K::BITS - 1),
            JoinMethod::Direct => bits_for((SLOTS_A_ROW * build).div_ceil(slots_of_sector::<K>())).clamp(1, 31),
            JoinMethod::Split => bits_for(build.div_ceil(bin_rows)).max(1),
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
    pub fn probing<K: KeyWord>(&self, left: u64, is_skewed: bool) -> Self {
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

    /// Sets the sizes of pages, if they are not those of a GPU's bins.
    fn with_page<K: KeyWord>(self, passes: &[Pass]) -> Self {
        let is_on_chip = self.method == JoinMethod::OnChip;
        if self.machine.cores.is_none() && !is_on_chip {
            return self;
        }
        let most = |pass: &Pass| match &self.sides[pass.build] {
            side if is_on_chip => side.rows,
            side => side.levels.last().map_or(u64::MAX, |last| last.bin_capacity),
        };
        let rows = passes.iter().map(most).max().unwrap_or(0).clamp(1, MAX_PAGE_ROWS as u64);
        let bucket_bits = self.machine.bucket_bits::<K>(rows).unwrap_or(PAGE_BUCKET_BITS);
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
        let has_items = plan.machine.cores.is_none() && plan.method == JoinMethod::Split;
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

    /// Returns the words of the numbers of different keys of heavy bins.
    pub fn distinct_counts_words(&self) -> u64 {
        (1u64 << self.page_bits).div_ceil(2).next_multiple_of(2)
    }

    /// Returns the words of the different keys of heavy bins and of their numbers, if some pass may
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
    pub fn item_rows(&self, pass: Pass) -> u32 {
        if self.machine.cores.is_some() || 1 << self.page_bits >= BLOCKS_OF_PAGES * self.machine.resident {
            return MAX_ITEM_ROWS;
        }
        let blocks = ITEMS_A_BLOCK * BLOCKS_OF_PAGES * self.machine.resident;
        (self.sides[pass.probe()].rows / blocks).clamp(MIN_ITEM_ROWS.into(), MAX_ITEM_ROWS.into()) as u32
    }

    /// Returns the most rows of a bucket of a sorted side of so many rows.
    pub fn most_of_bucket(&self, rows: u64) -> u32 {
        match self.method {
            JoinMethod::Direct => (rows / SHARES_OF_BUCKET).max(SHORT_BUCKET) as u32,
            _ => u32::MAX,
        }
    }

    /// Returns whether build rows with repeated keys are to be sorted, to be looked up in memory.
    pub fn is_worth_sorting(&self, pass: Pass) -> bool {
        self.sides[pass.probe()].rows > PROBES_OF_SORTED * self.sides[pass.build].rows
    }

    /// Returns the radix passes that sort so many rows by bin.
    pub fn passes<K: KeyWord>(&self, constants: [u64; 2], rows: u64) -> RadixPasses<K, u32> {
        let mut constants = constants.into_iter().cycle();
        let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || constants.next().unwrap_or_default());
        RadixPasses::by_mixed_key(functions, self.page_bits, rows, self.machine.cores)
    }

    /// Returns the number of probe rows of a round of a block that takes the whole build side, and
    /// the number of such blocks.
    pub fn on_chip_blocks(&self, pass: Pass) -> (u32, u64) {
        let [build, probe] = [pass.build, pass.probe()].map(|side| self.sides[side].rows);
        match self.machine.cores {
            Some(cores) => {
                let worth_it = probe / (PROBES_A_BUILD * build.max(1));
                (ON_CHIP_ROUND_ROWS, worth_it.clamp(1, BLOCKS_A_CORE * cores as u64))
            }
            None => {
                let rows = probe.div_ceil(self.machine.resident).clamp(MIN_BLOCK_ROWS, ON_CHIP_ROUND_ROWS as u64);
                (rows as u32, probe.div_ceil(rows).clamp(1, self.machine.resident))
            }
        }
    }

    /// Returns the number of probe rows of a block that looks them up in memory, and the number of
    /// such blocks.
    pub fn direct_blocks(&self, pass: Pass) -> (u32, u64) {
        let probe = self.sides[pass.probe()].rows;
        let rows = (probe / BUSY_BLOCKS).next_multiple_of(32).clamp(MIN_BLOCK_ROWS, ROUND_ROWS as u64);
        (rows as u32, probe.div_ceil(rows))
    }
}

/// Returns the sizes of the splits of a side.
fn levels_of<K: KeyWord>(rows: [u64; 2], side: usize, page_bits: u32) -> Vec<Level> {
    let bits = split_bits(page_bits);
    // Where the other side has fewer rows, each of its keys is likely to have many rows on this
    // one.
    let keys = (rows[side] / ROWS_A_KEY).min(rows[1 - side]).max(MIN_KEYS_OF_BIN << page_bits);
    let least = |level: usize| {
        let bins: u32 = bits[..=level].iter().sum();
        if level + 1 < bits.len() { KEYS_OF_EARLY_BIN << bins } else { keys }
    };
    levels::<K, u32>((rows[side], None), least, 0, &bits)
}
