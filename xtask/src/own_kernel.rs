//! The example of a kernel of one's own: a whole crate outside of the workspace, tested and run as
//! whoever copies it does.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{capture, cargo};
use crate::workspace;

/// The crate's folder.
pub const FOLDER: &str = "docs/examples/own-kernel";
/// The page that tells how it is made, with what it prints.
const PAGE: &str = "docs/own-kernels.md";

/// Runs the example's tests on every engine, and compares what it prints with its page. Returns
/// what it printed.
pub fn check(root: &Path) -> Result<String> {
    let folder = root.join(FOLDER);
    // The versions that this workspace has fetched.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let target = workspace::target_dir(root).join("own-kernel");
    let in_folder = |words: &[&str]| -> Result<String> {
        let mut command: Command = cargo();
        command.args(words).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
        Ok(capture(&mut command)?.0)
    };
    in_folder(&["fmt", "--check"])?;
    in_folder(&["test", "--quiet", "--offline"])?;
    let printed = in_folder(&["run", "--quiet", "--offline"])?;
    let (_, answer) = printed.trim_end().split_once(": ").with_context(|| format!("it printed {printed:?}"))?;
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    ensure!(page.contains(answer), "{FOLDER} printed {answer:?}, which {PAGE} does not show");
    Ok(printed.trim_end().to_owned())
}
