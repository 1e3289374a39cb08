//! The CPU time of each test, for a limit that `cargo xtask check` keeps.
//!
//! Each test has a thread, and what it asks of this crate first begins its watch. Time of other
//! threads, such as a pool's, is not counted. When the process ends, the times are written to a
//! file of the program in the folder `test-times` of the target folder.

use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The names and CPU times, in seconds, of the tests that ended.
static ENDED: Mutex<Vec<(f64, String)>> = Mutex::new(Vec::new());

/// The name of a test, whose time is read when its thread ends.
struct Watch(Option<String>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let (Some(name), Some(seconds)) = (self.0.take(), seconds()) {
            ENDED.lock().unwrap_or_else(PoisonError::into_inner).push((seconds, name));
        }
    }
}

/// Returns the CPU time of this thread. Only Linux tells it in a file.
fn seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Begins to watch the test of this thread. A test of the main thread has none of its own.
pub(crate) fn watch() {
    thread_local!(static WATCH: RefCell<Watch> = const { RefCell::new(Watch(None)) });
    let name = || std::thread::current().name().filter(|name| *name != "main").unwrap_or_default().to_owned();
    // A thread that ends has no watch any more.
    let _ = WATCH.try_with(|watch| _ = watch.borrow_mut().0.get_or_insert_with(name));
}

/// Writes the times of a program, the longest first.
pub(crate) fn write(path: &Path) -> std::io::Result<()> {
    let mut ended = std::mem::take(&mut *ENDED.lock().unwrap_or_else(PoisonError::into_inner));
    ended.retain(|(_, name)| !name.is_empty());
    ended.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut text = String::new();
    for (seconds, name) in ended {
        let _ = writeln!(text, "{seconds:.2} {name}");
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text)
}
