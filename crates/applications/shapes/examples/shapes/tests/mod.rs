//! The program, run as a person runs it: in a process of its own.

mod program;
#[cfg(target_os = "linux")]
mod window;

use std::process::{Command, exit};

/// The variable with the program's arguments, one a line.
const ARGUMENTS: &str = "WARPNEST_SHAPES_ARGUMENTS";

/// Returns the program with these arguments: this binary, which is compiled of the same files.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::run_as_a_program", "--nocapture"]).env(ARGUMENTS, arguments.join("\n"));
    command
}

/// Is the program where [`program`] started it, and does nothing otherwise.
#[test]
fn run_as_a_program() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let succeeds = super::succeeds(["shapes"].into_iter().chain(arguments.lines()));
    exit(if succeeds { 0 } else { 1 });
}
