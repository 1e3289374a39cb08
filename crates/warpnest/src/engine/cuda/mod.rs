//! The CUDA engine: kernels as PTX, through `cust` and the driver.

mod interop;
mod landing;
mod module;
mod queue;

use super::{Engine, Memory, Queue};
use crate::{Device, Error, Result};
use cust::context::{Context, CurrentContext};
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::sys;
use module::Kernels;
use queue::CudaQueue;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The device of this ordinal: made once, then the same for the life of the process, so that its kernels are loaded once.
pub(crate) fn device(ordinal: u32) -> Result<Device> {
    static DEVICES: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = devices.get(&ordinal) {
        return Ok(device.clone());
    }
    let device = Device::from_engine(CudaEngine::new(ordinal)?)?;
    devices.insert(ordinal, device.clone());
    Ok(device)
}

/// What the engine and its queues share.
pub(super) struct Primary {
    context: Context,
    kernels: Kernels,
}

impl Primary {
    /// Makes the context current on this thread; every call of the driver needs it.
    pub(super) fn bind(&self) -> Result<()> {
        CurrentContext::set_current(&self.context).map_err(failed("cuCtxSetCurrent"))
    }
}

pub(crate) struct CudaEngine {
    primary: Arc<Primary>,
    name: String,
}

impl CudaEngine {
    fn new(ordinal: u32) -> Result<Self> {
        let unusable = |reason: String| Error::NoDevice { ordinal, reason };
        cuda_lazy::load().map_err(|error| unusable(error.to_string()))?;
        let init = cust::init(cust::CudaFlags::empty());
        init.map_err(|error| unusable(format!("the driver does not start ({error:?}); check `nvidia-smi`")))?;
        let count = cust::device::Device::num_devices().map_err(failed("cuDeviceGetCount"))?;
        let device = cust::device::Device::get_device(ordinal)
            .map_err(|_| unusable(format!("this machine has {count} CUDA devices, numbered from 0")))?;
        let attribute = |attribute| device.get_attribute(attribute).map_err(failed("cuDeviceGetAttribute"));
        let capability =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        if capability < (7, 5) {
            let (major, minor) = capability;
            let reason = format!("its compute capability is {major}.{minor}; the kernels need 7.5; use Device::cpu()");
            return Err(unusable(reason));
        }
        let name = device.name().map_err(failed("cuDeviceGetName"))?;
        let context = Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        CurrentContext::set_current(&context).map_err(failed("cuCtxSetCurrent"))?;
        let kernels = Kernels::load(capability)?;
        Ok(Self { primary: Arc::new(Primary { context, kernels }), name })
    }
}

impl fmt::Debug for CudaEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEngine({})", self.name)
    }
}

// SAFETY: memory comes from the driver, and the queue's methods are the driver's operations on one stream.
unsafe impl Engine for CudaEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn memory(&self) -> Result<Memory> {
        self.primary.bind()?;
        let (free, total) = cust::memory::mem_get_info().map_err(failed("cuMemGetInfo"))?;
        Ok(Memory { total: total as u64, free: free as u64 })
    }

    fn allocate(&self, bytes: usize) -> Result<usize> {
        self.primary.bind()?;
        let mut address = 0;
        // SAFETY: the driver writes the address.
        match result("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut address, bytes) }) {
            Ok(()) => Ok(address as usize),
            Err(error) => {
                let free = self.memory()?.free;
                // The driver's own word for it is one of many names; the figures tell.
                if bytes as u64 <= free / 8 * 7 {
                    return Err(error);
                }
                Err(Error::OutOfMemory { asked: bytes as u64, free, device: self.name.clone() })
            }
        }
    }

    unsafe fn free(&self, address: usize, _bytes: usize) {
        if self.primary.bind().is_ok() {
            // SAFETY: `allocate` made it, and nothing uses it. An error means that the context is lost, with its memory.
            let _ = unsafe { sys::cuMemFree_v2(address as sys::CUdeviceptr) };
        }
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(CudaQueue::new(self.primary.clone())?))
    }

    fn load_kernels(&self) -> Result<()> {
        self.primary.bind()?;
        self.primary.kernels.load_all()
    }

    fn has_wide_atomics(&self) -> bool {
        self.primary.kernels.have_wide_atomics()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Turns an error of `cust` into one of ours.
pub(super) fn failed(call: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::Driver { call, name: format!("{error:?}") }
}

/// Turns an answer of the driver into a result.
pub(super) fn result(call: &'static str, answer: sys::CUresult) -> Result<()> {
    match answer as u32 {
        0 => Ok(()),
        code => Err(Error::Driver { call, name: error_name(code) }),
    }
}

/// The driver's name of an error. By number, because newer drivers have errors that the bindings' enum does not list, and
/// formatting such a value would be undefined.
pub(super) fn error_name(code: u32) -> String {
    unsafe extern "C" {
        fn cuGetErrorName(code: u32, name: *mut *const std::ffi::c_char) -> u32;
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver sets the pointer to a string of its own, which lives as long as it does, or leaves it null.
    let text = unsafe {
        match cuGetErrorName(code, &mut name) {
            0 if !name.is_null() => std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned(),
            _ => "unknown error".to_owned(),
        }
    };
    format!("{text} ({code})")
}
