//! Device failures during a build, and the memory that builds take, for every map that is built in
//! one call.

use super::{Before, Tested, build, rebuild};
use crate::maps::holds;
use crate::{at, counting, distinct_keys, faulty, only, values};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error};

/// Lets each launch or allocation of a rebuild from the keys `old` to `new` fail once, and returns
/// the errors. Freshly built and rebuilt maps are rebuilt; `left` is the device's countdown. After
/// a failure the map must be empty, and a new build must succeed. `own` makes the map's own checks.
fn failing<D: Tested, K: Key, V: Value>(
    (device, left): (&Device, &AtomicU32),
    config: &Config<D>,
    (old, new): (&[K], &[K]),
    own: impl Fn(&BulkMap<K, V, D>),
) -> Vec<Error> {
    let (old_values, new_values) = (values::<V>(old.len()), values::<V>(new.len()));
    let keys = Buffer::from_slice(device, new).unwrap();
    let values = Buffer::from_slice(device, &new_values).unwrap();
    let mut errors = Vec::new();
    for good in 0.. {
        let _at = at(format!("{config:?}, {good} good ones, after {:?}", errors.last()));
        let mut map = build::<D, K, V>(device, config, old, &old_values);
        let mut failed = None;
        for _ in 0..2 {
            let before = Before::of(&map);
            let rebuilt = only(left, good, || map.rebuild(&keys, &values));
            before.check(&map, &rebuilt, new, &new_values);
            if let Err(error) = rebuilt {
                failed.get_or_insert(error);
                rebuild(&mut map, new, &new_values).unwrap();
            }
            own(&map);
            rebuild(&mut map, old, &old_values).unwrap();
        }
        match failed {
            Some(error) => errors.push(error),
            None => break,
        }
    }
    errors
}

/// Lets each launch of a rebuild with the keys `new` fail once, and returns the names of the
/// kernels. After a failure the map must be empty, and a new build must succeed; `own` makes the
/// map's own checks.
pub fn failing_launches<D: Tested>(
    config: &Config<D>,
    new: &[u32],
    own: impl Fn(&BulkMap<u32, u64, D>),
) -> Vec<String> {
    let (device, good_launches) = faulty();
    let old: Vec<u32> = distinct_keys(100, 1);
    let errors = failing((&device, &good_launches), config, (&old, new), own);
    let kernel = |error| match error {
        Error::Kernel { kernel, .. } => kernel,
        error => panic!("{config:?}: {error}"),
    };
    errors.into_iter().map(kernel).collect()
}

/// Lets each allocation of a rebuild fail once, as [`failing_launches`] does with launches, and
/// returns the count of allocations.
pub fn failing_allocations<D: Tested>(config: &Config<D>, new: &[u64], own: impl Fn(&BulkMap<u64, u64, D>)) -> usize {
    let (device, counts) = counting();
    let old: Vec<u64> = distinct_keys(100, 1);
    let errors = failing((&device, &counts.allocations), config, (&old, new), own);
    for error in &errors {
        assert!(matches!(error, Error::OutOfMemory { .. }), "{config:?}: {error}");
    }
    assert_eq!(counts.bytes.load(Relaxed), 0, "{config:?}: some bytes were not given back");
    errors.len()
}

/// Checks that builds of pairs of each width use and keep the announced memory. `own` checks that a
/// build took its usual path.
pub fn memory_is_as_said<D: Tested>(config: &Config<D>, pairs: usize, own: impl Fn(&D::Report)) {
    crate::in_all_widths!(memory_of_width::<D>(config, pairs, &own));
}

fn memory_of_width<D: Tested, K: Key, V: Value>(config: &Config<D>, pairs: usize, own: &impl Fn(&D::Report)) {
    let _at = at(format!("{pairs} pairs of {} and {} bits, {config:?}", K::BITS, V::BITS));
    let (device, counts) = counting();
    let n = pairs as u64;
    let keys = Buffer::from_slice(&device, &distinct_keys::<K>(pairs, 4)).unwrap();
    let values = Buffer::<V>::zeroed(&device, pairs).unwrap();
    let input = counts.bytes.load(Relaxed);
    counts.most.store(0, Relaxed);
    let (memory, scratch) =
        (config.memory_bytes::<K, V>(n as usize).unwrap(), config.scratch_bytes::<K, V>(n as usize).unwrap());
    let mut map = config.build(&device, &keys, &values).unwrap();
    own(map.report());
    let beside_input = |count: &AtomicU64| count.load(Relaxed) - input;
    // An allocation of fewer than 16 bytes takes 16 bytes.
    let most = beside_input(&counts.most);
    assert!(most.abs_diff((memory + scratch) as u64) < 32, "{most} bytes, {memory} + {scratch} said");
    let kept = beside_input(&counts.bytes);
    assert!(map.memory_bytes() == memory && kept.abs_diff(memory as u64) < 16, "{kept} bytes kept, {memory} said");

    map.rebuild(&keys, &values).unwrap();
    let kept = beside_input(&counts.bytes);
    assert!(
        kept.abs_diff((memory + scratch) as u64) < 32,
        "{kept} bytes kept after a rebuild, {memory} + {scratch} said"
    );
    assert_eq!(map.memory_bytes(), memory);
    let most = beside_input(&counts.most);
    assert!(most.abs_diff((memory + scratch) as u64) < 32, "{most} bytes with the rebuild, {memory} + {scratch} said");
    map.shrink_to_fit().unwrap();
    assert!(beside_input(&counts.bytes).abs_diff(memory as u64) < 16);
    drop(map);
    assert_eq!(beside_input(&counts.bytes), 0);
}

/// Checks that a clone of a map that was rebuilt from `pairs` pairs takes the map's memory without
/// its scratch, up to `rounding` bytes.
pub fn a_clone_takes_as_much_as_the_map_without_its_scratch<D: Tested>(
    config: &Config<D>,
    pairs: usize,
    rounding: u64,
) {
    fn with<D: Tested, K: Key, V: Value>(config: &Config<D>, pairs: usize, rounding: u64) {
        let (device, counts) = counting();
        let (keys, values) = (distinct_keys::<K>(pairs, 4), values::<V>(pairs));
        let mut map = build(&device, config, &keys, &values);
        rebuild(&mut map, &keys, &values).unwrap();
        let before = counts.bytes.load(Relaxed);
        let clone = map.try_clone().unwrap();
        assert_eq!(clone.memory_bytes(), config.memory_bytes::<K, V>(pairs).unwrap());
        let taken = counts.bytes.load(Relaxed) - before;
        assert!(taken.abs_diff(clone.memory_bytes() as u64) <= rounding, "{taken} bytes: {config:?}, {pairs} pairs");
    }
    crate::in_all_widths!(with::<D>(config, pairs, rounding));
}

/// Checks the memory of rebuilds in maps that grow; `own` receives the map when it has few pairs in
/// much memory.
pub fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs<D: Tested>(
    config: &Config<D>,
    own: impl Fn(&BulkMap<u32, u32, D>),
) {
    let _at = at(format!("{config:?}"));
    let (device, counts) = counting();
    let buffers = |n| {
        let keys: Vec<u32> = distinct_keys(n, n as u64);
        (Buffer::from_slice(&device, &keys).unwrap(), keys)
    };
    let (many, many_keys) = buffers(20_000);
    let (few, few_keys) = buffers(700);
    let (more, more_keys) = buffers(40_000);
    let bytes = |n| config.memory_bytes::<u32, u32>(n).unwrap();
    let mut map = config.build(&device, &many, &many).unwrap();
    map.rebuild(&many, &many).unwrap();
    only(&counts.allocations, 0, || {
        for _ in 0..3 {
            map.rebuild(&few, &few).unwrap();
            assert_eq!((map.len(), map.memory_bytes()), (700, bytes(20_000)));
            own(&map);
            map.rebuild(&many, &many).unwrap();
        }
    });
    holds(&map, &many_keys, &many_keys);
    map.rebuild(&few, &few).unwrap();
    holds(&map, &few_keys, &few_keys);
    map.rebuild(&more, &more).unwrap();
    assert_eq!(map.memory_bytes(), bytes(40_000));
    holds(&map, &more_keys, &more_keys);
}

/// Counts the kernels whose names begin with each of `names`.
pub fn times<const N: usize>(kernels: &[String], names: [&str; N]) -> [usize; N] {
    names.map(|name| kernels.iter().filter(|kernel| kernel.starts_with(name)).count())
}
