//! Tests of tables and buffers on the fake driver's devices, without faults.

use crate::{Session, work};
use fake_cuda_driver::{Fault, Held};
use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global};
use warpnest::{Device, Error, PageMap};

kernel! {
    /// Is a kernel that no PTX contains.
    Stranger<>, "stranger", threads 32;
    { words: Global<u32> }
}

impl Stranger {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let _ = (args.words, block.index());
    }
}

#[test]
fn every_piece_of_work_is_right_on_both_kinds_of_ptx_and_leaves_nothing_behind() {
    let session = Session::new();
    for ordinal in [0, 1, 3] {
        let device = session.device(ordinal);
        assert_eq!(device.name(), format!("fake device {ordinal}"));
        device.trim_pool();
        let before = session.driver.held(ordinal as usize);
        assert_eq!((before.retained, before.streams, before.modules), (1, 1, 1), "the default stream, and one kernel");
        for (name, work) in work::ALL {
            eprintln!("{name} on {ordinal}");
            work(&device, &mut || ()).unwrap();
        }
        device.trim_pool();
        let Held { modules, events, .. } = session.driver.held(ordinal as usize);
        assert!(events <= 1, "the default stream keeps the event behind its last work");
        // The default stream keeps its readback buffer, and the loaded kernels stay.
        let expected = Held { modules, events, allocations: before.allocations + 1, ..before };
        assert_eq!(session.driver.held(ordinal as usize), expected);
    }
}

/// Returns the names of the functions that the engine calls, from its source, without the functions
/// that only the feature `cust` needs.
fn functions() -> Vec<&'static str> {
    let table =
        include_str!("../../../warpnest/src/runtime/engine/cuda/driver.rs").split("functions! {").nth(1).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let of_cust = |line: usize| lines[line - 1].contains("feature = \"cust\"");
    let names = (1..lines.len()).filter(|&line| !of_cust(line)).map(|line| lines[line].trim());
    names
        .take_while(|line| *line != "}")
        .filter(|line| line.starts_with("cu"))
        .map(|line| line.split('(').next().unwrap())
        .collect()
}

#[test]
fn the_work_of_these_tests_calls_every_function_that_the_engine_can_call() {
    let session = Session::new();
    let functions = functions();
    assert_eq!(functions.len(), 48, "{functions:?}");
    let before: Vec<u64> = functions.iter().map(|name| session.driver.calls(name)).collect();
    let device = session.device(0);
    for (_, work) in work::ALL {
        work(&device, &mut || ()).unwrap();
    }
    // What the graph did not take is released.
    session.driver.plant(Fault::next("cuGraphRetainUserObject", 4242));
    work::graphs(&device, &mut || ()).unwrap_err();
    // This buffer's address becomes known, so its drop waits.
    warpnest::Buffer::<u32>::zeroed(&device, 1).unwrap().address();
    device.trim_pool();
    drop(device);
    // The device's context is destroyed here.
    session.lose(0);
    let uncalled: Vec<_> =
        functions.iter().zip(before).filter(|(name, calls)| session.driver.calls(name) == *calls).collect();
    assert!(uncalled.is_empty(), "{uncalled:?}");
}

#[test]
fn work_that_is_put_off_is_done_in_the_same_order() {
    let session = Session::new();
    let device = session.device(0);
    session.driver.defer(true);
    for (_, work) in work::ALL {
        work(&device, &mut || ()).unwrap();
    }
}

/// Loads and saves a large map. Several threads copy it, each on its own stream, through
/// page-locked memory if available.
#[test]
fn large_files_go_through_page_locked_memory_and_leave_none_behind() {
    let session = Session::new();
    let device = session.device(0);
    let file = work::saved_on_the_cpu(1_500_000);
    assert!(file.len() > 12 << 20);
    // The first use loads what the device keeps.
    work::files(&device, &mut || ()).unwrap();
    let before = session.held(&device);
    for put_off in [false, true] {
        session.driver.defer(put_off);
        for locked in [true, false] {
            let calls = session.driver.calls("cuMemAllocHost_v2");
            if !locked {
                session.driver.plant(Fault::next("cuMemAllocHost_v2", 2).lasting());
            }
            let map = PageMap::<u32, u32>::load(&device, &file[..]).unwrap();
            assert!(work::saved(&map).unwrap() == file, "the file is another one");
            assert!(session.driver.calls("cuMemAllocHost_v2") > calls);
            session.driver.clear();
            drop(map);
            assert_eq!(session.held(&device), before);
        }
    }
}

#[test]
fn the_driver_gets_the_ptx_that_it_takes() {
    let session = Session::new();
    // Changing tables with 64-bit keys and values needs 128-bit atomics, which only the PTX for 9.0
    // has.
    let wide = |ordinal| {
        let device = session.device(ordinal);
        warpnest::LinearConfig::default().create::<u64, u64>(&device).map(drop)
    };
    assert_eq!(wide(0), Ok(()));
    for ordinal in [1, 3] {
        assert!(matches!(wide(ordinal), Err(Error::NoWideAtomics { .. })), "{ordinal}");
    }
}

#[test]
fn all_kernels_can_be_loaded_at_once_and_then_nothing_more_is_loaded() {
    let session = Session::new();
    for (ordinal, ptx) in [(0, warpnest::low_level::ptx::hopper()), (1, warpnest::low_level::ptx::baseline())] {
        let device = session.device(ordinal);
        device.load_kernels().unwrap();
        let kernels = warpnest::low_level::ptx::kernels(ptx).count();
        assert_eq!(session.driver.held(ordinal as usize).modules, kernels);
        for (_, work) in work::ALL {
            work(&device, &mut || ()).unwrap();
        }
        assert_eq!(session.driver.held(ordinal as usize).modules, kernels);
    }
}

#[test]
fn an_extendible_map_loads_its_kernels_when_it_is_made() {
    let session = Session::new();
    let device = session.device(0);
    let mut map = work::small(&device).unwrap();
    let (keys, values) = work::pairs(0, 150);
    // This loads the primitives that run before a change.
    let other = work::small(&device).and_then(|mut map| map.insert_many(&keys[..1], &values[..1])).unwrap();
    assert_eq!(other, 1);
    let loaded = session.held(&device).modules;
    map.insert_many(&keys, &values).unwrap();
    map.insert_many(&keys, &values).unwrap();
    // The first removal is of few keys, so it looks only at their buckets.
    map.remove_many(&keys[..1]).unwrap();
    map.remove_many(&keys[..145]).unwrap();
    map.shrink_to_fit().unwrap();
    map.to_pairs().unwrap();
    assert_eq!(session.held(&device).modules, loaded);
}

#[test]
fn a_kernel_that_the_ptx_lacks_is_refused_by_name() {
    let session = Session::new();
    let device: Device = session.device(0);
    // SAFETY: the kernel does not access the pointer.
    let launch = Stranger { words: unsafe { Global::null() } };
    // SAFETY: the kernel does not access the pointer.
    let error = unsafe { device.default_stream().launch(32, |_| launch) }.unwrap_err();
    assert!(matches!(&error, Error::Kernel { kernel, .. } if kernel == "stranger"), "{error:?}");
}
