//! The kernels of all packages in a context: the kernels of this library, and the kernels of
//! modules that were loaded.

use super::context::Primary;
use super::driver;
use super::module::Kernels;
#[cfg(feature = "cubins")]
use crate::runtime::cubins::EMBEDDED;
use crate::runtime::ptx;
use crate::{Error, Module, Result};
use gpu_kernels::seam::Entry;
use std::sync::{Arc, PoisonError, RwLock};

/// There is no machine code.
#[cfg(not(feature = "cubins"))]
const EMBEDDED: &[&[u8]] = &[];

pub(super) struct Modules {
    primary: Arc<Primary>,
    own: Kernels,
    /// The modules of other packages, with the newest module last. No module is unloaded, because
    /// its kernels may be running.
    others: RwLock<Vec<Other>>,
}

/// A module of another package.
struct Other {
    package: &'static str,
    module: Module,
    kernels: Arc<Kernels>,
}

impl Modules {
    /// Returns this library's kernels. One kernel is loaded now.
    pub(super) fn new(primary: &Arc<Primary>) -> Result<Self> {
        let own = Kernels::load(primary, gpu_kernels::PACKAGE, &[ptx::baseline(), ptx::hopper()], EMBEDDED)?;
        Ok(Self { primary: primary.clone(), own, others: RwLock::default() })
    }

    /// Returns this library's kernels.
    pub(super) fn own(&self) -> &Kernels {
        &self.own
    }

    /// Returns whether this library's kernels include those for tables that change 128-bit words.
    pub(super) fn have_wide_atomics(&self) -> bool {
        // Not the texts, which have megabytes.
        std::ptr::eq(self.own.ptx(), ptx::hopper())
    }

    /// Loads the kernels of a module, unless they are already loaded.
    pub(super) fn load(&self, module: &Module) -> Result<()> {
        let package = module.package()?;
        if self.of(package, |other| other.module == *module) == Some(true) {
            return Ok(());
        }
        let kernels = Arc::new(Kernels::load(&self.primary, package, module.targets(), module.cubins())?);
        let other = Other { package, module: *module, kernels };
        self.others.write().unwrap_or_else(PoisonError::into_inner).push(other);
        Ok(())
    }

    /// Calls a function with the newest module of a package, and returns its result.
    fn of<R>(&self, package: &str, says: impl FnOnce(&Other) -> R) -> Option<R> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        others.iter().rev().find(|other| other.package == package).map(says)
    }

    /// Returns the entry point of a kernel.
    pub(super) fn function(&self, kernel: &Entry) -> Result<driver::Function> {
        let Entry { name, package, parameters, .. } = *kernel;
        if package == gpu_kernels::PACKAGE {
            return self.own.function(name, Some(parameters));
        }
        let kernels = self.of(package, |other| other.kernels.clone()).ok_or_else(|| Error::Kernel {
            kernel: name.to_owned(),
            fault: format!(
                "no module of {package}, which declares it, is loaded on {}: give its PTX to `Device::load` first",
                self.primary.name()
            ),
        })?;
        kernels.function(name, Some(parameters))
    }
}
