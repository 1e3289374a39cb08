//! A little page-locked memory, by way of which few bytes come to the host sooner than straight to memory of its own.

use super::{Primary, result};
use crate::Result;
use cust::sys;
use std::sync::Arc;

/// The bytes of a [`Landing`].
pub(super) const LANDING_BYTES: usize = 4096;

pub(super) struct Landing {
    primary: Arc<Primary>,
    bytes: *mut u8,
}

// SAFETY: page-locked memory is the process's, whichever thread uses it.
unsafe impl Send for Landing {}

impl Landing {
    pub fn new(primary: Arc<Primary>) -> Result<Self> {
        primary.bind()?;
        let mut bytes = std::ptr::null_mut();
        // SAFETY: the driver writes the address.
        result("cuMemAllocHost", unsafe { sys::cuMemAllocHost_v2(&mut bytes, LANDING_BYTES) })?;
        let landing = Self { primary, bytes: bytes.cast() };
        // SAFETY: it has that many bytes. From here on they are initialized.
        unsafe { landing.bytes.write_bytes(0, LANDING_BYTES) };
        Ok(landing)
    }

    /// Copies to `to`, at most [`LANDING_BYTES`], from what `copy_to` the landing has copied there when it returns.
    pub fn bring(&mut self, to: &mut [u8], copy_to: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        // SAFETY: as many initialized bytes, which nobody else uses while `self` is borrowed.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.bytes, LANDING_BYTES) };
        let landed = &mut bytes[..to.len()];
        copy_to(landed)?;
        to.copy_from_slice(landed);
        Ok(())
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if self.primary.bind().is_ok() {
            // SAFETY: `new` made it, and every copy to it was waited for. An error means that the context is lost.
            let _ = unsafe { sys::cuMemFreeHost(self.bytes.cast()) };
        }
    }
}
