//! Tests of the program, which runs in its own process.

mod program;
#[cfg(target_os = "linux")]
mod window;

use warpnest_applications_shared::testing;

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("shapes", super::run);
}
