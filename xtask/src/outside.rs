//! A program outside the workspace, made like a user's program: by the README's commands, from
//! packages, and without this workspace's settings.

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::{capture, cargo};
use crate::readme::{self, FirstProgram};
use crate::{refused, workspace};

/// The packages that the program needs; each follows the packages that it needs itself.
const PACKAGES: [&str; 3] = ["gpu-kernels", "warpnest-macros", "warpnest"];
/// The texts of the licences, which each package must contain.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The variables by which a build could find or choose a CUDA toolkit.
const CUDA_VARIABLES: [&str; 7] = [
    "CUDA_HOME",
    "CUDA_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDARC_CUDA_VERSION",
    "RUSTFLAGS",
];

/// The result of the README's first program, and the time from nothing to that result.
pub struct Answer {
    /// The device that the program ran on.
    device: String,
    /// The seconds from `cargo new` to the end of the program.
    seconds: f64,
    /// The CPU time in seconds, which depends little on other work of the machine.
    cpu_seconds: f64,
    /// Whether nothing had been built before.
    from_scratch: bool,
}

impl Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Answer { device, seconds, cpu_seconds, from_scratch } = self;
        let built = if *from_scratch { "from nothing" } else { "with what an earlier run built" };
        write!(f, "the README's program, {built}: {seconds:.1} s, {cpu_seconds:.1} s of CPU time; it ran on {device}")
    }
}

/// Packs the library, makes the README's first program with it by the README's commands, and
/// compares the output. Then checks that rustc refuses other programs ([`refused`]).
///
/// The results of an earlier build are reused unless `from_scratch` is true.
pub fn build_and_run(root: &Path, from_scratch: bool) -> Result<Answer> {
    let folder = workspace::target_dir(root).join("outside");
    let [kernels, macros, library] = pack(root, &folder)?;
    let program = FirstProgram::read(&fs::read_to_string(root.join("README.md"))?)?;
    let outside = prepare(root, &program, [&kernels, &macros], &library)?;
    let target = folder.join("target");
    if from_scratch && target.exists() {
        fs::remove_dir_all(&target).with_context(|| format!("cannot remove {}", target.display()))?;
    }
    let from_scratch = !target.exists();

    let as_a_user = |command: &mut Command| -> Result<()> {
        command.env("PATH", path_with_this_cargo()?).env("CARGO_TARGET_DIR", &target);
        command.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_QUIET", "true");
        CUDA_VARIABLES.iter().for_each(|variable| _ = command.env_remove(variable));
        Ok(())
    };
    let mut commands = Command::new("sh");
    as_a_user(commands.args(["-e", "commands.sh"]).current_dir(outside.path()))?;
    let start = Instant::now();
    let (printed, times) = capture(&mut commands)?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu_seconds = cpu_seconds(&times).with_context(|| format!("the shell's `times` wrote {times:?}"))?;
    let device = same_answer(&printed, &program.output)?.to_owned();

    let package = outside.path().join(&program.name);
    for check in [refused::check, refused::check_unbuilt] {
        let mut build = cargo();
        as_a_user(build.arg("build").current_dir(&package))?;
        check(&package, &mut build)?;
    }
    Ok(Answer { device, seconds, cpu_seconds, from_scratch })
}

/// Packs [`PACKAGES`] and unpacks them in `folder`; returns their paths.
fn pack(root: &Path, folder: &Path) -> Result<[PathBuf; 3]> {
    let mut package = cargo();
    package.args(["package", "--no-verify", "--allow-dirty", "--exclude-lockfile", "--offline", "--target-dir"]);
    capture(package.arg(folder).args(PACKAGES.iter().flat_map(|name| ["-p", name])).current_dir(root))?;
    let unpacked = PACKAGES.map(|name| format!("{name}-{}", env!("CARGO_PKG_VERSION")));
    for package in &unpacked {
        unpack_if_new(folder, package)?;
        check_licences(root, &folder.join(package))?;
    }
    Ok(unpacked.map(|package| folder.join(package)))
}

/// Makes a folder in which the program can be built, with the README's commands as a script.
///
/// The folder is outside this workspace, in which `cargo new` would make the package a member.
fn prepare(root: &Path, program: &FirstProgram, others: [&Path; 2], library: &Path) -> Result<TempDir> {
    let outside = tempfile::tempdir()?;
    let folder = outside.path();
    // This replaces the registry, which would have these packages.
    fs::create_dir(folder.join(".cargo"))?;
    let patches =
        PACKAGES.iter().zip(others).map(|(name, path)| format!("{name}.path = {:?}\n", path.display().to_string()));
    fs::write(folder.join(".cargo/config.toml"), format!("[patch.crates-io]\n{}", patches.collect::<String>()))?;
    fs::write(folder.join("main.rs"), &program.source)?;
    // The lock file gives the versions that this workspace has fetched.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(folder.join("commands.sh"), script(program, library))?;
    Ok(outside)
}

/// Fails unless a package contains the repository's licences. Packing does not search for them
/// outside of the package's own folder.
fn check_licences(root: &Path, package: &Path) -> Result<()> {
    for name in LICENCES {
        let text = fs::read(root.join(name)).with_context(|| format!("the repository has no {name}"))?;
        let copy = fs::read(package.join(name)).with_context(|| format!("{} has no {name}", package.display()))?;
        ensure!(copy == text, "{}/{name} is not the repository's", package.display());
    }
    Ok(())
}

/// Unpacks a package's archive into `folder`, unless the same archive was unpacked before.
fn unpack_if_new(folder: &Path, package: &str) -> Result<()> {
    let name = format!("{package}.crate");
    let (archive, last) = (folder.join("package").join(&name), folder.join(&name));
    let packed = fs::read(&archive).with_context(|| format!("cannot read {}", archive.display()))?;
    if fs::read(&last).is_ok_and(|last| last == packed) {
        return Ok(());
    }
    // Otherwise files would stay that the package no longer has.
    let _ = fs::remove_dir_all(folder.join(package));
    // Files get the current time (`m`). In archives all files have the same time, so Cargo would
    // take changed files for already built ones.
    capture(Command::new("tar").arg("-xzmf").arg(archive).arg("-C").arg(folder))?;
    fs::write(last, packed)?;
    Ok(())
}

/// Returns the README's commands as a shell script. Its last line prints the CPU time of the
/// commands.
///
/// Only the path of the library is replaced. The lock file is copied before Cargo chooses versions.
fn script(program: &FirstProgram, library: &Path) -> String {
    let FirstProgram { new, add, run, .. } = program;
    let add = add.replace(readme::LIBRARY, &format!("'{}'", library.display()));
    format!("{new}\ncp ../Cargo.lock .\n{add}\ncp ../main.rs src\n{run}\ntimes >&2\n")
}

/// Returns the search path with the running cargo first, in case there is another one.
fn path_with_this_cargo() -> Result<OsString> {
    let cargo = env::var_os("CARGO").map(PathBuf::from);
    let first = cargo.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(first.into_iter().chain(env::split_paths(&path)))?)
}

/// Returns the CPU seconds of a shell's children, user and system, from the last line of the output
/// of `times`. That line is like `1m2.5s 0m0.3s`; the line for the shell precedes it.
fn cpu_seconds(times: &str) -> Option<f64> {
    let seconds = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    times.lines().next_back()?.split_whitespace().map(seconds).sum()
}

/// Fails unless a program printed the README's output, on any device; returns the device.
fn same_answer<'a>(printed: &'a str, shown: &str) -> Result<&'a str> {
    let (device, answer) = printed
        .trim_end()
        .split_once(": ")
        .with_context(|| format!("the program printed no device, but {printed:?}"))?;
    ensure!(
        shown.split_once(": ").is_some_and(|(_, expected)| expected == answer),
        "README.md says that its program prints {shown:?}, and it printed {printed:?}"
    );
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_compared_and_the_device_is_not() {
        assert_eq!(same_answer("NVIDIA H200: [Some(0), None]\n", "CPU: [Some(0), None]").unwrap(), "NVIDIA H200");
        let error = same_answer("CPU: [Some(1), None]\n", "CPU: [Some(0), None]").unwrap_err().to_string();
        assert!(error.contains("Some(1)") && error.contains("Some(0)"), "{error}");
        assert!(same_answer("[Some(0), None]\n", "CPU: [Some(0), None]").is_err());
    }

    #[test]
    fn the_time_of_the_children_is_read() {
        assert_eq!(cpu_seconds("note: x\n0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n"), Some(62.75));
        assert_eq!(cpu_seconds("no times\n"), None);
        assert_eq!(cpu_seconds(""), None);
    }

    /// Checks every member of the workspace whose manifest does not forbid publishing it.
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
        assert_eq!(published, workspace::LIBRARIES.len() + workspace::PROGRAMS.len());
    }
}
