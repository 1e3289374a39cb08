//! Page-locked memory of the host that the engine keeps for itself.

use super::context::Primary;
use crate::Result;
use std::sync::Arc;

/// Page-locked memory of the host; dropping it frees it.
pub(super) struct PageLocked {
    primary: Arc<Primary>,
    first: *mut u8,
}

// SAFETY: page-locked memory is the process's, whichever thread uses it.
unsafe impl Send for PageLocked {}

impl PageLocked {
    /// Allocates `bytes` bytes, which hold anything.
    pub(super) fn new(primary: &Arc<Primary>, bytes: usize) -> Result<Self> {
        let entered = primary.enter()?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the driver writes the address.
        entered.check(unsafe { entered.driver.cuMemAllocHost_v2(&mut pointer, bytes) })?;
        Ok(Self { primary: primary.clone(), first: pointer.cast() })
    }

    /// Returns the address of the first byte, a multiple of the size of a page.
    pub(super) fn first(&self) -> *mut u8 {
        self.first
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        if let Ok(entered) = self.primary.enter() {
            // SAFETY: `new` allocated it, and its owner has waited for what uses it. An error means
            // that the context is lost.
            let _ = entered.check(unsafe { entered.driver.cuMemFreeHost(self.first.cast()) });
        }
    }
}
