//! The example `shapes`, run as a person runs it.

mod program;
#[cfg(target_os = "linux")]
mod window;

// Its tests are in it.
#[allow(dead_code, reason = "the window, whose file this is, uses more of it")]
#[path = "../../examples/shapes/controls.rs"]
mod controls;

use std::process::Command;

/// The example, which Cargo builds beside the tests.
fn example() -> Command {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/shapes");
    assert!(path.exists(), "{} is not built: run `cargo build --example shapes` first", path.display());
    Command::new(path)
}
