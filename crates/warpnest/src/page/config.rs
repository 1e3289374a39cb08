//! The configuration of a page map, and the sizes that follow from it.

use super::build::plan::Plan;
use crate::runtime::machine::Machine;
use crate::table::config::{Config, MIN_LOAD};
use crate::table::input::Known;
use crate::{ConfigError, Error, InputError, Result};
use gpu_kernels::page::{BUCKET_WORDS, Layout, MIN_BUCKETS, fit_page, max_page_buckets};
use gpu_kernels::types::{KeyWord, Nothing, Payload, Scalar};

/// The most pairs of a page map.
pub(super) const MAX_PAIRS: u64 = 1 << 31;

/// The configuration of a [`PageMap`](crate::PageMap) or a [`PageSet`](crate::PageSet).
///
/// By default, the load factor is .8 for a set and for a map of more than 420,000 pairs. For a map
/// of up to 2^18 pairs speed matters more than memory: its load factor is .5, so that hardly any
/// key is stored outside its line. A map between these sizes takes as much memory as a map of 2^18
/// pairs.
///
/// ```
/// use warpnest::{Device, PageConfig, PageMap, PageSet};
///
/// let device = Device::cpu();
/// let config = PageConfig::default().load(0.95).assume_unique().seed(42);
/// let keys: Vec<u32> = (0..100_000).collect();
/// let map: PageMap<u32, u32> = config.build(&device, &keys, &keys)?;
/// assert_eq!(map.len(), 100_000);
/// assert_eq!(map.memory_bytes(), config.memory_bytes::<u32, u32>(100_000)?);
///
/// let set: PageSet<u32> = config.build_set(&device, &keys)?;
/// assert!(set.memory_bytes() < map.memory_bytes() / 2);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type PageConfig = Config<Page>;

/// The design of [`PageMap`](crate::PageMap) and [`PageSet`](crate::PageSet), with its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The requested load factor.
    pub(super) load: Option<f64>,
    /// The least count of pairs for which every table has capacity.
    pub(super) pairs: u64,
}

/// The load factor of large maps, and of sets, if none is requested.
const LOAD: f64 = 0.8;
/// The load factor of maps of up to [`MAX_SMALL_PAIRS`] pairs, if none is requested.
const LOAD_OF_SMALL: f64 = 0.5;
const MAX_SMALL_PAIRS: u64 = 1 << 18;
/// The largest share of taken slots in a map whose buckets have four slots.
const MAX_LOAD_OF_FOUR: f64 = 0.7;
/// The largest share of taken slots in a set.
const MAX_LOAD_OF_KEYS: f64 = 0.9;
/// The count of bits of a page index below which pages are kept small, so that there are enough
/// pages for all multiprocessors.
const MANY_PAGES_BITS: u32 = 9;
/// The fewest buckets to which a page is reduced in order to have more pages.
const MIN_PAGE_BUCKETS: u64 = 256;

/// The most bytes of a table whose load factor is below [`MIN_LOAD`]. A mistaken load factor should
/// not silently take all memory.
const MAX_SPARSE_BYTES: f64 = (1u64 << 28) as f64;

impl Config<Page> {
    /// Sets the load factor, which is at least 1/1024 and at most 1. It may be lower for a table of
    /// at most 256 MiB. For a map it is the share of the table's bytes that the pairs take. For a
    /// set it is the share of the slots that the keys take if no key is repeated.
    ///
    /// The load factor is an upper limit. In a map whose buckets have four slots, at most seven
    /// tenths of the slots are taken. These are small maps and maps of 64-bit keys or values. In a
    /// set, at most nine tenths are taken. Buckets of a set with more slots need a minimum count of
    /// buckets, whose indices encode more bits of a key. If that minimum gives the smallest table,
    /// fewer slots are taken. [`BulkMap::memory_bytes`](crate::BulkMap::memory_bytes) returns the
    /// bytes that a table takes.
    #[must_use]
    pub fn load(mut self, load: f64) -> Self {
        self.design.load = Some(load);
        self
    }

    /// Sets the least count of pairs, or keys of a set, for which tables have capacity, even if
    /// they are built from fewer. Batches do not make a table grow until it has more pairs than
    /// this count.
    #[must_use]
    pub fn pairs(mut self, pairs: usize) -> Self {
        self.design.pairs = pairs as u64;
        self
    }

    /// Returns the load factor of a table of `pairs` pairs. By default, all maps between small and
    /// large take the memory of the largest small map.
    pub(super) fn load_of<V: Payload>(&self, pairs: u64) -> f64 {
        let by_default = || match V::VALUE_BITS {
            0 => LOAD,
            _ => (LOAD_OF_SMALL * pairs as f64 / MAX_SMALL_PAIRS as f64).clamp(LOAD_OF_SMALL, LOAD),
        };
        self.design.load.unwrap_or_else(by_default)
    }

    /// Returns the count of pairs, or keys of a set, that a table with this layout holds at its
    /// load factor.
    pub(super) fn capacity_of<K: KeyWord, V: Payload>(&self, layout: &Layout) -> u64 {
        let (buckets, slots) = (layout.buckets() as f64, layout.slots as f64);
        let pairs = if V::VALUE_BITS == 0 {
            self.design.load.unwrap_or(LOAD).min(MAX_LOAD_OF_KEYS) * buckets * slots
        } else {
            let of_load = |load| load * buckets * bucket_bytes::<K, V>() / pair_bytes::<K, V>();
            let by_default = || match of_load(LOAD_OF_SMALL) {
                pairs if pairs < MAX_SMALL_PAIRS as f64 => pairs,
                _ => of_load(LOAD),
            };
            let pairs = self.design.load.map_or_else(by_default, of_load);
            if layout.slots == 4 { pairs.min(MAX_LOAD_OF_FOUR * 4.0 * buckets) } else { pairs }
        };
        // A table that was planned for a count of pairs has capacity for that count, even if
        // rounding makes the product a little too small.
        ((pairs + 0.001) as u64).min(MAX_PAIRS)
    }

    /// Returns the sizes of a build of `pairs` pairs, or keys of a set, if the configuration is
    /// valid.
    pub(super) fn plan<K: KeyWord, V: Payload>(&self, pairs: u64) -> Result<Plan> {
        self.plan_on::<K, V>(pairs, Known::Nothing, Machine::UNKNOWN)
    }

    /// Returns [`PageConfig::plan`], or a plan that moves only keys if `known` says that values do
    /// not matter.
    pub(super) fn plan_for<K: KeyWord, V: Payload>(&self, pairs: u64, known: Known) -> Result<Plan> {
        self.plan_on::<K, V>(pairs, known, Machine::UNKNOWN)
    }

    /// Returns [`PageConfig::plan_for`] for a machine. The table has the same size, and the scratch
    /// is not larger.
    pub(super) fn plan_on<K: KeyWord, V: Payload>(&self, pairs: u64, known: Known, machine: Machine) -> Result<Plan> {
        self.plan_with_capacity::<K, V>(pairs, self.design.pairs, known, machine)
    }

    /// Returns the sizes of a build of `pairs` pairs in a table with capacity for `capacity` pairs,
    /// or for `pairs` if that is more.
    pub(super) fn plan_with_capacity<K: KeyWord, V: Payload>(
        &self,
        pairs: u64,
        capacity: u64,
        known: Known,
        machine: Machine,
    ) -> Result<Plan> {
        let capacity = capacity.max(pairs);
        let (bits, buckets) = pages_for(self.pages_with_capacity::<K, V>(capacity)?, capacity, machine);
        let unique = self.unique_given(known);
        let plan = if known == Known::AnyValues {
            Plan::new::<K, V, Nothing>(pairs, bits, buckets, unique, machine)
        } else {
            Plan::new::<K, V, V>(pairs, bits, buckets, unique, machine)
        };
        Ok(plan.with_capacity(capacity))
    }

    /// Returns the bits of a page index, and the buckets of a page, of a table with capacity for
    /// `pairs` pairs or keys of a set.
    fn pages_with_capacity<K: KeyWord, V: Payload>(&self, pairs: u64) -> Result<(u32, u32)> {
        if pairs > MAX_PAIRS {
            return Err(Error::Input(InputError::TooManyPairs { asked: pairs, limit: MAX_PAIRS }));
        }
        let load = self.load_of::<V>(pairs);
        let bytes = pairs.max(1) as f64 * pair_bytes::<K, V>() / load;
        if !is_load(load) || load < MIN_LOAD && bytes > MAX_SPARSE_BYTES {
            return Err(Error::Config(ConfigError::Load { load }));
        }
        if V::VALUE_BITS == 0 {
            return pages_of::<K, V>(buckets_of_keys::<K, V>(pairs, load), load);
        }
        let buckets = (pairs as f64 * pair_bytes::<K, V>() / (load * bucket_bytes::<K, V>())).ceil();
        let (page_bits, page_buckets) = pages_of::<K, V>(buckets, load)?;
        if Layout::form_for::<K, V>((page_buckets as u64) << page_bits).0 == 4 {
            let buckets = buckets.max((pairs as f64 / (4.0 * MAX_LOAD_OF_FOUR)).ceil());
            return pages_of::<K, V>(buckets, load);
        }
        Ok((page_bits, page_buckets))
    }
}

/// Returns whether some table can have this load factor. NaN is no load factor.
pub(super) fn is_load(load: f64) -> bool {
    load > 0.0 && load <= 1.0
}

fn bucket_bytes<K: KeyWord, V: Payload>() -> f64 {
    (BUCKET_WORDS * <K::PackedWord<V> as Scalar>::BITS / 8) as f64
}

fn pair_bytes<K: KeyWord, V: Payload>() -> f64 {
    ((K::BITS + V::VALUE_BITS) / 8) as f64
}

/// Returns the count of buckets for `keys` keys of a set whose slots are filled up to `load`. It is
/// the smallest count over all forms of buckets. Each form has a minimum count of buckets.
fn buckets_of_keys<K: KeyWord, V: Payload>(keys: u64, load: f64) -> f64 {
    let of_form = |(slots, fewest): (u32, u64)| {
        let most = MAX_LOAD_OF_KEYS.min(load) * slots as f64;
        (keys as f64 / most).ceil().max(fewest as f64)
    };
    Layout::forms::<K, V>().map(of_form).into_iter().fold(f64::INFINITY, f64::min)
}

/// Returns the bits of a page index, and the buckets of a page, for at least `buckets` buckets.
/// `buckets` follows from `load`.
fn pages_of<K: KeyWord, V: Payload>(buckets: f64, load: f64) -> Result<(u32, u32)> {
    // The kernels tell at most 2^31 buckets apart.
    if buckets > (1u64 << 31) as f64 {
        return Err(Error::Config(ConfigError::Load { load }));
    }
    let buckets = (buckets as u64).max(MIN_BUCKETS as u64);
    let most = max_page_buckets::<K, V>() as u64;
    let mut page_bits = buckets.div_ceil(most).next_power_of_two().ilog2();
    while page_bits < MANY_PAGES_BITS && buckets >> (page_bits + 1) >= MIN_PAGE_BUCKETS {
        page_bits += 1;
    }
    Ok((page_bits, fit_page(buckets.div_ceil(1 << page_bits) as u32)))
}

/// The most buckets of a page that one core builds, because the page should fit the caches that the
/// core shares. (The kernel can count the slots of 99,936 buckets, which a single page may need.)
const MAX_BUCKETS_PER_CORE: u32 = 3 << 14;
/// The most pairs, on average, of a page that one core builds. `PAIRS_A_TASK` is the count of pairs
/// that are worth a task.
const MAX_PAIRS_PER_CORE: u64 = 1 << 17;
const PAIRS_A_TASK: u64 = 1 << 13;
/// The count of pages per core if there are several cores, so that they share the work evenly.
const PAGES_A_CORE: usize = 2;

/// Returns the bits of a page index and the buckets of a page for a machine. If it has CPU cores,
/// there are as few pages as fit a cache and keep all cores busy, because every split takes as long
/// as building the pages.
fn pages_for((mut page_bits, mut page_buckets): (u32, u32), pairs: u64, machine: Machine) -> (u32, u32) {
    let Some(cores) = machine.cores() else { return (page_bits, page_buckets) };
    // A single page needs no split, and may therefore be larger.
    let more = |page_bits| if cores == 1 && page_bits == 1 { 2 } else { 1 };
    while page_bits > 0
        && 2 * page_buckets <= more(page_bits) * MAX_BUCKETS_PER_CORE
        && pairs >> (page_bits - 1) <= more(page_bits) as u64 * MAX_PAIRS_PER_CORE
        && (cores == 1 || pairs >> (page_bits - 1) <= PAIRS_A_TASK || 1 << (page_bits - 1) >= PAGES_A_CORE * cores)
    {
        (page_bits, page_buckets) = (page_bits - 1, 2 * page_buckets);
    }
    (page_bits, page_buckets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::primitives::scan::tile;

    /// Checks that the memory size that users are given for a table is right for every engine.
    #[test]
    fn plans_for_cores_take_no_more_memory_and_their_pages_are_fewer() {
        for config in [PageConfig::default(), PageConfig::default().assume_unique()] {
            let loads = [None, Some(1.0), Some(0.8), Some(0.25), Some(0.01)];
            for (lg, load) in (0..=31).flat_map(|lg| loads.map(|load| (lg, load))) {
                let config = load.map_or(config.clone(), |load| config.clone().load(load));
                let Ok(plan) = config.plan_for::<u32, u32>(1 << lg, Known::Nothing) else { continue };
                for cores in [1, 2, 64] {
                    let machine = Machine::cpu(cores);
                    let of_cores = config.plan_on::<u32, u32>(1 << lg, Known::Nothing, machine).unwrap();
                    let what = format!("2^{lg} at {load:?}, {cores} cores");
                    assert_eq!(of_cores.table_words(), plan.table_words(), "{what}");
                    assert!(of_cores.scratch_words() <= plan.scratch_words(), "{what}");
                    assert!(of_cores.page_bits <= plan.page_bits && of_cores.page_buckets.is_multiple_of(2), "{what}");
                    assert_eq!(of_cores.page_buckets << of_cores.page_bits, plan.page_buckets << plan.page_bits);
                }
            }
        }
    }

    #[test]
    fn by_default_small_maps_are_half_full_and_larger_ones_take_no_less() {
        fn check<K: KeyWord, V: Payload>() {
            let config = PageConfig::default();
            let (mut before, asked) = (0, |load| config.clone().load(load));
            let sizes = (0..32).flat_map(|lg| (0..8).map(move |eighths| (1u64 << lg) * (8 + eighths) / 8));
            for pairs in sizes.filter(|&pairs| pairs <= MAX_PAIRS) {
                let words = |config: &PageConfig| config.plan::<K, V>(pairs).unwrap().table_words();
                let taken = words(&config);
                // For a million pairs or more the buckets have five slots, so fewer buckets are
                // enough.
                assert!(taken >= before || pairs >= 1 << 20, "{pairs} pairs: {taken} words, and {before} for fewer");
                let small = V::VALUE_BITS != 0 && pairs <= 1 << 18;
                if small || pairs >= 420_000 || V::VALUE_BITS == 0 {
                    assert_eq!(taken, words(&asked(if small { 0.5 } else { 0.8 })), "{pairs} pairs");
                }
                before = taken;
            }
        }
        check::<u32, u32>();
        check::<u64, u32>();
        check::<u32, u64>();
        check::<u64, u64>();
        check::<u32, Nothing>();
        check::<u64, Nothing>();
    }

    #[test]
    fn a_table_takes_the_pairs_that_it_was_planned_for_and_no_more_than_its_slots() {
        fn check<K: KeyWord, V: Payload>() {
            for load in [None, Some(1.0), Some(0.95), Some(0.8), Some(0.7), Some(1.0 / 3.0), Some(0.01)] {
                let config = load.map_or(PageConfig::default(), |load| PageConfig::default().load(load));
                let sizes = (0..32).flat_map(|lg| (0..8).map(move |eighths| (1u64 << lg) * (8 + eighths) / 8));
                let near = (0..3000).chain((1 << 18) - 9..(1 << 18) + 9).chain([366_999, 419_431, 419_999, 420_001]);
                for pairs in sizes.chain(near) {
                    // Some load factors give more buckets than a table may have.
                    let Ok(plan) = config.plan::<K, V>(pairs) else { continue };
                    let layout = Layout::new::<K, V>(0, 0, plan.page_bits, plan.page_buckets);
                    let capacity = config.capacity_of::<K, V>(&layout);
                    let what = format!("{pairs} at {load:?}: a capacity of {capacity} in {layout:?}");
                    assert!(capacity >= pairs, "{what}");
                    assert!(capacity <= layout.buckets() as u64 * layout.slots as u64, "{what}");
                }
            }
        }
        check::<u32, u32>();
        check::<u64, u32>();
        check::<u32, u64>();
        check::<u64, u64>();
        check::<u32, Nothing>();
        check::<u64, Nothing>();
    }

    /// Checks the largest count of pairs. Offsets of pairs in bins have 32 bits, and the largest
    /// 2^16 values are never offsets.
    #[test]
    fn offsets_of_pairs_fit_32_bits() {
        fn check<K: KeyWord, V: Payload>(known: Known) {
            for lg in 0..=31 {
                for load in [1.0, 0.9, 0.5, 0.25, 0.1, 0.01, 0.001] {
                    for config in [PageConfig::default().load(load), PageConfig::default().load(load).assume_unique()] {
                        // Some load factors give more buckets than a table may have.
                        let Ok(plan) = config.plan_for::<K, V>(1 << lg, known) else { continue };
                        for level in &plan.levels {
                            assert!(
                                level.capacity() >= plan.pairs && level.capacity() < 0xffff_0000,
                                "2^{lg} at {load}: {level:?}"
                            );
                        }
                        // A scan reads and writes counts and starts four at a time.
                        if let Some(last) = plan.levels.len().checked_sub(1) {
                            let bins = plan.levels[last].bins();
                            assert!(bins < tile::<u32>() || plan.counts_at(last) % 2 == 0, "2^{lg} at {load}");
                            assert!(plan.starts_at() % 2 == 0, "2^{lg} at {load}");
                            // In look-back state, sums have 30 bits, and even the sums of a bin
                            // that overflows are used.
                            assert!(plan.levels[last].region_capacity < 1 << 30, "2^{lg} at {load}");
                        }
                    }
                }
            }
        }
        check::<u32, u32>(Known::Nothing);
        check::<u64, u32>(Known::Nothing);
        check::<u64, u64>(Known::Nothing);
        check::<u32, Nothing>(Known::Nothing);
        check::<u64, Nothing>(Known::Nothing);
        check::<u32, u32>(Known::AnyValues);
        check::<u64, u32>(Known::AnyValues);
    }
}
