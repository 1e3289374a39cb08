//! Every kernel, with no work and null pointers.

mod extendible;
mod images;
mod shapes;

use gpu_kernels::cuckoo::{
    Census, Find, FindParams, Histogram, Insert, InsertParams, Last, PairsParams, StoreValues, Unpack as UnpackSlots,
    UnpackParams as UnpackSlotsParams,
};
use gpu_kernels::hash::{Divisor, Family, Formula, HashFunctions};
use gpu_kernels::layered::compacting::{
    CountBits, CountIds, FlagSlotValues, KeysOf, KeysOfParams, NumberSlots, RankSlotValues, ReverseRows, RowsParams,
    SlotsParams,
};
use gpu_kernels::layered::multi::{Gather, GatherParams, Runs, RunsOfCuckoo, RunsParams};
use gpu_kernels::linear::{self, Apply, ApplyParams, InspectParams, ProbeLengths, Rehash, RehashParams};
use gpu_kernels::page::{
    BuildPages, BuildPagesUnordered, BuildParams as PageBuildParams, Find as PageFind, FindLast,
    FindParams as PageFindParams, FlagValues, IndexRepeats, LastParams, Layout as PageLayout, ListSizes, Number,
    NumberParams, RankValues, RepeatsParams, Sample, SampleParams, Split, SplitParams, Starts,
    StartsParams as PageStartsParams, StoreLast, UnorderedParams, Unpack, UnpackParams, ValuesParams,
};
use gpu_kernels::primitives::compact::{
    Compact, CompactParams, CompactRuns, Invert, LastOfEach, RunsParams as CompactRunsParams,
};
use gpu_kernels::primitives::gather::{GatherParams as GatherRowsParams, GatherRows};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::primitives::radix::{Digit, Histogram as RadixHistogram, HistogramParams, Partition, PartitionParams};
use gpu_kernels::primitives::readback::{Readback, ReadbackParams};
use gpu_kernels::primitives::roofline::{Copy, Random, RandomParams, Strided, StridedParams};
use gpu_kernels::primitives::scan::{Scan, ScanParams};
use gpu_kernels::primitives::scatter::{ScatterParams, ScatterRows};
use gpu_kernels::seam::Kernel;
use gpu_kernels::sorted::{
    self, BinarySearch, BinarySearchParams, Bounds, BoundsParams, CountRanges, Index, IndexParams, RangesParams,
};
use gpu_kernels::two_level::{
    BucketStarts, BuildBuckets, BuildParams, Find as TwoLevelFind, FindParams as TwoLevelFindParams,
    Histogram as TwoLevelHistogram, Layout, StartsParams,
};
use gpu_kernels::types::{Nothing, Payload};
use warpnest::low_level::ptx::hopper;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest_tests::null;

/// The kernels of the cuckoo map or set for a key and its payload, with no work and null pointers.
fn cuckoo<K: Key, V: Payload>() -> Vec<Box<dyn Kernel>> {
    let functions = no_slots::<K>();
    let pairs = PairsParams { functions, pairs: 0 };
    let plan = InsertParams { functions, pairs: 0, chain_limit: 1, statistics: 0 };
    let (keys, values, words, header) = (null::<K>(), null::<V::Word>(), null(), null());
    let find = FindParams { functions, queries: 0 };
    let unpack = UnpackSlotsParams { functions, slots: 0, capacity: 0, copies: 0, padding: 0 };
    vec![
        Box::new(UnpackSlots::<K, V> {
            words,
            header,
            keys_out: keys,
            values_out: values,
            count: null(),
            plan: unpack,
        }),
        Box::new(Insert::<K, V> { keys, values, words, header, plan }),
        Box::new(Census::<K, V> { words, header, functions }),
        Box::new(Last::<K, V> { keys, words, header, last: null(), plan: pairs }),
        Box::new(Histogram::<K, V> { words, probes: null(), functions }),
        Box::new(Find::<K, V> { queries: keys, words, header, values, found: null(), plan: find }),
    ]
}

fn no_slots<K: Key>() -> HashFunctions {
    HashFunctions::new(Formula::Mix, 4, 1, 0, K::BITS, || 0)
}

/// The kernel for one pair of types that the cuckoo map has, and the set has not.
fn cuckoo_values<K: Key, V: Value>() -> Box<dyn Kernel> {
    let plan = PairsParams { functions: no_slots::<K>(), pairs: 0 };
    let (keys, values) = (null::<K>(), null::<V>());
    Box::new(StoreValues::<K, V> { keys, values, words: null(), header: null(), last: null(), plan })
}

/// The kernels of the two-level table, and the others that take two types, for one pair of them.
fn two_level<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = Layout {
        buckets: HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || 0),
        slot_hashes: Family::new(Formula::Mix, 3, 1, 0),
    };
    let plan = BuildParams { layout, capacity: 1, seed: 0, seeds: 1, rounds: 1, statistics: 0, padding: 0 };
    let (keys, values, words, seeds, header) = (null::<K>(), null::<V>(), null(), null(), null());
    let find = TwoLevelFindParams { layout, queries: 0 };
    let search = BinarySearchParams { keys: 0, queries: 0 };
    vec![
        Box::new(BinarySearch { keys, values, queries: keys, values_out: values, found: null(), plan: search }),
        Box::new(BuildBuckets::<K, V> { keys, values, starts: null(), words_out: words, seeds, header, plan }),
        Box::new(TwoLevelFind::<K, V> { queries: keys, words, seeds, header, values, found: null(), plan: find }),
        Box::new(TwoLevelHistogram::<K, V> { words, probes: null(), layout }),
    ]
}

/// The arguments of the kernels that settle repeated keys, if there are none.
fn no_repeats<K: Key>() -> RepeatsParams {
    let sizes = ListSizes { pages: 0, own: 1, common: 0, padding: 0 };
    RepeatsParams { layout: PageLayout::new::<K, u32>(0, 0, 0, 20), sizes, common: 0, index_bits: 1, word_bits: 32 }
}

/// The kernels of the page map or set for a key and its payload.
fn page<K: Key, V: Payload>() -> Vec<Box<dyn Kernel>> {
    let layout = PageLayout::new::<K, V>(0, 0, 0, 20);
    let (keys, values, words, header) = (null::<K>(), null::<V::Word>(), null(), null());
    let build = || BuildPages::<K, V, false> {
        keys,
        values,
        counts: null(),
        starts: null(),
        words_out: words,
        header,
        plan: PageBuildParams { layout, page_capacity: 0, pairs: 0, split: 0, zeroed: 0 },
    };
    let split = || Split::<K, V, false> {
        keys,
        values,
        keys_out: keys,
        values_out: values,
        counts_in: null(),
        starts_out: null(),
        counts_out: null(),
        state: words,
        header,
        plan: SplitParams {
            a: 0,
            b: 0,
            region_capacity: 0,
            pairs: 0,
            bin_capacity: 0,
            tiles: 1,
            shift: K::BITS - 1,
            bits: 1,
            skew_limit: 0,
            level: 0,
        },
    };
    let unordered = BuildPagesUnordered::<K, V> {
        keys,
        values,
        counts: null(),
        starts: null(),
        words_out: words,
        header,
        repeats: words,
        plan: UnorderedParams { build: build().plan, sizes: no_repeats::<K>().sizes },
    };
    let store = StoreLast::<K, V> { listed: keys, lasts: null(), values, words, plan: no_repeats::<K>() };
    let find = PageFindParams { layout, queries: 0 };
    let unpack = UnpackParams { layout, capacity: 0 };
    vec![
        Box::new(split()),
        Box::new(split().variant::<true>()),
        Box::new(build()),
        Box::new(unordered),
        Box::new(store),
        Box::new(build().variant::<true>()),
        Box::new(PageFind::<K, V> { queries: keys, words, values, found: null(), plan: find }),
        Box::new(Unpack::<K, V> { words, keys_out: keys, values_out: values, count: null(), plan: unpack }),
    ]
}

/// The layout of a sorted map without keys.
const NO_KEYS: sorted::Layout = sorted::Layout::new(0);

/// The lookups of the sorted map for one pair of types.
fn sorted_find<K: Key, V: Value>() -> Box<dyn Kernel> {
    let plan = sorted::FindParams { layout: NO_KEYS, queries: 0 };
    let (keys, values) = (null::<K>(), null::<V>());
    Box::new(sorted::Find { queries: keys, keys, values, values_out: values, found: null(), plan })
}

/// The kernels of the sorted map that take one type.
fn sorted<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (keys, layout) = (null::<K>(), NO_KEYS);
    let bounds = BoundsParams { layout, queries: 0, upper: 0, padding: 0 };
    let ranges = RangesParams { layout, ranges: 0 };
    vec![
        Box::new(Index { keys, count: null(), plan: IndexParams { keys: 0 } }),
        Box::new(Bounds { queries: keys, keys, ranks: null(), plan: bounds }),
        Box::new(CountRanges { from: keys, to: keys, keys, counts: null(), plan: ranges }),
    ]
}

/// The kernels of the linear map for one pair of types.
fn linear_pairs<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = linear::Layout { a: 0, b: 0, lines: 2, linear: 0 };
    let (words, header, keys) = (null(), null(), null::<K>());
    let apply = ApplyParams { layout, first: 0, end: 0, operation: 0, anywhere: 0, max_asked: 0 };
    let (find, inspect) = (linear::FindParams { layout, queries: 0 }, InspectParams { layout, capacity: 0 });
    let (kinds, values, answers, before, pending) = (null(), null::<V>(), null(), null(), null());
    let insert_plan = linear::InsertParams { layout, first: 0, end: 0 };
    let insert = || linear::Insert::<K, V, false> { keys, values, words, header, plan: insert_plan };
    vec![
        Box::new(insert()),
        Box::new(insert().variant::<true>()),
        Box::new(Apply::<K, V> { kinds, keys, values, words, header, answers, before, pending, plan: apply }),
        Box::new(linear::Find::<K, V> { queries: keys, words, header, values, found: null(), plan: find }),
        Box::new(linear::Unpack::<K, V> {
            words,
            header,
            keys_out: keys,
            values_out: values,
            count: null(),
            plan: inspect,
        }),
    ]
}

fn compacting<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (keys, rows) = (null::<K>(), RowsParams { rows: 0 });
    let plan = NumberParams { layout: PageLayout::new::<K, u32>(0, 0, 0, 20), capacity: 0 };
    let of_values = ValuesParams { layout: plan.layout };
    let starts = PageStartsParams { layout: plan.layout, keys: 0 };
    let of_ids = KeysOfParams { ids: 0, queries: 0 };
    let slots = SlotsParams { functions: no_slots::<K>(), slots: 0, end: 0, copies: 0, capacity: 0 };
    let (words, header) = (null(), null());
    let sample = SampleParams { a: 0, b: 0, keys: 0, position_bits: 1, cell_bits: 1 };
    let last = LastParams { a: 0, b: 0, keys: 0, index_bits: 1, rounds: 0 };
    vec![
        Box::new(NumberSlots { words, header, keys_out: keys, count: null(), plan: slots }),
        Box::new(FlagSlotValues::<K> { words, header, bits: null(), plan: slots }),
        Box::new(RankSlotValues::<K> { words, header, bits: null(), before: null(), plan: slots }),
        Box::new(Number { words: null(), keys_out: keys, count: null(), plan }),
        Box::new(Starts { keys, starts: null(), plan: starts }),
        Box::new(Sample { keys, cells: null(), header, plan: sample }),
        Box::new(IndexRepeats {
            list: null(),
            keys_out: keys,
            index: null(),
            told: null(),
            filter: null(),
            plan: no_repeats::<K>(),
        }),
        Box::new(FindLast {
            keys,
            listed: keys,
            index: null(),
            told: null(),
            filter: null(),
            lasts: null(),
            plan: last,
        }),
        Box::new(FlagValues { words: keys, bits: null(), plan: of_values }),
        Box::new(RankValues { words: keys, bits: null(), before: null(), plan: of_values }),
        Box::new(ReverseRows { keys, keys_out: keys, rows_out: null(), plan: rows }),
        Box::new(KeysOf { queries: null(), keys, keys_out: keys, found: null(), plan: of_ids }),
    ]
}

fn multi<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (words, lasts, starts, offsets) = (null(), null(), null(), null());
    let plan = RunsParams { layout: PageLayout::new::<K, u32>(0, 0, 0, 20), queries: 0 };
    let gather = GatherParams { queries: 0, total: 0 };
    let (queries, counts, wide_counts, header) = (null::<K>(), null(), null(), null());
    let functions = no_slots::<K>();
    let of_cuckoo = FindParams { functions, queries: 0 };
    vec![
        Box::new(Runs { queries, words, lasts, starts, counts, wide_counts, plan }),
        Box::new(RunsOfCuckoo { queries, words: null(), header, lasts, starts, counts, wide_counts, plan: of_cuckoo }),
        Box::new(CompactRuns {
            input: null::<K>(),
            keep: null(),
            output: null(),
            ends: null(),
            count: null(),
            state: null(),
            plan: CompactRunsParams { items: 0, a: 0, b: 0 },
        }),
        Box::new(Gather { values: null::<K>(), starts, offsets, output: null(), plan: gather }),
    ]
}

/// The kernels of the linear map that read slots without interpreting them.
fn linear_slots<H: Key>() -> Vec<Box<dyn Kernel>> {
    let layout = linear::Layout { a: 0, b: 0, lines: 2, linear: 0 };
    let (words, plan) = (null(), InspectParams { layout, capacity: 0 });
    vec![
        Box::new(Rehash::<H> { old: words, words, header: null(), plan: RehashParams { slots: 0, layout } }),
        Box::new(ProbeLengths::<H> { words, histogram: null(), totals: null(), plan }),
    ]
}

/// The kernels of the linear map for 64-bit keys or values, which change words of 128 bits.
pub fn wide_linear() -> Vec<Box<dyn Kernel>> {
    let pairs = [linear_pairs::<u32, u64>(), linear_pairs::<u64, u32>(), linear_pairs::<u64, u64>()];
    pairs.into_iter().chain([linear_slots::<u64>()]).flatten().collect()
}

/// The kernels of the primitives that take one type.
fn primitives<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (keys, state) = (null::<K>(), null());
    let plan = HistogramParams { digit: digit(), items: 0, digits: 1, padding: 0 };
    let items = CompactParams { items: 0 };
    let layout = Layout { buckets: digit().functions, slot_hashes: Family::new(Formula::Mix, 3, 1, 0) };
    let starts = StartsParams { functions: layout.buckets, pairs: 0 };
    let rows = ScatterParams { rows: 0, targets: 0, words: Divisor::new(1) };
    vec![
        Box::new(Scan::<K> { input: keys, output: keys, total: keys, state, plan: ScanParams { items: 0 } }),
        Box::new(Compact::<K> { input: keys, keep: null(), output: keys, count: null(), state, plan: items }),
        Box::new(LastOfEach::<K> { keys, keep: null(), plan: items }),
        Box::new(RadixHistogram::<K> { keys, counts: null(), plan }),
        Box::new(BucketStarts::<K> { keys, starts: null(), plan: starts }),
        Box::new(ScatterRows::<K> { values: keys, indices: null(), output: keys, plan: rows }),
    ]
}

fn digit() -> Digit {
    let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, 32, || 0);
    Digit { functions, of: 0, shift: 0, bits: 1, padding: 0 }
}

fn partition<K: Key, V: Payload>() -> Box<dyn Kernel> {
    let plan = PartitionParams { digit: digit(), first: 0, end: 0, base: 0, padding: 0 };
    let (digit_starts, next_starts, state) = (null(), null(), null());
    let (keys, values) = (null::<K>(), null::<V::Word>());
    let (keys_out, values_out) = (keys, values);
    Box::new(Partition::<K, V> { keys, values, keys_out, values_out, digit_starts, next_starts, state, plan })
}

/// Every kernel of a module, for every choice of its types. A new kernel belongs here: its entry in
/// the PTX fails the tests until it is.
pub fn kernels(ptx: &str) -> Vec<Box<dyn Kernel>> {
    let plan = RandomParams { accesses: 0, words: 1, seed: 0, access: 0, padding: 0 };
    let strided = StridedParams { before: 0, after: 0, words_log2: 0, stride_log2: 0, atomic: 0, padding: 0 };
    let words = null();
    let roofline: Vec<Box<dyn Kernel>> = vec![
        Box::new(Strided { memory: null::<u32>(), wrong: null(), plan: strided }),
        Box::new(Strided { memory: null::<u64>(), wrong: null(), plan: strided }),
        Box::new(Random { memory: words, input: null(), output: null(), plan }),
        Box::new(Copy { source: words, target: words, words: 0 }),
    ];
    let cuckoo_map = [cuckoo::<u32, u32>(), cuckoo::<u32, u64>(), cuckoo::<u64, u32>(), cuckoo::<u64, u64>()];
    let cuckoo_set = [cuckoo::<u32, Nothing>(), cuckoo::<u64, Nothing>()];
    let cuckoo_values = [
        cuckoo_values::<u32, u32>(),
        cuckoo_values::<u32, u64>(),
        cuckoo_values::<u64, u32>(),
        cuckoo_values::<u64, u64>(),
    ];
    let primitives = primitives::<u32>().into_iter().chain(primitives::<u64>());
    let partitions =
        [partition::<u32, u32>(), partition::<u32, u64>(), partition::<u64, u32>(), partition::<u64, u64>()];
    let partitions_of_keys = [partition::<u32, Nothing>(), partition::<u64, Nothing>()];
    let two_level =
        [two_level::<u32, u32>(), two_level::<u32, u64>(), two_level::<u64, u32>(), two_level::<u64, u64>()];
    let inserting = linear::InsertingParams { first: 0, end: 0 };
    let rows = GatherRowsParams { rows: 0, sources: 0, width: 1, pieces: Divisor::new(1) };
    let of_no_type: [Box<dyn Kernel>; 7] = [
        Box::new(GatherRows { source: null(), indices: null(), found: null(), output: null(), plan: rows }),
        Box::new(Readback {
            words: null(),
            readback: null(),
            plan: ReadbackParams { first: 0, words: 0, epoch: 0, padding: 0 },
        }),
        Box::new(CountBits { bits: null(), counts: null(), plan: RowsParams { rows: 0 } }),
        Box::new(Invert { keep: null(), plan: CompactParams { items: 0 } }),
        Box::new(CountIds { ids: null(), counts: null(), plan: RowsParams { rows: 0 } }),
        Box::new(Iota { output: null(), plan: IotaParams { items: 0 } }),
        Box::new(linear::CountInserting { kinds: null(), header: null(), plan: inserting }),
    ];
    let extendible_pairs = [
        extendible::pairs::<u32, u32>(),
        extendible::pairs::<u32, u64>(),
        extendible::pairs::<u64, u32>(),
        extendible::pairs::<u64, u64>(),
    ];
    let page_map = [page::<u32, u32>(), page::<u32, u64>(), page::<u64, u32>(), page::<u64, u64>()];
    let page_set = [page::<u32, Nothing>(), page::<u64, Nothing>()];
    let sorted_finds =
        [sorted_find::<u32, u32>(), sorted_find::<u32, u64>(), sorted_find::<u64, u32>(), sorted_find::<u64, u64>()];
    cuckoo_map
        .into_iter()
        .chain(cuckoo_set)
        .chain(two_level)
        .chain(page_map)
        .chain(page_set)
        .flatten()
        .chain(roofline)
        .chain(cuckoo_values)
        .chain(linear_pairs::<u32, u32>())
        .chain(linear_slots::<u32>())
        .chain(if ptx == hopper() { wide_linear() } else { vec![] })
        .chain(primitives)
        .chain(compacting::<u32>())
        .chain(compacting::<u64>())
        .chain(multi::<u32>())
        .chain(multi::<u64>())
        .chain(of_no_type)
        .chain(shapes::all())
        .chain(extendible::of_no_type())
        .chain(images::of_no_type())
        .chain(extendible_pairs.into_iter().flatten())
        .chain([extendible::keys::<u32>(), extendible::keys::<u64>()])
        .chain(partitions)
        .chain(partitions_of_keys)
        .chain(sorted_finds)
        .chain(sorted::<u32>())
        .chain(sorted::<u64>())
        .collect()
}
