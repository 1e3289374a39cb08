//! The CUDA engine on the fake driver: every call of it, each failing in turn, and what it leaves
//! behind.

mod contexts;
mod cubins;
mod devices;
mod faults;
mod foreign;
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

/// The driver, for one test at a time.
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

    /// Returns what the first device holds beside its pool.
    fn held(&self, device: &Device) -> Held {
        device.trim_pool();
        self.driver.held(0)
    }

    /// Takes the context from a device, if it has one; it is not made anew.
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

/// Fails unless the error is one that tells of the planted code.
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

/// Returns how often the host has waited for work.
fn waits(session: &Session) -> u64 {
    ["cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"]
        .map(|call| session.driver.calls(call))
        .iter()
        .sum()
}

/// Runs `work`, which must not wait on the host.
fn without_waiting<R>(session: &Session, work: impl FnOnce() -> R) -> R {
    let before = waits(session);
    let current = session.driver.current();
    let done = work();
    assert_eq!(waits(session), before, "the host waited");
    assert_eq!(session.driver.current(), current);
    done
}
