//! Where the workspace is, and what its packages offer.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{capture, cargo};

/// The workspace's root: the nearest folder, from the current one upwards, that holds `gpu-kernels`.
///
/// Found at run time and not baked in, since the binary of a GPU bundle runs on another machine.
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

/// The arguments that turn on `feature` in those of the workspace's packages that have it (of `among`, if not empty).
///
/// Asked of cargo, so that no list of packages has to be kept here. Empty if no package has the feature.
pub fn feature_args(root: &Path, feature: &str, among: &[&str]) -> Result<Vec<String>> {
    let (json, _) = capture(cargo().args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(root))?;
    let metadata = serde_json::from_str(&json).context("cargo metadata did not write JSON")?;
    let list = packages_with_feature(&metadata, feature, among);
    Ok(if list.is_empty() { vec![] } else { vec!["--features".into(), list.join(",")] })
}

fn packages_with_feature(metadata: &Value, feature: &str, among: &[&str]) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let names = packages.iter().filter(|p| p["features"].get(feature).is_some()).filter_map(|p| p["name"].as_str());
    names.filter(|name| among.is_empty() || among.contains(name)).map(|name| format!("{name}/{feature}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_taken_from_the_packages_that_have_them() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "features": {"cuda": [], "x": []}},
            {"name": "b", "features": {}},
            {"name": "c", "features": {"cuda": ["a/cuda"]}},
        ]});
        assert_eq!(packages_with_feature(&metadata, "cuda", &[]), ["a/cuda", "c/cuda"]);
        assert_eq!(packages_with_feature(&metadata, "cuda", &["b", "c"]), ["c/cuda"]);
        assert!(packages_with_feature(&metadata, "y", &[]).is_empty());
    }
}
