//! A limit of time for calls that may never end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A thread that ends the process if a case exceeds the limit, since nothing else can.
#[derive(Debug)]
pub struct Watch {
    case: Arc<Mutex<Option<(Instant, String)>>>,
}

impl Watch {
    /// Begins to watch; `kept` is the file with the case, if there is one.
    pub fn begin(limit: Duration, kept: Option<PathBuf>) -> Self {
        let case = Arc::new(Mutex::new(None::<(Instant, String)>));
        let watched = Arc::downgrade(&case);
        std::thread::spawn(move || {
            // The thread ends when the `Watch` is dropped.
            while let Some(case) = watched.upgrade() {
                if let Some((began, name)) = &*case.lock().unwrap_or_else(PoisonError::into_inner)
                    && began.elapsed() > limit
                {
                    let kept = kept.as_ref().map_or(String::new(), |kept| format!("; the file is {}", kept.display()));
                    eprintln!("error: {name}: no end after {} s{kept}", limit.as_secs());
                    std::process::exit(1);
                }
                drop(case);
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self { case }
    }

    /// Runs a case of this name, and returns its result and its duration.
    pub fn over<T>(&self, name: &str, case: impl FnOnce() -> T) -> (T, Duration) {
        let set = |to| *self.case.lock().unwrap_or_else(PoisonError::into_inner) = to;
        let began = Instant::now();
        set(Some((began, name.to_owned())));
        let result = case();
        set(None);
        (result, began.elapsed())
    }
}
