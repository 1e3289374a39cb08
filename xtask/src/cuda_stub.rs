//! A folder that the build script of `cust` accepts as a CUDA toolkit. It has only a library to
//! link with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{capture, cargo};
use crate::workspace;

/// The variable by which that build script finds the folder.
pub const VARIABLE: &str = "CUDA_LIBRARY_PATH";

/// Makes the folder. Its library has every function of the driver that `cust` declares. A program
/// that is linked with it needs the real library of the same name to start.
pub fn make(root: &Path) -> Result<PathBuf> {
    let folder = workspace::target_dir(root).join("cuda-stub");
    let library = folder.join("lib64");
    fs::create_dir_all(&library)?;
    let (json, _) = capture(cargo().args(["metadata", "--format-version", "1", "--all-features"]).current_dir(root))?;
    let bindings = declarations(&serde_json::from_str(&json)?)?;
    let functions = functions(&bindings);
    ensure!(!functions.is_empty(), "cust_raw declares no functions");
    let source = folder.join("stub.c");
    let text: String = functions.iter().map(|name| format!("int {name}(void) {{ return 100; }}\n")).collect();
    fs::write(&source, text)?;
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-Wl,-soname,libcuda.so.1", "-o"]).arg(library.join("libcuda.so")).arg(&source);
    capture(&mut compile)?;
    Ok(folder)
}

/// Returns the text of `cust`'s bindings.
fn declarations(metadata: &Value) -> Result<String> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let bindings = packages.find(|package| package["name"] == "cust_raw").context("nothing depends on cust_raw")?;
    let manifest = bindings["manifest_path"].as_str().context("a package has a manifest")?;
    let sources = Path::new(manifest).with_file_name("src");
    let mut text = String::new();
    for file in fs::read_dir(&sources).with_context(|| format!("cannot read {}", sources.display()))? {
        text += &fs::read_to_string(file?.path())?;
    }
    Ok(text)
}

/// Returns the function names that begin with `cu`, each of which follows `pub fn`.
fn functions(text: &str) -> BTreeSet<&str> {
    let names =
        text.split("pub fn ").skip(1).filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
    names.filter(|name| name.starts_with("cu")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_bindings() {
        let text = "extern \"C\" {\n    pub fn cuInit(\n        Flags: u32,\n    ) -> CUresult;\n    pub fn cuMemAlloc_v2(a: u64);\n}\npub fn other() {}";
        assert_eq!(functions(text).into_iter().collect::<Vec<_>>(), ["cuInit", "cuMemAlloc_v2"]);
    }
}
