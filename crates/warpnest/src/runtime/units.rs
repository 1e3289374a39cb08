//! Units of work that several threads take one by one, until one fails.

use crate::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The units that no worker has taken yet, and the first error.
pub(crate) struct Units<I> {
    rest: Mutex<Option<I>>,
    failed: Mutex<Option<Error>>,
}

impl<I: Iterator + Send> Units<I> {
    pub(crate) fn new(units: I) -> Self {
        Self { rest: Mutex::new(Some(units)), failed: Mutex::default() }
    }

    /// Returns the next unit, or `None` if there are no more or a worker has failed.
    pub(crate) fn next(&self) -> Option<I::Item> {
        lock(&self.rest).as_mut()?.next()
    }

    /// Runs each worker on its own thread, and the first worker on this thread. Returns the first
    /// error.
    ///
    /// The threads are not rayon's. A rayon thread that waits for a worker could begin other work,
    /// which may need the memory that the waiting work holds.
    pub(crate) fn share<W: Send>(
        &self,
        workers: impl IntoIterator<Item = W>,
        work: impl Fn(W) -> Result<()> + Sync,
    ) -> Result<()> {
        let run = |worker: W| {
            if let Err(error) = work(worker) {
                *lock(&self.rest) = None;
                lock(&self.failed).get_or_insert(error);
            }
        };
        thread::scope(|scope| {
            let mut workers = workers.into_iter();
            let own = workers.next();
            for worker in workers {
                // If a thread cannot be created, the other workers do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, || run(worker));
            }
            own.map(run)
        });
        lock(&self.failed).take().map_or(Ok(()), Err)
    }
}

/// Locks a mutex, even if a thread that held it has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
