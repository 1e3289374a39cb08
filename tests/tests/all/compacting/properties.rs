//! The compacting table, compared with `std::collections` on every engine and on every base table.
//! Every different key has one id, ids have no gaps, and lookups in both directions agree.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::design::Config;
use warpnest::error::ConfigError;
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, CompactingConfig, CompactingTable, CuckooConfig, Device, Error, PageConfig};
use warpnest_tests::forms::{Form, FormOf};
use warpnest_tests::{
    assert_lengths, assert_wrong_device, at, counting, distinct_keys, elsewhere, engines, faulty, key, maps, on_all,
    on_every_engine, only, parameterized,
};

/// Returns the different keys in the order in which they first appear, and each row's index among
/// them.
fn in_order<K: Key>(rows: &[K]) -> (Vec<K>, Vec<u32>) {
    let (mut keys, mut ids) = (Vec::new(), HashMap::new());
    let of_rows = rows
        .iter()
        .map(|&key| {
            *ids.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            })
        })
        .collect();
    (keys, of_rows)
}

/// Says what is wrong with a table of these rows.
fn wrong<K: Key, D: FormOf>(table: &CompactingTable<K, D>, rows: &[K], ordered: bool) -> Result<(), String> {
    let said = |error: Error| error.to_string();
    let (keys, _) = in_order(rows);
    let pairs = table.to_pairs().map_err(said)?;
    let ids: HashMap<K, u32> = pairs.iter().copied().collect();
    if ids.len() != keys.len() || keys.iter().any(|key| !ids.contains_key(key)) {
        return Err(format!("{} rows have {} keys, and the table {}", rows.len(), keys.len(), ids.len()));
    }
    if ordered && keys.iter().zip(&pairs).any(|(key, (of_id, _))| key != of_id) {
        return Err(format!("keys appear as {keys:?}, and have ids as {pairs:?}"));
    }
    let others: Vec<K> = keys.iter().map(|&key| K::from_u64(!key.to_u64())).collect();
    let queries: Vec<K> = rows.iter().chain(&others).copied().collect();
    maps::check(table.ids(), &ids, &queries)?;
    let asked: Vec<u32> = (0..keys.len() as u32 + 40).chain([u32::MAX]).collect();
    let answers = table.keys_of_many(&asked).map_err(said)?;
    let expected: Vec<Option<K>> = asked.iter().map(|&id| pairs.get(id as usize).map(|pair| pair.0)).collect();
    if answers != expected {
        return Err(format!("ids {asked:?} have keys {expected:?}, and the answers are {answers:?}"));
    }
    Ok(())
}

/// Fails unless tables of these rows are right, with ids in any order and in order of appearance.
fn right<F: Form + FormOf, K: Key>(device: &Device, config: &CompactingConfig<F>, rows: &[K]) {
    for ordered in [false, true] {
        let _at = at(format!("{} rows of {}, ordered {ordered}, {config:?}", rows.len(), std::any::type_name::<K>()));
        let config = if ordered { config.clone().in_order_of_appearance() } else { config.clone() };
        let table = config.build(device, rows).unwrap();
        assert_eq!(wrong(&table, rows, ordered), Ok(()));
        let copy = table.try_clone().unwrap();
        drop(table);
        assert_eq!(wrong(&copy, rows, ordered), Ok(()));
    }
}

fn property<F: Form + FormOf, K: Key>() {
    on_every_engine(
        |engine| {
            let rows = prop::collection::vec(key::<K>(), 0..engine.max_items.min(3000));
            (rows, any::<u64>(), 0.05..1.0f64, any::<bool>())
        },
        |engine, (rows, seed, load, ordered)| {
            let config = CompactingConfig::on(F::with(seed, load));
            let config = if ordered { config.in_order_of_appearance() } else { config };
            let table = config.build(&engine.device, &rows).map_err(|error| TestCaseError::fail(error.to_string()))?;
            wrong(&table, &rows, ordered).map_err(TestCaseError::fail)
        },
    );
}

fn every_key_has_one_id_with_32_bits<F: Form>() {
    property::<F, u32>();
}

fn every_key_has_one_id_with_64_bits<F: Form>() {
    property::<F, u64>();
}

fn edges<F: Form>() {
    fn with<F: Form + FormOf, K: Key>(device: &Device) {
        let config = CompactingConfig::on(F::with(5, 0.8));
        let (zero, ones) = (K::default(), K::ALL_ONES);
        for rows in [&[][..], &[zero], &[ones], &[ones, zero, ones], &[zero; 33], &[ones; 100]] {
            right(device, &config, rows);
        }
        // These counts are around a warp and a block of lookups.
        for rows in [31, 32, 33, 255, 256, 257] {
            right(device, &config, &distinct_keys::<K>(rows, 3));
            right(device, &CompactingConfig::on(F::with(5, 0.8).assume_unique()), &distinct_keys::<K>(rows, 4));
        }
        // Some of these few keys have most of the rows of a warp.
        let few: Vec<K> = (0..200u64).map(|row| K::from_u64([0, 1, 2, 7, row][(row * row % 5) as usize])).collect();
        right(device, &config, &few);
        // An empty slot has the all-ones key. This key is inserted first, last or between others,
        // once and twice.
        let mut keys: Vec<K> = distinct_keys(300, 6);
        keys.retain(|&key| key != ones);
        for at in [0, 150, keys.len()] {
            let mut keys = keys.clone();
            keys.insert(at, ones);
            right(device, &config, &keys);
            keys.insert(77, ones);
            right(device, &config, &keys);
        }
    }
    on_all(with::<F, u32>);
    on_all(with::<F, u64>);
}

/// Checks many pages, whose blocks finish in any order. Ids in order of appearance must be the same
/// in two builds.
fn many_keys_are_numbered_without_gaps_and_in_order_always_alike<F: Form>() {
    let device = Device::best().unwrap();
    let rows: Vec<u32> = distinct_keys::<u32>(60_000, 9).iter().map(|key| key % 40_000).collect();
    right(&device, &CompactingConfig::on(Config::<F>::default()), &rows);
    let with = |seed| CompactingConfig::on(F::with(seed, 0.9)).in_order_of_appearance();
    let [first, second] = [1, 2].map(|seed| with(seed).build(&device, &rows).unwrap().to_pairs().unwrap());
    assert_eq!(first, second);
}

#[parameterized]
fn a_table_that_makes_no_sense_is_refused(device: &Device) {
    let error = CompactingConfig::on(PageConfig::default().load(0.0)).build(device, &[1u32]).unwrap_err();
    assert!(matches!(error, Error::Config(ConfigError::Load { .. })), "{error}");
    let error = CompactingConfig::on(CuckooConfig::default().functions(6)).build(device, &[1u32]).unwrap_err();
    assert_eq!(error, Error::Config(ConfigError::FunctionCount { asked: 6 }));
}

fn what_makes_no_sense_is_refused<F: Form>() {
    on_all(|device| {
        let config = CompactingConfig::on(Config::<F>::default());
        let table = config.build(device, &[4u32, 5, 4]).unwrap();
        maps::refuses_other_lengths(table.ids());
        maps::refuses_another_device(table.ids());
        let stream = device.default_stream();
        let ids = Buffer::from_slice(device, &[0, 1]).unwrap();
        let error = table.keys_of_many_into(stream, &ids, &mut Answers::new(device, 3).unwrap()).unwrap_err();
        assert_lengths(error, ("the ids", 2), ("the answers", 3));
        let there = elsewhere();
        let foreign = Buffer::from_slice(&there, &[1u32]).unwrap();
        let error = config.build(device, &foreign).unwrap_err();
        assert_wrong_device(error, "the buffer of keys", &there, device);
    });
}

/// Returns the two configurations: with ids in any order, and in order of appearance.
fn both<F: Form>() -> [(CompactingConfig<F>, bool); 2] {
    let config = CompactingConfig::on(Config::<F>::default());
    [(config.clone(), false), (config.in_order_of_appearance(), true)]
}

fn a_rebuild_is_a_build_and_one_that_makes_no_sense_changes_nothing<F: Form>() {
    fn with<F: Form + FormOf, K: Key>(device: &Device) {
        for (config, ordered) in both::<F>() {
            let mut table = config.build(device, &distinct_keys::<K>(100, 1)).unwrap();
            for rows in [distinct_keys(40, 2), vec![], vec![K::ALL_ONES; 9], distinct_keys(200, 3)] {
                table.rebuild(&Buffer::from_slice(device, &rows).unwrap()).unwrap();
                assert_eq!(wrong(&table, &rows, ordered), Ok(()));
            }
            let there = elsewhere();
            let foreign = Buffer::from_slice(&there, &[K::default()]).unwrap();
            assert_wrong_device(table.rebuild(&foreign).unwrap_err(), "the buffer of keys", &there, device);
            table.shrink_to_fit().unwrap();
            assert_eq!(wrong(&table, &distinct_keys(200, 3), ordered), Ok(()));
        }
    }
    on_all(with::<F, u32>);
    on_all(with::<F, u64>);
}

/// Lets each launch or allocation of a rebuild fail. The rebuild must return an error and leave the
/// table empty, and the next rebuild must succeed.
fn after_a_failed_rebuild_the_table_is_empty<F: Form>() {
    let (old, rows): (Vec<u32>, Vec<u32>) = (distinct_keys(500, 1), distinct_keys(3000, 2));
    for (config, ordered) in both::<F>() {
        let (device, launches) = faulty();
        let input = Buffer::from_slice(&device, &rows).unwrap();
        let mut good = 0;
        loop {
            let mut table = config.build(&device, &old).unwrap();
            let done = only(&launches, good, || table.rebuild(&input));
            let expected = if done.is_ok() { &rows[..] } else { &[] };
            assert_eq!(wrong(&table, expected, ordered), Ok(()), "after {good} launches");
            assert_eq!(table.key_buffer().is_empty(), done.is_err(), "after {good} launches");
            table.rebuild(&input).unwrap();
            assert_eq!(wrong(&table, &rows, ordered), Ok(()), "after {good} launches and another build");
            if done.is_ok() {
                break;
            }
            good += 1;
        }
        assert!(good >= 3, "{good} launches");
        // Now all allocations fail, starting at the failing one.
        let (device, counts) = counting();
        let input = Buffer::from_slice(&device, &rows).unwrap();
        let mut good = 0;
        loop {
            let mut table = config.build(&device, &old).unwrap();
            let done = only(&counts.allocations, good, || table.rebuild(&input));
            let expected = if done.is_ok() { &rows[..] } else { &[] };
            assert_eq!(wrong(&table, expected, ordered), Ok(()), "after {good} allocations");
            assert_eq!(table.key_buffer().is_empty(), done.is_err(), "after {good} allocations");
            if done.is_ok() {
                break;
            }
            good += 1;
        }
        assert!(good >= 4, "{good} allocations");
    }
}

/// Lets each launch or allocation of a build fail. The build must return an error and no table.
fn a_build_that_fails_says_so<F: Form>() {
    let rows: Vec<u32> = distinct_keys::<u32>(3000, 1).iter().map(|key| key % 1000).collect();
    for (config, _) in both::<F>() {
        let (device, launches) = faulty();
        let mut good = 0;
        while let Err(error) = only(&launches, good, || config.build(&device, &rows)) {
            assert!(matches!(error, Error::Kernel { .. }), "{error}");
            good += 1;
        }
        assert!(good >= 3, "{good} launches");
        right(&device, &config, &rows);
        let (device, counts) = counting();
        let mut good = 0;
        while let Err(error) = only(&counts.allocations, good, || config.build(&device, &rows)) {
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            good += 1;
        }
        assert!(good >= 4, "{good} allocations");
    }
}

/// Checks the memory that the configuration announces for a build.
fn memory_is_what_was_said<F: Form>() {
    use std::sync::atomic::Ordering::Relaxed;
    fn with<F: Form + FormOf, K: Key>(config: CompactingConfig<F>, copies: usize) {
        for rows in [0, 1, 1000, 5000, 70_000] {
            let (device, counts) = counting();
            let keys = distinct_keys::<K>(rows, 2);
            let input: Vec<K> = (0..rows).map(|row| keys[row / copies]).collect();
            let input = Buffer::from_slice(&device, &input).unwrap();
            let (before, rows) = (counts.bytes.load(Relaxed), rows as u64);
            counts.most.store(before, Relaxed);
            let table = config.build(&device, &input).unwrap();
            let most = counts.most.load(Relaxed) - before;
            let kept = config.memory_bytes::<K>(rows as usize).unwrap();
            let keeps = counts.bytes.load(Relaxed) - before;
            let unused = (rows - table.len() as u64) * (K::BITS / 8) as u64;
            assert_eq!(table.memory_bytes(), kept - unused as usize, "{rows} rows");
            // An allocation takes at least 16 bytes, and five arrays are empty.
            let allocated = table.memory_bytes()..=table.memory_bytes() + 128;
            assert!(allocated.contains(&(keeps as usize)), "{rows} rows keep {keeps} bytes, and {kept} were said");
            let scratch = config.scratch_bytes::<K>(rows as usize).unwrap();
            // In addition, there may be eight small arrays, and the memory of a table without keys.
            assert!(
                most <= (kept + scratch + 256) as u64,
                "{rows} rows took {most} bytes, and {kept} + {scratch} were said"
            );
        }
    }
    with::<F, u64>(CompactingConfig::on(Config::<F>::default().assume_unique()), 1);
    for (config, _) in both::<F>() {
        with::<F, u32>(config.clone(), 1);
        with::<F, u64>(config.clone(), 1);
        with::<F, u32>(config, 2);
    }
}

/// Checks that under a broken promise of unique keys a key may have several ids, but each id leads
/// back to its key. On the engines that run PTX, an access outside a buffer is a fault.
fn a_broken_promise_does_no_harm<F: Form>() {
    fn with<F: Form + FormOf, K: Key>(device: &Device) {
        let many: Vec<K> = (0..290u64).map(|row| K::from_u64([row / 3, row % 5, u64::MAX][row as usize % 3])).collect();
        // A single key is repeated. Its copies may end in two slots without any thread that has
        // seen both.
        let once: Vec<K> = distinct_keys(290, 11);
        let one = [&once[..], &once[..1]].concat();
        for (rows, seed) in (0..16).flat_map(|seed| [(&many, seed), (&one, seed)]) {
            let config = CompactingConfig::on(F::with(seed, 0.9).assume_unique());
            for config in [config.clone(), config.in_order_of_appearance()] {
                let _at = at(format!("{} rows, {config:?}", rows.len()));
                let table = config.build(device, rows).unwrap();
                let ids: Vec<u32> = table.get_many(rows).unwrap().into_iter().flatten().collect();
                let keys = table.keys_of_many(&ids).unwrap();
                assert_eq!(keys, rows.iter().copied().map(Some).collect::<Vec<_>>());
            }
        }
    }
    on_all(with::<F, u32>);
    on_all(with::<F, u64>);
}

/// Checks a page map whose bins overflow. If bins of the last split overflow, that split is
/// repeated; if bins of the first split do, all keys are counted first. In both cases keys are
/// moved without values.
#[test]
fn rows_whose_bins_overflow_are_numbered_all_the_same() {
    fn with<K: Key>(device: &Device, rows: usize, copies: usize, split_again: bool) {
        let mut keys: Vec<K> = distinct_keys(rows, 12);
        keys.iter_mut().step_by(rows.div_ceil(copies)).for_each(|key| *key = K::default());
        // This load gives 2^10 pages.
        let page = PageConfig::default().seed(7).load(rows as f64 * 8.0 / (2700.0 * 300.0 * 32.0));
        let config = CompactingConfig::on(page);
        let table = config.build(device, &keys).unwrap();
        let report = table.report();
        assert_eq!((report.split_again, report.counted), (split_again, !split_again), "{report:?}");
        right(device, &config, &keys);
    }
    // Slow engines would take minutes for so many pages.
    for engine in engines().iter().filter(|engine| engine.max_items >= 100_000) {
        with::<u32>(&engine.device, 300, 75, true);
        with::<u32>(&engine.device, 100_000, 190, true);
        with::<u32>(&engine.device, 2000, 200, false);
        with::<u64>(&engine.device, 300, 75, true);
        with::<u64>(&engine.device, 300, 150, false);
        // Bins have hardly more capacity than keys, so values would not fit.
        with::<u32>(&engine.device, 500_000, 3400, false);
    }
}

warpnest_tests::of_all_forms! {
    every_key_has_one_id_with_32_bits,
    every_key_has_one_id_with_64_bits,
    edges,
    many_keys_are_numbered_without_gaps_and_in_order_always_alike,
    what_makes_no_sense_is_refused,
    a_rebuild_is_a_build_and_one_that_makes_no_sense_changes_nothing,
    after_a_failed_rebuild_the_table_is_empty,
    a_build_that_fails_says_so,
    memory_is_what_was_said,
    a_broken_promise_does_no_harm,
}
