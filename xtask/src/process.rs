//! Running other programs, with errors that show the command and its output.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command whose progress the user should see; its standard output goes where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let line = show(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns what it wrote: (standard output, standard error). If it fails, both
/// are in the error.
pub fn capture(command: &mut Command) -> Result<(String, String)> {
    let line = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{line}`"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("`{line}` failed ({})\n{stdout}{stderr}", output.status);
    }
    Ok((stdout, stderr))
}

/// Runs a command whose progress the user should see, and returns its standard output.
pub fn stdout_of(command: &mut Command) -> Result<String> {
    let line = show(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the cargo that started us (the pinned one), or the one on PATH when xtask was started by
/// hand.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn show(command: &Command) -> String {
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
        let error = format!("{:#}", capture(&mut Command::new("no-such-program")).unwrap_err());
        assert!(error.contains("cannot start `no-such-program`"), "{error}");
    }
}
