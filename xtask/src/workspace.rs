//! The folder of the workspace, and its packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The libraries that are published, each after those that it needs.
pub const LIBRARIES: [&str; 6] =
    ["gpu-kernels", "warpnest-macros", "warpnest", "ptx-tools", "warpnest-build", "warpnest-testing"];
/// The programs that are published after them.
pub const PROGRAMS: [&str; 1] = ["cargo-warpnest"];

/// Returns the workspace's root: the nearest folder, from the current one upwards, that holds
/// `gpu-kernels`.
///
/// It is found at run time and not baked in, since the binary of a GPU bundle runs on another
/// machine.
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

/// Returns the files in `folder` and below, without Cargo's target folder.
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
