//! The C++ header, tested against the tables themselves. It is compiled for the host, and its
//! functions query tables of the CPU engine through the refs that kernels get.

use libloading::{Library, Symbol};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use warpnest::low_level::HasRef;
use warpnest::low_level::kernels::page::Layout;
use warpnest::low_level::kernels::primitives::iota::{Iota, IotaParams};
use warpnest::low_level::kernels::refs::{CuckooRef, LinearRef, PageRef};
use warpnest::low_level::kernels::types::KeyWord;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{CuckooConfig, CuckooSet, Device, LinearConfig, LinearMap, PageConfig, PageMap, PageSet};
use warpnest_tests::random::run_property;
use warpnest_tests::{family, is_thorough, key, null, of_all_widths};

/// The functions of tests/cpp/asked.cpp, or `None` if there is no C++ compiler.
static ASKED: LazyLock<Option<Library>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("asked-{}.so", std::process::id()));
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]);
    command.arg("-I").arg(root.join("../crates/warpnest/include"));
    command.arg(root.join("tests/cpp/asked.cpp")).arg("-o").arg(&library);
    match command.output() {
        Err(error) => {
            assert!(std::env::var_os("WARPNEST_REQUIRE_CXX").is_none(), "{compiler} cannot be run: {error}");
            eprintln!("not tested: the C++ header, for {compiler} cannot be run ({error}); name another one by CXX");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
            // SAFETY: the library has functions only, and none of them runs when it is loaded.
            let loaded = unsafe { Library::new(&library) }.expect("the compiler has written it");
            std::fs::remove_file(&library).expect("it stays loaded");
            Some(loaded)
        }
    }
});

/// Returns the ref of a table of the CPU engine, whose memory is the host's.
fn ref_of<T: HasRef>(device: &Device, table: &T) -> T::Ref {
    let mut taken = None;
    let plan = IotaParams { items: 0, first: 0, padding: 0 };
    // SAFETY: no thread runs.
    unsafe {
        device.default_stream().launch(0, |uses| {
            taken = Some(uses.table(table));
            Iota { output: null(), plan }
        })
    }
    .unwrap();
    taken.expect("the closure was called")
}

fn word<T>() -> &'static str {
    if size_of::<T>() == 4 { "u32" } else { "u64" }
}

/// Returns the value that C++ finds in a map for each query, or `None` if there is no compiler.
fn asked<K: Key, V: Value, R>(table: &str, map: &R, queries: &[K]) -> Option<Vec<Option<V>>> {
    type Ask<K, V, R> = unsafe extern "C" fn(*const R, *const K, usize, *mut V, *mut bool);
    let name = format!("{table}_{}_{}", word::<K>(), word::<V>());
    // SAFETY: the function of this name has these parameters.
    let ask: Symbol<'_, Ask<K, V, R>> = unsafe { ASKED.as_ref()?.get(name.as_bytes()) }.expect("it is there");
    let (mut values, mut found) = (vec![V::from_u64(0); queries.len()], vec![false; queries.len()]);
    // SAFETY: `values` and `found` are as long as `queries`; the table lives, and nobody changes
    // it.
    unsafe { ask(map, queries.as_ptr(), queries.len(), values.as_mut_ptr(), found.as_mut_ptr()) };
    Some(found.into_iter().zip(values).map(|(found, value)| found.then_some(value)).collect())
}

/// Returns which queries C++ finds in a set, or `None` if there is no compiler.
fn flagged<K: Key, R>(table: &str, set: &R, queries: &[K]) -> Option<Vec<bool>> {
    type Flag<K, R> = unsafe extern "C" fn(*const R, *const K, usize, *mut bool);
    let name = format!("{table}_{}", word::<K>());
    // SAFETY: the function of this name has these parameters.
    let flag: Symbol<'_, Flag<K, R>> = unsafe { ASKED.as_ref()?.get(name.as_bytes()) }.expect("it is there");
    let mut found = vec![false; queries.len()];
    // SAFETY: `found` is as long as `queries`; nobody changes the table.
    unsafe { flag(set, queries.as_ptr(), queries.len(), found.as_mut_ptr()) };
    Some(found)
}

/// Runs a property if there is a compiler.
fn check<S: Strategy<Value: 'static> + 'static>(inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    if ASKED.is_some()
        && let Err(failure) = run_property(if is_thorough() { 800 } else { 100 }, inputs, property)
    {
        panic!("{failure}");
    }
}

/// Returns a strategy for pairs, other keys, and the count of pairs to remove again.
fn pairs<K: Key, V: Value>() -> impl Strategy<Value = (BTreeMap<K, V>, Vec<K>, usize)> {
    let pairs = prop::collection::btree_map(key::<K>(), any::<u64>().prop_map(V::from_u64), 0..3000);
    let edges = || [K::from_u64(0), K::from_u64(1), K::ALL_ONES];
    let others = prop::collection::vec(key::<K>(), 0..200).prop_map(move |others| [&others[..], &edges()].concat());
    (pairs, others, prop_oneof![Just(0usize), 0..300usize])
}

/// Removes some keys from the pairs and returns them.
fn taken<K: Key, V: Value>(pairs: &mut BTreeMap<K, V>, count: usize) -> Vec<K> {
    let keys: Vec<K> = pairs.keys().copied().step_by(3).take(count).collect();
    keys.iter().for_each(|key| _ = pairs.remove(key));
    keys
}

fn expected<K: Key, V: Value>(pairs: &BTreeMap<K, V>, others: &[K]) -> (Vec<K>, Vec<Option<V>>) {
    let queries: Vec<K> = pairs.keys().chain(others).copied().collect();
    let answers = queries.iter().map(|query| pairs.get(query).copied()).collect();
    (queries, answers)
}

fn page_maps<K: Key, V: Value>() {
    let device = Device::cpu();
    let inputs = (pairs::<K, V>(), prop_oneof![Just(0.95), 0.1..0.9f64], any::<u64>());
    check(inputs, |((mut pairs, others, removed), load, seed)| {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().unzip();
        let mut map = PageConfig::default().load(load).seed(seed).build(&device, &keys, &values).unwrap();
        map.remove_many(&taken(&mut pairs, removed)).unwrap();
        let (queries, answers) = expected(&pairs, &others);
        prop_assert_eq!(asked("page", &ref_of(&device, &map), &queries).unwrap(), answers);
        Ok(())
    });
}

mod page {
    use super::{of_all_widths, page_maps};
    of_all_widths!(page_maps);
}

fn cuckoo_maps<K: Key, V: Value>() {
    let device = Device::cpu();
    check((pairs::<K, V>(), family(), any::<u64>()), |((pairs, others, _), family, seed)| {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().unzip();
        let config = CuckooConfig::default().hash(family).seed(seed);
        // Some hash families give keys the same slots, so builds may fail.
        let Ok(map) = config.build(&device, &keys, &values) else { return Ok(()) };
        let (queries, answers) = expected(&pairs, &others);
        prop_assert_eq!(asked("cuckoo", &ref_of(&device, &map), &queries).unwrap(), answers);
        Ok(())
    });
}

mod cuckoo {
    use super::{cuckoo_maps, of_all_widths};
    of_all_widths!(cuckoo_maps);
}

fn linear_maps<K: Key, V: Value>() {
    let device = Device::cpu();
    let inputs = (pairs::<K, V>(), 0.3..0.95f64, any::<bool>(), any::<u64>());
    check(inputs, |((mut pairs, others, removed), load, adjacent, seed)| {
        let config = LinearConfig::default().load(load).seed(seed);
        let config = if adjacent { config.linear_probing() } else { config };
        let mut map: LinearMap<K, V> = config.create(&device).unwrap();
        let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().unzip();
        map.insert_many(&keys, &values).unwrap();
        map.remove_many(&taken(&mut pairs, removed)).unwrap();
        let (queries, answers) = expected(&pairs, &others);
        prop_assert_eq!(asked("linear", &ref_of(&device, &map), &queries).unwrap(), answers);
        Ok(())
    });
}

mod linear {
    use super::{linear_maps, of_all_widths};
    of_all_widths!(linear_maps);
}

fn sets_of<K: Key>() {
    let device = Device::cpu();
    check((pairs::<K, u32>(), prop_oneof![Just(0.95), 0.1..0.9f64]), |((mut pairs, others, removed), load)| {
        let keys: Vec<K> = pairs.keys().copied().collect();
        let cuckoo = CuckooSet::build(&device, &keys).unwrap();
        let (queries, answers) = expected(&pairs, &others);
        let answers: Vec<bool> = answers.iter().map(Option::is_some).collect();
        prop_assert_eq!(flagged("cuckoo", &ref_of(&device, &cuckoo), &queries).unwrap(), answers);
        let mut page = PageConfig::default().load(load).build_set(&device, &keys).unwrap();
        page.remove_many(&taken(&mut pairs, removed)).unwrap();
        let (queries, answers) = expected(&pairs, &others);
        let answers: Vec<bool> = answers.iter().map(Option::is_some).collect();
        prop_assert_eq!(flagged("page", &ref_of(&device, &page), &queries).unwrap(), answers);
        Ok(())
    });
}

#[test]
fn sets() {
    sets_of::<u32>();
    sets_of::<u64>();
}

/// Returns `each` keys of each of the first buckets of a table, spread over the bucket's part of
/// the range, and equally many other keys between them.
fn of_first_buckets(layout: &Layout, each: u32) -> [Vec<u32>; 2] {
    let part = (u32::MAX / layout.buckets()) as u64;
    [0, 1].map(|beside| {
        let of = |bucket: u64| {
            (0..each as u64).map(move |number| bucket * part + (2 * number + beside) * part / (2 * each as u64))
        };
        (0..40).flat_map(of).map(|mixed| (mixed as u32).unmixed(layout.a, layout.b)).collect()
    })
}

/// Checks the bucket forms with short tags, which only tables with enough buckets have. Many keys
/// have the same home bucket, so some of them must leave it.
#[test]
fn every_form_of_a_page_tables_bucket() {
    if ASKED.is_none() {
        return;
    }
    let device = Device::cpu();
    // The largest form takes 0.7 GB.
    let sizes: &[(usize, [u32; 2])] = &[(1000, [4, 8]), (1_500_000, [5, 15]), (110_000_000, [6, 24])];
    for &(capacity, [slots, slots_of_set]) in if is_thorough() { sizes } else { &sizes[..2] } {
        let mut map: PageMap<u32, u32> = PageMap::new(&device).unwrap();
        map.reserve(capacity).unwrap();
        // The first batch draws the constants, which the later batches keep.
        map.insert_many(&[7], &[7]).unwrap();
        let [keys, others] = of_first_buckets(map.table().layout(), slots + 3);
        map.insert_many(&keys, &(0..keys.len() as u32).collect::<Vec<u32>>()).unwrap();
        assert_eq!(map.table().layout().slots, slots);
        let queries = [keys, others].concat();
        assert_eq!(asked("page", &ref_of(&device, &map), &queries).unwrap(), map.get_many(&queries).unwrap());
        let mut set: PageSet<u32> = PageSet::new(&device).unwrap();
        set.reserve(4 * capacity).unwrap();
        set.insert_many(&[7]).unwrap();
        let [keys, others] = of_first_buckets(set.table().layout(), slots_of_set + 6);
        set.insert_many(&keys).unwrap();
        assert_eq!(set.table().layout().slots, slots_of_set);
        let queries = [keys, others].concat();
        assert_eq!(flagged("page", &ref_of(&device, &set), &queries).unwrap(), set.contains_many(&queries).unwrap());
    }
}

#[test]
fn sizes_are_those_of_the_structs_in_rust() {
    let Some(library) = ASKED.as_ref() else { return };
    let sizes = [
        ("size_of_page", size_of::<PageRef<u64, u32>>()),
        ("size_of_cuckoo", size_of::<CuckooRef<u64, u32>>()),
        ("size_of_linear", size_of::<LinearRef<u64, u32>>()),
    ];
    for (name, size) in sizes {
        // SAFETY: the function of this name has no parameters.
        let of: Symbol<'_, unsafe extern "C" fn() -> usize> = unsafe { library.get(name.as_bytes()) }.unwrap();
        // SAFETY: the function returns a constant.
        assert_eq!(unsafe { of() }, size, "{name}");
    }
}
