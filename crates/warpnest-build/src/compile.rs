//! A run of cargo that compiles a package to PTX for one target. docs/toolchain.md gives the
//! reasons for each flag.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::Compiler;
use crate::error::{Error, Result};
use crate::launch_bounds;
use crate::package::Package;
use crate::process::{capture, cargo};
use crate::target::{PROFILE, PROFILE_SETTINGS, TRIPLE, Target};

/// The `cfg` of the crate whose kernels have entry points. It is set only for the crate that is
/// compiled to PTX, not for its dependencies. To compile a single kernel, the kernel's name is the
/// `cfg` instead.
const ENTRY_POINTS: &str = "warpnest_entry_points";

/// The flag that disables warnings, because hundreds of them would hide the text of an error.
///
/// rustc would warn about each crate's PTX version, intended flags, and each kernel name that is a
/// `cfg`. In a crate without entry points it would warn about unused items, such as the lengths of
/// shared arrays. Faults of the sources cause warnings in the build for the host.
const NO_WARNINGS: &str = "-Awarnings";

/// Compiles a package and returns its PTX, with launch bounds and without a header. The PTX has all
/// kernels, or only the kernels named in `kernels` if there are any.
///
/// Cargo's files go to `work`, in a separate folder for each GPU. Otherwise the change of flags
/// would make cargo compile core again.
pub fn compile(
    package: &Package,
    target: &Target,
    kernels: &[String],
    compiler: &Compiler,
    work: &Path,
) -> Result<String> {
    let dir = work.join(target.cpu());
    let raw = work_file(package, target, work);
    fs::create_dir_all(&dir).map_err(Error::io("create", &dir))?;
    // Cargo does not know this file, so an old file could be taken for the new one. Cargo runs the
    // compiler each time, because without a link step it never finds an up-to-date library.
    if raw.exists() {
        fs::remove_file(&raw).map_err(Error::io("remove", &raw))?;
    }
    let mut command = cargo();
    keep_environment_out(&mut command);
    command
        .current_dir(&package.workspace)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", &compiler.rustc)
        // The variables are empty instead of unset, so that they also override a wrapper in the
        // user's cargo configuration.
        .envs([("RUSTC_WRAPPER", ""), ("RUSTC_WORKSPACE_WRAPPER", "")])
        .env("RUSTFLAGS", format!("{} {NO_WARNINGS}", target.flags().join(" ")))
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--manifest-path"])
        .arg(&package.manifest)
        .args(["--profile", PROFILE]);
    for setting in PROFILE_SETTINGS {
        command.args(["--config", &format!("profile.{PROFILE}.{setting}")]);
    }
    command
        .args(["--target", TRIPLE, "-Zbuild-std=core", "--target-dir"])
        .arg(&dir)
        .arg("--")
        .arg(format!("--emit=asm={}", raw.display()))
        .arg("-Zno-link");
    let all = [ENTRY_POINTS.to_owned()];
    for cfg in if kernels.is_empty() { &all } else { kernels } {
        command.args(["--cfg", cfg]);
    }
    capture(&mut command)?;
    let ptx = launch_bounds::apply(&fs::read_to_string(&raw).map_err(Error::io("read", &raw))?)?;
    fs::write(&raw, &ptx).map_err(Error::io("write", &raw))?;
    Ok(ptx)
}

/// Returns the path in `work` of the file that has the PTX of the last build.
pub fn work_file(package: &Package, target: &Target, work: &Path) -> PathBuf {
    work.join(target.cpu()).join(format!("{}{}", package.crate_name, target.file_suffix()))
}

/// Removes the environment variables that could change what is built, or how.
fn keep_environment_out(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(interferes)) {
        command.env_remove(name);
    }
}

/// Returns whether an environment variable could change what is built, or how.
fn interferes(name: &str) -> bool {
    let prefixes = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_"];
    let names = [
        "RUSTUP_TOOLCHAIN",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_INCREMENTAL",
    ];
    name != "CARGO_BUILD_JOBS" && (names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_does_not_leak_into_the_recipe() {
        for name in [
            "RUSTUP_TOOLCHAIN",
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_INCREMENTAL",
        ] {
            assert!(interferes(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_BUILD_JOBS", "PATH", "CARGO_NET_OFFLINE"] {
            assert!(!interferes(name), "{name}");
        }
    }
}
