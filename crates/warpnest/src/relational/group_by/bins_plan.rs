//! The sizes of a group-by by hashing, all of which are known before anything is allocated.

use crate::primitives::Pairs;
use crate::runtime::machine::{Machine, PerMachine};
use crate::split::Regions;
use crate::split::{Level, MAX_ROWS, are_valid, levels, split_bits, starts_state_words};
use gpu_kernels::page::header;
use gpu_kernels::relational::group_by::{BLOCKS, CHAINED_ROWS, Wanted};
use gpu_kernels::split::MAX_SPLIT_BITS;
use gpu_kernels::types::{KeyWord, Payload};

/// The most rows that are not split: each block reads all of them. Cores read them one block after
/// the other.
const MAX_UNSPLIT: PerMachine<u64> = PerMachine { gpu: 1 << 16, core: 1 << 12 };

/// The share of a page's slots that the expected groups take at most, if one split is enough then.
/// The count of groups is a guess, and pages vary.
const LOAD: f64 = 0.35;
/// The share that they take otherwise, and where there is memory for it: more keys are in their
/// first slot.
const LOW_LOAD: f64 = 0.3;

/// The words of a page on a CPU, which stay in a core's cache.
const WORDS_ON_CORES: u32 = 12_160;
/// The words that a page leaves of a block's share of a multiprocessor's memory.
const WORDS_BESIDE: u32 = 128;

/// The bits of a bin's index that keep all multiprocessors busy, and the fewest groups of a bin for
/// so many bins: bins of few groups vary in size.
const BUSY_BITS: u32 = 8;
const MIN_GROUPS: u64 = 16;

/// The fewest rows of a bin that are worth a block of their own where rows are not split.
const ROWS_A_BLOCK: u64 = 1 << 11;

/// The standard deviations by which a page may have more groups than the mean.
const DEVIATIONS: f64 = 8.0;

/// The most rows of a group, on average, for which rows are chained. With more, most rows are added
/// to a group that is there already, which hash pages do as they read them.
const CHAINED_ROWS_A_GROUP: u64 = 2;

/// The most rows of a bin, on average, if they are chained: a block takes [`CHAINED_ROWS`].
const ROWS_OF_CHAINS: u64 = 1 << 11;

/// The count of groups that is expected: bins have capacity for as few as the least, pages for as
/// many as the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub least: u64,
    pub most: u64,
    /// The rows of a group that is much larger than others. Bins of the last split have capacity
    /// for two of these besides, if all of that is for no more than so many rows. It saves making
    /// the split twice.
    pub heaviest: u64,
    pub spare: u64,
}

impl Expected {
    /// Returns an expectation of about as many groups.
    pub(super) fn about(groups: u64) -> Self {
        Self { least: groups, most: groups, heaviest: 0, spare: 0 }
    }
}

/// Returns the 32-bit words that there are for a page.
fn page_words(machine: Machine) -> u32 {
    machine.pick(PerMachine { gpu: machine.block_words() / BLOCKS - WORDS_BESIDE, core: WORDS_ON_CORES })
}

/// How the rows of a bin are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// In a hash page that has a slot for each group.
    Hash,
    /// In chains of all rows.
    Chains,
}

/// The sizes of a group-by, and the layout of its scratch: the header, the counts of all bins and
/// the words of a scan, which are 0 at first, the starts of bins, and the rows of the last split
/// and of the one before it.
#[derive(Clone, Debug)]
pub(super) struct HashPlan {
    pub rows: u64,
    /// The bits of a bin's index.
    pub page_bits: u32,
    pub page: Page,
    /// The slots of a hash page.
    pub slots: u32,
    pub levels: Vec<Level>,
    /// The words of the rows of the last split, and of the one before it.
    storage: [u64; 2],
}

impl HashPlan {
    /// Makes the plan for `rows` rows of so many groups. The rows are in regions or side by side.
    /// Returns `None` if there are too many rows.
    pub(super) fn new<K: KeyWord, V: Payload>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        wanted: Wanted,
    ) -> Option<Self> {
        let groups = expected.most.clamp(1, rows.max(1));
        let slots = wanted.slots::<K, V>(u32::MAX, page_words(machine)) as f64;
        let bits_for = |load: f64| ((groups as f64 / (load * slots)).ceil() as u64).next_power_of_two().ilog2().max(1);
        let needed = if bits_for(LOAD) <= MAX_SPLIT_BITS { bits_for(LOAD) } else { bits_for(LOW_LOAD) };
        if rows <= machine.pick(MAX_UNSPLIT) && regions.is_none() {
            let shared = (rows / ROWS_A_BLOCK).max(1).ilog2();
            return Self::with_levels::<K, V>(machine, (rows, None), expected, wanted, needed.max(shared), &[]);
        }
        let busy = (groups / MIN_GROUPS).max(1).ilog2().min(BUSY_BITS);
        let page_bits = needed.max(busy);
        Self::with_levels::<K, V>(machine, (rows, regions), expected, wanted, page_bits, &split_bits(page_bits))
    }

    /// Makes the plan of a group-by whose rows are chained, as [`HashPlan::new`]. Returns `None` if
    /// they have too few groups for that, or if there are too few rows or too many.
    pub(super) fn of_chains<K: KeyWord, V: Payload>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        wanted: Wanted,
    ) -> Option<Self> {
        let least = expected.least.clamp(1, rows.max(1));
        if machine.runs_in_order()
            || rows <= machine.pick(MAX_UNSPLIT)
            || least.saturating_mul(CHAINED_ROWS_A_GROUP) < rows
        {
            return None;
        }
        let page_bits = rows.div_ceil(ROWS_OF_CHAINS).next_power_of_two().ilog2().max(BUSY_BITS);
        let bits = split_bits(page_bits);
        Self::with_levels::<K, V>(machine, (rows, regions), expected, wanted, page_bits, &bits)?.chained()
    }

    /// Returns the same plan with chains of rows, if the bins are small enough.
    pub(super) fn chained(self) -> Option<Self> {
        let fits = self.levels.last().is_some_and(|last| last.bin_capacity <= CHAINED_ROWS as u64);
        fits.then_some(Self { page: Page::Chains, ..self })
    }

    /// Returns the plan of splits with so many bits each, which make `page_bits`, or of none.
    /// Returns `None` if there are too many of rows, splits or bits.
    pub(super) fn with_levels<K: KeyWord, V: Payload>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        wanted: Wanted,
        page_bits: u32,
        bits: &[u32],
    ) -> Option<Self> {
        let [least, most] = [expected.least, expected.most].map(|groups| groups.clamp(1, rows.max(1)));
        let of_heaviest = (2 * expected.heaviest).min(expected.spare >> page_bits);
        let levels = levels::<K, V>((rows, regions), |_| least, of_heaviest, bits);
        let storage = [0, 1].map(|back| {
            let levels = levels.iter().rev().skip(back).step_by(2);
            levels.map(|level| Pairs::<K, V>::words(level.capacity())).max().unwrap_or(0)
        });
        let fits = rows <= MAX_ROWS && are_valid(&levels);
        // Pages vary, and fewer slots are cleared sooner.
        let groups_of_page = most as f64 / (1u64 << page_bits) as f64;
        let enough = (groups_of_page + DEVIATIONS * groups_of_page.sqrt() + 16.0) / LOW_LOAD;
        let slots = wanted.slots::<K, V>(enough as u32, page_words(machine));
        fits.then_some(Self { rows, page_bits, page: Page::Hash, slots, levels, storage })
    }

    /// Returns the count of bins.
    pub(super) fn pages(&self) -> u64 {
        1 << self.page_bits
    }

    /// Returns the offset of the counts of level `level`, in 64-bit words.
    pub(super) fn counts_at(&self, level: usize) -> u64 {
        header::WORDS as u64 + self.levels[..level].iter().map(Level::counts_words).sum::<u64>()
    }

    /// Returns the offset of the end of all counts, in 64-bit words.
    pub(super) fn counts_end(&self) -> u64 {
        self.counts_at(self.levels.len())
    }

    /// Returns the offset of what a scan of the last level's counts publishes in.
    pub(super) fn scan_at(&self) -> u64 {
        self.counts_end()
    }

    /// Returns the count of words that are 0 at first.
    pub(super) fn zeros(&self) -> u64 {
        let of_scan = if self.levels.is_empty() { 0 } else { starts_state_words(self.pages()) };
        self.scan_at() + of_scan
    }

    /// Returns the offset of the starts of all bins, and their end, if those have no capacity of
    /// their own.
    pub(super) fn starts_at(&self) -> u64 {
        self.zeros().next_multiple_of(2)
    }

    fn storage_begin(&self) -> u64 {
        let of_starts = if self.levels.is_empty() { 0 } else { (self.pages() + 1).div_ceil(2) };
        (self.starts_at() + of_starts).next_multiple_of(2)
    }

    /// Returns the offset of the rows of level `level`, in 64-bit words, aligned to 16 bytes.
    pub(super) fn storage_at(&self, level: usize) -> u64 {
        let back = (self.levels.len() - 1 - level) % 2;
        self.storage_begin() + if back == 0 { 0 } else { self.storage[0] }
    }

    /// Returns the count of 64-bit words of the scratch.
    pub(super) fn scratch_words(&self) -> u64 {
        self.storage_begin() + self.storage[0] + self.storage[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU with pages of 19,000 words.
    const GPU: Machine = Machine::gpu(1, (4 * BLOCKS * (19_000 + WORDS_BESIDE)) as usize);
    const WANTED: Wanted = Wanted { counts: true, sums: true, minima: true, maxima: true };

    #[test]
    fn bins_of_chains_hold_their_rows() {
        fn check<K: KeyWord, V: Payload>() {
            for rows in (18..=30).flat_map(|lg| [1u64 << lg, (1 << lg) + 1, 3 << (lg - 1)]) {
                let plan = |expected: u64, machine| {
                    HashPlan::of_chains::<K, V>(machine, (rows, None), Expected::about(expected), WANTED)
                };
                for groups in [rows, rows / 8 * 7, rows / 4 * 3, rows.div_ceil(2)] {
                    let plan = plan(groups, GPU).unwrap_or_else(|| panic!("{rows} rows of {groups} groups"));
                    let last = plan.levels.last().unwrap();
                    assert_eq!((plan.page, last.bins()), (Page::Chains, plan.pages()));
                    assert!(last.bin_capacity * plan.pages() <= 2 * rows, "{rows} rows of {groups} groups");
                    assert!((rows / plan.pages()..=CHAINED_ROWS as u64).contains(&last.bin_capacity));
                }
                assert!(plan(rows / 2 - 1, GPU).is_none() && plan(rows, Machine::cpu(2)).is_none());
            }
            let rows = GPU.pick(MAX_UNSPLIT);
            let few = HashPlan::of_chains::<K, V>(GPU, (rows, None), Expected::about(rows), WANTED);
            assert!(few.is_none());
        }
        check::<u32, u32>();
        check::<u64, u64>();
    }

    #[test]
    fn bins_have_capacity_for_all_rows_and_their_groups_fit_a_page() {
        fn check<K: KeyWord, V: Payload>() {
            for (lg, lg_groups) in (0..=31).flat_map(|lg| (0..=lg).map(move |groups| (lg, groups))) {
                let fewer = Wanted { minima: false, maxima: false, ..WANTED };
                for (wanted, machine) in [(WANTED, GPU), (fewer, Machine::cpu(2))] {
                    let what = format!("2^{lg} rows of 2^{lg_groups} groups on {machine:?}");
                    let expected = Expected::about(1 << lg_groups);
                    let Some(plan) = HashPlan::new::<K, V>(machine, (1 << lg, None), expected, wanted) else {
                        // Few groups may need bins several times as large as all rows.
                        assert!(lg > 28, "{what}");
                        continue;
                    };
                    assert!(plan.page_bits >= 1 && plan.levels.len() <= header::LEVELS as usize, "{what}");
                    assert!((1u64 << lg_groups) >> plan.page_bits <= plan.slots as u64 * 2 / 5);
                    assert!(plan.slots <= page_words(machine) / wanted.slot_words::<K, V>());
                    assert!(plan.levels.iter().all(|level| (1..=MAX_SPLIT_BITS).contains(&level.bits)), "{what}");
                    assert!(plan.levels.iter().all(|level| level.capacity() >= 1 << lg), "{what}");
                    assert!(plan.levels.last().is_none_or(|last| last.bits_so_far == plan.page_bits), "{what}");
                }
            }
        }
        check::<u32, u32>();
        check::<u32, u64>();
        check::<u64, u32>();
        check::<u64, u64>();
        check::<u32, gpu_kernels::types::Nothing>();
        check::<u64, gpu_kernels::types::Nothing>();
    }
}
