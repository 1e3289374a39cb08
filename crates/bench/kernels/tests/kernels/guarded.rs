//! Tests of refs that a launch refuses, and of launches that fail while a map is lent.

use crate::changes::three;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpnest::error::InputError;
use warpnest::low_level::kernels::refs::{LinearRef, LinearRefMut};
use warpnest::low_level::kernels::seam::{Block, Global};
use warpnest::{Buffer, Device, Error, LinearMap};
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
    /// Inserts the keys 100, 101, … with their indices, and panics at index `panics_at`.
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
    // SAFETY: the kernel's only pointers are the map's.
    unsafe { stream.launch(count as usize, |uses| Put { map: uses.table_mut(map), count, panics_at }) }
}

fn look(device: &Device, map: &LinearMap<u32, u32>) -> warpnest::Result<Vec<u32>> {
    let (stream, mut output) = (device.default_stream(), Buffer::zeroed(device, 4)?);
    // SAFETY: `output` has a word for each of four items.
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
    // SAFETY: the launch is refused before the kernel runs.
    let refused = unsafe {
        device.default_stream().launch(usize::MAX, |uses| Put { map: uses.table_mut(&mut map), count: 0, panics_at: 0 })
    };
    assert!(matches!(refused, Err(Error::Input(InputError::GridTooLarge { .. }))), "{refused:?}");
    assert_eq!(map.len(), 3);
    check_linear_map(&map).unwrap();
}

#[test]
fn after_a_kernel_that_panics_lookups_say_so_until_a_change_counts_the_keys() {
    let device = Device::cpu();
    let mut map = three(&device);
    map.reserve(1000).unwrap();
    catch_unwind(AssertUnwindSafe(|| put(&device, &mut map, 500, 300))).unwrap_err();
    for error in [map.get_many(&[1]).unwrap_err(), look(&device, &map).unwrap_err()] {
        assert!(error.to_string().contains("did not come to an end"), "{error}");
    }
    // Lending the map again also counts its keys.
    put(&device, &mut map, 1, 9).unwrap();
    check_linear_map(&map).unwrap();
    assert!((4..=503).contains(&map.len()), "{}", map.len());
    assert_eq!(map.get_many(&[1, 2, 3, 100]).unwrap(), [10, 20, 30, 0].map(Some));
}

#[test]
fn a_closure_that_panics_before_the_launch_leaves_the_map_alone() {
    let device = Device::cpu();
    let mut map = three(&device);
    let stream = device.default_stream();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the closure panics before the launch.
        unsafe {
            stream.launch(1, |uses| -> Put {
                let _lent = uses.table_mut(&mut map);
                panic!("as planned")
            })
        }
    }));
    assert!(ended.is_err());
    assert_eq!(map.get_many(&[1, 4]).unwrap(), [Some(10), None]);
    check_linear_map(&map).unwrap();
}

warpnest::low_level::kernels::kernel! {
    /// Moves the pairs of keys below `count` from one map to another.
    Move<>, "move", threads 64;
    { from: LinearRefMut<u32, u32>, to: LinearRefMut<u32, u32>, moved: Global<u32>, count: u64 }
}

impl Move {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        args.from.each_item(block, args.count, |key, map| {
            args.moved.store(key, map.remove(key as u32).unwrap_or(0));
        });
        block.sync();
        args.to.each_item(block, args.count, |key, map| {
            let value = args.moved.load(key);
            if value != 0 {
                map.insert(key as u32, value);
            }
        });
    }
}

#[test]
fn two_maps_that_are_lent_are_both_counted_and_neither_if_one_is_on_another_device() {
    let device = Device::cpu();
    let move_all = |from: &mut LinearMap<u32, u32>, to: &mut LinearMap<u32, u32>| {
        let mut moved = Buffer::zeroed(&device, 64)?;
        // SAFETY: `moved` has a word for each of the block's 64 threads.
        unsafe {
            device.default_stream().launch(64, |uses| {
                let (from, to) = (uses.table_mut(from), uses.table_mut(to));
                Move { from, to, moved: uses.write(&mut moved), count: 64 }
            })
        }
    };
    let (mut from, mut to) = (three(&device), LinearMap::new(&device).unwrap());
    to.insert_many(&[70], &[7]).unwrap();
    move_all(&mut from, &mut to).unwrap();
    assert_eq!((from.len(), to.len()), (0, 4));
    for map in [&from, &to] {
        check_linear_map(map).unwrap();
    }
    assert_eq!(to.get_many(&[1, 2, 3, 70]).unwrap(), [10, 20, 30, 7].map(Some));
    let there = elsewhere();
    let mut other = three(&there);
    assert_wrong_device(move_all(&mut to, &mut other).unwrap_err(), "a buffer", &there, &device);
    assert_eq!((to.len(), other.len()), (4, 3));
    assert_eq!(other.get_many(&[1]).unwrap(), [Some(10)]);
    check_linear_map(&to).unwrap();
    check_linear_map(&other).unwrap();
}

#[test]
fn code_of_others_is_not_called_with_what_is_on_another_device() {
    let (here, there) = (Device::cpu(), elsewhere());
    let map = three(&there);
    // SAFETY: the closure queues nothing.
    let refused = unsafe {
        here.default_stream().launch_foreign(|uses| uses.table(&map), |_, _| -> u8 { panic!("it is called") })
    };
    assert_wrong_device(refused.unwrap_err(), "a buffer", &there, &here);
    // SAFETY: the closure queues nothing.
    let null = unsafe { there.default_stream().launch_foreign(|uses| uses.table(&map), |_, stream| stream.is_null()) };
    assert_eq!(null, Ok(true));
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
            // The fault is over unless the map itself still reports one.
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
