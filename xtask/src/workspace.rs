//! The folder of the workspace, and its packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The libraries that are published; each follows the libraries that it needs.
pub const LIBRARIES: [&str; 6] =
    ["gpu-kernels", "warpnest-macros", "warpnest", "ptx-tools", "warpnest-build", "warpnest-testing"];
/// The programs that are published after the libraries.
pub const PROGRAMS: [&str; 1] = ["cargo-warpnest"];

/// Returns the workspace's root: the current folder or the nearest folder above it that contains
/// `gpu-kernels`.
///
/// It is searched at run time and not fixed by the build, since the binary of a GPU bundle runs on
/// another machine.
pub fn root() -> Result<PathBuf> {
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => std::env::current_dir().context("cannot read the current folder")?,
    };
    let found = start.ancestors().find(|dir| dir.join("gpu-kernels/Cargo.toml").is_file());
    found.map(Path::to_path_buf).with_context(|| format!("{} is not inside the warpnest workspace", start.display()))
}

/// Returns Cargo's target folder for this workspace.
pub fn target_dir(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    }
}

/// Returns the files in `folder` and its subfolders, without Cargo's target folder.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if path.file_name().is_none_or(|name| name != "target") {
            files.extend(self::files(&path)?);
        }
    }
    files.sort();
    Ok(files)
}
