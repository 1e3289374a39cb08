//! The kernels of one package in a context, and their entry points. Each kernel is loaded when it
//! is first launched: its machine code, or its PTX, which the driver compiles.

use super::context::Primary;
use super::driver::{self, code, constant};
#[cfg(feature = "cubins")]
use crate::runtime::cubins::Cubins;
use crate::runtime::ptx;
use crate::{Error, Result};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kernels of a package in a context. A kernel that is loaded stays loaded while this value
/// lives.
pub(super) struct Kernels {
    primary: Arc<Primary>,
    package: &'static str,
    ptx: &'static str,
    entries: ptx::Index<'static>,
    #[cfg(feature = "cubins")]
    cubins: Option<Cubins>,
    loaded: Mutex<HashMap<&'static str, Kernel>>,
}

#[derive(Clone)]
struct Kernel {
    module: driver::Module,
    function: driver::Function,
    /// Each parameter's size in bytes.
    sizes: Arc<[usize]>,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for Kernel {}

impl Kernels {
    /// Returns the kernels of a package, from the newest PTX that the device and its driver accept,
    /// with the machine code that was made from this PTX. Loads one kernel, so that a driver that
    /// is too old is detected before work begins.
    pub(super) fn load(
        primary: &Arc<Primary>,
        package: &'static str,
        targets: &[&'static str],
        cubins: &[&'static [u8]],
    ) -> Result<Self> {
        let capability = primary.capability;
        let mut refused = None;
        for ptx in ptx::ranked(targets, capability) {
            match Self::of(primary, package, ptx, cubins) {
                // An old driver does not know the PTX version of the newest target, so try the next
                // target.
                Err(error @ Error::Jit { .. }) => _ = refused.get_or_insert(error),
                answer => return answer,
            }
        }
        Err(refused.unwrap_or_else(|| {
            let (major, minor) = capability;
            let name = primary.name();
            let reason = format!(
                "none of its PTX is for {name}, of compute capability {major}.{minor}: build it for a target that is no newer"
            );
            Error::Module { package: package.to_owned(), reason }
        }))
    }

    #[cfg_attr(not(feature = "cubins"), expect(unused_variables, reason = "there is no machine code"))]
    fn of(primary: &Arc<Primary>, package: &'static str, ptx: &'static str, cubins: &[&'static [u8]]) -> Result<Self> {
        let kernels = Self {
            primary: primary.clone(),
            package,
            ptx,
            entries: ptx::Index::new(ptx),
            #[cfg(feature = "cubins")]
            cubins: Cubins::best(cubins, ptx, primary.capability),
            loaded: Mutex::default(),
        };
        if let Some(first) = ptx::kernels(ptx).next() {
            kernels.function(first, None)?;
        }
        Ok(kernels)
    }

    /// Returns the PTX.
    pub(super) fn ptx(&self) -> &'static str {
        self.ptx
    }

    /// Loads all kernels that are not loaded yet.
    pub(super) fn load_all(&self) -> Result<()> {
        ptx::kernels(self.ptx).try_for_each(|kernel| self.function(kernel, None).map(drop))
    }

    fn loaded(&self) -> MutexGuard<'_, HashMap<&'static str, Kernel>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entry point of this name, if its parameters have the given offsets and sizes.
    pub(super) fn function(&self, name: &str, given: Option<&[(usize, usize)]>) -> Result<driver::Function> {
        if let Some(kernel) = self.loaded().get(name) {
            return self.compared(name, kernel, given);
        }
        // The lock is not held while a kernel is loaded. If two threads load the same kernel, the
        // second copy is unloaded.
        let missing = || failed(name, ptx::outdated(self.ptx, None, &[]));
        let (name, entry) = self.entries.entry(name).ok_or_else(missing)?;
        let kernel = self.load_entry(name, entry)?;
        let mut loaded = self.loaded();
        let first = loaded.entry(name).or_insert_with(|| kernel.clone()).clone();
        drop(loaded);
        if first.module != kernel.module {
            self.unload(&kernel);
        }
        self.compared(name, &first, given)
    }

    /// Returns the entry point, if its parameters have the sizes of the given arguments.
    fn compared(&self, name: &str, kernel: &Kernel, given: Option<&[(usize, usize)]>) -> Result<driver::Function> {
        let Some(given) = given else { return Ok(kernel.function) };
        let given = given.iter().map(|&(_, bytes)| bytes);
        if given.clone().eq(kernel.sizes.iter().copied()) {
            return Ok(kernel.function);
        }
        Err(failed(name, ptx::outdated(self.ptx, Some(&kernel.sizes), &Vec::from_iter(given))))
    }

    fn load_entry(&self, name: &str, entry: &str) -> Result<Kernel> {
        let entered = self.primary.enter()?;
        let sizes = ptx::parameter_sizes(entry);
        let unread = || failed(name, "its parameters in the PTX cannot be read".to_owned());
        let sizes = sizes.ok_or_else(unread)?.into();
        let module = match self.load_machine_code(name)? {
            Some(module) => module,
            None => load_ptx(&self.primary, self.package, &self.entries.module(entry))?,
        };
        let mut kernel = Kernel { module, function: std::ptr::null_mut(), sizes };
        let zero = |_| failed(name, "it has a zero byte in its name".to_owned());
        let found = CString::new(name).map_err(zero).and_then(|name| {
            // SAFETY: the module is loaded, and the name ends with a zero byte.
            entered.check(unsafe { entered.driver.cuModuleGetFunction(&mut kernel.function, module, name.as_ptr()) })
        });
        let found = found.and_then(|()| {
            if !self.entries.has_dynamic_memory(entry) {
                return Ok(());
            }
            // A block may have as much shared memory only if its kernel asks for it.
            let (most, attribute) = (self.primary.block_memory, constant::FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES);
            // SAFETY: the function is loaded.
            entered.check(unsafe { entered.driver.cuFuncSetAttribute(kernel.function, attribute, most as i32) })
        });
        found.inspect_err(|_| self.unload(&kernel)).map(|()| kernel)
    }

    /// Loads the machine code of a kernel; `None` if there is none that the driver takes.
    #[cfg(feature = "cubins")]
    fn load_machine_code(&self, name: &str) -> Result<Option<driver::Module>> {
        let Some(cubins) = &self.cubins else { return Ok(None) };
        let Some(image) = cubins.image(name) else { return Ok(None) };
        // SAFETY: it is an ELF file as the assembler wrote it, since its checksum is right.
        match unsafe { load(&self.primary, self.package, image.as_ptr().cast()) } {
            // The driver is older than the assembler.
            Err(Error::Jit { .. }) => {
                cubins.refuse();
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }

    /// Loads the machine code of a kernel; here there is none.
    #[cfg(not(feature = "cubins"))]
    fn load_machine_code(&self, _: &str) -> Result<Option<driver::Module>> {
        Ok(None)
    }

    /// Unloads a kernel that nothing uses.
    fn unload(&self, kernel: &Kernel) {
        if let Ok(entered) = self.primary.enter() {
            // SAFETY: the module is loaded, and nothing uses it. An error means that the context is
            // lost.
            let _ = unsafe { entered.driver.cuModuleUnload(kernel.module) };
        }
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let kernels: Vec<Kernel> = self.loaded().drain().map(|(_, kernel)| kernel).collect();
        kernels.iter().for_each(|kernel| self.unload(kernel));
    }
}

fn failed(kernel: &str, fault: String) -> Error {
    Error::Kernel { kernel: kernel.to_owned(), fault }
}

/// Loads PTX with the driver's compiler, and returns the compiler's log in the error.
fn load_ptx(primary: &Primary, package: &str, ptx: &str) -> Result<driver::Module> {
    let image = CString::new(ptx).map_err(|_| Error::Jit {
        package: package.to_owned(),
        name: "not passed to the driver".to_owned(),
        log: "the PTX has a zero byte".to_owned(),
    })?;
    // SAFETY: the image ends with a zero byte.
    unsafe { load(primary, package, image.as_ptr().cast()) }
}

/// Loads an image. The error is [`Error::Jit`] if the driver refuses it.
///
/// # Safety
/// The image is PTX that ends with a zero byte, or a whole ELF file.
unsafe fn load(primary: &Primary, package: &str, image: *const c_void) -> Result<driver::Module> {
    let entered = primary.enter()?;
    let mut log = vec![0u8; 16 << 10];
    let mut options = [constant::JIT_ERROR_LOG_BUFFER, constant::JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver expects the size itself in the array of pointers.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the driver reads the image up to the end that the image itself declares. The arrays
    // of options and values have the same length, and the log has the size that the options name.
    let loaded = unsafe {
        entered.driver.cuModuleLoadDataEx(
            &mut module,
            image,
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    loaded.map(|()| module).map_err(|failure| {
        if !code::REFUSALS.contains(&failure.code) {
            // The PTX is not the cause. Earlier work failed, or there is not enough memory.
            return primary.error(failure, 0);
        }
        let length = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        let name = format!("{} ({})", entered.driver.name(failure.code), failure.code);
        Error::Jit { package: package.to_owned(), name, log: String::from_utf8_lossy(&log[..length]).into_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_that_does_not_compile_brings_the_drivers_log() {
        let Ok(primary) = Primary::retain(0) else {
            assert!(std::env::var_os("WARPNEST_REQUIRE_CUDA").is_none(), "CUDA is required and cannot be used");
            return;
        };
        let nonsense = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry broken() { nonsense; }\n";
        let Err(Error::Jit { log, .. }) = load_ptx(&primary, "nonsense", nonsense) else {
            panic!("the driver took nonsense")
        };
        assert!(log.contains("nonsense") || log.contains("error"), "{log}");
    }
}
