//! The committed PTX: clean, complete, as documented, and run by an interpreter that can fail.

use gpu_kernels::compact::{Compact, CompactPlan, LastOfEach};
use gpu_kernels::compacting::{CountIds, KeysOf, KeysOfPlan, ReverseRows, RowsPlan};
use gpu_kernels::cuckoo::{
    Census, Find, FindPlan, Histogram, Insert, InsertPlan, Last, PairsPlan, PlaceValues, Unplaceable,
};
use gpu_kernels::hash::{Family, Formula, HashFunctions};
use gpu_kernels::linear::{self, Apply, ApplyPlan, InsertAnywhere, InspectPlan, ProbeLengths, Rehash, RehashPlan};
use gpu_kernels::multi::{Gather, GatherPlan, Numbers, NumbersPlan, Runs, RunsPlan};
use gpu_kernels::page::{
    BuildPages, BuildPagesInOrder, BuildPlan as PageBuildPlan, Find as PageFind, FindPlan as PageFindPlan,
    Layout as PageLayout, Number, NumberPlan, Split, SplitInOrder, SplitPlan, Unpack, UnpackPlan,
};
use gpu_kernels::radix::{Digit, Histogram as RadixHistogram, HistogramPlan, Partition, PartitionPlan};
use gpu_kernels::roofline::{Access, Copy, Random, RandomPlan};
use gpu_kernels::scan::{Scan, ScanPlan};
use gpu_kernels::seam::Kernel;
use gpu_kernels::search::{BinarySearch, SearchPlan};
use gpu_kernels::sorted::{self, Bounds, BoundsPlan, CountRanges, Index, IndexPlan, RangesPlan};
use gpu_kernels::two_level::{
    BucketStarts, BuildBuckets, BuildPlan, Find as TwoLevelFind, FindPlan as TwoLevelFindPlan,
    Histogram as TwoLevelHistogram, Layout, StartsPlan,
};
use ptx_tools::{Fault, Module, Regions, Schedule};
use std::collections::BTreeSet;
use warpnest::engine::{HostEngine, Runner};
use warpnest::ptx::{BASELINE, HOPPER};
use warpnest::{Buffer, CuckooConfig, Device, Error, Key, PageConfig, Result, Value};
use warpnest_tests::{PtxRunner, distinct_keys, engines, null};

/// The kernels of the cuckoo table for one pair of types, with nothing to do and nowhere to do it.
fn cuckoo<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let functions = HashFunctions::new(Formula::Mix, 4, 1, 0, K::BITS, || 0);
    let pairs = PairsPlan { functions, pairs: 0 };
    let plan = InsertPlan { functions, pairs: 0, chain_limit: 1, statistics: 0 };
    let (keys, values, words, header) = (null::<K>(), null::<V>(), null(), null());
    let find = FindPlan { functions, queries: 0 };
    vec![
        Box::new(Insert::<K, V> { keys, values, words, header, plan }),
        Box::new(Census::<K, V> { words, header, functions }),
        Box::new(Last::<K, V> { keys, words, header, last: null(), plan: pairs }),
        Box::new(PlaceValues::<K, V> { keys, values, words, header, last: null(), plan: pairs }),
        Box::new(Unplaceable::<K, V> { keys, words, header, plan: pairs }),
        Box::new(Histogram::<K, V> { words, probes: null(), functions }),
        Box::new(Find::<K, V> { queries: keys, words, header, values, found: null(), plan: find }),
    ]
}

/// The kernels of the two-level table, and the others that take two types, for one pair of them.
fn two_level<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = Layout {
        buckets: HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || 0),
        places: Family::new(Formula::Mix, 3, 1, 0),
    };
    let plan = BuildPlan { layout, capacity: 1, seed: 0, seeds: 1, rounds: 1, statistics: 0, padding: 0 };
    let (keys, values, words, seeds, header) = (null::<K>(), null::<V>(), null(), null(), null());
    let find = TwoLevelFindPlan { layout, queries: 0 };
    let search = SearchPlan { keys: 0, queries: 0 };
    vec![
        Box::new(BinarySearch { keys, values, queries: keys, values_out: values, found: null(), plan: search }),
        Box::new(BuildBuckets::<K, V> { keys, values, starts: null(), words_out: words, seeds, header, plan }),
        Box::new(TwoLevelFind::<K, V> { queries: keys, words, seeds, header, values, found: null(), plan: find }),
        Box::new(TwoLevelHistogram::<K, V> { words, probes: null(), layout }),
    ]
}

/// The kernels of the page map for one pair of types.
fn page<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = PageLayout::new::<K, V>(0, 0, 0, 20);
    let (keys, values, words, header) = (null::<K>(), null::<V>(), null(), null());
    let build = || BuildPages::<K, V> {
        keys,
        values,
        counts: null(),
        starts: null(),
        words_out: words,
        header,
        plan: PageBuildPlan { layout, page_room: 0, pairs: 0, split: 0, padding: 0 },
    };
    let split = || Split::<K, V> {
        keys,
        values,
        keys_out: keys,
        values_out: values,
        counts_in: null(),
        counts_out: null(),
        state: words,
        header,
        plan: SplitPlan {
            a: 0,
            b: 0,
            region_room: 0,
            pairs: 0,
            bin_room: 0,
            tiles: 1,
            shift: K::BITS - 1,
            bits: 1,
            crowd: 0,
            level: 0,
        },
    };
    let find = PageFindPlan { layout, queries: 0 };
    let unpack = UnpackPlan { layout };
    vec![
        Box::new(split()),
        Box::new(SplitInOrder::from(split())),
        Box::new(build()),
        Box::new(BuildPagesInOrder::from(build())),
        Box::new(PageFind::<K, V> { queries: keys, words, values, found: null(), plan: find }),
        Box::new(Unpack::<K, V> { words, keys_out: keys, values_out: values, count: null(), plan: unpack }),
    ]
}

/// The layout of a sorted map without keys.
const NO_KEYS: sorted::Layout = sorted::Layout::new(0);

/// The lookups of the sorted map for one pair of types.
fn sorted_find<K: Key, V: Value>() -> Box<dyn Kernel> {
    let plan = sorted::FindPlan { layout: NO_KEYS, queries: 0 };
    let (keys, values) = (null::<K>(), null::<V>());
    Box::new(sorted::Find { queries: keys, keys, values, values_out: values, found: null(), plan })
}

/// The kernels of the sorted map that take one type.
fn sorted<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (keys, layout) = (null::<K>(), NO_KEYS);
    let bounds = BoundsPlan { layout, queries: 0, upper: 0, padding: 0 };
    let ranges = RangesPlan { layout, ranges: 0 };
    vec![
        Box::new(Index { keys, count: null(), plan: IndexPlan { keys: 0 } }),
        Box::new(Bounds { queries: keys, keys, places: null(), plan: bounds }),
        Box::new(CountRanges { from: keys, to: keys, keys, counts: null(), plan: ranges }),
    ]
}

/// The kernels of the linear map for one pair of types.
fn linear_pairs<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = linear::Layout { a: 0, b: 0, lines: 2, linear: 0 };
    let (words, header, keys) = (null(), null(), null::<K>());
    let apply = ApplyPlan { layout, first: 0, end: 0, operation: 0, anywhere: 0, most_asked: 0 };
    let (find, inspect) = (linear::FindPlan { layout, queries: 0 }, InspectPlan { layout, room: 0 });
    let (kinds, values, answers, before, marked) = (null(), null::<V>(), null(), null(), null());
    let insert_plan = linear::InsertPlan { layout, first: 0, end: 0 };
    let insert = || linear::Insert::<K, V> { keys, values, words, header, plan: insert_plan };
    vec![
        Box::new(insert()),
        Box::new(InsertAnywhere::from(insert())),
        Box::new(Apply::<K, V> { kinds, keys, values, words, header, answers, before, marked, plan: apply }),
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
    let (keys, rows) = (null::<K>(), RowsPlan { rows: 0 });
    let plan = NumberPlan { layout: PageLayout::new::<K, u32>(0, 0, 0, 20) };
    let of_ids = KeysOfPlan { ids: 0, queries: 0 };
    vec![
        Box::new(Number { words: null(), marks: null(), ids: null(), keys_out: keys, count: null(), plan }),
        Box::new(ReverseRows { keys, keys_out: keys, rows_out: null(), plan: rows }),
        Box::new(KeysOf { queries: null(), keys, keys_out: keys, found: null(), plan: of_ids }),
    ]
}

fn multi<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (words, lasts, starts, offsets) = (null(), null(), null(), null());
    let plan = RunsPlan { layout: PageLayout::new::<K, u32>(0, 0, 0, 20), queries: 0 };
    let gather = GatherPlan { queries: 0, total: 0 };
    vec![
        Box::new(Runs { queries: null::<K>(), words, lasts, starts, counts: null(), wide_counts: null(), plan }),
        Box::new(Gather { values: null::<K>(), starts, offsets, output: null(), plan: gather }),
    ]
}

/// Those that know slots, and not what was put into them.
fn linear_slots<H: Key>() -> Vec<Box<dyn Kernel>> {
    let layout = linear::Layout { a: 0, b: 0, lines: 2, linear: 0 };
    let (words, plan) = (null(), InspectPlan { layout, room: 0 });
    vec![
        Box::new(Rehash::<H> { old: words, words, header: null(), plan: RehashPlan { slots: 0, layout } }),
        Box::new(ProbeLengths::<H> { words, histogram: null(), totals: null(), plan }),
    ]
}

/// The kernels of the linear map for 64-bit keys or values, which change words of 128 bits.
fn wide_linear() -> Vec<Box<dyn Kernel>> {
    let pairs = [linear_pairs::<u32, u64>(), linear_pairs::<u64, u32>(), linear_pairs::<u64, u64>()];
    pairs.into_iter().chain([linear_slots::<u64>()]).flatten().collect()
}

/// The kernels of the primitives that take one type.
fn primitives<K: Key>() -> Vec<Box<dyn Kernel>> {
    let (keys, state) = (null::<K>(), null());
    let plan = HistogramPlan { digit: digit(), items: 0, digits: 1, padding: 0 };
    let items = CompactPlan { items: 0 };
    let layout = Layout { buckets: digit().functions, places: Family::new(Formula::Mix, 3, 1, 0) };
    let starts = StartsPlan { functions: layout.buckets, pairs: 0 };
    vec![
        Box::new(Scan::<K> { input: keys, output: keys, total: keys, state, plan: ScanPlan { items: 0 } }),
        Box::new(Compact::<K> { input: keys, keep: null(), output: keys, count: null(), state, plan: items }),
        Box::new(LastOfEach::<K> { keys, keep: null(), plan: items }),
        Box::new(RadixHistogram::<K> { keys, counts: null(), plan }),
        Box::new(BucketStarts::<K> { keys, starts: null(), plan: starts }),
    ]
}

fn digit() -> Digit {
    let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, 32, || 0);
    Digit { functions, of_bucket: 0, shift: 0, bits: 1, padding: 0 }
}

fn partition<K: Key, V: Value>() -> Box<dyn Kernel> {
    let plan = PartitionPlan { digit: digit(), first: 0, end: 0, base: 0, padding: 0 };
    let (digit_starts, next_starts, state) = (null(), null(), null());
    let (keys, values) = (null::<K>(), null::<V>());
    Box::new(Partition { keys, values, keys_out: keys, values_out: values, digit_starts, next_starts, state, plan })
}

/// Every kernel of a module, for every choice of its types. A new kernel belongs here: its entry in the PTX fails the tests until it is.
fn kernels(ptx: &str) -> Vec<Box<dyn Kernel>> {
    let plan = RandomPlan { accesses: 0, words: 1, seed: 0, access: 0, padding: 0 };
    let words = null();
    let roofline: Vec<Box<dyn Kernel>> = vec![
        Box::new(Random { memory: words, input: null(), output: null(), plan }),
        Box::new(Copy { source: words, target: words, words: 0 }),
    ];
    let cuckoo = [cuckoo::<u32, u32>(), cuckoo::<u32, u64>(), cuckoo::<u64, u32>(), cuckoo::<u64, u64>()];
    let primitives = primitives::<u32>().into_iter().chain(primitives::<u64>());
    let partitions =
        [partition::<u32, u32>(), partition::<u32, u64>(), partition::<u64, u32>(), partition::<u64, u64>()];
    let two_level =
        [two_level::<u32, u32>(), two_level::<u32, u64>(), two_level::<u64, u32>(), two_level::<u64, u64>()];
    let inserting = linear::InsertingPlan { first: 0, end: 0 };
    let of_no_type: [Box<dyn Kernel>; 3] = [
        Box::new(CountIds { ids: null(), counts: null(), plan: RowsPlan { rows: 0 } }),
        Box::new(Numbers { output: null(), plan: NumbersPlan { end: 0 } }),
        Box::new(linear::CountInserting { kinds: null(), header: null(), plan: inserting }),
    ];
    let page = [page::<u32, u32>(), page::<u32, u64>(), page::<u64, u32>(), page::<u64, u64>()];
    let sorted_finds =
        [sorted_find::<u32, u32>(), sorted_find::<u32, u64>(), sorted_find::<u64, u32>(), sorted_find::<u64, u64>()];
    cuckoo
        .into_iter()
        .chain(two_level)
        .chain(page)
        .flatten()
        .chain(roofline)
        .chain(linear_pairs::<u32, u32>())
        .chain(linear_slots::<u32>())
        .chain(if ptx == HOPPER { wide_linear() } else { vec![] })
        .chain(primitives)
        .chain(compacting::<u32>())
        .chain(compacting::<u64>())
        .chain(multi::<u32>())
        .chain(multi::<u64>())
        .chain(of_no_type)
        .chain(partitions)
        .chain(sorted_finds)
        .chain(sorted::<u32>())
        .chain(sorted::<u64>())
        .collect()
}

fn arguments(kernel: &dyn Kernel) -> Vec<Vec<u8>> {
    let mut arguments = Vec::new();
    kernel.arguments(&mut |argument, bytes| {
        // SAFETY: the kernel shows its own arguments, which have no padding.
        arguments.push(unsafe { std::slice::from_raw_parts(argument.cast::<u8>(), bytes) }.to_vec());
    });
    arguments
}

#[test]
fn the_lint_finds_nothing() {
    for ptx in [BASELINE, HOPPER] {
        assert_eq!(ptx_tools::lint(ptx), []);
    }
    assert_ne!(ptx_tools::lint(&BASELINE.replace("ld.global", "ld")), [], "the lint can find something");
}

#[test]
fn targets_and_versions_are_as_documented() {
    let documented = include_str!("../../docs/toolchain.md");
    for (ptx, target, version, flag) in [(BASELINE, "sm_75", "7.4", "+ptx74"), (HOPPER, "sm_90", "8.3", "+ptx83")] {
        let module = Module::parse(ptx).unwrap();
        assert_eq!((module.target.as_str(), module.version.as_str()), (target, version));
        assert!(documented.contains(target) && documented.contains(version));
        let header = |name: &str| {
            let line = ptx.lines().take(6).find_map(|line| line.strip_prefix(&format!("// {name}: ")));
            line.unwrap_or_else(|| panic!("the header of {target} has no {name}"))
        };
        assert!(header("flags").contains(&format!("-Ctarget-cpu={target}")) && header("flags").contains(flag));
        assert!(header("flags").contains("-Zmir-enable-passes=-JumpThreading"));
        assert!(header("compiler").starts_with("rustc "));
        let digest = header("sources-sha256");
        assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
    }
}

#[test]
fn every_kernel_has_its_entry_and_every_entry_its_kernel() {
    for ptx in [BASELINE, HOPPER] {
        let names: BTreeSet<&str> = kernels(ptx).iter().map(|kernel| kernel.name()).collect();
        assert_eq!(names.len(), kernels(ptx).len(), "two kernels have one name");
        let module = Module::parse(ptx).unwrap();
        let entries: BTreeSet<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, names);
        assert_eq!(entries.len(), module.entries.len());
    }
}

/// The driver gets each kernel by itself.
#[test]
fn every_kernel_is_a_module_by_itself() {
    for ptx in [BASELINE, HOPPER] {
        let whole = Module::parse(ptx).unwrap();
        assert_eq!(warpnest::ptx::kernels(ptx).collect::<BTreeSet<_>>().len(), whole.entries.len());
        let mut bytes = 0;
        for kernel in warpnest::ptx::kernels(ptx) {
            let text = warpnest::ptx::module_of(ptx, kernel).unwrap();
            assert_eq!(ptx_tools::lint(&text), []);
            let module = Module::parse(&text).unwrap();
            assert_eq!(module.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), [kernel]);
            assert_eq!((&module.target, &module.version), (&whole.target, &whole.version));
            bytes += text.len() - text.find(".visible .entry").unwrap();
        }
        assert_eq!(bytes, ptx.len() - ptx.find(".visible .entry").unwrap(), "every line is in one of them");
        assert_eq!(warpnest::ptx::module_of(ptx, "no_such_kernel"), None);
    }
}

/// Two registers at once may be of two moments.
#[test]
fn words_of_128_bits_that_others_change_are_loaded_as_one() {
    assert!(!BASELINE.contains("b128"));
    for kernel in wide_linear() {
        let entry = HOPPER.split(".visible .entry ").find(|entry| entry.starts_with(&format!("{}(", kernel.name())));
        let (text, name) = (entry.unwrap(), kernel.name());
        assert!(!text.contains("ld.relaxed.gpu.global.v2"), "{name}");
        let (loads, changes) = (text.contains("ld.relaxed.gpu.global.b128"), text.contains("cas.b128"));
        assert_eq!(loads, changes, "{name}");
        assert_eq!(changes, ["apply", "insert", "rehash"].iter().any(|kind| name.contains(kind)), "{name}");
    }
}

#[test]
fn parameters_in_the_ptx_are_the_arguments_of_the_kernels() {
    for ptx in [BASELINE, HOPPER] {
        let module = Module::parse(ptx).unwrap();
        for kernel in kernels(ptx) {
            let entry = module.entry(kernel.name()).unwrap();
            let given: Vec<usize> = arguments(&*kernel).iter().map(Vec::len).collect();
            let expected: Vec<usize> = entry.params.iter().map(|param| param.size).collect();
            assert_eq!(given, expected, "{}", kernel.name());
            // Each argument is copied to where its alignment puts it, which is 8 at most.
            assert!(entry.params.iter().all(|param| param.align <= 8));
            assert!(entry.max_threads.is_none_or(|most| kernel.threads() <= most), "{}", kernel.name());
            assert!(entry.shared_bytes <= 48 << 10, "{}: more needs an attribute of the function", kernel.name());
        }
    }
}

#[test]
fn the_interpreter_knows_every_instruction() {
    for ptx in [BASELINE, HOPPER] {
        let module = Module::parse(ptx).unwrap();
        for kernel in kernels(ptx) {
            let arguments = arguments(&*kernel);
            let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
            let (regions, schedule) = (Regions::new(), Schedule::default());
            let done = module.launch(kernel.name(), 1, kernel.threads(), &arguments, &regions, schedule);
            // With nothing to do most kernels end well, and some look at memory that is not there.
            assert!(matches!(done, Ok(()) | Err(Fault::OutOfBounds { .. })), "{done:?}");
        }
    }
}

/// The interpreter, where allocations of one size are told to be shorter than they are.
#[derive(Debug)]
struct CutShort {
    inner: PtxRunner,
    bytes: usize,
    by: usize,
}

impl Runner for CutShort {
    fn name(&self) -> &str {
        "cut short"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.inner.run(kernel, blocks) }
    }
    fn allocated(&self, address: usize, bytes: usize) {
        self.inner.allocated(address, if bytes == self.bytes { bytes - self.by } else { bytes });
    }
    fn freed(&self, address: usize) {
        self.inner.freed(address);
    }
}

#[test]
fn an_access_beyond_a_buffer_is_an_error_that_names_the_kernel() {
    let keys: Vec<u32> = distinct_keys(300, 2);
    let values: Vec<u64> = vec![1; 300];
    // The last slot, the last key, the last value, and of the header all but the cell of the key that is all ones.
    let cuts =
        [(16 * 401, 16, "cuckoo_"), (1200, 4, "cuckoo_insert"), (2400, 8, "cuckoo_place"), (72, 56, "cuckoo_insert")];
    for (bytes, by, kernel) in cuts {
        for runner in [PtxRunner::baseline, PtxRunner::hopper] {
            let build = |by| {
                let device = Device::from_engine(HostEngine::new(CutShort { inner: runner(5), bytes, by })).unwrap();
                let map = CuckooConfig::default().seed(1).slots(401).build(&device, &keys, &values)?;
                map.get_many(&[u32::MAX])
            };
            assert_eq!(build(0), Ok(vec![None]));
            let error = build(by).unwrap_err();
            let Error::Kernel { kernel: found, fault } = &error else { panic!("{error:?}") };
            assert!(
                found.starts_with(kernel) && fault.contains("out of bounds") && fault.contains("global"),
                "{error}"
            );
        }
    }
}

#[test]
fn an_access_of_the_page_map_beyond_a_buffer_is_an_error_that_names_the_kernel() {
    let keys: Vec<u32> = distinct_keys(301, 2);
    let values: Vec<u64> = vec![1; 301];
    // Four pages, for which the pairs are split.
    let config = PageConfig::default().seed(1).load(301.0 * 12.0 / (5.0 * 300.0 * 64.0));
    for config in [config.clone(), config.assume_unique()] {
        let table = config.memory_bytes::<u32, u64>(301).unwrap() as usize;
        let scratch = config.scratch_bytes::<u32, u64>(301).unwrap() as usize;
        // The last key, the last value, the last bucket's last values, half of the scratch.
        let inputs = [(1204, 4, "page_split"), (2408, 8, "page_split")];
        let others = [(table, 16, "page_build"), (scratch, scratch / 2, "page_")];
        for (bytes, by, kernel) in inputs.into_iter().chain(others) {
            for runner in [PtxRunner::baseline, PtxRunner::hopper] {
                let build = |by| {
                    let device =
                        Device::from_engine(HostEngine::new(CutShort { inner: runner(5), bytes, by })).unwrap();
                    let map = config.build(&device, &keys, &values)?;
                    map.get_many(&[keys[300]])
                };
                assert_eq!(build(0), Ok(vec![Some(1)]));
                let error = build(by).expect_err(&format!("{by} of {bytes} bytes are missing"));
                let Error::Kernel { kernel: found, fault } = &error else { panic!("{error:?}") };
                assert!(
                    found.starts_with(kernel) && fault.contains("out of bounds") && fault.contains("global"),
                    "{bytes} bytes: {error}"
                );
            }
        }
    }
}

/// Runs `Random` over `words` words that hold 1000000 + their number; gives the words and the output.
fn random(device: &Device, access: Access, accesses: u64, words: u64) -> (Vec<u64>, Vec<u32>) {
    let initial: Vec<u64> = (0..words).map(|word| 1_000_000 + word).collect();
    let memory = Buffer::from_slice(device, &initial).unwrap();
    let input = Buffer::<u32>::zeroed(device, 2 * accesses as usize).unwrap();
    let output = Buffer::<u32>::zeroed(device, accesses as usize).unwrap();
    let plan = RandomPlan { accesses, words, seed: 9, access: access as u32, padding: 0 };
    let stream = device.default_stream();
    // SAFETY: the buffers are as long as the kernel's text demands, and the launch names them.
    unsafe {
        let kernel = Random { memory: memory.global(), input: input.global(), output: output.global(), plan };
        stream.launch(&kernel, accesses, &[&input], &[&memory, &output]).unwrap();
    }
    (memory.download(stream).unwrap(), output.download(stream).unwrap())
}

#[test]
fn the_rooflines_random_accesses_have_the_same_effects_everywhere() {
    const ACCESSES: u64 = 300;
    const WORDS: u64 = 97;
    let initial: Vec<u64> = (0..WORDS).map(|word| 1_000_000 + word).collect();
    // A lookup writes down which word it read; so access i goes to word `goes_to[i]`, on every engine.
    let goes_to: Vec<u64> =
        random(&Device::cpu(), Access::Find, ACCESSES, WORDS).1.iter().map(|&read| read as u64 - 1_000_000).collect();
    let reached: BTreeSet<u64> = goes_to.iter().copied().collect();
    assert!(reached.len() > 80 && reached.iter().all(|&word| word < WORDS), "{} words were reached", reached.len());
    for engine in engines() {
        let run = |access| random(&engine.device, access, ACCESSES, WORDS);
        let (memory, output) = run(Access::Find);
        assert_eq!(memory, initial);
        assert!(output.iter().zip(&goes_to).all(|(&read, word)| read as u64 == 1_000_000 + word));
        for access in [Access::Read, Access::CompareExchange] {
            assert_eq!(run(access), (initial.clone(), vec![0; ACCESSES as usize]), "{access:?}");
        }
        for access in [Access::Write, Access::Exchange, Access::Insert] {
            let (memory, output) = run(access);
            assert_eq!(output, vec![0; ACCESSES as usize]);
            for (word, &found) in memory.iter().enumerate() {
                // One of the accesses that went to a word came last.
                let written = reached.contains(&(word as u64));
                let fits =
                    if written { goes_to.get(found as usize) == Some(&(word as u64)) } else { found == initial[word] };
                assert!(fits, "{access:?}: word {word} holds {found} on {}", engine.device.name());
            }
        }
    }
}

#[test]
fn the_rooflines_copy_copies_all_words_and_no_more() {
    for engine in engines() {
        let stream = engine.device.default_stream();
        for words in [0, 2, 510, 512, 514, 1000usize] {
            let source = Buffer::from_slice(&engine.device, &distinct_keys::<u64>(words, 3)).unwrap();
            let target = Buffer::from_slice(&engine.device, &vec![7u64; words + 6]).unwrap();
            // SAFETY: both buffers have at least so many words, and the launch names them.
            unsafe {
                let copy = Copy { source: source.global(), target: target.global(), words: words as u64 };
                stream.launch(&copy, words as u64 / 2, &[&source], &[&target]).unwrap();
            }
            let copied = target.download(stream).unwrap();
            assert_eq!(copied[..words], source.download(stream).unwrap(), "{words} on {}", engine.device.name());
            assert_eq!(copied[words..], [7; 6]);
        }
    }
}
