//! The primary context of a device. It is current while the engine calls the driver.

use super::driver::{Called, Context, Driver, Event, Failure, Ordinal, code, constant};
use super::free_events::FreeEvents;
use crate::runtime::engine::Memory;
use crate::{Error, Result};
use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The bytes of shared memory that are left for arrays of constant length in a kernel that also has
/// a dynamic array.
const CONSTANT_ARRAYS: usize = 1 << 10;

/// The primary context of a device, which other users of the driver share. It is retained once, and
/// released when this value is dropped.
pub(crate) struct Primary {
    driver: &'static Driver,
    device: Ordinal,
    context: Context,
    name: String,
    /// The compute capability: (7, 5) is 7.5.
    pub capability: (i32, i32),
    /// The bytes of dynamic shared memory that a block may have.
    pub block_memory: usize,
    /// The count of multiprocessors.
    pub multiprocessors: u32,
    /// The events that can be recorded again.
    pub(super) events: FreeEvents,
    /// Whether an error has cost the context.
    lost: AtomicBool,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for Primary {}
// SAFETY: as above.
unsafe impl Sync for Primary {}

impl fmt::Debug for Primary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Primary({:?} of {})", self.context, self.name)
    }
}

/// A guard that keeps the context current on this thread while the guard lives. Its drop makes the
/// previous context current again.
pub(crate) struct Entered<'p> {
    primary: &'p Primary,
    /// The driver to call.
    pub driver: &'static Driver,
    /// The context that was current, if it was another context. It is a raw handle, so this guard
    /// is not sent to another thread.
    previous: Option<Context>,
}

impl Primary {
    /// Returns the primary context of the device with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver or no such device, or if the device is too old.
    pub(super) fn retain(ordinal: u32) -> Result<Self> {
        let unusable = |reason: String| Error::NoDevice { ordinal, reason };
        let driver = Driver::get().map_err(unusable)?;
        let failed = |failure: Failure| {
            let Failure { call, code } = failure;
            unusable(format!("{call} failed: {} ({code}); check `nvidia-smi`", driver.name(code)))
        };
        // SAFETY: the flags are 0, as the driver demands.
        unsafe { driver.cuInit(0) }.map_err(|Failure { code, .. }| {
            unusable(format!("the driver does not start ({}, {code}); check `nvidia-smi`", driver.name(code)))
        })?;
        let (mut count, mut device) = (0, 0);
        // SAFETY: the driver writes to a live variable.
        unsafe { driver.cuDeviceGetCount(&mut count) }.map_err(failed)?;
        if ordinal >= count.max(0) as u32 {
            return Err(unusable(format!("this machine has {count} CUDA devices, numbered from 0")));
        }
        // SAFETY: the driver writes to a live variable.
        unsafe { driver.cuDeviceGet(&mut device, ordinal as i32) }.map_err(failed)?;
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: the driver writes to a live variable.
            unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) }.map_err(failed)?;
            Ok::<_, Error>(value)
        };
        let (major, minor) =
            (attribute(constant::COMPUTE_CAPABILITY_MAJOR)?, attribute(constant::COMPUTE_CAPABILITY_MINOR)?);
        if (major, minor) < (7, 5) {
            let reason = format!("its compute capability is {major}.{minor}; the kernels need 7.5; use Device::cpu()");
            return Err(unusable(reason));
        }
        let block_memory = attribute(constant::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(0) as usize;
        let block_memory = block_memory.saturating_sub(CONSTANT_ARRAYS);
        let multiprocessors = attribute(constant::MULTIPROCESSOR_COUNT)?.max(1) as u32;
        let mut name = [0; 256];
        // SAFETY: the driver writes no more bytes than the length that it is given.
        unsafe { driver.cuDeviceGetName(name.as_mut_ptr(), name.len() as i32 - 1, device) }.map_err(failed)?;
        // SAFETY: the driver did not write the last byte, which is still 0.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver writes to a live variable.
        unsafe { driver.cuDevicePrimaryCtxRetain(&mut context, device) }.map_err(failed)?;
        let (capability, events, lost) = ((major, minor), FreeEvents::default(), AtomicBool::new(false));
        Ok(Self { driver, device, context, name, capability, block_memory, multiprocessors, events, lost })
    }

    /// Makes the context current on this thread until the returned guard is dropped. Every call of
    /// the driver needs a current context.
    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        self.try_enter().map_err(|failure| self.error(failure, 0))
    }

    fn try_enter(&self) -> std::result::Result<Entered<'_>, Failure> {
        let (driver, mut current) = (self.driver, std::ptr::null_mut());
        // SAFETY: the driver writes to a live variable.
        unsafe { driver.cuCtxGetCurrent(&mut current) }?;
        if current == self.context {
            return Ok(Entered { primary: self, driver, previous: None });
        }
        // SAFETY: the context is retained.
        unsafe { driver.cuCtxSetCurrent(self.context) }?;
        Ok(Entered { primary: self, driver, previous: Some(current) })
    }

    /// Returns the device's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the driver's handle of the context.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(super) fn handle(&self) -> Context {
        self.context
    }

    /// Returns the device's memory.
    pub(super) fn memory(&self) -> Result<Memory> {
        self.enter()?.memory().map_err(|failure| self.error(failure, 0))
    }

    /// Destroys events that nobody has.
    pub(super) fn destroy_events(&self, events: impl IntoIterator<Item = Event>) {
        let Ok(entered) = self.enter() else { return };
        for event in events {
            // SAFETY: `CudaEvent` made it. The driver destroys it once it has been reached; an
            // error means a lost context.
            let _ = entered.check(unsafe { entered.driver.cuEventDestroy_v2(event) });
        }
    }

    /// Destroys the events that are kept.
    pub(super) fn clear_events(&self) {
        self.destroy_events(self.events.take_all());
    }

    /// Returns whether an error has cost the context.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Converts the result of a call into a result of this crate.
    pub(super) fn check(&self, called: Called) -> Result<()> {
        called.map_err(|failure| self.error(failure, 0))
    }

    /// Returns the error of a call. `asked` is the count of bytes that the call requested, or 0 if
    /// it is unknown. If the context is lost, records that.
    pub(super) fn error(&self, failure: Failure, asked: u64) -> Error {
        let Failure { call, code } = failure;
        if code == code::OUT_OF_MEMORY {
            // A failure to read the free memory is not reported.
            let memory = self.try_enter().and_then(|entered| entered.memory());
            let (free, total) = memory.map_or((0, 0), |memory| (memory.free, memory.total));
            return Error::OutOfMemory { asked, free, total, device: self.name.clone() };
        }
        if code::LOST.contains(&code) {
            self.lost.store(true, Ordering::Relaxed);
        }
        Error::Driver { call, code, name: self.driver.name(code) }
    }
}

impl Entered<'_> {
    /// Converts the result of a call into a result of this crate.
    pub(super) fn check(&self, called: Called) -> Result<()> {
        self.primary.check(called)
    }

    fn memory(&self) -> std::result::Result<Memory, Failure> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver writes both sizes to live variables.
        unsafe { self.driver.cuMemGetInfo_v2(&mut free, &mut total) }?;
        Ok(Memory { total: total as u64, free: free as u64 })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: the context was current when this guard was made. If there was none, the
            // handle is null, and the driver removes the primary context from its stack.
            let _ = unsafe { self.driver.cuCtxSetCurrent(previous) };
        }
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        self.clear_events();
        // SAFETY: `retain` retained it, and nothing of this crate uses it any more.
        let _ = unsafe { self.driver.cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
