//! The plan of a group-by by hashing: all sizes, which are known before anything is allocated.

use super::outputs::Shape;
use crate::primitives::Pairs;
use crate::runtime::machine::{Machine, PerMachine};
use crate::split::Regions;
use crate::split::{Level, MAX_ROWS, are_valid, levels, split_bits, starts_state_words};
use gpu_kernels::columns::LIST_WORDS;
use gpu_kernels::page::header;
use gpu_kernels::relational::group_by::{BLOCKS, CHAINED_ROWS, SPARE, page_slots};
use gpu_kernels::split::MAX_SPLIT_BITS;
use gpu_kernels::types::{KeyWord, Row};

/// The most rows that are grouped without a split. Then each block reads all rows, which is slower
/// on a CPU.
const MAX_UNSPLIT: PerMachine<u64> = PerMachine { gpu: 1 << 16, core: 1 << 12 };

/// The highest load factor of a page for the expected groups, if one split is enough. It is low
/// because the count of groups is a guess, and pages vary in size.
const LOAD: f64 = 0.35;
/// The load factor otherwise. It is lower, so that more keys are in their first slot.
const LOW_LOAD: f64 = 0.3;

/// The words of a page on a CPU, which fit into a core's cache.
const WORDS_ON_CORES: u32 = 12_160;
/// The words of a block's share of a multiprocessor's shared memory that a page does not use.
const WORDS_BESIDE: u32 = 128;

/// The bits of a bin's index that give enough bins to keep all multiprocessors busy. A bin should
/// have at least `MIN_GROUPS` groups, because small bins vary in size.
const BUSY_BITS: u32 = 8;
const MIN_GROUPS: u64 = 16;

/// If rows are not split, each further bin, with a block of its own, needs at least this many rows.
const ROWS_A_BLOCK: u64 = 1 << 11;

/// The count of standard deviations by which the groups of a page may exceed the mean.
const DEVIATIONS: f64 = 8.0;

/// The binary logarithm of the most copies of the aggregates of a page.
const MOST_COPY_BITS: u32 = 5;

/// The count of lists of columns: one for each split, and one for the kernel after them.
const LISTS: u64 = header::LEVELS + 1;

/// Rows are chained only if a group has on average at most this many rows. Hash pages are better
/// for larger groups, because they add a row to its group at once.
const CHAINED_ROWS_A_GROUP: u64 = 2;

/// The average count of rows of a bin whose rows are chained. A block can process at most
/// [`CHAINED_ROWS`].
const ROWS_OF_CHAINS: u64 = 1 << 11;

/// The expected count of groups. `least` determines the capacity of bins, and `most` the slots of
/// pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub least: u64,
    pub most: u64,
    /// The expected count of rows of the largest group, if it is much larger than others. Bins of
    /// the last split have capacity for two more such groups, but all bins together for at most
    /// `spare` more rows. This avoids repeating the split.
    pub heaviest: u64,
    pub spare: u64,
}

impl Expected {
    /// Returns an expectation of about `groups` groups.
    pub(super) fn about(groups: u64) -> Self {
        Self { least: groups, most: groups, heaviest: 0, spare: 0 }
    }
}

/// Returns the count of 32-bit words of memory for a page.
fn page_words(machine: Machine) -> u32 {
    machine.pick(PerMachine { gpu: machine.block_words() / BLOCKS - WORDS_BESIDE, core: WORDS_ON_CORES })
}

/// Returns the count of 32-bit words of a key and its aggregates.
fn slot_words<K: KeyWord>(shape: &Shape) -> u32 {
    K::BITS / 32 + shape.words()
}

/// Returns the binary logarithm of the count of copies of the aggregates of a page with `slots`
/// slots: as many as fit, up to one for each lane, if lanes would wait for each other to add.
fn copy_bits<K: KeyWord>(machine: Machine, slots: u32, shape: &Shape) -> u32 {
    let fits = |copy_bits: u32| {
        // Arrays begin at even words.
        let aggregates = ((slots << copy_bits) + SPARE + 2) * shape.words();
        slots * (K::BITS / 32) + aggregates + 16 <= page_words(machine)
    };
    let most = if shape.adds_floats && !machine.runs_in_order() { MOST_COPY_BITS } else { 0 };
    (1..=most).take_while(|&copy_bits| fits(copy_bits)).last().unwrap_or(0)
}

/// The data structure that aggregates the rows of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// A hash page, which has a slot for each group.
    Hash,
    /// Hash chains, which contain all rows of the bin.
    Chains,
}

/// The sizes of a group-by, and the layout of its scratch. The scratch has the header, the counts
/// of all bins, the state of a scan (all of which are 0 at first), the starts of bins, lists of
/// columns, and the rows after the last two splits.
#[derive(Clone, Debug)]
pub(super) struct HashPlan {
    pub rows: u64,
    /// The count of bits of a bin's index.
    pub page_bits: u32,
    pub page: Page,
    /// The slots of a hash page.
    pub slots: u32,
    /// The binary logarithm of the count of copies of a slot's aggregates.
    pub copy_bits: u32,
    pub levels: Vec<Level>,
    /// The words for the rows after the last split, and after the split before it.
    storage: [u64; 2],
    /// The bits of the values of each column of a list, which are stored after the keys.
    listed_bits: Vec<u32>,
}

/// Returns the count of 64-bit words of a column's values after a split.
fn column_words(level: &Level, bits: u32) -> u64 {
    (level.capacity() * bits as u64).div_ceil(128) * 2
}

impl HashPlan {
    /// Makes the plan for `rows` rows and the expected groups. The rows are in regions, or
    /// contiguous. Returns `None` if there are too many rows.
    pub(super) fn new<K: KeyWord, V: Row>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        shape: &Shape,
    ) -> Option<Self> {
        let groups = expected.most.clamp(1, rows.max(1));
        let slots = page_slots(u32::MAX, page_words(machine), slot_words::<K>(shape)) as f64;
        let bits_for = |load: f64| ((groups as f64 / (load * slots)).ceil() as u64).next_power_of_two().ilog2().max(1);
        let needed = if bits_for(LOAD) <= MAX_SPLIT_BITS { bits_for(LOAD) } else { bits_for(LOW_LOAD) };
        if rows <= machine.pick(MAX_UNSPLIT) && regions.is_none() {
            let shared = (rows / ROWS_A_BLOCK).max(1).ilog2();
            return Self::with_levels::<K, V>(machine, (rows, None), expected, shape, needed.max(shared), &[]);
        }
        let busy = (groups / MIN_GROUPS).max(1).ilog2().min(BUSY_BITS);
        let page_bits = needed.max(busy);
        Self::with_levels::<K, V>(machine, (rows, regions), expected, shape, page_bits, &split_bits(page_bits))
    }

    /// Makes the plan of a group-by whose rows are chained, with the arguments of
    /// [`HashPlan::new`]. Returns `None` if there are too few groups, too few rows or too many rows
    /// for chains.
    pub(super) fn of_chains<K: KeyWord, V: Row>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        shape: &Shape,
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
        Self::with_levels::<K, V>(machine, (rows, regions), expected, shape, page_bits, &bits)?.chained()
    }

    /// Returns the same plan with chains instead of hash pages, if the bins are small enough.
    pub(super) fn chained(self) -> Option<Self> {
        let fits = self.levels.last().is_some_and(|last| last.bin_capacity <= CHAINED_ROWS as u64);
        fits.then_some(Self { page: Page::Chains, ..self })
    }

    /// Returns the plan whose splits use `bits[i]` bits each, `page_bits` bits in all. Returns
    /// `None` if there are too many rows, splits or bits.
    pub(super) fn with_levels<K: KeyWord, V: Row>(
        machine: Machine,
        (rows, regions): (u64, Option<Regions>),
        expected: Expected,
        shape: &Shape,
        page_bits: u32,
        bits: &[u32],
    ) -> Option<Self> {
        let [least, most] = [expected.least, expected.most].map(|groups| groups.clamp(1, rows.max(1)));
        let of_heaviest = (2 * expected.heaviest).min(expected.spare >> page_bits);
        let levels = levels::<K, V>((rows, regions), |_| least, of_heaviest, bits);
        let listed_bits = shape.listed_bits::<V>();
        let storage = [0, 1].map(|back| {
            let levels = levels.iter().rev().skip(back).step_by(2);
            let words = |level: &Level| {
                let of_columns = listed_bits.iter().map(|&bits| column_words(level, bits)).sum::<u64>();
                Pairs::<K, V>::words(level.capacity()) + of_columns
            };
            levels.map(words).max().unwrap_or(0)
        });
        let fits = rows <= MAX_ROWS && are_valid(&levels);
        // Pages vary in size, and fewer slots are cleared faster.
        let groups_of_page = most as f64 / (1u64 << page_bits) as f64;
        let enough = (groups_of_page + DEVIATIONS * groups_of_page.sqrt() + 16.0) / LOW_LOAD;
        let slots = page_slots(enough as u32, page_words(machine), slot_words::<K>(shape));
        let copy_bits = copy_bits::<K>(machine, slots, shape);
        fits.then_some(Self { rows, page_bits, page: Page::Hash, slots, copy_bits, levels, storage, listed_bits })
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

    /// Returns the offset of the state of the scan of the last level's counts.
    pub(super) fn scan_at(&self) -> u64 {
        self.counts_end()
    }

    /// Returns the count of words that must be 0 at first.
    pub(super) fn zeros(&self) -> u64 {
        let of_scan = if self.levels.is_empty() { 0 } else { starts_state_words(self.pages()) };
        self.scan_at() + of_scan
    }

    /// Returns the offset of the starts of all bins, and their end, if bins have no fixed capacity.
    pub(super) fn starts_at(&self) -> u64 {
        self.zeros().next_multiple_of(2)
    }

    fn lists_at(&self) -> u64 {
        let of_starts = if self.levels.is_empty() { 0 } else { (self.pages() + 1).div_ceil(2) };
        (self.starts_at() + of_starts).next_multiple_of(2)
    }

    fn storage_begin(&self) -> u64 {
        self.lists_at() + LISTS * LIST_WORDS
    }

    /// Returns the offset of the list of columns that the split of level `level` reads, or the
    /// kernel after the last split.
    pub(super) fn list_at(&self, level: usize) -> u64 {
        self.lists_at() + level as u64 * LIST_WORDS
    }

    /// Returns the offset of the rows of level `level`, in 64-bit words, aligned to 16 bytes.
    pub(super) fn storage_at(&self, level: usize) -> u64 {
        let back = (self.levels.len() - 1 - level) % 2;
        self.storage_begin() + if back == 0 { 0 } else { self.storage[0] }
    }

    /// Returns the offset of a listed column's values after the split of level `level`.
    pub(super) fn column_at<K: KeyWord, V: Row>(&self, level: usize, column: usize) -> u64 {
        let of = &self.levels[level];
        let before = self.listed_bits[..column].iter().map(|&bits| column_words(of, bits)).sum::<u64>();
        self.storage_at(level) + Pairs::<K, V>::words(of.capacity()) + before
    }

    /// Returns the count of listed columns.
    pub(super) fn listed(&self) -> usize {
        self.listed_bits.len()
    }

    /// Returns the count of 64-bit words of the scratch.
    pub(super) fn scratch_words(&self) -> u64 {
        self.storage_begin() + self.storage[0] + self.storage[1]
    }
}

#[cfg(test)]
mod tests {
    use super::super::outputs::Part;
    use super::*;
    use gpu_kernels::relational::group_by::Wanted;
    use gpu_kernels::types::Columns;

    /// Returns the shape of aggregates of values of `bits` bits.
    fn shape(bits: u32, extremes: bool) -> Shape {
        let wanted = Wanted { counts: false, sums: true, minima: extremes, maxima: extremes };
        Shape { counts: true, columns: vec![Part { wanted, bits }], adds_floats: extremes }
    }

    /// A GPU with pages of 19,000 words.
    const GPU: Machine = Machine::gpu(1, (4 * BLOCKS * (19_000 + WORDS_BESIDE)) as usize);

    #[test]
    fn bins_of_chains_hold_their_rows() {
        fn check<K: KeyWord, V: Row>() {
            for rows in (18..=30).flat_map(|lg| [1u64 << lg, (1 << lg) + 1, 3 << (lg - 1)]) {
                let plan = |expected: u64, machine| {
                    HashPlan::of_chains::<K, V>(machine, (rows, None), Expected::about(expected), &shape(64, true))
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
            let few = HashPlan::of_chains::<K, V>(GPU, (rows, None), Expected::about(rows), &shape(64, true));
            assert!(few.is_none());
        }
        check::<u32, u32>();
        check::<u64, u64>();
        check::<u32, Columns>();
    }

    #[test]
    fn bins_have_capacity_for_all_rows_and_their_groups_fit_a_page() {
        fn check<K: KeyWord, V: Row>() {
            for (lg, lg_groups) in (0..=31).flat_map(|lg| (0..=lg).map(move |groups| (lg, groups))) {
                for (shape, machine) in [(shape(64, true), GPU), (shape(32, false), Machine::cpu(2))] {
                    let what = format!("2^{lg} rows of 2^{lg_groups} groups on {machine:?}");
                    let expected = Expected::about(1 << lg_groups);
                    let Some(plan) = HashPlan::new::<K, V>(machine, (1 << lg, None), expected, &shape) else {
                        // If there are few groups, bins may need several times the memory of all
                        // rows.
                        assert!(lg > 28, "{what}");
                        continue;
                    };
                    assert!(plan.page_bits >= 1 && plan.levels.len() <= header::LEVELS as usize, "{what}");
                    assert!((1u64 << lg_groups) >> plan.page_bits <= plan.slots as u64 * 2 / 5);
                    assert!(plan.slots <= page_words(machine) / slot_words::<K>(&shape));
                    let copies = (plan.slots << plan.copy_bits) + SPARE;
                    assert!(plan.slots * (K::BITS / 32) + copies * shape.words() <= page_words(machine), "{what}");
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
        check::<u32, Columns>();
    }
}
