//! What `load` and the symbols do without a driver, with a broken one and with a fake one.
//!
//! A process loads a driver at most once, so each case runs in a process of its own: the test starts this executable
//! again with a folder of its making in front of the loader's path. That folder decides which `libcuda.so.1` is found,
//! so the tests do the same on a machine with an NVIDIA driver.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, ptr};

use cuda_lazy::{LoadError, NO_DEVICE, load};

/// Set in the processes that the tests start.
const CHILD: &str = "CUDA_LAZY_TEST_CHILD";

/// The declarations of `cust_raw`, as far as the tests use them.
mod sys {
    use super::{c_char, c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn cuInit(flags: c_uint) -> c_uint;
        pub(super) fn cuDeviceGetCount(count: *mut c_int) -> c_uint;
        pub(super) fn cuGetErrorString(code: c_uint, text: *mut *const c_char) -> c_uint;
        pub(super) fn cuLaunchKernel(
            function: *mut c_void,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            shared_bytes: c_uint,
            stream: *mut c_void,
            parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> c_uint;
    }
}

/// `cuInit` tells what it was given, `cuLaunchKernel` tells its last argument, which came over the stack.
const FAKE_DRIVER: &str = "
unsigned cuInit(unsigned flags) { return 4000 + flags; }
unsigned cuLaunchKernel(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned s,
    void *stream, void **parameters, unsigned *extra) { return *extra + s; }
";

/// A library that is no driver.
const OTHER_LIBRARY: &str = "int something_else(void) { return 1; }";

#[test]
fn without_a_driver_every_call_says_so() {
    let name = "without_a_driver_every_call_says_so";
    if !is_child() {
        // An empty file: the loader finds it before any real driver and refuses it.
        let folder = folder(name);
        fs::write(folder.join("libcuda.so.1"), "").expect("the empty library is written");
        return run_child(name, &folder);
    }
    assert_eq!(init(3), NO_DEVICE, "before load");
    let error = load().expect_err("an empty file is no driver");
    // The loader names the file; libloading's own words would be only that something failed.
    assert!(matches!(&error, LoadError::Open { message, .. } if message.contains("libcuda.so.1")), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("libcuda.so.1") && text.contains("install the NVIDIA driver"), "{text}");
    assert_eq!(load(), Err(error), "the second call gives the same answer");
    assert_eq!(init(3), NO_DEVICE, "after load");
    assert_eq!(device_count(), NO_DEVICE);
    assert_eq!(launch(7, 1), NO_DEVICE);
    assert_eq!(error_text(NO_DEVICE), "no CUDA driver is loaded");
}

#[test]
fn calls_reach_the_driver_once_it_is_loaded() {
    let name = "calls_reach_the_driver_once_it_is_loaded";
    if !is_child() {
        let folder = folder(name);
        compile(FAKE_DRIVER, &folder);
        return run_child(name, &folder);
    }
    assert_eq!(init(3), NO_DEVICE, "before load");
    assert_eq!(load(), Ok(()));
    assert_eq!(load(), Ok(()), "the second call gives the same answer");
    assert_eq!(init(3), 4003);
    assert_eq!(launch(7, 500), 507);
    assert_eq!(device_count(), NO_DEVICE, "the fake has no such function");
}

#[test]
fn a_library_without_the_drivers_functions_is_refused() {
    let name = "a_library_without_the_drivers_functions_is_refused";
    if !is_child() {
        let folder = folder(name);
        compile(OTHER_LIBRARY, &folder);
        return run_child(name, &folder);
    }
    let error = LoadError::NotADriver { library: "libcuda.so.1" };
    assert_eq!(load(), Err(error.clone()));
    assert_eq!(load(), Err(error));
    assert_eq!(init(3), NO_DEVICE);
}

#[test]
fn on_this_machine_load_gives_one_answer() {
    // Whether there is a driver here or not: nothing is asked of it.
    let first = load();
    assert!(matches!(first, Ok(()) | Err(LoadError::Open { .. })), "{first:?}");
    assert_eq!(load(), first);
}

fn init(flags: c_uint) -> c_uint {
    // SAFETY: the parameters are those of the driver's function, which the stub and the fake share.
    unsafe { sys::cuInit(flags) }
}

fn device_count() -> c_uint {
    let mut count = 0;
    // SAFETY: `count` may be written to.
    unsafe { sys::cuDeviceGetCount(&mut count) }
}

fn launch(shared_bytes: c_uint, mut extra: c_uint) -> c_uint {
    let null = ptr::null_mut();
    let extra = (&raw mut extra).cast();
    // SAFETY: the stub reads nothing, and the fake reads one number through the last argument, which is there.
    unsafe { sys::cuLaunchKernel(null, 1, 1, 1, 1, 1, 1, shared_bytes, null, null.cast(), extra) }
}

fn error_text(code: c_uint) -> String {
    let mut text = ptr::null();
    // SAFETY: `text` may be written to.
    let result = unsafe { sys::cuGetErrorString(code, &mut text) };
    assert_eq!(result, 0);
    assert!(!text.is_null());
    // SAFETY: the call succeeded, so `text` is a string that lives as long as the process.
    unsafe { CStr::from_ptr(text) }.to_str().expect("the text is ASCII").to_owned()
}

fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-lazy-{test}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can be removed");
    }
    fs::create_dir_all(&folder).expect("the test's folder can be made");
    folder
}

/// Makes the `libcuda.so.1` of `folder` from C source.
fn compile(source: &str, folder: &Path) {
    let file = folder.join("libcuda.c");
    fs::write(&file, source).expect("the source is written");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(&file)
        .status()
        .unwrap_or_else(|error| panic!("this test needs a C compiler, and `cc` does not start: {error}"));
    assert!(status.success(), "`cc` could not build the fake driver: {status}");
}

/// Runs one test of this executable again, as a child that finds the libraries of `folder` first.
fn run_child(test: &str, folder: &Path) {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(rest);
    }
    let output = Command::new(env::current_exe().expect("the test knows its executable"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", path)
        .output()
        .expect("the test's executable starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "the child failed: {}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
