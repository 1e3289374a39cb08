//! Tests of the program, started as cargo starts it.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs `cargo warpnest build-ptx` with these arguments for a package without a kernel.
fn build_ptx(args: &[&str]) -> (TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"own\"\nedition = \"2024\"\n").unwrap();
    fs::write(folder.path().join("src/lib.rs"), "#![no_std]\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-warpnest"));
    command.args(["warpnest", "build-ptx"]).args(args).current_dir(folder.path());
    let output = command.env("WARPNEST_KERNEL_RUSTC", "/nowhere/rustc").output().unwrap();
    (folder, output)
}

/// Returns the error of a command that must fail without writing anything.
fn error(args: &[&str]) -> String {
    let (folder, output) = build_ptx(args);
    assert!(!output.status.success() && !folder.path().join("ptx").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_missing_compiler_is_named_with_the_command_that_installs_one() {
    let error = error(&[]);
    assert!(error.contains("WARPNEST_KERNEL_RUSTC (/nowhere/rustc): there is no such file"), "{error}");
    assert!(error.contains("apt-get install rustc-web") || error.contains("rustup toolchain install"), "{error}");
}

#[test]
fn a_check_without_files_and_a_target_without_sense_say_what_is_missing() {
    let missing = error(&["--check"]);
    assert!(missing.contains("cannot read") && missing.contains("ptx/own_sm75.ptx: No such file"), "{missing}");
    let named = error(&["--check", "--out", "there", "--file-stem", "kernels", "--target", "sm_80/ptx75"]);
    assert!(named.contains("there/kernels_sm80.ptx: No such file"), "{named}");
    let target = error(&["--target", "sm_90"]);
    assert!(target.contains("write GPU and version of PTX as sm_90/ptx83"), "{target}");
    let manifest = error(&["--manifest-path", "none/Cargo.toml"]);
    assert!(manifest.contains("cannot read none/Cargo.toml"), "{manifest}");
}

#[test]
fn the_help_says_what_is_needed_and_what_is_written() {
    let (_, output) = build_ptx(&["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    for word in ["WARPNEST_KERNEL_RUSTC", "CRATE_sm90.ptx", "--check", "--target"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
