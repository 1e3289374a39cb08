//! Compiling gpu-kernels to PTX. docs/toolchain.md gives the reasons for each flag.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::compiler::{self, Compiler, TRIPLE};
use crate::header::Header;
use crate::process::{capture, cargo, run};
use crate::{digest, launch_bounds, workspace};

/// Compile gpu-kernels to PTX, lint it, and write it to crates/warpnest/ptx.
///
/// Needs a rustc with the NVPTX target and the source of its library. It is the one that the
/// variable WARPNEST_KERNEL_RUSTC names, else Debian's (apt-get install rustc-web rust-web-src),
/// else a rustup toolchain >= 1.97 with rust-src.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing: compare with the committed files (bytes where the recorded compiler is here,
    /// else the digest).
    #[arg(long)]
    check: bool,
}

/// One PTX module.
pub struct Target {
    /// The file's name in `crates/warpnest/ptx`.
    pub file: &'static str,
    /// The GPU: `.target` of the module, and ptxas's `-arch`.
    pub cpu: &'static str,
    /// The version of the PTX language: `.version`. The driver must be new enough for it.
    ptx_version: &'static str,
}

/// The modules, one for each floor of GPU and driver.
///
/// The first is a floor that every supported GPU and driver (R470 and later) loads. The second is
/// Hopper with what PTX 8.3 (R545 and later) adds, 128-bit atomics among it.
pub const TARGETS: [Target; 2] = [
    Target { file: "kernels_sm75.ptx", cpu: "sm_75", ptx_version: "ptx74" },
    Target { file: "kernels_sm90.ptx", cpu: "sm_90", ptx_version: "ptx83" },
];

impl Target {
    /// Returns the path of the committed file.
    pub fn path(&self, root: &Path) -> PathBuf {
        root.join("crates/warpnest/ptx").join(self.file)
    }

    /// Returns the flags for every crate that is compiled for the GPU, core included.
    fn flags(&self) -> Vec<String> {
        let mut flags = vec![format!("-Ctarget-cpu={}", self.cpu), format!("-Ctarget-feature=+{}", self.ptx_version)];
        flags.extend(
            [
                "-Zmir-enable-passes=-JumpThreading",
                // Loops over what a thread holds must be unrolled before LLVM splits arrays into
                // registers.
                "-Cllvm-args=-unroll-threshold=4000",
                "-Zunstable-options",
                "-Cpanic=immediate-abort",
            ]
            .map(Into::into),
        );
        flags
    }

    /// Returns the digest of the sources for this module, as they are now.
    pub fn digest(&self, root: &Path) -> Result<String> {
        digest::of_sources(root, &self.flags())
    }

    /// Returns the committed file's text and header.
    pub fn committed(&self, root: &Path) -> Result<(String, Header)> {
        let path = self.path(root);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}: run `cargo xtask build-ptx`", path.display()))?;
        let header = Header::parse(&text).with_context(|| format!("in {}", path.display()))?;
        Ok((text, header))
    }

    /// Checks that the committed file was built from the sources as they are now.
    pub fn check_digest(&self, root: &Path) -> Result<Header> {
        let (_, header) = self.committed(root)?;
        ensure!(
            header.digest == self.digest(root)?,
            "{} was not built from these sources: run `cargo xtask build-ptx`",
            self.file
        );
        Ok(header)
    }

    /// Compiles and returns the whole file, header included. A quiet build shows cargo's output
    /// only if it fails.
    pub fn build(&self, root: &Path, compiler: &Compiler, quiet: bool) -> Result<String> {
        let flags = self.flags().join(" ");
        // A folder for each module, since changing the flags of a folder's builds means compiling
        // core again.
        let dir = workspace::target_dir(root).join("ptx-build").join(self.cpu);
        let raw = dir.join(self.file);
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        // Cargo does not know this file, and an old one must not pass for the new. (Cargo runs the
        // compiler each time: without a link step it never finds the library that would be up to
        // date.)
        if raw.exists() {
            fs::remove_file(&raw).with_context(|| format!("cannot remove {}", raw.display()))?;
        }
        let mut command = cargo();
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(interferes)) {
            command.env_remove(name);
        }
        command
            .current_dir(root)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &compiler.rustc)
            // Empty and not absent, to win over a wrapper in the user's cargo configuration too.
            .envs([("RUSTC_WRAPPER", ""), ("RUSTC_WORKSPACE_WRAPPER", "")])
            .env("RUSTFLAGS", &flags)
            .args(["rustc", "-p", "gpu-kernels", "--lib", "--crate-type", "cdylib", "--profile", "ptx"])
            .args(["--target", TRIPLE, "-Zbuild-std=core", "--target-dir"])
            .arg(&dir)
            .arg("--")
            .arg(format!("--emit=asm={}", raw.display()))
            .arg("-Zno-link");
        if quiet {
            capture(&mut command).map(drop)?
        } else {
            run(&mut command)?
        }
        let ptx = fs::read_to_string(&raw).with_context(|| format!("cannot read {}", raw.display()))?;
        let ptx = launch_bounds::apply(&ptx)?;
        let header = Header { digest: self.digest(root)?, compiler: compiler.version.line.clone(), flags };
        Ok(header.render() + &ptx)
    }
}

/// Returns whether a variable of the environment could change what the recipe builds, or with what.
fn interferes(name: &str) -> bool {
    let prefixes = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_"];
    let names = ["RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS"];
    name != "CARGO_BUILD_JOBS" && (names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

/// The result of comparing a committed file with a new build.
pub enum Comparison {
    /// The same bytes.
    Identical,
    /// The digest alone was compared, since the recorded compiler is not here; the text says more.
    DigestOnly(String),
}

/// Builds again with the recorded compiler, if it is here, and compares bytes.
pub fn compare(root: &Path, target: &Target, quiet: bool) -> Result<Comparison> {
    let recorded = target.check_digest(root)?.compiler;
    let Ok(compiler) = compiler::find_version(&recorded) else {
        return Ok(Comparison::DigestOnly(format!("only the digest was compared: {recorded} is not here")));
    };
    let (committed, _) = target.committed(root)?;
    let built = target.build(root, &compiler, quiet)?;
    if let Some(difference) = first_difference(&committed, &built) {
        bail!("{} is not what its sources give ({difference}): run `cargo xtask build-ptx`", target.file);
    }
    Ok(Comparison::Identical)
}

fn first_difference(committed: &str, built: &str) -> Option<String> {
    if committed == built {
        return None;
    }
    let same = committed.lines().zip(built.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").trim().to_string();
    Some(format!("line {}: `{}` and not `{}`", same + 1, line(built), line(committed)))
}

/// Returns the findings of the lint, one line each; none if the PTX is clean.
pub fn lint(target: &Target, ptx: &str) -> Vec<String> {
    ptx_tools::lint(ptx).iter().map(|finding| format!("{}: {finding}", target.file)).collect()
}

/// Runs `cargo xtask build-ptx`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    if args.check {
        for target in &TARGETS {
            match compare(&root, target, false)? {
                Comparison::Identical => println!("{}: identical", target.file),
                Comparison::DigestOnly(why) => println!("{}: the digest is right; {why}", target.file),
            }
        }
        return Ok(());
    }
    let compiler = compiler::find()?;
    println!("{} ({})", compiler.version.line, compiler.rustc.display());
    // At once: neither has work for a second core.
    println!("building {}, about a minute", TARGETS.each_ref().map(|target| target.file).join(" and "));
    let built: Vec<(&Target, String)> = std::thread::scope(|scope| {
        let builds = TARGETS.each_ref().map(|target| (target, scope.spawn(|| target.build(&root, &compiler, true))));
        let ended = builds.map(|(target, build)| {
            let ptx = build.join().unwrap_or_else(|_| bail!("the build panicked: see above"));
            Ok((target, ptx.with_context(|| format!("building {}", target.file))?))
        });
        ended.into_iter().collect::<Result<_>>()
    })?;
    let findings: Vec<String> = built.iter().flat_map(|(target, ptx)| lint(target, ptx)).collect();
    if !findings.is_empty() {
        let place = workspace::target_dir(&root).join("ptx-build");
        bail!("nothing was written (the PTX is in {}):\n{}", place.display(), findings.join("\n"));
    }
    // Both or neither: the two files of one commit come from the same sources.
    for (target, ptx) in built {
        let path = target.path(&root);
        let outcome = if fs::read_to_string(&path).is_ok_and(|old| old == ptx) { "unchanged" } else { "written" };
        if outcome == "written" {
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(&path, &ptx).with_context(|| format!("cannot write {}", path.display()))?;
        }
        println!("{}: {outcome}, {} kernels, {} bytes", target.file, ptx.matches(".entry ").count(), ptx.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_does_not_leak_into_the_recipe() {
        for name in ["RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR", "CARGO_PROFILE_PTX_LTO", "CARGO_BUILD_RUSTFLAGS"] {
            assert!(interferes(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_BUILD_JOBS", "PATH", "CARGO_NET_OFFLINE"] {
            assert!(!interferes(name), "{name}");
        }
    }

    #[test]
    fn every_module_turns_jump_threading_off() {
        for target in &TARGETS {
            assert!(target.flags().iter().any(|flag| flag == "-Zmir-enable-passes=-JumpThreading"));
            assert_eq!(target.file, format!("kernels_{}.ptx", target.cpu.replace('_', "")));
        }
    }

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "line 2: `c` and not `b`");
        assert_eq!(first_difference("a\n", "a\nc\n").unwrap(), "line 2: `c` and not `(the end)`");
    }
}
