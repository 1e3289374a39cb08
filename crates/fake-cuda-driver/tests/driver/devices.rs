//! Tests of devices that exist, are missing, or are lost.

use crate::{Session, assert_tells, work};
use fake_cuda_driver::{Fault, IN_KERNEL};
use warpnest::{Buffer, Device, Error, PageMap};

#[test]
fn a_device_is_made_once() {
    let session = Session::new();
    let device = session.device(0);
    assert_eq!(Device::cuda(0).unwrap(), device);
    assert_eq!(Device::best().unwrap(), device);
    assert_eq!("cuda:0".parse::<Device>().unwrap(), device);
    assert_eq!(session.driver.held(0).retained, 1);
}

#[test]
fn devices_that_are_too_old_or_not_there_are_refused_with_a_reason() {
    let _session = Session::new();
    for (ordinal, reason) in [(2, "compute capability is 7.0"), (4, "4 CUDA devices"), (u32::MAX, "4 CUDA devices")] {
        let error = Device::cuda(ordinal).unwrap_err();
        assert!(matches!(&error, Error::NoDevice { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn whichever_call_fails_while_a_device_is_made_it_is_said_and_the_next_time_it_is_made() {
    let session = Session::new();
    for code in [2, 4242] {
        let mut failed = 0;
        for before in 0.. {
            session.lose(1);
            session.driver.plant(Fault::after(before, code));
            let made = Device::cuda(1);
            if session.driver.clear() {
                assert!(made.is_ok());
                break;
            }
            if let Err(error) = made {
                assert_tells(&error, code);
                failed += 1;
            }
            let device = Device::cuda(1).unwrap();
            assert_eq!(session.driver.held(1).retained, 1, "{code} after {before}");
            work::buffers(&device, &mut || ()).unwrap();
        }
        assert!(failed > 8, "{failed} calls failed");
    }
}

#[test]
fn ptx_that_the_driver_refuses_comes_with_its_log() {
    let session = Session::new();
    session.lose(1);
    session.driver.plant(Fault::next("cuModuleLoadDataEx", 218));
    let error = Device::cuda(1).unwrap_err();
    session.driver.clear();
    assert!(error.to_string().contains("CUDA_ERROR_INVALID_PTX (218)"), "{error}");
}

#[test]
fn a_lost_device_is_not_given_out_again_and_the_best_device_is_the_cpu_meanwhile() {
    let session = Session::new();
    let device = session.device(0);
    let (keys, values) = work::pairs(0, 100);
    let map = PageMap::build(&device, &keys, &values).unwrap();
    session.driver.plant(Fault::next(IN_KERNEL, 700));
    let error = map.get_many(&keys).unwrap_err();
    assert_tells(&error, 700);
    assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "{error}");

    // The map keeps the lost context alive, so no new context is created yet.
    for _ in 0..2 {
        let error = Device::cuda(0).unwrap_err();
        assert!(matches!(&error, Error::NoDevice { ordinal: 0, .. }), "{error:?}");
        assert!(error.to_string().contains("700") && error.to_string().contains("drop all"), "{error}");
    }
    let best = Device::best().unwrap();
    assert_eq!(best, Device::cpu());
    assert!(best.fallback_reason().unwrap().contains("700"));
    assert!(map.get_many(&keys).is_err());

    drop((map, device));
    let device = Device::cuda(0).unwrap();
    assert_eq!(Device::best().unwrap(), device);
    let map = PageMap::build(&device, &keys, &values).unwrap();
    assert_eq!(map.get_many(&keys[..1]).unwrap(), [Some(values[0])]);
}

#[test]
fn a_context_that_is_lost_unnoticed_is_noticed_when_the_device_is_asked_for() {
    let session = Session::new();
    let device = session.device(0);
    // The engine does not know that this code means a lost context.
    session.driver.plant(Fault::next("cuMemGetInfo_v2", 4242).sticky());
    for _ in 0..2 {
        assert_tells(&Device::cuda(0).unwrap_err(), 4242);
        assert_eq!(Device::best().unwrap(), Device::cpu());
    }
    // The engine knows that this code means a lost context.
    drop(device);
    session.driver.plant(Fault::next("cuMemGetInfo_v2", 719).sticky());
    Device::cuda(0).unwrap();
}

#[test]
fn what_is_left_of_a_lost_device_is_dropped_without_a_panic() {
    let session = Session::new();
    let device = session.device(0);
    let stream = device.stream().unwrap();
    let mut buffer = Buffer::<u32>::zeroed(&device, 10).unwrap();
    assert_eq!(buffer.download(&stream).unwrap(), [0; 10]);
    session.driver.plant(Fault::next("cuMemsetD8Async", 719).sticky());
    assert_tells(&buffer.fill(&stream, 1).unwrap_err(), 719);
    assert_tells(&stream.synchronize().unwrap_err(), 719);
    drop((buffer, stream, device));
    drop(Device::cuda(0).unwrap());
    assert_eq!(session.driver.held(0).retained, 1);
}
