//! Page-locked memory of the host that the engine keeps for itself.

use super::context::Primary;
use crate::Result;
use std::sync::Arc;

/// Page-locked memory of the host. Its drop frees the memory.
pub(super) struct PageLocked {
    primary: Arc<Primary>,
    first: *mut u8,
}

// SAFETY: page-locked memory belongs to the process, so any thread may use it.
unsafe impl Send for PageLocked {}

impl PageLocked {
    /// Allocates `bytes` bytes with unspecified contents.
    pub(super) fn new(primary: &Arc<Primary>, bytes: usize) -> Result<Self> {
        let entered = primary.enter()?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the driver writes to a live variable.
        entered.check(unsafe { entered.driver.cuMemAllocHost_v2(&mut pointer, bytes) })?;
        Ok(Self { primary: primary.clone(), first: pointer.cast() })
    }

    /// Returns the address of the first byte, which is a multiple of the page size.
    pub(super) fn first(&self) -> *mut u8 {
        self.first
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        if let Ok(entered) = self.primary.enter() {
            // SAFETY: `new` allocated the memory, and its owner has waited for the work that uses
            // it. An error means that the context is lost.
            let _ = entered.check(unsafe { entered.driver.cuMemFreeHost(self.first.cast()) });
        }
    }
}
