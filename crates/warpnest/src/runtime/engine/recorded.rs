//! Launches that are recorded.

use gpu_kernels::seam::{Entry, Kernel};
use std::fmt;
use std::mem::MaybeUninit;

/// A kernel with a copy of its arguments, to be launched later.
pub struct Recorded {
    entry: &'static Entry,
    /// The bytes of the entry's struct, with an alignment that suits any struct of words.
    values: Box<[MaybeUninit<u128>]>,
    dynamic_bytes: usize,
}

impl Recorded {
    /// Copies the arguments of a kernel.
    pub fn new(kernel: &dyn Kernel) -> Self {
        let entry = kernel.entry();
        let mut values = vec![MaybeUninit::uninit(); entry.size.div_ceil(size_of::<u128>())].into_boxed_slice();
        // SAFETY: the kernel's struct has `entry.size` bytes, and the copy has at least as many.
        unsafe { values.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(kernel.values().cast(), entry.size) };
        Self { entry, values, dynamic_bytes: kernel.dynamic_bytes() }
    }
}

// SAFETY: the values are a copy of the entry's struct, and the box keeps their address.
unsafe impl Kernel for Recorded {
    fn entry(&self) -> &'static Entry {
        self.entry
    }
    fn values(&self) -> *const () {
        self.values.as_ptr().cast()
    }
    fn dynamic_bytes(&self) -> usize {
        self.dynamic_bytes
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({})", self.entry.name)
    }
}
