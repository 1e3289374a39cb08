//! The kernels of all packages in a context: this library's, and those of modules that were loaded.

use super::context::Primary;
use super::driver;
use super::module::Kernels;
use crate::runtime::ptx;
use crate::{Error, Module, Result};
use gpu_kernels::seam::Entry;
use std::sync::{Arc, PoisonError, RwLock};

pub(super) struct Modules {
    primary: Arc<Primary>,
    own: Kernels,
    /// The modules of other packages, the newest one last. None is unloaded, since its kernels may
    /// run.
    others: RwLock<Vec<(&'static str, Arc<Kernels>)>>,
}

impl Modules {
    /// Returns this library's kernels, of which one is loaded.
    pub(super) fn new(primary: &Arc<Primary>) -> Result<Self> {
        let own = Kernels::load(primary, gpu_kernels::PACKAGE, &[ptx::baseline(), ptx::hopper()])?;
        Ok(Self { primary: primary.clone(), own, others: RwLock::default() })
    }

    /// Returns this library's kernels.
    pub(super) fn own(&self) -> &Kernels {
        &self.own
    }

    /// Returns whether there are kernels of tables that change words of 128 bits.
    pub(super) fn have_wide_atomics(&self) -> bool {
        self.own.ptx() == ptx::hopper()
    }

    /// Takes the kernels of a module, unless it has them.
    pub(super) fn load(&self, module: &Module) -> Result<()> {
        let package = module.package()?;
        if self.of(package).is_some_and(|kernels| module.targets().contains(&kernels.ptx())) {
            return Ok(());
        }
        let kernels = Arc::new(Kernels::load(&self.primary, package, module.targets())?);
        self.others.write().unwrap_or_else(PoisonError::into_inner).push((package, kernels));
        Ok(())
    }

    /// Returns the kernels of a package that were loaded last.
    fn of(&self, package: &str) -> Option<Arc<Kernels>> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        others.iter().rev().find(|(other, _)| *other == package).map(|(_, kernels)| kernels.clone())
    }

    /// Returns the entry point of a kernel.
    pub(super) fn function(&self, kernel: &Entry) -> Result<driver::Function> {
        let Entry { name, package, parameters, .. } = *kernel;
        if package == gpu_kernels::PACKAGE {
            return self.own.function(name, Some(parameters));
        }
        let kernels = self.of(package).ok_or_else(|| Error::Kernel {
            kernel: name.to_owned(),
            fault: format!(
                "no module of {package}, which declares it, is loaded on {}: give its PTX to `Device::load` first",
                self.primary.name()
            ),
        })?;
        kernels.function(name, Some(parameters))
    }
}
