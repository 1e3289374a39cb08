//! The controls for tests: functions that the driver exports besides NVIDIA's functions, and a
//! handle that calls them.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

use libloading::Library;

use crate::state::{Planted, State, current, set_current, state};
use crate::stream::Graph;

/// A fault that a test plants.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'c> {
    /// The exported name of the driver function that fails. If it is `None`, any function outside
    /// of [`ONLY_BY_NAME`](crate::ONLY_BY_NAME) fails.
    pub call: Option<&'c str>,
    /// The count of the function's calls that succeed before the fault.
    pub before: u64,
    /// The result code that the failing call returns.
    pub code: u32,
    /// Whether the fault loses the context, so that every later call in the context returns the
    /// same code.
    pub sticky: bool,
    /// Whether all later calls of the function fail, too.
    pub lasts: bool,
}

impl Fault<'static> {
    /// Returns a fault that lets `before` calls succeed and makes the next call fail.
    pub fn after(before: u64, code: u32) -> Self {
        Fault { call: None, before, code, sticky: false, lasts: false }
    }
}

impl<'c> Fault<'c> {
    /// Returns a fault that makes the next call of a function fail.
    pub fn next(call: &'c str, code: u32) -> Self {
        Fault { call: Some(call), before: 0, code, sticky: false, lasts: false }
    }

    /// Moves the fault so that `before` calls of the function succeed first.
    pub fn skipping(self, before: u64) -> Self {
        Fault { before, ..self }
    }

    /// Makes the fault lose the context.
    pub fn sticky(self) -> Self {
        Fault { sticky: true, ..self }
    }

    /// Makes all later calls of the function fail, too.
    pub fn lasting(self) -> Self {
        Fault { lasts: true, ..self }
    }
}

/// The counts of resources that a device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Held {
    /// The count of times that the primary context is retained.
    pub retained: usize,
    /// The count of allocations, including page-locked ones.
    pub allocations: usize,
    /// The count of modules.
    pub modules: usize,
    /// The count of streams, without the default stream.
    pub streams: usize,
    /// The count of events.
    pub events: usize,
    /// The count of graphs.
    pub graphs: usize,
}

/// The fake driver, open in this process.
#[derive(Debug)]
pub struct FakeDriver {
    library: Library,
}

impl FakeDriver {
    /// Opens the driver. From now on, the dynamic loader finds it under the name of NVIDIA's
    /// driver.
    ///
    /// # Panics
    /// Panics if the library is not beside the running test, where cargo puts it.
    pub fn open() -> Self {
        let test = std::env::current_exe().expect("the test is a file");
        let beside = |folder: &std::path::Path| -> PathBuf { folder.join("libfake_cuda_driver.so") };
        let found = test.ancestors().skip(1).take(2).map(beside).find(|path| path.is_file());
        let path = found.expect("cargo built the driver beside the test");
        // SAFETY: loading the library runs no code.
        let library = unsafe { Library::new(path) }.expect("the driver can be loaded");
        Self { library }
    }

    fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: each caller below names the type that this file declares for the function.
        unsafe { *self.library.get(name).expect("the driver exports it") }
    }

    /// Captures a stream of the current context into a graph, as another library does. These calls
    /// neither count nor fail.
    pub fn capture(&self, stream: *mut c_void) {
        let capture: extern "C" fn(usize) = self.function("fake_capture");
        capture(stream.addr());
    }

    /// Ends the capture of a stream, and returns the graph.
    pub fn end_capture(&self, stream: *mut c_void) -> usize {
        let end: extern "C" fn(usize) -> usize = self.function("fake_end_capture");
        end(stream.addr())
    }

    /// Launches a graph on a stream of the current context.
    pub fn launch(&self, graph: usize, stream: *mut c_void) {
        let launch: extern "C" fn(usize, usize) = self.function("fake_launch");
        launch(graph, stream.addr());
    }

    /// Destroys a graph.
    pub fn destroy(&self, graph: usize) {
        let destroy: extern "C" fn(usize) = self.function("fake_destroy");
        destroy(graph);
    }

    /// Plants a fault.
    pub fn plant(&self, fault: Fault) {
        let call = fault.call.map(|call| CString::new(call).expect("no zero byte"));
        let name = call.as_ref().map_or(std::ptr::null(), |call| call.as_ptr());
        let plant: unsafe extern "C" fn(*const c_char, u64, u32, bool, bool) = self.function("fake_plant");
        // SAFETY: the name ends with a zero byte.
        unsafe { plant(name, fault.before, fault.code, fault.sticky, fault.lasts) };
    }

    /// Removes the faults that have not occurred. Returns whether there were any.
    pub fn clear(&self) -> bool {
        let clear: extern "C" fn() -> bool = self.function("fake_clear");
        clear()
    }

    /// Chooses whether queued work is deferred until a call waits for it, or is done at once.
    pub fn defer(&self, deferred: bool) {
        let defer: extern "C" fn(bool) = self.function("fake_defer");
        defer(deferred);
    }

    /// Returns the count of calls of a function.
    pub fn calls(&self, call: &str) -> u64 {
        let name = CString::new(call).expect("no zero byte");
        let calls: unsafe extern "C" fn(*const c_char) -> u64 = self.function("fake_calls");
        // SAFETY: the name ends with a zero byte.
        unsafe { calls(name.as_ptr()) }
    }

    /// Returns the count of all calls.
    pub fn all_calls(&self) -> u64 {
        let calls: unsafe extern "C" fn(*const c_char) -> u64 = self.function("fake_calls");
        // SAFETY: null is allowed, and stands for all functions.
        unsafe { calls(std::ptr::null()) }
    }

    /// Returns the count of calls in which a fault without a name can occur.
    pub fn working_calls(&self) -> u64 {
        self.all_calls() - crate::ONLY_BY_NAME.iter().map(|call| self.calls(call)).sum::<u64>()
    }

    /// Returns the violations of the driver's rules, and removes them.
    pub fn violations(&self) -> Vec<String> {
        let next: extern "C" fn(*mut u8, usize) -> usize = self.function("fake_violation");
        let mut text = [0; 512];
        std::iter::from_fn(|| {
            let length = next(text.as_mut_ptr(), text.len());
            (length > 0).then(|| String::from_utf8_lossy(&text[..length]).into_owned())
        })
        .collect()
    }

    /// Returns the counts of resources that a device holds.
    pub fn held(&self, device: usize) -> Held {
        let held: extern "C" fn(usize) -> Held = self.function("fake_held");
        held(device)
    }

    /// Returns the context that is current on this thread, or 0.
    pub fn current(&self) -> usize {
        let current: extern "C" fn() -> usize = self.function("fake_current");
        current()
    }

    /// Makes a context current on this thread, or none if `context` is 0. It need not be a context
    /// of this driver.
    pub fn set_current(&self, context: usize) {
        let set_current: extern "C" fn(usize) = self.function("fake_set_current");
        set_current(context);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fake_plant(call: *const c_char, before: u64, code: u32, sticky: bool, lasts: bool) {
    // SAFETY: the caller's name is null or ends with a zero byte.
    let call = (!call.is_null()).then(|| unsafe { CStr::from_ptr(call) }.to_string_lossy().into_owned());
    state().planted.push(Planted { call, before, code, sticky, lasts });
}

#[unsafe(no_mangle)]
extern "C" fn fake_clear() -> bool {
    !std::mem::take(&mut state().planted).is_empty()
}

#[unsafe(no_mangle)]
extern "C" fn fake_defer(deferred: bool) {
    state().deferred = deferred;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fake_calls(call: *const c_char) -> u64 {
    let State { calls, .. } = &*state();
    if call.is_null() {
        return calls.values().sum();
    }
    // SAFETY: the caller's name ends with a zero byte.
    let name = unsafe { CStr::from_ptr(call) }.to_string_lossy();
    calls.get(&*name).copied().unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn fake_violation(text: *mut u8, capacity: usize) -> usize {
    let Some(violation) = state().violations.pop() else { return 0 };
    let length = violation.len().min(capacity);
    // SAFETY: the caller's buffer has `capacity` bytes.
    unsafe { text.copy_from_nonoverlapping(violation.as_ptr(), length) };
    length
}

#[unsafe(no_mangle)]
extern "C" fn fake_held(device: usize) -> Held {
    let state = state();
    let device = &state.devices[device];
    let retained = device.retained as usize;
    device.primary.as_ref().map_or(Held::default(), |context| Held {
        retained,
        allocations: context.memory.len() + context.pinned.len(),
        modules: context.modules.len(),
        streams: context.streams.len() - 1,
        events: context.events.values().filter(|event| !event.destroyed).count(),
        graphs: context.graphs.len(),
    })
}

#[unsafe(no_mangle)]
extern "C" fn fake_capture(stream: usize) {
    let mut state = state();
    let graph = state.handle();
    let context = state.context().expect("a context is current");
    context.graphs.insert(graph, Graph::default());
    context.streams.get_mut(&stream).expect("the stream lives").captured = Some(graph);
}

#[unsafe(no_mangle)]
extern "C" fn fake_end_capture(stream: usize) -> usize {
    let mut state = state();
    let context = state.context().expect("a context is current");
    context.streams.get_mut(&stream).and_then(|stream| stream.captured.take()).expect("the stream is captured")
}

#[unsafe(no_mangle)]
extern "C" fn fake_launch(graph: usize, stream: usize) {
    let mut state = state();
    let work = state.context().expect("a context is current").graphs[&graph].work.clone();
    for step in work {
        state.queue("a launch of a graph", stream, step).expect("the stream lives");
    }
}

#[unsafe(no_mangle)]
extern "C" fn fake_destroy(graph: usize) {
    let mut state = state();
    let contexts = state.devices.iter_mut().filter_map(|device| device.primary.as_mut());
    for context in contexts {
        context.destroy(graph);
    }
}

#[unsafe(no_mangle)]
extern "C" fn fake_current() -> usize {
    current()
}

#[unsafe(no_mangle)]
extern "C" fn fake_set_current(context: usize) {
    set_current(context);
}
