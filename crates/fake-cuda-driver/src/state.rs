//! The state of the driver: its devices, the counts of calls, and the faults that are planted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::answer::{Answer, code};
use crate::context::Context;
use crate::{CAPABILITIES, ONLY_BY_NAME};

/// A planted fault that has not occurred yet.
pub(crate) struct Planted {
    /// The function that fails, or `None` for any function.
    pub call: Option<String>,
    /// The count of the function's calls that still succeed before the fault.
    pub before: u64,
    /// The result code that the failing call returns.
    pub code: u32,
    /// Whether the fault loses the context.
    pub sticky: bool,
    /// Whether all later calls of the function fail, too.
    pub lasts: bool,
}

#[derive(Default)]
pub(crate) struct Device {
    /// The primary context, while it is retained.
    pub primary: Option<Context>,
    pub retained: u32,
}

#[derive(Default)]
pub(crate) struct State {
    pub devices: [Device; CAPABILITIES.len()],
    pub calls: BTreeMap<&'static str, u64>,
    pub planted: Vec<Planted>,
    pub violations: Vec<String>,
    /// Whether work is deferred until a call waits for it.
    pub deferred: bool,
    handles: usize,
}

thread_local! {
    /// This thread's stack of contexts, with the current context last.
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Returns the context that is current on this thread, or 0.
pub(crate) fn current() -> usize {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Sets the current context like `cuCtxSetCurrent`: replaces the top of the stack, or removes it if
/// `context` is 0.
pub(crate) fn set_current(context: usize) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
}

pub(crate) fn state() -> MutexGuard<'static, State> {
    static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Returns a new handle, which differs from all earlier handles.
    pub fn handle(&mut self) -> usize {
        self.handles += 1;
        0x10_0000 * self.handles
    }

    /// Records a violation of the driver's rules.
    pub fn violation<T>(&mut self, call: &str, what: &str, code: u32) -> Answer<T> {
        self.violations.push(format!("{call}: {what}"));
        Err(code)
    }

    /// Counts a call, and fails if a fault was planted for it.
    pub fn count(&mut self, call: &'static str) -> Answer {
        *self.calls.entry(call).or_default() += 1;
        self.faults(call)
    }

    /// Fails with the code of a fault that was planted for this call.
    pub fn faults(&mut self, call: &str) -> Answer {
        let any = !ONLY_BY_NAME.contains(&call);
        let meant = |fault: &Planted| fault.call.as_deref().map_or(any, |name| name == call);
        let mut due = None;
        for (at, fault) in self.planted.iter_mut().enumerate().filter(|(_, fault)| meant(fault)) {
            if fault.before > 0 {
                fault.before -= 1;
            } else if due.is_none() {
                due = Some((at, fault.code, fault.sticky, fault.lasts));
            }
        }
        let Some((at, code, sticky, lasts)) = due else { return Ok(()) };
        if !lasts {
            self.planted.remove(at);
        }
        if sticky && let Ok(context) = self.context() {
            context.lost = code;
        }
        Err(code)
    }

    /// Returns the context that is current on this thread.
    pub fn context(&mut self) -> Answer<&mut Context> {
        let handle = current();
        let contexts = self.devices.iter_mut().filter_map(|device| device.primary.as_mut());
        contexts.into_iter().find(|context| context.handle == handle).ok_or(code::INVALID_CONTEXT)
    }

    /// Returns the context that is current on this thread, and fails if it is lost.
    pub fn working(&mut self, call: &str) -> Answer<&mut Context> {
        if self.context().is_err() {
            return self.violation(call, "no context of this driver is current", code::INVALID_CONTEXT);
        }
        let context = self.context()?;
        if context.lost == 0 { Ok(context) } else { Err(context.lost) }
    }
}
