//! Tests of the CUDA engine on the fake driver: each call can fail, and nothing may be left behind.

mod contexts;
mod cubins;
mod devices;
mod faults;
mod foreign;
mod graphs;
mod host_chunks;
mod large_copies;
mod modules;
mod pool;
mod shared;
mod tables;
mod work;

use fake_cuda_driver::{FakeDriver, Fault, Held};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use warpnest::{Device, Error};

/// The driver, which one test uses at a time.
struct Session {
    driver: MutexGuard<'static, FakeDriver>,
}

impl Session {
    fn new() -> Self {
        static DRIVER: LazyLock<Mutex<FakeDriver>> = LazyLock::new(|| Mutex::new(FakeDriver::open()));
        let driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        driver.clear();
        driver.defer(false);
        driver.set_current(0);
        driver.violations();
        Self { driver }
    }

    /// Returns a device that no test has used before.
    fn device(&self, ordinal: u32) -> Device {
        self.lose(ordinal);
        Device::cuda(ordinal).expect("a new context")
    }

    /// Returns the resources that the first device holds, without its pool.
    fn held(&self, device: &Device) -> Held {
        device.trim_pool();
        self.driver.held(0)
    }

    /// Destroys the context of a device, if it has one, and does not create it anew.
    fn lose(&self, ordinal: u32) {
        self.driver.plant(Fault::next("cuMemGetInfo_v2", 719).sticky());
        self.driver.plant(Fault::next("cuInit", 3));
        assert!(Device::cuda(ordinal).is_err());
        self.driver.clear();
        assert_eq!(self.driver.held(ordinal as usize), Held::default(), "something is left of the device");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let violations = self.driver.violations();
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "{violations:#?}");
        } else if !violations.is_empty() {
            eprintln!("{violations:#?}");
        }
    }
}

/// Fails unless the error contains the planted result code.
fn assert_tells(error: &Error, code: u32) {
    match error {
        Error::OutOfMemory { device, .. } => assert!(code == 2 && device.starts_with("fake device"), "{error:?}"),
        Error::Driver { call, code: told, .. } => {
            assert!(code != 2 && *told == code && call.starts_with("cu"), "{code}: {error:?}");
        }
        Error::Emptied { source } => assert_tells(source, code),
        Error::NoDevice { reason, .. } => assert!(reason.contains(&code.to_string()), "{code}: {error:?}"),
        _ => panic!("{code}: {error:?}"),
    }
}

/// Returns how often the host has waited.
fn waits(session: &Session) -> u64 {
    ["cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"]
        .map(|call| session.driver.calls(call))
        .iter()
        .sum()
}

/// Runs `work`, and fails if the host waits meanwhile.
fn without_waiting<R>(session: &Session, work: impl FnOnce() -> R) -> R {
    let before = waits(session);
    let current = session.driver.current();
    let done = work();
    assert_eq!(waits(session), before, "the host waited");
    assert_eq!(session.driver.current(), current);
    done
}
