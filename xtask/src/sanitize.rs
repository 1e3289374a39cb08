//! `cargo xtask sanitize`: Miri, AddressSanitizer and ThreadSanitizer over the CPU engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use warpnest_build::compiler;

use crate::process::{capture, cargo};
use crate::report::{Outcome, Report};
use crate::workspace;

/// Run the CPU engine under Miri, AddressSanitizer and ThreadSanitizer.
///
/// They run crates/warpnest/tests/cpu_engine.rs, which has every operation of the library and thus
/// every kernel as CPU functions. The tests run on the CPU engine, and on eight threads that take
/// the blocks of even a small launch in random order.
///
/// AddressSanitizer needs the pinned toolchain as rustup installs it. ThreadSanitizer needs an
/// instrumented standard library, so it uses the kernels' compiler
/// (`cargo xtask build-ptx --help`), which has the library's source. Miri needs rustup's nightly.
///
/// A tool that is not installed is skipped with a line that says how to get it. The exit status is
/// not zero if a tool found an error, or if no tool could run.
#[derive(clap::Args)]
pub struct Args {
    /// The tools to run; by default all.
    #[arg(value_name = "TOOL")]
    tools: Vec<Tool>,
    /// Run only tests whose names contain one of these.
    #[arg(last = true)]
    names: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Tool {
    /// Undefined behaviour of any kind, with few items.
    Miri,
    /// AddressSanitizer: accesses outside of allocations, and after they were freed.
    Address,
    /// ThreadSanitizer: unordered accesses of two threads to one word without atomics, at least one
    /// of them a write.
    Thread,
}

/// The flags of Miri. It uses tree borrows and permissive provenance, because engines and rayon's
/// queues store addresses as integers.
///
/// rayon's threads run until the process ends, which would count as a leak.
const MIRI_FLAGS: &str =
    "-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-disable-isolation -Zmiri-ignore-leaks";
const NO_MIRI: &str = "rustup toolchain install nightly --component miri --component rust-src";
const NO_RUNTIME: &str = "the host's rustc has no runtime for it, rustup's have one: rustup toolchain install";
const NO_LIBRARY_SOURCE: &str = "no rustc with the source of its library: apt-get install rustc-web rust-web-src, \
    or rustup toolchain install nightly --component rust-src";

/// Runs `cargo xtask sanitize`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let mut report = Report::default();
    for tool in Tool::value_variants() {
        let left_out = !args.tools.is_empty() && !args.tools.contains(tool);
        match tool {
            Tool::Miri => report.step("Miri", left_out, || miri(&root, &args.names)),
            Tool::Address => report.step("AddressSanitizer", left_out, || address(&root, &args.names)),
            Tool::Thread => report.step("ThreadSanitizer", left_out, || thread(&root, &args.names)),
        }
    }
    ensure!(report.end() > 0, "nothing could run");
    Ok(())
}

fn miri(root: &Path, names: &[String]) -> Result<Outcome> {
    let nightly = || {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "miri"]);
        command
    };
    if capture(nightly().arg("--version")).is_err() {
        return Ok(Outcome::Skipped(NO_MIRI.into()));
    }
    let mut command = nightly();
    command.arg("test").env("MIRIFLAGS", MIRI_FLAGS);
    run_tests(command, root, names)
}

fn address(root: &Path, names: &[String]) -> Result<Outcome> {
    if runtime("rustc".as_ref(), "asan")?.is_none() {
        return Ok(Outcome::Skipped(NO_RUNTIME.into()));
    }
    let command = instrumented(root, "address", &["-Zsanitizer=address"])?;
    run_tests(command, root, names)
}

fn thread(root: &Path, names: &[String]) -> Result<Outcome> {
    let Ok(compiler) = compiler::find() else { return Ok(Outcome::Skipped(NO_LIBRARY_SOURCE.into())) };
    let mut flags = vec!["-Zsanitizer=thread".to_string()];
    if runtime(&compiler.rustc, "tsan")?.is_none() {
        // A distribution's rustc has no runtime. The host's rustc has one, of nearly the same LLVM,
        // which is good enough.
        let Some(runtime) = runtime("rustc".as_ref(), "tsan")? else { return Ok(Outcome::Skipped(NO_RUNTIME.into())) };
        flags.push("-Zexternal-clangrt".into());
        let arguments = ["-Wl,--whole-archive", &runtime.to_string_lossy(), "-Wl,--no-whole-archive"];
        flags.extend(arguments.map(|argument| format!("-Zpre-link-arg={argument}")));
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut command = instrumented(root, "thread", &flags)?;
    // The run stops at the first race, which says where it is.
    command.arg("-Zbuild-std").env("RUSTC", &compiler.rustc).env("TSAN_OPTIONS", "halt_on_error=1");
    run_tests(command, root, names)
}

/// Prepares `cargo test` with these flags of rustc, in a separate target folder, because other
/// flags compile everything again.
fn instrumented(root: &Path, name: &str, flags: &[&str]) -> Result<Command> {
    // If the target is named, even if it is this machine, the flags do not apply to procedural
    // macros.
    let (host, _) = capture(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let folder = workspace::target_dir(root).join("sanitize").join(name);
    let mut command = cargo();
    command.args(["test", "--target", host.trim(), "--target-dir"]).arg(folder);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    Ok(command)
}

/// Returns the runtime library of a sanitizer that is part of a rustc's installation.
fn runtime(rustc: &Path, name: &str) -> Result<Option<PathBuf>> {
    let (folder, _) = capture(Command::new(rustc).args(["--print", "target-libdir"]))?;
    let Ok(files) = fs::read_dir(folder.trim()) else { return Ok(None) };
    let end = format!("_rt.{name}.a");
    Ok(files.flatten().map(|file| file.path()).find(|path| path.to_string_lossy().ends_with(&end)))
}

/// Adds the tests to a `cargo test`, runs it, and says how many passed.
fn run_tests(mut command: Command, root: &Path, names: &[String]) -> Result<Outcome> {
    command.current_dir(root).args(["-p", "warpnest", "--test", "cpu_engine", "--"]).args(names);
    let (output, _) = capture(&mut command)?;
    let passed = passed(&output).context("cargo test did not say how many tests passed")?;
    ensure!(passed > 0, "no test has such a name");
    Ok(Outcome::Passed(format!("{passed} tests")))
}

/// Returns the count of passed tests in the test runner's last line.
fn passed(output: &str) -> Option<u32> {
    let line = output.lines().find_map(|line| line.strip_prefix("test result: ok. "))?;
    line.split_once(" passed")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tests_that_passed_is_read() {
        let line = "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out";
        assert_eq!(passed(&format!("\nrunning 9 tests\n\n{line}; finished in 1.50s\n")), Some(9));
        assert_eq!(passed("nothing\n"), None);
    }
}
