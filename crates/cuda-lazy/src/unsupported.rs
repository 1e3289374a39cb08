//! The targets on which the crate defines no symbol.

use std::env::consts::{ARCH, OS};

use crate::LoadError;

pub(crate) fn load() -> Result<(), LoadError> {
    Err(LoadError::UnsupportedTarget { os: OS, arch: ARCH })
}
