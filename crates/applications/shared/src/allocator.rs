//! The allocator of a program that ends with a message where others abort.

use crate::memory::DOING;
use crate::size::Size;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The system's allocator, but a program ends with a message if it has no memory left.
///
/// Readers of files refuse what they can foresee by errors of their own. This is for all else, such
/// as the tables of other crates, whose growth nobody can refuse.
#[derive(Clone, Copy, Debug)]
pub struct Ending;

// SAFETY: memory comes from the system's allocator and goes back there.
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unless_null(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unless_null(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        unless_null(unsafe { System.realloc(old, layout, bytes) }, bytes.saturating_sub(layout.size()))
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn unless_null(memory: *mut u8, asked: usize) -> *mut u8 {
    if memory.is_null() {
        end(asked as u64);
    }
    memory
}

/// Ends the program with a message, and without another allocation.
#[cold]
fn end(asked: u64) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    if ENDS.swap(true, Relaxed) {
        // Another thread tells it, and ends this one.
        loop {
            std::thread::park();
        }
    }
    let mut bytes = [0; 1024];
    let mut message = Cursor::new(&mut bytes[..]);
    // A longer message is cut.
    let _ = write!(message, "error: ");
    let doing = DOING.try_lock();
    let (what, remedy) = doing.as_deref().map_or(("", ""), |doing| (&doing.what, doing.remedy));
    if !what.is_empty() {
        let _ = write!(message, "{what}: ");
    }
    let _ = write!(message, "memory ran out when {} more were asked for; allow more by --memory", Size(asked));
    if !remedy.is_empty() {
        let _ = write!(message, ", or {remedy}");
    }
    let length = message.position() as usize;
    bytes[length.min(1023)] = b'\n';
    tell(&bytes[..length.min(1023) + 1]);
    exit(1)
}

/// Writes to the standard error, past its lock: a thread that waits for memory may have it.
#[cfg(unix)]
fn tell(message: &[u8]) {
    use std::os::fd::AsFd;
    if let Ok(error) = std::io::stderr().as_fd().try_clone_to_owned() {
        let _ = std::fs::File::from(error).write_all(message);
    }
}

#[cfg(not(unix))]
fn tell(message: &[u8]) {
    let _ = std::io::stderr().write_all(message);
}
