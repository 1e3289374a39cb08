//! The Python wheel, which is built, installed into a clean environment like a user's, and tested
//! there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::process::capture;
use crate::report::Outcome;
use crate::{build_cubins, gpu_bundle, workspace};

/// The folder of the Python package.
const PACKAGE: &str = "crates/warpnest-python";
/// The largest allowed size of a wheel, in bytes.
const MAX_BYTES: u64 = 15 << 20;
/// The largest wheel with machine code that is allowed, in bytes.
const MAX_BYTES_WITH_CUBINS: u64 = 20 << 20;
/// The longest allowed time from a wheel to the first answer, in seconds.
const MAX_SECONDS: f64 = 15.0;
/// How to get maturin.
const HOW_TO_GET_MATURIN: &str =
    "maturin not found: skipped; python3 -m venv target/python && target/python/bin/pip install 'maturin>=1.16,<2'";
/// The program for the first answer, including the `import`.
const FIRST_ANSWER: &str = "import numpy, warpnest as wn; print(len(wn.unique(numpy.array([3, 1, 3]))))";

/// Build the Python wheel.
///
/// The wheel is for every CPython since 3.10, on Linux x86-64, with and without a GPU. It is
/// written to target/wheel. maturin does the work, from a venv at target/python or from PATH.
#[derive(clap::Args)]
pub struct Args {
    /// Build machine code for common GPUs first, and put it into the wheel, as of one for users. It
    /// takes minutes, and needs ptxas.
    #[arg(long)]
    cubins: bool,
    /// Install the wheel into a clean environment and run the tests there.
    #[arg(long)]
    test: bool,
}

/// Runs `cargo xtask wheel`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let maturin = find(&root).context(HOW_TO_GET_MATURIN)?;
    if args.cubins {
        build_cubins::common(&root)?;
    }
    let features = if args.cubins { &["--features", "cubins"][..] } else { &[] };
    let wheel = build(&root, &maturin, "release", features)?;
    println!("{}", wheel.display());
    if args.test {
        let most = if args.cubins { MAX_BYTES_WITH_CUBINS } else { MAX_BYTES };
        println!("{}", tested(&root, &wheel, most)?);
    }
    Ok(())
}

/// Builds the wheel and tests it in a clean environment, unless there is no maturin. If `thorough`
/// is false, it is optimised less than a wheel for users.
pub fn check(root: &Path, thorough: bool) -> Result<Outcome> {
    let Some(maturin) = find(root) else { return Ok(Outcome::Skipped(HOW_TO_GET_MATURIN.into())) };
    let wheel = build(root, &maturin, if thorough { "release" } else { gpu_bundle::TESTS_PROFILE }, &[])?;
    Ok(Outcome::Passed(tested(root, &wheel, MAX_BYTES)?))
}

/// Returns the maturin of the venv, or else of PATH.
fn find(root: &Path) -> Option<PathBuf> {
    let of_venv = workspace::target_dir(root).join("python/bin/maturin");
    let works = |maturin: &Path| Command::new(maturin).arg("--version").output().is_ok_and(|out| out.status.success());
    [of_venv, PathBuf::from("maturin")].into_iter().find(|maturin| works(maturin))
}

/// Builds the wheel in a profile of the workspace, with the words for its features, and returns its
/// path.
fn build(root: &Path, maturin: &Path, profile: &str, features: &[&str]) -> Result<PathBuf> {
    let out = workspace::target_dir(root).join("wheel");
    // Wheels of an earlier version or another system are removed.
    let _ = fs::remove_dir_all(&out);
    let mut command = Command::new(maturin);
    command
        .args(["build", "--locked", "--profile", profile, "--out"])
        .arg(&out)
        .args(features)
        .current_dir(root.join(PACKAGE));
    capture(&mut command)?;
    let entries = fs::read_dir(&out).with_context(|| format!("cannot read {}", out.display()))?;
    let wheel =
        entries.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.with_context(|| format!("maturin left no wheel in {}", out.display()))
}

/// Installs a wheel of at most `most` bytes into a clean environment, runs a first program, checks
/// the sources' form and types, and runs all tests. Returns the size and the times.
fn tested(root: &Path, wheel: &Path, most: u64) -> Result<String> {
    let bytes = fs::metadata(wheel)?.len();
    ensure!(bytes <= most, "the wheel has {bytes} bytes, and at most {most} are allowed");
    let environment = workspace::target_dir(root).join("wheel-environment");
    capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let python = environment.join("bin/python");
    let install = |what: &str| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]);
        capture(&mut command)
    };
    let path = wheel.to_str().context("the wheel's path is no text")?;
    let start = Instant::now();
    install(path)?;
    // In the package's own folder Python would import the sources.
    let (answer, _) = capture(Command::new(&python).args(["-c", FIRST_ANSWER]).current_dir(&environment))?;
    let seconds = start.elapsed().as_secs_f64();
    ensure!(answer.trim() == "2", "the first answer is {answer:?}, and not 2");
    ensure!(
        seconds <= MAX_SECONDS,
        "from the wheel to the first answer it took {seconds:.1} s, and {MAX_SECONDS} s are allowed"
    );
    install(&format!("{path}[test]"))?;
    let package = root.join(PACKAGE);
    for words in
        [["ruff", "format", "--check"], ["ruff", "check", "--no-cache"], ["mypy", "--no-incremental", "python"]]
    {
        capture(Command::new(&python).arg("-m").args(words).current_dir(&package))?;
    }
    let tests = package.join("tests");
    let mut pytest = Command::new(&python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&tests).current_dir(&environment);
    let (printed, _) = capture(&mut pytest)?;
    let summary = printed.lines().last().unwrap_or_default().to_owned();
    Ok(format!("{:.1} MiB, {seconds:.1} s to the first answer; {summary}", bytes as f64 / (1 << 20) as f64))
}
