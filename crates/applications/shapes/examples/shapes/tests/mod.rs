//! The program, run as a person runs it: in a process of its own.

mod program;
#[cfg(target_os = "linux")]
mod window;

use warpnest_applications_shared::testing;

/// Is the program where a test started it, and does nothing otherwise.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("shapes", super::run);
}
