//! Failures of the device while a multimap is built, rebuilt or asked.

use super::properties::wrong;
use std::sync::atomic::AtomicU32;
use warpnest::design::Config;
use warpnest::{Buffer, Device, Error, MultiConfig};
use warpnest_tests::forms::Form;
use warpnest_tests::{counting, distinct_keys, faulty, only, values};

/// Lets each launch or allocation of a rebuild fail: it must be an error that leaves no pairs, and
/// the next rebuild succeeds.
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

/// Lets each launch or allocation of a call fail: it must be an error, and the map answers as
/// before.
fn what_fails_says_so<F: Form>() {
    // So many different keys that a page map of them would begin with a split, if they were in no
    // order.
    let keys: Vec<u32> = distinct_keys::<u32>(6000, 1).iter().map(|key| key % 5000).collect();
    let numbers: Vec<u32> = values(keys.len());
    let (device, launches) = faulty();
    let config = MultiConfig::on(Config::<F>::default());
    let mut kernels = Vec::new();
    while let Err(error) = only(&launches, kernels.len() as u32, || config.build(&device, &keys, &numbers)) {
        let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
        kernels.push(kernel);
    }
    // The sort, and no split or pass of the table's own; different keys need no census, and no last
    // pair.
    let times = |name: &str| kernels.iter().filter(|kernel| kernel.starts_with(name)).count();
    assert_eq!(times("radix_partition"), 4, "{kernels:?}");
    let unwanted = ["page_split", "cuckoo_census", "cuckoo_last", "cuckoo_store"];
    assert_eq!(unwanted.map(times), [0; 4], "{kernels:?}");
    // Some tables are built of no keys first.
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
