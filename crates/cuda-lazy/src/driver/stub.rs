//! The functions that answer where no driver does.

use std::ffi::{c_char, c_uint};

use crate::NO_DEVICE;

/// Stands for any driver function. Under the C calling convention the caller places and removes the arguments, so one
/// function without parameters serves calls with any.
pub(super) extern "C" fn no_device() -> c_uint {
    NO_DEVICE
}

/// Stands for `cuGetErrorString`. `cust` calls it to print an error, and a refusal there would end the program:
/// `to_string` panics when the text cannot be made.
///
/// # Safety
///
/// `text` is null or valid for writing a pointer.
pub(super) unsafe extern "C" fn error_string(_code: c_uint, text: *mut *const c_char) -> c_uint {
    if text.is_null() {
        return NO_DEVICE;
    }
    // SAFETY: `text` is not null, so the caller vouches that a pointer may be written there.
    unsafe { text.write(c"no CUDA driver is loaded".as_ptr()) };
    0
}
