//! Steps of captured work, and graphs of them.

use super::Queue;
use crate::Result;
use crate::runtime::capture::Recorded;
use std::fmt::Debug;

/// One operation of captured work. Its addresses are valid as long as the memory that was captured
/// with it lives.
#[derive(Debug)]
pub enum Step {
    /// A copy within the device.
    Copy {
        /// The address of the first byte.
        from: usize,
        /// The address to which it is copied.
        to: usize,
        /// The count of bytes.
        bytes: usize,
    },
    /// Memory that is filled with a byte.
    Fill {
        /// The address of the first byte.
        at: usize,
        /// The byte.
        byte: u8,
        /// The count of bytes.
        bytes: usize,
    },
    /// The launch of a kernel.
    Launch {
        /// The kernel with its arguments.
        kernel: Recorded,
        /// The count of blocks.
        blocks: u32,
    },
}

impl Step {
    /// Queues the step.
    ///
    /// # Safety
    /// As for the method of [`Queue`] that does it.
    pub unsafe fn queue(&self, queue: &dyn Queue) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match *self {
                Self::Copy { from, to, bytes } => queue.copy(from, to, bytes),
                Self::Fill { at, byte, bytes } => queue.fill(at, byte, bytes),
                Self::Launch { ref kernel, blocks } => queue.launch(kernel, blocks),
            }
        }
    }
}

/// Steps that an engine has made ready to be queued together.
pub trait EngineGraph: Debug + Send + Sync {
    /// Queues the steps, behind their earlier runs.
    ///
    /// # Safety
    /// As for [`Step::queue`], for each of the steps.
    unsafe fn queue(&self, queue: &dyn Queue) -> Result<()>;
}
