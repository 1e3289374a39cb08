//! A program outside the workspace, built as a user of the library builds one: from packages,
//! without this workspace's settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{capture, cargo};
use crate::{refused, workspace};

/// The path of the program.
const PROGRAM: &str = "docs/examples/first-map";
/// The packages that it needs, and the paths where its manifest finds them.
pub const PACKAGES: [(&str, &str); 2] =
    [("gpu-kernels", "../../../gpu-kernels"), ("warpnest", "../../../crates/warpnest")];
/// The texts that the licence of the packages asks to be passed on with them.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The variables by which a build could find CUDA, or be told which one.
const CUDA_VARIABLES: [&str; 7] = [
    "CUDA_HOME",
    "CUDA_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDARC_CUDA_VERSION",
    "RUSTFLAGS",
];

/// Packs the library, builds the program with it, and runs that, and has rustc refuse another one
/// ([`refused`]); returns what the program says of its device.
pub fn build_and_run(root: &Path) -> Result<String> {
    let folder = workspace::target_dir(root).join("outside");
    let packed = folder.join("package");
    let version = env!("CARGO_PKG_VERSION");
    let mut package = cargo();
    package.args(["package", "--no-verify", "--allow-dirty", "--exclude-lockfile", "--offline", "--target-dir"]);
    capture(package.arg(&folder).args(PACKAGES.iter().flat_map(|(name, _)| ["-p", name])).current_dir(root))?;

    let program = folder.join("program");
    fs::create_dir_all(program.join("src"))?;
    let mut manifest = fs::read_to_string(root.join(PROGRAM).join("Cargo.toml"))?;
    for (name, path) in PACKAGES {
        let unpacked = format!("{name}-{version}");
        let archive = packed.join(format!("{unpacked}.crate"));
        unpack_if_new(&archive, &folder, &unpacked)?;
        check_licences(root, &folder.join(&unpacked))?;
        ensure!(manifest.contains(path), "{PROGRAM}/Cargo.toml does not say where {name} is");
        manifest = manifest.replace(path, &format!("../{unpacked}"));
    }
    fs::write(program.join("Cargo.toml"), manifest)?;
    fs::copy(root.join(PROGRAM).join("src/main.rs"), program.join("src/main.rs"))?;
    // The versions that this workspace has fetched.
    fs::copy(root.join("Cargo.lock"), program.join("Cargo.lock"))?;

    let outside = |words: &[&str]| {
        let mut command = cargo();
        command
            .args(words)
            .args(["--quiet", "--offline", "--target-dir"])
            .arg(folder.join("target"))
            .current_dir(&program);
        for variable in CUDA_VARIABLES {
            command.env_remove(variable);
        }
        command
    };
    let (said, _) = capture(&mut outside(&["run"]))?;
    refused::check(&program, &mut outside(&["build"]))?;
    let device = said.lines().next().and_then(|line| line.strip_prefix("running on "));
    Ok(device.context("the program does not say where it runs")?.to_string())
}

/// Fails unless a package has the licences of the repository, whose texts packing does not look for
/// outside of the package's own folder.
fn check_licences(root: &Path, package: &Path) -> Result<()> {
    for name in LICENCES {
        let text = fs::read(root.join(name)).with_context(|| format!("the repository has no {name}"))?;
        let copy = fs::read(package.join(name)).with_context(|| format!("{} has no {name}", package.display()))?;
        ensure!(copy == text, "{}/{name} is not the repository's", package.display());
    }
    Ok(())
}

/// Unpacks an archive into `folder`, unless that has been done with the same archive.
fn unpack_if_new(archive: &Path, folder: &Path, unpacked: &str) -> Result<()> {
    let last = folder.join(format!("{unpacked}.crate"));
    let packed = fs::read(archive)?;
    if fs::read(&last).is_ok_and(|last| last == packed) {
        return Ok(());
    }
    // Otherwise files that a package no longer has would stay.
    let _ = fs::remove_dir_all(folder.join(unpacked));
    // With the time of now (`m`): archives have one time for all files, by which Cargo would take
    // changed ones for built already.
    capture(Command::new("tar").arg("-xzmf").arg(archive).arg("-C").arg(folder))?;
    fs::write(last, packed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at every member of the workspace whose manifest does not forbid publishing it.
    #[test]
    fn every_crate_that_can_be_published_has_the_licences() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let (_, members) = manifest.split_once("members = [").unwrap();
        let (members, _) = members.split_once(']').unwrap();
        let mut published = 0;
        let members = members.split(',').map(|member| member.trim().trim_matches('"'));
        let folders = members.flat_map(|member| match member.strip_suffix("/*") {
            Some(above) => fs::read_dir(root.join(above)).unwrap().map(|entry| entry.unwrap().path()).collect(),
            None => vec![root.join(member)],
        });
        for member in folders {
            if !fs::read_to_string(member.join("Cargo.toml")).unwrap().contains("publish = false") {
                check_licences(&root, &member).unwrap();
                published += 1;
            }
        }
        assert!(published >= PACKAGES.len(), "only {published} crates can be published");
    }
}
