//! The digest that ties a PTX file to the sources from which it was built.
//!
//! It covers the sources of the package and of all its path dependencies, and the features and
//! dependencies in their manifests. It also covers the versions and checksums of fetched packages,
//! the profile, and the flags. The compiler's version is not in it, but is recorded beside it.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::package::{LocalCrate, Package};
use crate::target::{PROFILE_SETTINGS, Target};

/// Returns the digest of a package's sources for a target, in hexadecimal.
pub fn of_package(package: &Package, target: &Target) -> Result<String> {
    let mut parts = Vec::new();
    for one in &package.local {
        parts.push((format!("{} [settings]", one.name), one.settings.clone().into_bytes()));
        for (name, path) in files(one)? {
            parts.push((name, fs::read(&path).map_err(Error::io("read", &path))?));
        }
    }
    parts.extend(package.fetched.iter().map(|(name, fixed)| (name.clone(), fixed.clone().into_bytes())));
    parts.push(("[profile]".into(), PROFILE_SETTINGS.join("\n").into_bytes()));
    parts.push(("[flags]".into(), target.flags().join("\n").into_bytes()));
    // The parts are sorted by name, because the order of files in a folder differs between
    // machines.
    parts.sort();
    Ok(hash(&parts))
}

/// Returns the files and folders that [`of_package`] and `cargo metadata` read.
pub fn sources(package: &Package) -> Vec<PathBuf> {
    let of_crate = |one: &LocalCrate| {
        [one.manifest.clone(), one.sources.clone()].into_iter().chain(one.build_script.clone()).collect::<Vec<_>>()
    };
    let lock = package.workspace.join("Cargo.lock");
    package.local.iter().flat_map(of_crate).chain([lock]).collect()
}

/// Returns the files of a crate that are compiled for the GPU. Each file has a name that is the
/// same on all machines.
fn files(one: &LocalCrate) -> Result<Vec<(String, PathBuf)>> {
    let mut paths = Vec::new();
    collect(one, &one.sources, &mut paths)?;
    let mut files: Vec<_> = paths
        .into_iter()
        .map(|path| {
            let below = path.strip_prefix(&one.sources).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            (format!("{}/{below}", one.name), path)
        })
        .collect();
    files.extend(one.build_script.iter().map(|path| (format!("{} [build script]", one.name), path.clone())));
    Ok(files)
}

fn collect(one: &LocalCrate, dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let path = entry.map_err(Error::io("list", dir))?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // This is cargo's target folder, if the package's sources are not in a separate folder.
        let built = path.join("CACHEDIR.TAG").is_file();
        // PTX is an output, possibly in the same folder.
        let ptx = path.extension().is_some_and(|end| end == "ptx");
        if hidden || built || ptx || one.host_only.iter().any(|host| path.starts_with(host)) {
            continue;
        }
        if path.is_dir() { collect(one, &path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Hashes the parts. Each part is preceded by its length, so moving a byte from one part to the
/// next changes the digest.
fn hash(parts: &[(String, Vec<u8>)]) -> String {
    let mut state = Sha256::new();
    for (name, contents) in parts {
        for bytes in [name.as_bytes(), contents] {
            state.update((bytes.len() as u64).to_le_bytes());
            state.update(bytes);
        }
    }
    state.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A package `own` in its own folder, which depends on `libm` from a registry.
    struct Sample {
        folder: TempDir,
        package: Package,
    }

    impl Sample {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            let own = LocalCrate {
                name: "own".into(),
                settings: "edition 2024".into(),
                manifest: path.join("Cargo.toml"),
                sources: path.join("src"),
                host_only: vec![path.join("src/main.rs"), path.join("src/host")],
                build_script: None,
            };
            let package = Package {
                name: "own".into(),
                crate_name: "own".into(),
                manifest: path.join("Cargo.toml"),
                workspace: path.into(),
                target_dir: path.join("target"),
                local: vec![own],
                fetched: [("libm 0.2.0".into(), "00".into())].into(),
            };
            let sample = Sample { folder, package };
            sample.write("src/lib.rs", "mod a;\n");
            sample.write("src/deep/a.rs", "fn a() {}\n");
            sample
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn digest(&self) -> String {
            of_package(&self.package, &Target::defaults()[0]).unwrap()
        }
    }

    #[test]
    fn the_digest_is_the_same_everywhere() {
        let (one, two) = (Sample::new(), Sample::new());
        // Files that do not determine the PTX are not in the digest.
        for path in ["tests/t.rs", "src/host/mod.rs", "src/main.rs", "src/.lib.rs.swp", "src/own_sm90.ptx"] {
            two.write(path, "text");
        }
        two.write("src/target/CACHEDIR.TAG", "");
        two.write("src/target/release.rs", "");
        assert_eq!(one.digest(), two.digest());
        // If this digest changes, every committed PTX file must be built again.
        assert_eq!(one.digest(), "33e701a9011a7da0fc7f3f6d8445031f8616e6a7055910560319660602af7419");
    }

    #[test]
    fn the_digest_sees_every_part() {
        let base = Sample::new().digest();
        let changes = [
            ("src/lib.rs", "mod a; \n"),
            ("src/deep/a.rs", ""),
            ("src/deep/b.rs", ""),
            ("src/deep.rs", "fn a() {}\n"),
            ("src/table.bin", "bytes of an include"),
        ];
        for (path, text) in changes {
            let sample = Sample::new();
            sample.write(path, text);
            assert_ne!(sample.digest(), base, "{path}");
        }
        let changes: [fn(&mut Package); 3] = [
            |package| package.local[0].settings.push('x'),
            |package| package.local[0].build_script = Some(package.folder().join("src/lib.rs")),
            |package| package.fetched = [("libm 0.2.0".into(), "01".into())].into(),
        ];
        for change in changes {
            let mut sample = Sample::new();
            change(&mut sample.package);
            assert_ne!(sample.digest(), base);
        }
        assert_ne!(of_package(&Sample::new().package, &Target::defaults()[1]).unwrap(), base);
    }

    #[test]
    fn bytes_do_not_slip_from_one_part_to_the_next() {
        let parts = |a: &str, b: &str| vec![(a.to_string(), b.as_bytes().to_vec())];
        assert_ne!(hash(&parts("ab", "c")), hash(&parts("a", "bc")));
    }
}
