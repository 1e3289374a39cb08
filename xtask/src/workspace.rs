//! The folder of the workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace's root: the nearest folder, from the current one upwards, that holds
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

/// Cargo's target folder for this workspace.
pub fn target_dir(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    }
}
