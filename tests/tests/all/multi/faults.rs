//! Failures of the device while a multimap is built, rebuilt or queried.

use super::properties::wrong;
use std::sync::atomic::AtomicU32;
use warpnest::design::Config;
use warpnest::{Buffer, Device, Error, MultiConfig};
use warpnest_tests::forms::Form;
use warpnest_tests::{counting, distinct_keys, faulty, only, values};

/// Lets each launch or allocation of a rebuild fail. The rebuild must return an error and leave the
/// map empty, and the next rebuild must succeed.
fn after_a_failed_rebuild_the_map_is_empty<F: Form>() {
    fn with<F: Form>(device: &Device, left: &AtomicU32) -> u32 {
        let keys: Vec<u32> = distinct_keys::<u32>(3000, 2).iter().map(|key| key % 1000).collect();
        let numbers: Vec<u32> = values(keys.len());
        let input = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &numbers).unwrap());
        for good in 0.. {
            let mut map = MultiConfig::on(Config::<F>::default()).build(device, &[1, 2, 1], &[4, 5, 6]).unwrap();
            let done = only(left, good, || map.rebuild(&input.0, &input.1));
            let there = if done.is_ok() { keys.len() } else { 0 };
            assert_eq!(wrong(&map, &keys[..there], &numbers[..there], &[1, 2]), Ok(()), "after {good}");
            map.rebuild(&input.0, &input.1).unwrap();
            assert_eq!(wrong(&map, &keys, &numbers, &[]), Ok(()), "after {good} and another build");
            if done.is_ok() {
                return good;
            }
        }
        unreachable!("a rebuild does not fail for ever")
    }
    let (device, launches) = faulty();
    assert!(with::<F>(&device, &launches) >= 8);
    let (device, counts) = counting();
    assert!(with::<F>(&device, &counts.allocations) >= 8);
}

/// Lets each launch or allocation of a call fail. The call must return an error, and the map must
/// still answer as before.
fn what_fails_says_so<F: Form>() {
    // With this many different keys in no order, a build of a page map would begin with a split.
    let keys: Vec<u32> = distinct_keys::<u32>(6000, 1).iter().map(|key| key % 5000).collect();
    let numbers: Vec<u32> = values(keys.len());
    let (device, launches) = faulty();
    let config = MultiConfig::on(Config::<F>::default());
    let mut kernels = Vec::new();
    while let Err(error) = only(&launches, kernels.len() as u32, || config.build(&device, &keys, &numbers)) {
        let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
        kernels.push(kernel);
    }
    // The build launches the sort, and no split or pass of the base table. All keys differ, so
    // there is no census and no search for last pairs.
    let times = |name: &str| kernels.iter().filter(|kernel| kernel.starts_with(name)).count();
    assert_eq!(times("radix_partition"), 4, "{kernels:?}");
    let unwanted = ["page_split", "cuckoo_census", "cuckoo_last", "cuckoo_store"];
    assert_eq!(unwanted.map(times), [0; 4], "{kernels:?}");
    // Some base tables are first built from no keys.
    let builds = ["page_build", "cuckoo_insert", "two_level_build"].map(times).iter().sum::<usize>();
    assert!((1..=2).contains(&builds), "{kernels:?}");
    let map = config.build(&device, &keys, &numbers).unwrap();
    let mut good = 0;
    while let Err(error) = only(&launches, good, || map.retrieve_many(&keys)) {
        assert!(matches!(error, Error::Kernel { .. }), "{error}");
        good += 1;
    }
    assert_eq!(good, 3, "to count, to add up, to copy");
    assert_eq!(wrong(&map, &keys, &numbers, &[]), Ok(()));
    let (device, counts) = counting();
    let mut good = 0;
    while let Err(error) = only(&counts.allocations, good, || config.build(&device, &keys, &numbers)) {
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        good += 1;
    }
    assert!(good >= 8, "{good} allocations");
}

warpnest_tests::of_all_forms! {
    after_a_failed_rebuild_the_map_is_empty,
    what_fails_says_so,
}
