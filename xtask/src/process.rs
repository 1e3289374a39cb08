//! Running other programs, with errors that show the command.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use warpnest_build::process::show;
pub use warpnest_build::process::{capture, cargo};

/// Runs a command whose progress the user should see; its standard output is ours.
pub fn run(command: &mut Command) -> Result<()> {
    let line = show(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
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
