//! Refs of tables that a launch cannot have, and launches that fail beside a lent map.

use crate::changes::three;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpnest::low_level::kernels::refs::{LinearRef, LinearRefMut};
use warpnest::low_level::kernels::seam::{Block, Global};
use warpnest::{Buffer, Device, Error, InputError, LinearMap};
use warpnest_testing::planted;
use warpnest_tests::linear_checker::check_linear_map;
use warpnest_tests::{assert_wrong_device, elsewhere};

warpnest::low_level::kernels::kernel! {
    /// Sets `output[i]` to the value of key `i`, or 0.
    Look<>, "look", threads 64;
    { output: Global<u32>, map: LinearRef<u32, u32>, count: u64 }
}

impl Look {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.count, |item| args.output.store(item, args.map.get(item as u32).unwrap_or(0)));
    }
}

warpnest::low_level::kernels::kernel! {
    /// Inserts the keys from 100 on with their numbers; panics at that of the plan.
    Put<>, "put", threads 64;
    { map: LinearRefMut<u32, u32>, count: u64, panics_at: u64 }
}

impl Put {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        args.map.each_item(block, args.count, |item, map| {
            assert!(item != args.panics_at, "as planned");
            map.insert(100 + item as u32, item as u32);
        });
    }
}

fn put(device: &Device, map: &mut LinearMap<u32, u32>, count: u64, panics_at: u64) -> warpnest::Result<()> {
    let stream = device.default_stream();
    // SAFETY: the kernel has no other pointers.
    unsafe { stream.launch(count as usize, |uses| Put { map: uses.table_mut(map), count, panics_at }) }
}

fn look(device: &Device, map: &LinearMap<u32, u32>) -> warpnest::Result<Vec<u32>> {
    let (stream, mut output) = (device.default_stream(), Buffer::zeroed(device, 4)?);
    // SAFETY: the output has so many words.
    unsafe {
        stream.launch(4, |uses| Look { output: uses.write(&mut output), map: uses.table(map), count: 4 })?;
    }
    output.download(stream)
}

#[test]
fn a_table_of_another_device_is_refused() {
    let (here, there) = (Device::cpu(), elsewhere());
    let mut map = three(&there);
    assert_wrong_device(look(&here, &map).unwrap_err(), "a buffer", &there, &here);
    assert_wrong_device(put(&here, &mut map, 3, 9).unwrap_err(), "a buffer", &there, &here);
    assert_eq!((map.len(), look(&there, &map).unwrap()), (3, vec![0, 10, 20, 30]));
    check_linear_map(&map).unwrap();
}

#[test]
fn a_grid_that_is_too_large_leaves_the_map_as_it_was() {
    let device = Device::cpu();
    let mut map = three(&device);
    // SAFETY: nothing is launched.
    let refused = unsafe {
        device.default_stream().launch(usize::MAX, |uses| Put { map: uses.table_mut(&mut map), count: 0, panics_at: 0 })
    };
    assert!(matches!(refused, Err(Error::Input(InputError::GridTooLarge { .. }))), "{refused:?}");
    assert_eq!(map.len(), 3);
    check_linear_map(&map).unwrap();
}

#[test]
fn after_a_kernel_that_panics_the_map_is_counted_or_says_that_it_is_not() {
    let device = Device::cpu();
    let mut map = three(&device);
    map.reserve(1000).unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| put(&device, &mut map, 500, 300)));
    assert!(!matches!(ended, Ok(Ok(()))), "the kernel panicked");
    // The table is whole; a change counts its keys, if the launch could not.
    match map.get_many(&[1]) {
        Ok(found) => assert_eq!(found, [Some(10)]),
        Err(error) => assert!(error.to_string().contains("did not come to an end"), "{error}"),
    }
    map.insert_many(&[4], &[40]).unwrap();
    check_linear_map(&map).unwrap();
    assert_eq!(map.get_many(&[1, 2, 3, 4]).unwrap(), [10, 20, 30, 40].map(Some));
}

#[test]
fn whatever_fails_beside_a_lent_map_it_counts_right_or_says_so() {
    let (device, plan) = planted::planted();
    let faults = [planted::SINGLE_FAULTS, planted::LASTING_FAULTS].concat();
    let begin = || {
        let mut map = three(&device);
        map.reserve(100).unwrap();
        map
    };
    let seen = planted::in_each_operation(
        &plan,
        &faults,
        begin,
        |map| put(&device, map, 50, 99),
        |mut map, done| {
            assert!(planted::is_planted(&done.unwrap_err()));
            // The fault is over now, unless the map says otherwise.
            if map.contains_many(&[1]).is_ok() {
                check_linear_map(&map).unwrap();
            }
            map.insert_many(&[4], &[40]).unwrap();
            check_linear_map(&map).unwrap();
            assert_eq!(map.get_many(&[1, 2, 3, 4]).unwrap(), [10, 20, 30, 40].map(Some));
            assert!(map.len() == 4 || map.len() == 54, "{}", map.len());
        },
    );
    planted::all_failed(&seen, &[planted::Operation::Launch, planted::Operation::Record, planted::Operation::Download]);
}
