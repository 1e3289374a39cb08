//! The state of a page map and a page set after any failure of any operation of a batch. The table
//! is as it was, as it should be, or empty; if it was emptied, the error says so.

use std::collections::HashSet;
use warpnest::design::BulkSet;
use warpnest::{Buffer, Error, PageConfig, PageMap, PageSet, Result, Stream};
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::distinct_keys;
use warpnest_tests::maps::{equals, is_empty};
use warpnest_tests::pages::key_of_page;
use warpnest_tests::planted::Operation::{self, Allocate, Download, Fill, Launch};
use warpnest_tests::planted::{
    Fault, LASTING_FAULTS, SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted,
};
use warpnest_tests::sets::holds;

/// A change of a map of the keys `old`.
type Change = fn(&mut PageMap<u32, u64>, &Stream, old: &[u32], new: &[u32]) -> Result<()>;

/// A change, and the keys that it leaves, given the old and the new keys.
struct Case {
    name: &'static str,
    change: Change,
    left: fn(&[u32], &[u32]) -> Vec<u32>,
    /// Whether a failure may leave the map empty.
    empties: bool,
}

const CASES: [Case; 11] = [
    Case {
        name: "a few keys",
        change: |map, _, _, new| map.insert_many(&new[..10], &values(&new[..10])).map(drop),
        left: |old, new| [old, &new[..10]].concat(),
        empties: true,
    },
    Case {
        name: "as many keys as there is capacity for",
        change: |map, _, _, new| map.insert_many(&new[..100], &values(&new[..100])).map(drop),
        left: |old, new| [old, &new[..100]].concat(),
        empties: true,
    },
    Case {
        name: "growth",
        change: |map, _, _, new| map.insert_many(new, &values(new)).map(drop),
        left: |old, new| [old, new].concat(),
        empties: false,
    },
    Case {
        name: "no new keys",
        change: |map, _, old, _| map.insert_many(old, &values(old)).map(drop),
        left: |old, _| old.to_vec(),
        empties: true,
    },
    Case {
        name: "a few removals",
        change: |map, _, old, _| map.remove_many(&old[..10]).map(drop),
        left: |old, _| old[10..].to_vec(),
        empties: true,
    },
    Case {
        name: "many removals",
        change: |map, stream, old, _| {
            let keys = Buffer::from_slice(map.device(), &old[100..])?;
            map.on(stream)?.erase_many(&keys).map(drop)
        },
        left: |old, _| old[..100].to_vec(),
        empties: true,
    },
    Case {
        name: "a mask",
        change: |map, stream, _, _| {
            let (keys, _) = map.pairs_on(stream)?;
            let mask = Buffer::zeroed(map.device(), keys.len().div_ceil(32))?;
            map.retain_many_on(stream, &keys, &mask).map(drop)
        },
        left: |_, _| vec![],
        empties: true,
    },
    Case { name: "clear", change: |map, stream, _, _| map.on(stream)?.clear(), left: |_, _| vec![], empties: false },
    Case {
        name: "reserve",
        change: |map, stream, _, _| map.on(stream)?.reserve(5000),
        left: |old, _| old.to_vec(),
        empties: false,
    },
    Case { name: "shrink", change: |map, _, _, _| map.shrink_to_fit(), left: |old, _| old.to_vec(), empties: false },
    Case {
        name: "into an empty map",
        change: |map, _, _, new| {
            map.clear()?;
            map.insert_many(new, &values(new)).map(drop)
        },
        left: |_, new| new.to_vec(),
        empties: false,
    },
];

/// Checks a map after a call that may have failed, and returns whether the map was emptied. The
/// words of an emptied map are checked if `overwritten` says that they were cleared.
fn check(map: &PageMap<u32, u64>, done: &Result<()>, (before, left): (&[u32], &[u32]), overwritten: bool) -> bool {
    match done {
        Ok(()) => equals(map, &pairs(left)),
        Err(Error::Emptied { source }) => {
            assert!(is_planted(source), "{source}");
            // If all later operations fail the words stay, but lookups find nothing in them.
            assert_eq!((map.len(), map.to_pairs()), (0, Ok(vec![])));
            assert_eq!(map.contains_many(before), Ok(vec![false; before.len()]));
            if overwritten {
                is_empty(map, before);
            }
            return true;
        }
        Err(error) => {
            assert!(is_planted(error), "{error}");
            // The work after a change may fail, such as downloading the answers of a removal.
            let there = [before, left, &[]].into_iter().find(|keys| keys.len() == map.len());
            if map.is_empty() && !overwritten {
                assert_eq!(map.contains_many(before), Ok(vec![false; before.len()]));
                return false;
            }
            equals(map, &pairs(there.unwrap_or_else(|| panic!("{} keys after {error}", map.len()))));
        }
    }
    false
}

#[test]
fn whatever_fails_in_a_batch_the_map_is_as_it_was_or_says_that_it_is_empty() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let old: Vec<u32> = distinct_keys(300, 2);
    let new: Vec<u32> = distinct_keys(1500, 1 << 20);
    // There are few pairs a page, so there are several pages.
    for config in [PageConfig::default().seed(2).pairs(500), PageConfig::default().seed(2).load(0.05).pairs(500)] {
        let begin = || {
            let mut map = config.build::<u32, u64>(&device, &old, &values(&old)).unwrap();
            assert_eq!(map.insert_many(&new[..3], &values(&new[..3])), Ok(3));
            assert_eq!(map.erase_many(&new[..3]), Ok(3));
            map
        };
        for Case { name, change, left, empties } in CASES {
            let left = left(&old, &new);
            let call = |map: &mut PageMap<u32, u64>| change(map, &stream, &old, &new);
            let run = |faults: &[Fault]| {
                let mut emptied = 0;
                let seen = in_each_operation(&plan, faults, begin, call, |mut map, done| {
                    let _at = warpnest_tests::at(name);
                    let was_emptied = check(&map, &done, (&old, &left), !faults[0].lasting);
                    emptied += was_emptied as u32;
                    // The map can be used again, whatever happened.
                    map.clear().unwrap();
                    map.insert_many(&old, &values(&old)).unwrap();
                    call(&mut map).unwrap();
                    equals(&map, &pairs(&left));
                });
                (seen, emptied)
            };
            let (seen, emptied) = run(&SINGLE_FAULTS);
            all_failed(&seen, if name == "clear" { &[Fill] } else { &[] });
            assert!(empties || emptied == 0, "{name}: emptied {emptied} times");
            run(&LASTING_FAULTS);
        }
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

/// Checks a batch with more pairs than a page can take. After a failure the map has the batch, is
/// as it was, or is empty, because it had a part of the batch when it had to grow.
#[test]
fn whatever_fails_when_a_page_is_full_the_map_is_as_it_was_or_says_that_it_is_empty() {
    let (device, plan) = planted();
    let config = PageConfig::default().seed(2).load(0.9).pairs(1400);
    let empty = config.create::<u32, u64>(&device).unwrap();
    let layout = *empty.table().layout();
    let slots = (layout.page_buckets * layout.slots) as usize;
    let spread = |i: u64| i.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
    let mut keys: Vec<u32> = (0..slots as u64 + 200).map(|i| key_of_page(&layout, 0, spread(i))).collect();
    keys.sort_unstable();
    keys.dedup();
    // The first batch is large relative to the table; the second one goes directly to its buckets.
    for (there, end) in [(2, keys.len()), (slots - 24, slots + 30)] {
        let (before, batch) = keys[..end].split_at(there);
        let begin = || {
            let mut map = empty.try_clone().unwrap();
            // First come as many pairs as a build places in a page, then a few at a time.
            let (built, added) = before.split_at(before.len().min(slots * 4 / 5));
            for keys in std::iter::once(built).chain(added.chunks(40)) {
                map.insert_many(keys, &values(keys)).unwrap();
            }
            map
        };
        let call = |map: &mut PageMap<u32, u64>| map.insert_many(batch, &values(batch)).map(drop);
        let mut emptied = 0;
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |map, done| {
            emptied += check(&map, &done, (before, &keys[..end]), true) as u32;
        });
        all_failed(&seen, &[Allocate, Launch, Download]);
        assert!(emptied > 0 || layout.pages() == 1, "a failure of growth was always harmless");
    }
}

#[test]
fn whatever_fails_in_a_batch_the_set_is_as_it_was_or_says_that_it_is_empty() {
    type Change = fn(&mut PageSet<u32>, &[u32], &[u32]) -> Result<()>;
    let changes: [(Change, &[Operation]); 4] = [
        (|set, _, new| set.insert_many(new).map(drop), &[Allocate, Launch, Download]),
        (|set, _, new| set.insert_many(&new[..10]).map(drop), &[Launch, Download]),
        (|set, old, _| set.remove_many(&old[..250]).map(drop), &[Launch, Download]),
        (|set, _, _| set.shrink_to_fit(), &[]),
    ];
    let (device, plan) = planted();
    let old: Vec<u32> = distinct_keys(300, 2);
    let new: Vec<u32> = distinct_keys(1500, 1 << 20);
    for (change, operations) in changes {
        let begin = || PageConfig::default().seed(2).pairs(500).build_set(&device, &old).unwrap();
        let call = |set: &mut PageSet<u32>| change(set, &old, &new);
        let mut expected: BulkSet<u32, _> = begin();
        call(&mut expected).unwrap();
        let left: HashSet<u32> = expected.to_keys().unwrap().into_iter().collect();
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut set, done| {
            let there: HashSet<u32> = set.to_keys().unwrap().into_iter().collect();
            let whole =
                there == left || done.is_err() && there.len() == old.len() && old.iter().all(|key| there.contains(key));
            assert!(whole || matches!(done, Err(Error::Emptied { .. })) && there.is_empty(), "{done:?}");
            set.clear().unwrap();
            set.insert_many(&old).unwrap();
            call(&mut set).unwrap();
            holds(&set, &left.iter().copied().collect::<Vec<_>>());
        });
        all_failed(&seen, operations);
    }
}
