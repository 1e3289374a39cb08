//! Files with the driver's name that are no driver. These tests do not run if `cust` is linked,
//! because the system's loader then needs the driver before the program starts.

use std::path::Path;
use std::process::Command;
use warpnest::Device;

/// The environment variable with the expected reason for refusing the device. It is set in the
/// processes that a test starts.
const CHILD: &str = "WARPNEST_TEST_REFUSAL";

/// Runs a test again in a new process, which finds `library` under the driver's name before any
/// driver. A loaded library stays loaded, so each process tries only one.
fn in_a_process_that_finds(library: impl AsRef<[u8]>, test: &str, refusal: &str) {
    let folder = std::env::temp_dir().join(format!("warpnest-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libcuda.so.1"), library).unwrap();
    let mut folders = vec![folder.clone()];
    folders.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("runtime::refusals::{test}"), "--nocapture"]).env(CHILD, refusal);
    let output = child.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap()).output().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns whether a test started this process. If so, checks that the library was refused, twice
/// with the same error, and that the best device is the CPU.
fn was_refused() -> bool {
    let Ok(refusal) = std::env::var(CHILD) else { return false };
    let error = Device::cuda(0).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("libcuda.so.1") && text.contains(&refusal), "{text}");
    assert_eq!(Device::cuda(0).unwrap_err(), error);
    assert_eq!(Device::best().unwrap().fallback_reason(), Some(&*text));
    true
}

#[test]
fn a_driver_that_cannot_be_opened_is_refused() {
    if !was_refused() {
        let test = "a_driver_that_cannot_be_opened_is_refused";
        // The error contains the loader's reason and the advice.
        in_a_process_that_finds("", test, "too short); install the driver");
    }
}

#[test]
fn a_library_without_the_drivers_functions_is_refused() {
    if !was_refused() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).map(Path::new);
        let other = files.find(|file| file.ends_with("libgcc_s.so.1")).expect("Rust programs unwind with it");
        let test = "a_library_without_the_drivers_functions_is_refused";
        in_a_process_that_finds(std::fs::read(other).unwrap(), test, "is no driver, or one that is too old");
    }
}
