//! The distribution of tasks among the calling thread and the threads of rayon's pool.
//!
//! rayon's own iterators leave all tasks to the pool. The caller sleeps meanwhile, and must first
//! wake a thread, which takes longer than many launches. Where cores sleep, that takes 80 µs,
//! against 15 µs here (docs/cpu.md). So here the caller begins at once, and threads help as they
//! wake up. The caller does not wait for a thread that comes when no task is left.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// Runs the tasks 0 to `tasks - 1` on the caller and the threads of the pool, and waits for all.
pub(crate) fn share(tasks: u32, work: &(dyn Fn(u32) + Sync)) {
    let helpers = (rayon::current_num_threads() - 1).min(tasks.saturating_sub(1) as usize);
    if helpers == 0 {
        return (0..tasks).for_each(work);
    }
    // SAFETY: only the lifetime changes. `Shared::run` calls `work` only for tasks, and this
    // function does not return before all tasks have ended.
    let work = unsafe { std::mem::transmute::<&(dyn Fn(u32) + Sync), &'static (dyn Fn(u32) + Sync)>(work) };
    let shared = Arc::new(Shared {
        work,
        tasks,
        next: AtomicU32::new(0),
        active: AtomicUsize::new(0),
        invitations: AtomicUsize::new(helpers),
        panic: Mutex::default(),
        caller: thread::current(),
        waits: AtomicBool::new(false),
    });
    shared.invite();
    shared.run();
    shared.waits.store(true, SeqCst);
    while shared.active.load(SeqCst) != 0 {
        thread::park();
    }
    let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// The state that the threads share. A helper becomes active before it takes a task. Once all tasks
/// are taken and the caller sees no active helper, no other helper gets a task.
struct Shared {
    work: &'static (dyn Fn(u32) + Sync),
    tasks: u32,
    /// The first task that no thread has taken.
    next: AtomicU32,
    /// The count of helpers that may be running a task.
    active: AtomicUsize,
    /// The count of helpers that may still be invited.
    invitations: AtomicUsize,
    /// The payload of the last panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
    /// Whether the caller waits for helpers.
    waits: AtomicBool,
}

impl Shared {
    /// Invites one helper from the pool. Each helper invites two more, so no thread has to wake
    /// many.
    fn invite(self: &Arc<Self>) {
        let take = |left: usize| left.checked_sub(1);
        if self.next.load(SeqCst) < self.tasks && self.invitations.fetch_update(SeqCst, SeqCst, take).is_ok() {
            let shared = self.clone();
            rayon::spawn(move || shared.help());
        }
    }

    fn help(self: &Arc<Self>) {
        self.invite();
        self.invite();
        self.active.fetch_add(1, SeqCst);
        self.run();
        if self.active.fetch_sub(1, SeqCst) == 1 && self.waits.load(SeqCst) {
            self.caller.unpark();
        }
    }

    /// Runs tasks until none is left. A panic removes the others.
    fn run(&self) {
        let run = || {
            loop {
                let task = self.next.fetch_add(1, SeqCst);
                if task >= self.tasks {
                    return;
                }
                (self.work)(task);
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            self.next.store(self.tasks, SeqCst);
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            // The drop of the other payload could panic, and then the caller would wait forever.
            if let Some(other) = first.replace(panic) {
                mem::forget(other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use std::time::Duration;

    fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn every_task_runs_once_before_the_call_returns() {
        for threads in [1, 2, 3, 8] {
            for tasks in [0, 1, 2, 7, 64, 1000] {
                let counts: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
                let work = |task: u32| {
                    counts[task as usize].fetch_add(1, SeqCst);
                };
                for round in 1..20 {
                    in_pool(threads, || share(tasks, &work));
                    share(tasks, &work);
                    assert!(counts.iter().all(|count| count.load(SeqCst) == 2 * round), "{threads} {tasks}");
                }
            }
        }
    }

    #[test]
    fn a_helper_in_the_midst_of_a_task_is_waited_for() {
        in_pool(2, || {
            let (caller, done) = (thread::current().id(), AtomicU32::new(0));
            let work = |_: u32| {
                let is_caller = thread::current().id() == caller;
                thread::sleep(Duration::from_millis(if is_caller { 1 } else { 20 }));
                done.fetch_add(1, SeqCst);
            };
            for round in 1..5 {
                share(40, &work);
                assert_eq!(done.load(SeqCst), 40 * round);
            }
        });
    }

    #[test]
    fn calls_within_tasks_and_beside_each_other_end() {
        let sum = AtomicU32::new(0);
        let inner = |task: u32| {
            sum.fetch_add(task, SeqCst);
        };
        in_pool(3, || {
            share(10, &|_| share(10, &inner));
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| share(10, &inner)))));
        });
        assert_eq!(sum.into_inner(), 14 * 45);
    }

    #[test]
    fn a_panic_of_any_thread_is_the_callers_and_the_pool_goes_on() {
        for bad in [0, 1, 50, 99] {
            let caught = catch_unwind(|| in_pool(4, || share(100, &|task| assert_ne!(task, bad, "task {task}"))));
            let message = *caught.unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains(&format!("task {bad}")), "{message}");
        }
        share(10, &|_| ());
    }
}
