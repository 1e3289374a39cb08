//! The kernels of all packages in a context: this library's, and the kernels of modules that were
//! loaded.

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
    /// The modules of other packages, the newest one last. None is unloaded, since its kernels may
    /// run.
    others: RwLock<Vec<Other>>,
}

/// A module of another package.
struct Other {
    package: &'static str,
    module: Module,
    kernels: Arc<Kernels>,
}

impl Modules {
    /// Returns this library's kernels, of which one is loaded.
    pub(super) fn new(primary: &Arc<Primary>) -> Result<Self> {
        let own = Kernels::load(primary, gpu_kernels::PACKAGE, &[ptx::baseline(), ptx::hopper()], EMBEDDED)?;
        Ok(Self { primary: primary.clone(), own, others: RwLock::default() })
    }

    /// Returns this library's kernels.
    pub(super) fn own(&self) -> &Kernels {
        &self.own
    }

    /// Returns whether there are kernels of tables that change words of 128 bits.
    pub(super) fn have_wide_atomics(&self) -> bool {
        // Not the texts, which have megabytes.
        std::ptr::eq(self.own.ptx(), ptx::hopper())
    }

    /// Takes the kernels of a module, unless it has them.
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

    /// Returns what a function says of the module of a package that was loaded last.
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
