//! The kernels in a context: the PTX of each, compiled by the driver when it is first launched, and their entry points.

use super::{error_name, result};
use crate::ptx::{self, BASELINE, HOPPER};
use crate::{Error, Result};
use cust::sys;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The loaded kernels. They stay loaded as long as the process runs, as their device does.
pub(super) struct Kernels {
    ptx: &'static str,
    functions: Mutex<HashMap<&'static str, Function>>,
}

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for Function {}

impl Kernels {
    /// The kernels for the current context. Loads one of them, since a driver that is too old should be found out before work begins.
    pub(super) fn load(capability: (i32, i32)) -> Result<Self> {
        if capability >= (9, 0) {
            match Self::of(HOPPER) {
                // A driver before R545 does not know its version of PTX. The other file is for every driver, and every GPU.
                Err(Error::Jit { .. }) => {}
                answer => return answer,
            }
        }
        Self::of(BASELINE)
    }

    fn of(ptx: &'static str) -> Result<Self> {
        let kernels = Self { ptx, functions: Mutex::default() };
        if let Some(first) = ptx::kernels(ptx).next() {
            kernels.function(first)?;
        }
        Ok(kernels)
    }

    /// Whether there are kernels that change words of 128 bits.
    pub(super) fn have_wide_atomics(&self) -> bool {
        self.ptx == HOPPER
    }

    /// Loads all that are not loaded yet.
    pub(super) fn load_all(&self) -> Result<()> {
        ptx::kernels(self.ptx).try_for_each(|kernel| self.function(kernel).map(drop))
    }

    fn functions(&self) -> MutexGuard<'_, HashMap<&'static str, Function>> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry point of this name in the current context, which is the one that the kernels are for.
    pub(super) fn function(&self, name: &'static str) -> Result<sys::CUfunction> {
        if let Some(function) = self.functions().get(name) {
            return Ok(function.0);
        }
        // Nobody waits meanwhile. If two threads want the same kernel, it is loaded twice, and one of them is used.
        let module = ptx::module_of(self.ptx, name).ok_or_else(|| missing(name, "it is not in the file"))?;
        let module = load(&module)?;
        let c_name = CString::new(name).map_err(|_| missing(name, "its name has a zero byte"))?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded and the name ends with a zero byte.
        let found = unsafe { sys::cuModuleGetFunction(&mut function, module, c_name.as_ptr()) };
        result("cuModuleGetFunction", found).map_err(|error| missing(name, &error.to_string()))?;
        Ok(self.functions().entry(name).or_insert(Function(function)).0)
    }
}

fn missing(kernel: &str, fault: &str) -> Error {
    Error::Kernel { kernel: kernel.to_owned(), fault: format!("the PTX has no such entry point: {fault}") }
}

/// The driver's codes for PTX that it does not take: invalid images, PTX and sources, of a version or for a GPU that it does not know, or
/// with no compiler for it.
const REFUSALS: [u32; 7] = [200, 209, 218, 221, 222, 223, 300];

/// Loads PTX with the driver's compiler; its log, which `cust` does not ask for, comes with the error.
fn load(ptx: &str) -> Result<sys::CUmodule> {
    let image = CString::new(ptx).map_err(|_| Error::Jit {
        name: "not passed to the driver".to_owned(),
        log: "the PTX has a zero byte".to_owned(),
    })?;
    let mut log = vec![0u8; 16 << 10];
    let mut options =
        [sys::CUjit_option_enum::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option_enum::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the size in the place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image ends with a zero byte; as many values as options, and the log has the size that is named.
    let loaded = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let code = loaded as u32;
    if code == 0 {
        return Ok(module);
    }
    if !REFUSALS.contains(&code) {
        // Not of the PTX: of earlier work, or there is no memory.
        return result("cuModuleLoadDataEx", loaded).map(|()| module);
    }
    let length = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    Err(Error::Jit { name: error_name(code), log: String::from_utf8_lossy(&log[..length]).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_that_does_not_compile_brings_the_drivers_log() {
        if crate::Device::cuda(0).is_err() {
            assert!(std::env::var_os("WARPNEST_REQUIRE_CUDA").is_none(), "CUDA is required and cannot be used");
            return;
        }
        let error = load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry broken() { nonsense; }\n");
        let Err(Error::Jit { log, .. }) = error else { panic!("the driver took nonsense") };
        assert!(log.contains("nonsense") || log.contains("error"), "{log}");
    }
}
