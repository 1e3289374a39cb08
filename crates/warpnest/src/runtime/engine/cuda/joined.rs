//! Graphs of other libraries, which keep memory that their steps use.

use super::driver::{self, constant};
use super::shared::Shared;
use crate::runtime::engine::Kept;
use crate::{Error, InputError, Result};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// What graphs kept that are gone. The driver tells so on a thread that may not call it, so this is
/// dropped later.
static GONE: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Drops what graphs kept that are gone.
pub(super) fn drop_gone() {
    let gone = std::mem::take(&mut *GONE.lock().unwrap_or_else(PoisonError::into_inner));
    drop(gone);
}

/// A guard whose drop drops what graphs kept that are gone.
pub(super) struct Gone;

impl Drop for Gone {
    fn drop(&mut self) {
        drop_gone();
    }
}

/// Is called by the driver when nothing uses a graph any more.
unsafe extern "C" fn graph_is_gone(value: *mut c_void) {
    // SAFETY: `join` passed this pointer, and the driver calls this once.
    let kept = unsafe { Box::from_raw(value.cast::<Kept>()) };
    GONE.lock().unwrap_or_else(PoisonError::into_inner).push(*kept);
}

/// Returns the graph into which a stream is captured, if it is.
///
/// # Safety
/// The stream must live.
pub(super) unsafe fn graph_of(shared: &Shared, stream: driver::Stream) -> Result<Option<driver::Graph>> {
    let entered = shared.primary.enter()?;
    let (mut status, mut id, mut graph) = (0, 0, ptr::null_mut());
    let (mut nodes, mut count) = (ptr::null(), 0);
    // SAFETY: the driver writes to live variables.
    entered.check(unsafe {
        entered.driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count)
    })?;
    Ok((status == constant::CAPTURE_ACTIVE).then_some(graph))
}

/// Makes the graph into which a stream is captured keep `memory`.
///
/// # Safety
/// The stream must live.
pub(super) unsafe fn keep(shared: &Shared, stream: driver::Stream, memory: Kept) -> Result<()> {
    drop_gone();
    // SAFETY: as the caller promises.
    let Some(graph) = (unsafe { graph_of(shared, stream)? }) else {
        return Err(Error::Input(InputError::NotCaptured { what: "ends the capture" }));
    };
    let entered = shared.primary.enter()?;
    let driver = entered.driver;
    let (value, mut object) = (Box::into_raw(Box::new(memory)), ptr::null_mut());
    // SAFETY: the driver writes the handle, and calls the function once, when the object is gone.
    let created = entered.check(unsafe {
        driver.cuUserObjectCreate(&mut object, value.cast(), graph_is_gone, 1, constant::USER_OBJECT_NO_DESTRUCTOR_SYNC)
    });
    if created.is_err() {
        // SAFETY: the driver did not take the pointer.
        drop(unsafe { Box::from_raw(value) });
        return created;
    }
    // SAFETY: both handles live. The one reference of the object becomes the graph's.
    let kept =
        entered.check(unsafe { driver.cuGraphRetainUserObject(graph, object, 1, constant::GRAPH_USER_OBJECT_MOVE) });
    if kept.is_err() {
        // SAFETY: the object lives, with the one reference. An error means that the context is
        // lost.
        let _ = entered.check(unsafe { driver.cuUserObjectRelease(object, 1) });
    }
    kept
}
