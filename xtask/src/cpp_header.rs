//! The check that nvcc can compile the header for CUDA C++.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use warpnest_build::ptxas;

use crate::process::capture;
use crate::report::Outcome;
use crate::workspace;

/// How to get nvcc without a CUDA toolkit.
const HOW_TO_GET_NVCC: &str = "nvcc not found: skipped; pip install --no-deps 'nvidia-cuda-nvcc<14' 'nvidia-nvvm<14' \
    'nvidia-cuda-crt<14' 'nvidia-cuda-runtime<14' into a venv at target/ptxas, or put a toolkit's on PATH";

/// Returns an nvcc that is installed with its compiler, if there is one.
fn find(root: &Path) -> Option<PathBuf> {
    let has_compiler = |bin: &PathBuf| bin.join("nvcc").is_file() && bin.join("../nvvm/bin/cicc").is_file();
    ptxas::folders(&workspace::target_dir(root)).into_iter().find(has_compiler).map(|bin| bin.join("nvcc"))
}

/// Compiles kernels that query every kind of table through the header, for the oldest GPU and for
/// Hopper.
pub fn check(root: &Path) -> Result<Outcome> {
    let Some(nvcc) = find(root) else { return Ok(Outcome::Skipped(HOW_TO_GET_NVCC.into())) };
    for cpu in ["sm_75", "sm_90"] {
        let mut command = Command::new(&nvcc);
        command.args(["-std=c++17", "-O3", "-Werror", "all-warnings", "-c", "-o", "/dev/null"]);
        command.arg(format!("-arch={cpu}")).arg("-I").arg(root.join("crates/warpnest/include"));
        capture(command.arg(root.join("tests/tests/cpp/kernels.cu")))?;
    }
    Ok(Outcome::Passed(String::new()))
}
