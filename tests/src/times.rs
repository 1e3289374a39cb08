//! The CPU time of each test, which `cargo xtask check` compares with a limit.
//!
//! Each test has its own thread, and its measurement begins with its first call of this crate. The
//! time of other threads, such as a pool's, is not counted. When the process ends, the times are
//! written to a file of the program in the folder `test-times` of the target folder.

use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The CPU time in seconds and the name of each test that ended.
static ENDED: Mutex<Vec<(f64, String)>> = Mutex::new(Vec::new());

/// The name of a test, whose CPU time is read when its thread ends.
struct Watch(Option<String>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let (Some(name), Some(seconds)) = (self.0.take(), seconds()) {
            ENDED.lock().unwrap_or_else(PoisonError::into_inner).push((seconds, name));
        }
    }
}

/// Returns the CPU time of this thread in seconds. Only Linux provides it in a file.
fn seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Begins to measure the test of this thread. A test that runs on the main thread is not measured.
pub(crate) fn watch() {
    thread_local!(static WATCH: RefCell<Watch> = const { RefCell::new(Watch(None)) });
    let name = || std::thread::current().name().filter(|name| *name != "main").unwrap_or_default().to_owned();
    // While a thread ends, its measurement is no longer accessible.
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
