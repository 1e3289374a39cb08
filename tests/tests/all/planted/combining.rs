//! The values of a map after any kind of failure of any device operation while other values are
//! combined with them.

use warpnest::design::{BulkMap, Config};
use warpnest::design::{Linear, Page};
use warpnest::{Error, Fold, LinearConfig, PageConfig};
use warpnest_tests::changing::Changing;
use warpnest_tests::distinct_keys;
use warpnest_tests::planted::{LASTING_FAULTS, SINGLE_FAULTS, assert_planted, in_each_operation, planted};

/// The value of each key before a batch, and the value that the batch adds to it.
const HELD: u32 = 1000;
const ADDED: u32 = 7;

/// Lets each operation of a batch of additions fail. Afterwards each key has its old or its new
/// value, and the next batch adds to that.
fn each_value_is_the_old_or_the_new_one<D: Changing>(config: &Config<D>) {
    let (device, plan) = planted();
    let (old, new) = (distinct_keys::<u32>(300, 1), distinct_keys::<u32>(900, 1 << 20));
    let batch: Vec<u32> = old.iter().chain(&new).copied().collect();
    let added = vec![ADDED; batch.len()];
    let begin = || {
        let mut map = config.create::<u32, u32>(&device).unwrap();
        map.insert_many(&old, &vec![HELD; old.len()]).unwrap();
        map
    };
    let call = |map: &mut BulkMap<u32, u32, D>| map.combine_many(Fold::SUM, &batch, &added);
    let check = |map: &BulkMap<u32, u32, D>, times: [u32; 2], was_emptied: bool| {
        let pairs = map.to_pairs().unwrap();
        assert_eq!(pairs.len(), map.len());
        assert_eq!(was_emptied, pairs.is_empty());
        assert!(was_emptied || old.iter().all(|key| pairs.iter().any(|pair| pair.0 == *key)));
        for (key, value) in pairs {
            let held = if old.contains(&key) { HELD } else { 0 };
            assert!(batch.contains(&key) && times.iter().any(|times| value == held + times * ADDED), "{key}: {value}");
        }
    };
    for faults in [SINGLE_FAULTS, LASTING_FAULTS] {
        in_each_operation(&plan, &faults, begin, call, |mut map, done| {
            let was_emptied = matches!(done, Err(Error::Emptied { .. }));
            if !was_emptied {
                assert_planted(&done);
            }
            // A change finds out the state that a failed change left.
            map.insert_many(&[], &[]).unwrap();
            let times = match done {
                Err(_) => [0, 1],
                Ok(_) => [1, 1],
            };
            check(&map, times, was_emptied);
            if !was_emptied {
                call(&mut map).unwrap();
                check(&map, times.map(|times| times + 1), false);
                assert_eq!(map.len(), batch.len());
            }
        });
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

#[test]
fn in_a_linear_map_that_gets_all_rows() {
    each_value_is_the_old_or_the_new_one::<Linear>(&LinearConfig::default().pairs(2000).seed(3));
}

#[test]
fn in_a_linear_map_that_gets_the_rows_of_each_key_as_one() {
    each_value_is_the_old_or_the_new_one::<Linear>(&LinearConfig::default().pairs(2000).combine_first(true).seed(3));
}

#[test]
fn in_a_linear_map_that_must_grow() {
    each_value_is_the_old_or_the_new_one::<Linear>(&LinearConfig::default().pairs(300).seed(3));
}

#[test]
fn in_a_page_map() {
    each_value_is_the_old_or_the_new_one::<Page>(&PageConfig::default().seed(3));
}
