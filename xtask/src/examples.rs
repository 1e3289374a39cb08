//! The examples outside of the workspace: whole crates with their own kernels, tested and run like
//! users' copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{capture, cargo};
use crate::workspace;

/// A crate outside the workspace.
pub struct Example {
    /// The name of its folder in docs/examples.
    pub name: &'static str,
    /// The page that shows the example's output, between the device's name and a time.
    page: &'static str,
    /// Whether the program has the option `--output` for a file.
    draws: bool,
    /// Whether the example has kernels in Rust, which become PTX.
    pub has_ptx: bool,
}

/// All examples.
pub const ALL: [Example; 3] = [
    Example { name: "own-kernel", page: "docs/own-kernels.md", draws: false, has_ptx: true },
    Example { name: "raycast", page: "docs/own-kernels.md", draws: true, has_ptx: true },
    Example { name: "cpp-probe", page: "docs/own-kernels.md", draws: false, has_ptx: false },
];

impl Example {
    /// Returns the example's folder, in which Cargo then uses the versions that this workspace has
    /// fetched.
    pub fn folder(&self, root: &Path) -> Result<PathBuf> {
        let folder = root.join("docs/examples").join(self.name);
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
        Ok(folder)
    }

    /// Runs the tests on every engine, and compares the program's output with its page. Returns the
    /// output.
    fn check(&self, root: &Path) -> Result<String> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
        if !self.has_ptx && Command::new(&compiler).arg("--version").output().is_err() {
            return Ok(format!("{}: skipped, for there is no {compiler}", self.name));
        }
        let (folder, target) = (self.folder(root)?, workspace::target_dir(root).join("examples"));
        let in_folder = |words: &[&str]| -> Result<String> {
            let mut command: Command = cargo();
            command.args(words).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
            Ok(capture(&mut command)?.0)
        };
        in_folder(&["fmt", "--check"])?;
        in_folder(&["test", "--quiet", "--offline"])?;
        let picture = target.join("picture.png").display().to_string();
        // The program was built with the tests. `cargo run` alone would compile the library again
        // without the features that only tests need.
        let mut program = Command::new(target.join("debug").join(self.name));
        program.current_dir(&folder);
        if self.draws {
            program.args(["--output", &picture]);
        }
        let (printed, _) = capture(&mut program)?;
        let line = printed.lines().next().unwrap_or_default();
        let (_, answer) = line.split_once(": ").with_context(|| format!("{} printed {printed:?}", self.name))?;
        let answer = answer.split(" in ").next().unwrap_or(answer);
        let page = fs::read_to_string(root.join(self.page)).with_context(|| format!("cannot read {}", self.page))?;
        ensure!(page.contains(answer), "{} printed {answer:?}, which {} does not show", self.name, self.page);
        Ok(format!("{}: {answer}", self.name))
    }
}

/// Checks all examples, and returns their output.
pub fn check(root: &Path) -> Result<String> {
    let printed: Vec<String> = ALL.iter().map(|example| example.check(root)).collect::<Result<_>>()?;
    Ok(printed.join("; "))
}
