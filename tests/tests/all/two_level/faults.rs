//! Device failures during a two-level build, and the memory that builds take. The tests check the
//! state of the map afterwards, and that no memory is used beyond what was announced.

use warpnest::TwoLevelConfig;
use warpnest_tests::built::faults::{self, failing_allocations, failing_launches, memory_is_as_said, times};
use warpnest_tests::distinct_keys;

fn small() -> TwoLevelConfig {
    TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(2)
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let mut keys: Vec<u32> = distinct_keys(300, 2);
    // There are enough copies to cause a sort, so all kernels run, and the key with a cell of its
    // own is included.
    keys[100..200].fill(77);
    keys[7] = u32::MAX;
    let kernels = failing_launches(&small(), &keys, |map| assert!(map.report().sorted));
    // Two attempts overflow, then the pairs are sorted, and one more attempt succeeds.
    assert_eq!(times(&kernels, ["two_level_starts", "two_level_build"]), [3, 3], "{kernels:?}");
    assert_eq!(times(&kernels, ["last_of_each", "compact"]), [1, 2], "{kernels:?}");
    assert_eq!(times(&kernels, ["radix_histogram", "scan", "radix_partition"]), [4, 4, 3 + 4], "{kernels:?}");
}

#[test]
fn whichever_allocation_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let unique: Vec<u64> = distinct_keys(3000, 2);
    let mut copied = unique.clone();
    copied[100..500].fill(u64::MAX);
    for (keys, sorted, least) in [(&unique, false, 3), (&copied, true, 8)] {
        let failed = failing_allocations(&small(), keys, |map| assert_eq!(map.report().sorted, sorted));
        assert!(failed >= least, "only {failed} allocations");
    }
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_the_maps_part_of_it() {
    for pairs in [0, 1, 2, 1000, 4097, 100_000] {
        for config in [TwoLevelConfig::default().seed(1), small(), small().items_per_bucket(20.0).assume_unique()] {
            memory_is_as_said(&config, pairs, |report| assert!(!report.sorted));
        }
    }
}

#[test]
fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs() {
    faults::rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs(
        &TwoLevelConfig::default().seed(1),
        |map| assert_eq!(map.table().buckets(), 2),
    );
}
