//! Runs of other programs, with errors that show the command and its output.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Runs a command and returns its standard output and standard error. If the command fails, the
/// error contains both.
pub fn capture(command: &mut Command) -> Result<(String, String)> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Start { command: show(command), source })?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Error::Failed { command: show(command), status: output.status, output: stdout + &stderr });
    }
    Ok((stdout, stderr))
}

/// Returns the cargo that started this program (the pinned one), or else the cargo on PATH.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the command line. A shell could run it if no word contains a space.
pub fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_command_and_its_output() {
        let error = capture(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c") && error.contains("out\nerr") && error.contains('3'), "{error}");
        let error = capture(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.contains("cannot start `no-such-program`"), "{error}");
    }
}
