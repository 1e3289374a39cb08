//! The sizes of a join, all of which are known before anything is allocated.

use super::joined::{JoinKind, JoinMethod};
use crate::primitives::{Pairs, RadixPasses};
use crate::relational::splits::{Level, MAX_ROWS, are_valid, levels, split_bits};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::relational::join::{
    Emit, MAX_PAGE_ROWS, MAX_ROUNDS, MIN_ITEM_ROWS, PAGE_BUCKET_BITS, PAGE_ROWS, ROUND_ROWS, header, item_rows,
};
use gpu_kernels::types::KeyWord;

/// The rows of a bin's build side, about.
const BIN_ROWS: u64 = 2048;
const BIN_ROWS_ON_CORES: u64 = 1 << 13;

/// The most rows of a build side that is looked up in memory: the second-level cache has them.
const MAX_DIRECT: u64 = 1 << 20;

/// The rows of a key that bins of a split have capacity for, if all keys have as many.
const ROWS_A_KEY: u64 = 4;

/// The blocks that keep a GPU busy, and a core of a CPU.
const BUSY_BLOCKS: u64 = 1024;
const BLOCKS_A_CORE: u64 = 4;

/// The probe rows of a block of a CPU, for each build row, that are worth filling a page.
const PROBES_A_BUILD: u64 = 8;

/// A side of the join: the left one, or the right one.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A pass over the rows of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The side that is the build side.
    pub build: usize,
    pub emit: Emit,
}

impl Pass {
    /// Returns the passes of a join with so many rows on each side.
    pub fn of(kind: JoinKind, [left, right]: [u64; 2]) -> Vec<Self> {
        let outer = Emit::PAIRS.and(Emit::UNMATCHED);
        match kind {
            JoinKind::Inner => vec![Self { build: if left < right { LEFT } else { RIGHT }, emit: Emit::PAIRS }],
            JoinKind::Left => vec![Self { build: RIGHT, emit: outer }],
            JoinKind::Right => vec![Self { build: LEFT, emit: outer }],
            JoinKind::Full => {
                vec![Self { build: RIGHT, emit: outer }, Self { build: LEFT, emit: Emit::UNMATCHED }]
            }
            JoinKind::Semi => vec![Self { build: RIGHT, emit: Emit::MATCHED }],
            JoinKind::Anti => vec![Self { build: RIGHT, emit: Emit::UNMATCHED }],
        }
    }

    /// Returns the other side.
    pub fn probe(&self) -> usize {
        1 - self.build
    }
}

/// How rows are brought together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Neither side is split: blocks take all build rows.
    Whole,
    /// The build side of the only pass is sorted by bucket.
    Direct,
    /// Both sides are split into bins of a capacity.
    Split,
    /// Both sides are sorted by bin.
    Sorted,
}

/// The layout of a side in the scratch, in 64-bit words.
#[derive(Clone, Debug)]
pub(super) struct SideLayout {
    pub rows: u64,
    pub levels: Vec<Level>,
    /// The counts of the bins of all levels, or the starts of the bins of sorted rows.
    pub counts_at: u64,
    /// The pairs of mixed keys and row numbers, in the order of bins.
    pub pairs_at: u64,
}

impl SideLayout {
    fn of_rows(rows: u64) -> Self {
        Self { rows, levels: Vec::new(), counts_at: 0, pairs_at: 0 }
    }
}

/// The sizes of a join, and the layout of its scratch: the words of radix passes, the header and
/// the counts of bins, which are 0 at first, and the rows of both sides.
#[derive(Clone, Debug)]
pub(super) struct JoinPlan {
    pub arrangement: Arrangement,
    pub sides: [SideLayout; 2],
    pub cores: Option<usize>,
    /// The bits of a bin's number, or of a bucket's if the build side is looked up in memory.
    pub page_bits: u32,
    /// The most rows of a page, and the binary logarithm of the number of its buckets.
    pub page_rows: u32,
    pub bucket_bits: u32,
    pub header_at: u64,
    /// The end of the words that are 0 at first, from the header on.
    pub zeros_end: u64,
    /// The rows between two splits or radix passes.
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
    /// Makes the plan for so many rows on each side.
    pub fn new<K: KeyWord>(cores: Option<usize>, rows: [u64; 2], (method, passes): (JoinMethod, &[Pass])) -> Self {
        let build = passes.iter().map(|pass| rows[pass.build]).max().unwrap_or(0);
        let most_on_chip = if cores.is_some() { MAX_PAGE_ROWS } else { PAGE_ROWS } as u64;
        let direct = cores.is_none() && passes.len() == 1;
        let arrangement = match method {
            JoinMethod::OnChip => Arrangement::Whole,
            JoinMethod::Direct if direct => Arrangement::Direct,
            JoinMethod::Direct | JoinMethod::Split => Arrangement::Split,
            JoinMethod::Auto if build <= most_on_chip => Arrangement::Whole,
            JoinMethod::Auto if direct && build <= MAX_DIRECT => Arrangement::Direct,
            JoinMethod::Auto => Arrangement::Split,
        };
        let plan = Self {
            arrangement,
            sides: rows.map(SideLayout::of_rows),
            cores,
            page_bits: 0,
            page_rows: PAGE_ROWS,
            bucket_bits: PAGE_BUCKET_BITS,
            header_at: 0,
            zeros_end: header::WORDS as u64,
            between_at: 0,
            numbers_at: 0,
            items_at: 0,
            words: 0,
        };
        let plan = if cores.is_some() { plan.with_page_of(build.min(most_on_chip)) } else { plan };
        match arrangement {
            Arrangement::Whole => Self { words: header::WORDS as u64, ..plan },
            Arrangement::Direct => plan.direct::<K>(build, passes),
            Arrangement::Split | Arrangement::Sorted => {
                let bin_rows = if cores.is_some() { BIN_ROWS_ON_CORES } else { BIN_ROWS };
                let page_bits = bits_for(build.div_ceil(bin_rows)).max(1);
                let plan = Self { page_bits, ..plan };
                plan.split::<K>(passes).unwrap_or_else(|| plan.sorted::<K>(passes))
            }
        }
    }

    /// Sets the sizes of pages of so many rows, for a CPU.
    fn with_page_of(self, rows: u64) -> Self {
        let page_rows = rows.max(1).next_multiple_of(4) as u32;
        Self { page_rows, bucket_bits: bits_for(rows).max(1), ..self }
    }

    /// Adds the words of the work items.
    fn with_items(self, passes: &[Pass]) -> Self {
        let probe = passes.iter().map(|pass| self.sides[pass.probe()].rows).max().unwrap_or(0);
        let items = if self.cores.is_some() { 0 } else { probe / MIN_ITEM_ROWS as u64 + 1 };
        Self { items_at: self.words, words: (self.words + items).next_multiple_of(2), ..self }
    }

    /// Returns the plan with splits, if there are not too many rows.
    fn split<K: KeyWord>(&self, passes: &[Pass]) -> Option<Self> {
        let mut plan = self.clone();
        let bits = split_bits(plan.page_bits);
        for side in &mut plan.sides {
            let least = (side.rows / ROWS_A_KEY).max(1);
            side.levels = levels::<K, u32>((side.rows, None), least, 0, &bits);
            side.counts_at = plan.zeros_end;
            plan.zeros_end += side.levels.iter().map(Level::counts_words).sum::<u64>();
            if side.rows > MAX_ROWS || !are_valid(&side.levels) {
                return None;
            }
        }
        plan.between_at = plan.zeros_end.next_multiple_of(2);
        plan.words = plan.between_at;
        // The last split writes to the side's own memory, and those before it in turn.
        let words = |level: Option<&Level>| level.map_or(0, |level| Pairs::<K, u32>::words(level.capacity()));
        let between = |side: &SideLayout| words(side.levels.iter().rev().nth(1));
        plan.words += plan.sides.iter().map(between).max().unwrap_or(0);
        for side in &mut plan.sides {
            side.pairs_at = plan.words;
            let all = side.levels.iter().rev().step_by(2).map(|level| words(Some(level)));
            plan.words += all.max().unwrap_or(0);
        }
        if plan.cores.is_some() {
            let of_build = |pass: &Pass| plan.sides[pass.build].levels.last().map_or(0, |last| last.bin_capacity);
            let rows = passes.iter().map(of_build).max().unwrap_or(0);
            plan = plan.with_page_of(rows.min(MAX_PAGE_ROWS as u64));
        }
        Some(plan.with_items(passes))
    }

    /// Returns the plan of the same bins with sorts, in which bins have no capacity.
    pub fn sorted<K: KeyWord>(&self, passes: &[Pass]) -> Self {
        let plan = Self { arrangement: Arrangement::Sorted, ..self.clone() };
        let plan = plan.with_sorts::<K>([true; 2]);
        let plan = if plan.cores.is_some() { plan.with_page_of(MAX_PAGE_ROWS as u64) } else { plan };
        plan.with_items(passes)
    }

    /// Returns the plan of a build side that is looked up in memory.
    fn direct<K: KeyWord>(self, build: u64, passes: &[Pass]) -> Self {
        let plan = Self { page_bits: bits_for(build).clamp(1, K::BITS - 1), ..self };
        let is_build = [LEFT, RIGHT].map(|side| passes.iter().any(|pass| pass.build == side));
        plan.with_sorts::<K>(is_build)
    }

    /// Adds the words for sorting some of the sides.
    fn with_sorts<K: KeyWord>(self, is_sorted: [bool; 2]) -> Self {
        let mut plan = self;
        let most = plan.sides.iter().zip(is_sorted).filter(|(_, is)| *is).map(|(side, _)| side.rows).max();
        let most = most.unwrap_or(0);
        let of_passes = plan.passes::<K>([0; 2], most).words().next_multiple_of(2);
        plan.header_at = of_passes;
        plan.zeros_end = of_passes + header::WORDS as u64;
        plan.words = plan.zeros_end.next_multiple_of(2);
        plan.between_at = plan.words;
        plan.words += Pairs::<K, u32>::words(most);
        plan.numbers_at = plan.words;
        plan.words += most.div_ceil(4) * 2;
        let starts = ((1u64 << plan.page_bits) + 1).div_ceil(4) * 2;
        for (side, is_sorted) in plan.sides.iter_mut().zip(is_sorted) {
            side.levels.clear();
            if is_sorted {
                side.counts_at = plan.words;
                side.pairs_at = plan.words + starts;
                plan.words = side.pairs_at + Pairs::<K, u32>::words(side.rows);
            }
        }
        plan
    }

    /// Returns the radix passes that sort so many rows by bin.
    pub fn passes<K: KeyWord>(&self, constants: [u64; 2], rows: u64) -> RadixPasses<K, u32> {
        let mut constants = constants.into_iter().cycle();
        let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || constants.next().unwrap_or_default());
        RadixPasses::by_mixed_key(functions, self.page_bits, rows, self.cores)
    }

    /// Returns the most rounds of a block, and the number of blocks of a pass over pages.
    pub fn blocks(&self, pass: Pass) -> (u32, u64) {
        if self.arrangement != Arrangement::Whole {
            return (MAX_ROUNDS, 1 << self.page_bits);
        }
        let [build, probe] = [pass.build, pass.probe()].map(|side| self.sides[side].rows);
        match self.cores {
            Some(cores) => {
                let worth_it = probe / (PROBES_A_BUILD * build.max(1));
                (MAX_ROUNDS, worth_it.clamp(1, BLOCKS_A_CORE * cores as u64))
            }
            None => {
                let rounds = (probe / (BUSY_BLOCKS * ROUND_ROWS as u64)).clamp(1, MAX_ROUNDS as u64) as u32;
                let rows = item_rows(build.min(u32::MAX as u64) as u32, pass.emit, rounds);
                (rounds, probe.div_ceil(rows as u64).max(1))
            }
        }
    }
}
