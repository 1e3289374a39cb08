//! An allocator that ends the program with a message when memory runs out, instead of aborting.

use crate::memory::DOING;
use crate::size::Size;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The system's allocator, which ends the program with a message if no memory is left.
///
/// Readers of files return errors for needs that they foresee. This allocator is for all others,
/// such as tables of other crates, whose growth nobody can refuse.
#[derive(Clone, Copy, Debug)]
pub struct Ending;

// SAFETY: all memory comes from the system's allocator and is returned to it.
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds `alloc`'s contract.
        unless_null(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds `alloc_zeroed`'s contract.
        unless_null(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller upholds `realloc`'s contract.
        unless_null(unsafe { System.realloc(old, layout, bytes) }, bytes.saturating_sub(layout.size()))
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds `dealloc`'s contract.
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

/// Ends the program with a message, without allocating memory for it.
#[cold]
fn end(asked: u64) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    if ENDS.swap(true, Relaxed) {
        // Another thread prints the message and ends the process.
        loop {
            std::thread::park();
        }
    }
    let mut bytes = [0; 1024];
    let mut message = Cursor::new(&mut bytes[..]);
    // A longer message is truncated.
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

/// Writes to the standard error without its lock, which a thread that waits for memory may hold.
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
