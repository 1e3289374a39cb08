//! The check that sets of features compile: the features of a GPU bundle, and the features that
//! users choose.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::{capture, cargo};
use crate::report::Outcome;
use crate::{cuda_stub, gpu_bundle};

/// The arguments of `cargo clippy` that choose packages and features.
type Set = &'static [&'static str];

/// The sets that are always checked. In clippy's check of the whole workspace, packages get each
/// other's features; here they get only their own.
const SETS: [Set; 4] = [
    // The library is built without an engine, with either, and with both as most programs use it.
    &["-p", "warpnest", "--no-default-features"],
    &["-p", "warpnest", "--no-default-features", "--features", "cuda"],
    // `cargo run --example` compiles these: the library with the CPU engine, and with both engines.
    &["--examples"],
    &["--examples", "--features", "cuda"],
];

/// Further sets, each of which rarely fails alone.
const MORE: [Set; 20] = [
    &["-p", "warpnest", "--all-targets"],
    &["-p", "gpu-kernels", "--features", "cpu,precompiled-checks"],
    &["-p", "warpnest", "--features", "arrow"],
    &["-p", "warpnest", "--features", "cudarc"],
    &["-p", "warpnest", "--features", "cust"],
    &["-p", "warpnest", "--features", "cubins"],
    &["-p", "warpnest", "--features", "cuda,ptx-files"],
    &["-p", "warpnest", "--no-default-features", "--features", "arrow,cuda,cudarc"],
    &["-p", "warpnest", "--all-features"],
    &["-p", "gpu-kernels"],
    &["-p", "gpu-kernels", "--features", "checked"],
    &["-p", "warpnest-testing", "--all-targets"],
    &["-p", "warpnest-testing", "--features", "cuda"],
    &["-p", "warpnest-tests", "--features", "fuzz", "--example", "fuzz"],
    &["-p", "warpnest-python"],
    &["-p", "warpnest-bench", "--all-targets"],
    &["-p", "warpnest-bench", "--no-default-features", "--features", "cpu"],
    &["-p", "warpnest-groupby", "--example", "groupby", "--features", "cuda"],
    &["-p", "warpnest-join", "--example", "join", "--features", "cuda"],
    &["-p", "cargo-warpnest", "-p", "fake-cuda-driver", "-p", "ptx-tools", "-p", "warpnest-build", "--all-targets"],
];

/// The last arguments of every `cargo clippy`.
pub const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// Checks the usual sets, or all sets if `thorough` is true.
pub fn check(root: &Path, thorough: bool) -> Result<Outcome> {
    let stub = cuda_stub::make(root)?;
    let mut sets: Vec<Vec<&str>> = gpu_bundle::checks();
    sets.extend(SETS.iter().chain(MORE.iter().filter(|_| thorough)).map(|set| set.to_vec()));
    let mut text = String::new();
    for set in &sets {
        let start = Instant::now();
        // Packages that clippy has checked in the workspace with the same features are not checked
        // again.
        let mut clippy = cargo();
        clippy.arg("clippy").args(set).args(DENY).env(cuda_stub::VARIABLE, &stub).current_dir(root);
        capture(&mut clippy).with_context(|| format!("the features of {}", set.join(" ")))?;
        text += &format!("\n{:6.1} s  {}", start.elapsed().as_secs_f64(), set.join(" "));
    }
    Ok(Outcome::Passed(format!("{} sets{}", sets.len(), if thorough { &text } else { "" })))
}
