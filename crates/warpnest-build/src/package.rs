//! A package with kernels, and the crates that are compiled for the GPU with it, according to
//! `cargo metadata`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::process::{capture, cargo};
use crate::target::TRIPLE;

/// A package with kernels.
#[derive(Debug)]
pub struct Package {
    /// The package's name.
    pub name: String,
    /// The name of the package's library in Rust code.
    pub crate_name: String,
    /// The path of the package's manifest.
    pub manifest: PathBuf,
    /// The root folder of the package's workspace.
    pub workspace: PathBuf,
    /// Cargo's target folder.
    pub target_dir: PathBuf,
    /// The crates whose sources are local: the package itself and its path dependencies.
    pub local: Vec<LocalCrate>,
    /// The crates from registries and repositories: the name with the version, and the checksum or
    /// source.
    pub fetched: BTreeSet<(String, String)>,
}

/// A crate whose sources are in a folder.
#[derive(Debug)]
pub struct LocalCrate {
    /// The package's name.
    pub name: String,
    /// The settings in manifests that affect the compilation.
    pub settings: String,
    /// The path of the package's manifest.
    pub manifest: PathBuf,
    /// The folder of the library's sources.
    pub sources: PathBuf,
    /// The files and folders in `sources` that are not compiled for the GPU.
    pub host_only: Vec<PathBuf>,
    /// The build script, if there is one.
    pub build_script: Option<PathBuf>,
}

impl Package {
    /// Reads the package of a manifest through cargo.
    pub fn read(manifest: &Path) -> Result<Package> {
        // The path must be absolute, because commands run in other folders.
        let manifest = manifest.canonicalize().map_err(Error::io("read", manifest))?;
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1", "--filter-platform", TRIPLE, "--manifest-path"]);
        let folder = manifest.parent().unwrap_or(&manifest);
        let (json, _) = capture(command.arg(&manifest).current_dir(folder))?;
        let metadata: Value = serde_json::from_str(&json).map_err(|error| not_understood(error.to_string()))?;
        let lock = Path::new(text(&metadata, "workspace_root")?).join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(Error::io("read", &lock))?;
        Package::of_metadata(manifest, &metadata, &lock)
    }

    /// Parses the output of `cargo metadata` and the text of the lock file.
    fn of_metadata(manifest: PathBuf, metadata: &Value, lock: &str) -> Result<Package> {
        let Some(root) = metadata["resolve"]["root"].as_str() else { return Err(Error::NoPackage { manifest }) };
        let (mut local, mut fetched) = (Vec::new(), BTreeSet::new());
        let mut ids = vec![root];
        let mut seen = BTreeSet::from([root]);
        while let Some(id) = ids.pop() {
            let package = with_id(&metadata["packages"], id)?;
            let edges = normal_edges(with_id(&metadata["resolve"]["nodes"], id)?);
            ids.extend(edges.iter().filter(|&&edge| seen.insert(edge)));
            match package["source"].as_str() {
                None => local.push(LocalCrate::read(package, &edges, &metadata["packages"])?),
                Some(source) => {
                    let (name, version) = (text(package, "name")?, text(package, "version")?);
                    let fixed = checksum(lock, name, version).unwrap_or(source);
                    fetched.insert((format!("{name} {version}"), fixed.to_owned()));
                }
            }
        }
        local.sort_by(|a, b| a.name.cmp(&b.name));
        let package = with_id(&metadata["packages"], root)?;
        let name = text(package, "name")?.to_owned();
        let library = library(package).ok_or_else(|| Error::NoLibrary { package: name.clone() })?;
        Ok(Package {
            crate_name: text(library, "name")?.replace('-', "_"),
            name,
            manifest,
            workspace: text(metadata, "workspace_root")?.into(),
            target_dir: text(metadata, "target_directory")?.into(),
            local,
            fetched,
        })
    }

    /// Returns the folder of the package.
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(&self.manifest)
    }
}

impl LocalCrate {
    fn read(package: &Value, edges: &[&str], packages: &Value) -> Result<LocalCrate> {
        let name = text(package, "name")?.to_owned();
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let library = library(package).ok_or_else(|| Error::NoLibrary { package: name.clone() })?;
        let source = |target: &Value| Some(PathBuf::from(target["src_path"].as_str()?));
        let sources = source(library).and_then(|file| Some(file.parent()?.to_owned()));
        let sources = sources.ok_or_else(|| not_understood(format!("{name} has no source")))?;
        let of_kind = |kind| array(&package["targets"]).filter(move |target| target["kind"][0] == kind);
        // Programs, and files that the manifest names as host-only, are not compiled for the GPU.
        let mut host_only: Vec<PathBuf> = of_kind("bin").filter_map(source).collect();
        host_only.extend(named_host_only(package, &manifest)?);
        let build_script = of_kind("custom-build").find_map(source);
        let settings = settings(package, library, edges, packages)?;
        Ok(LocalCrate { name, settings, manifest, sources, host_only, build_script })
    }
}

/// Returns the files and folders that a manifest names as host-only.
fn named_host_only(package: &Value, manifest: &Path) -> Result<Vec<PathBuf>> {
    let named = &package["metadata"]["warpnest"]["host-only"];
    let refuse = || Error::HostOnly { manifest: manifest.to_owned() };
    if !named.is_array() && !named.is_null() {
        return Err(refuse());
    }
    array(named).map(|path| Ok(manifest.with_file_name(path.as_str().ok_or_else(refuse)?))).collect()
}

/// Returns the settings in manifests that affect a package's compilation: the edition, the features
/// that it declares, and the features that it enables in each dependency.
fn settings(package: &Value, library: &Value, edges: &[&str], packages: &Value) -> Result<String> {
    let mut lines = vec![format!("edition {}", text(library, "edition")?)];
    for (feature, enables) in package["features"].as_object().into_iter().flatten() {
        lines.push(format!("feature {feature} {enables}"));
    }
    for id in edges {
        let used = text(with_id(packages, id)?, "name")?;
        let declared = array(&package["dependencies"]).filter(|one| one["name"] == used && one["kind"].is_null());
        for one in declared {
            let [rename, features, default] =
                ["rename", "features", "uses_default_features"].map(|field| one[field].to_string());
            lines.push(format!("dependency {used} {rename} {features} {default}"));
        }
    }
    lines.sort();
    Ok(lines.join("\n"))
}

/// Returns the package ids of a node's normal dependencies in the resolved graph.
fn normal_edges(node: &Value) -> Vec<&str> {
    let normal = |edge: &&Value| array(&edge["dep_kinds"]).any(|kind| kind["kind"].is_null());
    array(&node["deps"]).filter(normal).filter_map(|edge| edge["pkg"].as_str()).collect()
}

/// Returns the library among a package's targets. A procedural macro counts as a library.
fn library(package: &Value) -> Option<&Value> {
    const KINDS: [&str; 6] = ["lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"];
    array(&package["targets"]).find(|target| KINDS.iter().any(|kind| target["kind"][0] == *kind))
}

/// Returns the checksum of a registry package in a lock file.
fn checksum<'l>(lock: &'l str, name: &str, version: &str) -> Option<&'l str> {
    let value = |block: &'l str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        line.strip_suffix('"')
    };
    let mut blocks = lock.split("[[package]]");
    let block = blocks.find(|block| value(block, "name") == Some(name) && value(block, "version") == Some(version))?;
    value(block, "checksum")
}

fn with_id<'v>(list: &'v Value, id: &str) -> Result<&'v Value> {
    array(list).find(|one| one["id"] == id).ok_or_else(|| not_understood(format!("there is no package {id}")))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str> {
    value[field].as_str().ok_or_else(|| not_understood(format!("there is no `{field}`")))
}

fn not_understood(problem: String) -> Error {
    Error::Answer { program: "cargo metadata", problem }
}

#[cfg(test)]
mod tests;
