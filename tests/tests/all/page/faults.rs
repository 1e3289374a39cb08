//! Device failures during a page map's build, and the memory that builds take. The tests check the
//! state of the map afterwards, and that no memory is used beyond what was announced.

use std::sync::atomic::Ordering::Relaxed;
use warpnest::page::PageReport;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Error, PageConfig};
use warpnest_tests::built::faults::{self, failing_allocations, memory_is_as_said, times};
use warpnest_tests::maps::holds;
use warpnest_tests::{counting, distinct_keys, only};

fn default() -> PageConfig {
    PageConfig::default().seed(2)
}

/// Returns a configuration of four pages for 300 pairs. The pairs are split, and a bin overflows if
/// most pairs have the same key.
fn split() -> PageConfig {
    default().load(300.0 * 8.0 / (6.0 * 300.0 * 32.0))
}

/// Returns a configuration with so many pages for few pairs that there are two splits.
fn split_twice() -> PageConfig {
    default().load(300.0 * 8.0 / (800_000.0 * 32.0))
}

/// The reaction of a build to the overflow of a bin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Overflow {
    None,
    SplitAgain,
    Counted,
}

/// Returns the reaction of the build with this report.
fn overflow(report: &PageReport) -> Overflow {
    match (report.split_again, report.counted) {
        (false, false) => Overflow::None,
        (true, false) => Overflow::SplitAgain,
        _ => Overflow::Counted,
    }
}

/// Returns 300 keys, `copies` of which are equal.
fn with_copies<K: Key>(copies: usize) -> Vec<K> {
    let mut keys = distinct_keys(300, 2);
    keys.iter_mut().step_by(300 / copies).for_each(|key| *key = K::from_u64(77));
    keys
}

/// Lets each launch of a rebuild fail once, and returns the kernels that failed.
fn failing_launches(config: &PageConfig, new: &[u32], expected: Overflow) -> Vec<String> {
    faults::failing_launches(config, new, |map| assert_eq!(overflow(map.report()), expected))
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let names = ["page_split", "page_build", "radix_partition", "page_starts"];
    let keys: Vec<u32> = distinct_keys(300, 2);
    let kernels = failing_launches(&default(), &keys, Overflow::None);
    assert_eq!((times(&kernels, names), kernels.len()), ([0, 1, 0, 0], 1), "{kernels:?}");
    for config in [split(), split().assume_unique()] {
        let kernels = failing_launches(&config, &keys, Overflow::None);
        assert_eq!((times(&kernels, names), kernels.len()), ([1, 1, 0, 0], 2), "{kernels:?}");
    }
    // A few repeated keys are resolved after the build.
    let mut twice = keys.clone();
    twice[..10].fill(keys[20]);
    let kernels = failing_launches(&split(), &twice, Overflow::None);
    let resolving = ["page_build_unordered", "page_index_repeats", "page_find_last", "page_store_last"];
    assert_eq!((times(&kernels, resolving), kernels.len()), ([1, 1, 1, 1], 5), "{kernels:?}");
    // The copies overflow a bin. Then the pairs are split in order, and the last split is repeated.
    let mut copies = keys.clone();
    copies[20..280].fill(77);
    let kernels = failing_launches(&split(), &copies, Overflow::SplitAgain);
    assert_eq!((times(&kernels, names), kernels.len()), ([3, 3, 0, 0], 7), "{kernels:?}");
}

#[test]
fn whichever_launch_of_a_rebuild_with_two_splits_fails_the_map_is_empty() {
    let keys: Vec<u32> = distinct_keys(300, 2);
    let names = ["page_split", "page_build", "radix_partition", "page_starts"];
    let kernels = failing_launches(&split_twice(), &keys, Overflow::None);
    assert_eq!((times(&kernels, names), kernels.len()), ([2, 1, 0, 0], 3), "{kernels:?}");
    let kernels = failing_launches(&split_twice(), &with_copies(75), Overflow::SplitAgain);
    assert_eq!((times(&kernels, names), kernels.len()), ([5, 3, 0, 0], 9), "{kernels:?}");
    // The first split overflows, so all keys are counted and sorted before the build.
    let kernels = failing_launches(&split_twice(), &with_copies(150), Overflow::Counted);
    assert_eq!(times(&kernels, names), [4, 3, 1, 1], "{kernels:?}");
    assert!(times(&kernels, ["radix_histogram", "scan"]).iter().all(|&times| times > 0), "{kernels:?}");
}

#[test]
fn whichever_allocation_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let unique: Vec<u64> = distinct_keys(3000, 2);
    let mut copied = unique.clone();
    copied[..2500].fill(u64::MAX);
    let several = default().load(3000.0 * 16.0 / (4.0 * 300.0 * 64.0));
    for (config, keys, expected, least) in [
        (default().load(1.0), &unique, Overflow::None, 2),
        (several.clone(), &unique, Overflow::None, 2),
        (several.clone().assume_unique(), &unique, Overflow::None, 2),
        (several, &copied, Overflow::SplitAgain, 2),
    ] {
        let failed = failing_allocations(&config, keys, |map| assert_eq!(overflow(map.report()), expected));
        assert!(failed >= least, "only {failed} allocations");
    }
    let failed = failing_allocations(&split_twice(), &with_copies(150), |map| {
        assert_eq!(overflow(map.report()), Overflow::Counted);
    });
    assert!(failed >= 3, "only {failed} allocations");
}

#[test]
fn whichever_allocation_of_a_build_or_a_clone_or_of_writing_pairs_fails_nothing_is_left_of_it() {
    let (device, counts) = counting();
    let keys: Vec<u32> = distinct_keys(300, 2);
    let map = split().build(&device, &keys, &keys).unwrap();
    let before = counts.bytes.load(Relaxed);
    type Work<'w> = &'w dyn Fn() -> Result<(), Error>;
    let does: [(Work<'_>, u32); 5] = [
        (&|| split().build(&device, &keys, &keys).map(drop), 4),
        (&|| map.try_clone().map(drop), 1),
        (&|| map.to_pairs().map(drop), 3),
        (&|| map.get_many(&keys).map(drop), 3),
        (&|| map.contains_many(&keys).map(drop), 2),
    ];
    for (number, (work, least)) in does.into_iter().enumerate() {
        for good in 0.. {
            let done = only(&counts.allocations, good, work);
            assert_eq!(counts.bytes.load(Relaxed), before, "work {number} with {good} good allocations");
            match done {
                Ok(()) => {
                    assert!(good >= least, "work {number}: only {good} allocations");
                    break;
                }
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{error}"),
            }
        }
    }
    holds(&map, &keys, &keys);
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_the_maps_part_of_it() {
    let no_overflow = |report: &PageReport| assert_eq!(overflow(report), Overflow::None);
    for pairs in [0, 1, 2, 300, 1000, 4097, 100_000] {
        for config in [default(), default().assume_unique(), default().load(0.1), default().load(1.0)] {
            memory_is_as_said(&config, pairs, no_overflow);
        }
    }
    // There are two splits, and the first one may write to the table's memory.
    memory_is_as_said(&split_twice(), 300, no_overflow);
    memory_is_as_said(&default().load(0.02).assume_unique(), 50_000, no_overflow);
}

#[test]
fn a_clone_takes_as_much_as_the_map_without_its_scratch() {
    // An allocation of fewer than 16 bytes takes 16 bytes.
    let takes_as_much = |config: &PageConfig, pairs| {
        faults::a_clone_takes_as_much_as_the_map_without_its_scratch(config, pairs, 31);
    };
    for pairs in [0, 1, 2, 300, 1000, 4097, 100_000] {
        for config in [default(), default().assume_unique(), default().load(0.1), default().load(1.0)] {
            takes_as_much(&config, pairs);
        }
    }
    takes_as_much(&split_twice(), 300);
    takes_as_much(&default().load(0.02).assume_unique(), 50_000);
}

/// Returns the most bytes that a build of these keys used, and the bytes that were announced.
fn max_bytes(config: &PageConfig, keys: &[u32], expected: Overflow) -> (u64, u64) {
    let (device, counts) = counting();
    let on_device = Buffer::from_slice(&device, keys).unwrap();
    let input = counts.bytes.load(Relaxed);
    let map = config.build(&device, &on_device, &on_device).unwrap();
    let most = counts.most.load(Relaxed) - input;
    assert_eq!(overflow(map.report()), expected);
    holds(&map, keys, keys);
    let pairs = keys.len() as u64;
    let memory = config.memory_bytes::<u32, u32>(pairs as usize).unwrap();
    assert_eq!(map.memory_bytes(), memory);
    (most, (memory + config.scratch_bytes::<u32, u32>(pairs as usize).unwrap()) as u64)
}

/// Checks that a repeated split needs no additional memory. A build that counts needs more, but
/// only what its primitives use: counters, starts and published words.
#[test]
fn a_build_whose_bins_overflow_takes_little_more_memory_than_was_said() {
    let mut keys: Vec<u32> = distinct_keys(300_000, 4);
    keys.iter_mut().step_by(400).for_each(|key| *key = 7);
    let (most, said) = max_bytes(&default(), &keys, Overflow::SplitAgain);
    assert_eq!(most, said);
    let (most, said) = max_bytes(&split_twice(), &with_copies(150), Overflow::Counted);
    assert!(most > said && most < said + said / 2, "{most} bytes, {said} said");
}

#[test]
fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs() {
    for config in [default(), default().assume_unique().load(0.1)] {
        faults::rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs(&config, |_| {});
    }
}
