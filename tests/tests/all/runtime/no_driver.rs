//! A program with the feature `cuda` on a machine without a driver: it starts, reports why it uses
//! the CPU, and works.

use warpnest::{CuckooMap, Device, Error};

/// Returns the error of a machine without a usable GPU, or `None` if there is one.
fn why_not() -> Option<Error> {
    let error = Device::cuda(0).err();
    if let Some(error) = &error {
        assert!(std::env::var_os("WARPNEST_REQUIRE_CUDA").is_none(), "CUDA is required: {error}");
    }
    error
}

#[test]
fn the_best_device_is_the_cpu_with_a_reason_that_names_the_driver() {
    let Some(error) = why_not() else { return };
    let device = Device::best().unwrap();
    assert_eq!((&device, device.name()), (&Device::cpu(), "CPU"));
    let reason = device.fallback_reason().expect("a reason");
    assert_eq!(reason, error.to_string());
    assert!(reason.contains("libcuda") || reason.contains("driver"), "{reason}");
    assert!(reason.contains("CUDA device 0"), "{reason}");
    assert!(matches!(error, Error::NoDevice { ordinal: 0, .. }), "{error:?}");
    assert_eq!(Device::cpu().fallback_reason(), None, "the CPU by choice needs no reason");

    let map = CuckooMap::build(&device, &[1u32, 2], &[3u64, 4]).unwrap();
    assert_eq!(map.get_many(&[2, 5]).unwrap(), [Some(4), None]);
}

#[test]
fn asking_again_gives_the_same_answer() {
    let Some(error) = why_not() else { return };
    assert_eq!(Device::cuda(0).unwrap_err(), error);
    let Error::NoDevice { reason, .. } = error else { panic!("{error:?}") };
    let Error::NoDevice { ordinal: 1, reason: other } = Device::cuda(1).unwrap_err() else { panic!() };
    assert_eq!(other, reason);
}
