//! Whether this process was forked, which leaves threads and GPUs behind.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns whether this process was forked after a call. To ask for the process's id takes a call
/// of the system each time.
pub fn was_forked() -> bool {
    static IS_FORKED: AtomicBool = AtomicBool::new(false);
    static WATCHED: Once = Once::new();
    extern "C" fn in_child() {
        IS_FORKED.store(true, Ordering::Relaxed);
    }
    WATCHED.call_once(|| {
        // SAFETY: the function does what may be done in a process that was just forked: it stores.
        // It stays as long as the process, as modules of Python do.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    IS_FORKED.load(Ordering::Relaxed)
}
