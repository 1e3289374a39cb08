//! The digest that ties a committed PTX file to the sources it was built from.
//!
//! It covers what decides the PTX and is ours: gpu-kernels' manifest and sources for the GPU, the
//! profile `ptx` of the root manifest, and the flags of the recipe. The compiler is not in it: its
//! version is recorded beside it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// The host's back ends, which no build for the GPU compiles: a change of them leaves the PTX as it
/// is.
const HOST_ONLY: [&str; 2] = ["gpu-kernels/src/seam/cpu/", "gpu-kernels/src/seam/checked.rs"];

/// Returns the digest of the kernels' sources under `root` for a build with `flags`, in
/// hexadecimal.
pub fn of_sources(root: &Path, flags: &[String]) -> Result<String> {
    let crate_dir = root.join("gpu-kernels");
    let mut files = vec![crate_dir.join("Cargo.toml")];
    collect(&crate_dir.join("src"), &mut files)?;
    // By name, since the order in which a folder lists its files differs between machines.
    let mut parts = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        if HOST_ONLY.iter().any(|host| name.starts_with(host)) {
            continue;
        }
        parts.push((name, fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?));
    }
    parts.sort();
    let manifest = root.join("Cargo.toml");
    let manifest = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let profile = table(&manifest, "profile.ptx");
    ensure!(!profile.is_empty(), "the root Cargo.toml has no [profile.ptx]");
    parts.push(("[profile.ptx]".into(), profile.into_bytes()));
    parts.push(("flags".into(), flags.join("\n").into_bytes()));
    Ok(hash(&parts))
}

/// Hashes the parts. Lengths stand before the bytes, so that moving a byte from one part to its
/// neighbour changes the digest.
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

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Returns the settings of one table of a manifest, without comments and blank lines.
///
/// `[profile.ptx]` is followed by others' text, which must not count.
fn table(manifest: &str, name: &str) -> String {
    let header = format!("[{name}]");
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != header).skip(1);
    let body = lines.take_while(|line| !line.starts_with('['));
    body.filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small workspace in a folder of its own, removed at the end.
    struct Sample(PathBuf);

    impl Sample {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("warpnest-digest-{}-{name}", std::process::id()));
            let sample = Sample(dir);
            sample.write("Cargo.toml", "[a]\nx = 1\n\n[profile.ptx]\nlto = \"fat\"\n\n# others' text\n[z]\ny = 2\n");
            sample.write("gpu-kernels/Cargo.toml", "[package]\n");
            sample.write("gpu-kernels/src/lib.rs", "mod a;\n");
            sample.write("gpu-kernels/src/deep/a.rs", "fn a() {}\n");
            sample
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn digest(&self) -> String {
            of_sources(&self.0, &["-A".into(), "-B".into()]).unwrap()
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_digest_is_the_same_everywhere() {
        let (one, two) = (Sample::new("one"), Sample::new("two"));
        // Files that do not decide the PTX do not count.
        two.write("gpu-kernels/tests/t.rs", "");
        two.write("gpu-kernels/src/seam/cpu/mod.rs", "");
        two.write("gpu-kernels/src/seam/checked.rs", "");
        two.write(
            "Cargo.toml",
            "[a]\nx = 3\n[profile.ptx]\n# why\nlto = \"fat\"\n[profile.release]\nlto = false\n[z]\n",
        );
        assert_eq!(one.digest(), two.digest());
        // Pinned: if this changes, every committed PTX file must be built again.
        assert_eq!(one.digest(), "6abbe2aa8f1b28c1c360e0d5e2d38689cea06846bfb7e2d34a29c7cbd03aa9e8");
    }

    #[test]
    fn the_digest_sees_every_part() {
        let base = Sample::new("base").digest();
        let changes: [(&str, &str); 6] = [
            ("gpu-kernels/src/lib.rs", "mod a; \n"),
            ("gpu-kernels/src/deep/a.rs", ""),
            ("gpu-kernels/src/deep/b.rs", ""),
            ("gpu-kernels/src/deep.rs", "fn a() {}\n"),
            ("gpu-kernels/Cargo.toml", "[package]\n\n"),
            ("Cargo.toml", "[profile.ptx]\nlto = \"thin\"\n"),
        ];
        for (path, text) in changes {
            let sample = Sample::new("changed");
            sample.write(path, text);
            assert_ne!(sample.digest(), base, "{path}");
        }
        let sample = Sample::new("flags");
        assert_ne!(of_sources(&sample.0, &["-A".into(), "-C".into()]).unwrap(), base);
    }

    #[test]
    fn bytes_do_not_slip_from_one_part_to_the_next() {
        let parts = |a: &str, b: &str| vec![(a.to_string(), b.as_bytes().to_vec())];
        assert_ne!(hash(&parts("ab", "c")), hash(&parts("a", "bc")));
    }
}
