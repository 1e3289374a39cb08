//! `cargo xtask gpu-bundle`: the files that a GPU machine needs, built on a machine without a GPU
//! and without CUDA.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process::{capture, cargo, stdout_of};
use crate::{build_ptx, cuda_stub, workspace};

/// Build the files with which a GPU machine tests and measures; this machine needs no GPU or CUDA.
///
/// The tests and the examples are built in the profile bundle. warpnest-bench is built in release,
/// without the CPU engine, for the commands bench and figures on a GPU. All binaries are stripped.
/// The bundle also has a run.sh, which says how to use them, and the committed PTX. Its two files
/// replace the PTX in the binaries: after a change of a kernel's body, build-ptx and a copy of the
/// two files are enough.
#[derive(clap::Args)]
pub struct Args {
    /// Build only these binaries. bench is then without the command figures, and in the profile
    /// trial, which builds a changed host crate in seconds and optimises host code less.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Only>,
    /// The folder to fill; it is emptied first. [default: target/gpu-bundle]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const RUN: &str = include_str!("gpu_bundle.sh");
/// The file by which a folder is known to be a bundle; only bundles are ever emptied.
const MANIFEST: &str = "manifest.txt";

/// A binary of a bundle, or several binaries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// The benchmarks.
    Bench,
    /// The tests of the library.
    All,
    /// The tests of the applications.
    Applications,
    /// The tests of the benchmarks' kernels.
    Kernels,
    /// The unit tests of all libraries.
    Unit,
    Voxels,
    Shapes,
    FindImage,
    Groupby,
    Join,
    Kmers,
    Renumber,
    Wordcount,
}

impl Only {
    /// Returns the arguments of cargo that build the binaries, without the packages.
    fn words(self) -> &'static [&'static str] {
        match self {
            Only::Bench => &["build", "--bin", "warpnest-bench"],
            Only::All => &["build", "--test", "all"],
            Only::Applications => &["build", "--test", "applications"],
            Only::Kernels => &["build", "--test", "kernels"],
            Only::Unit => &["test", "--no-run", "--lib"],
            Only::Voxels => &["build", "--example", "voxels"],
            Only::Shapes => &["build", "--example", "shapes"],
            Only::FindImage => &["build", "--example", "find-image"],
            Only::Groupby => &["build", "--example", "groupby"],
            Only::Join => &["build", "--example", "join"],
            Only::Kmers => &["build", "--example", "kmers"],
            Only::Renumber => &["build", "--example", "renumber"],
            Only::Wordcount => &["build", "--example", "wordcount"],
        }
    }
}

/// The packages of the tests and examples, with the features that they have in a bundle.
///
/// They are the same in every call of cargo: with others, cargo could combine features differently
/// and compile the library again. Only a machine with a driver can run tests that are linked with
/// `cust`.
const TESTS: [&str; 28] = [
    "-p",
    "warpnest",
    "-p",
    "warpnest-applications-tests",
    "-p",
    "warpnest-bench-kernels",
    "-p",
    "warpnest-find-image",
    "-p",
    "warpnest-groupby",
    "-p",
    "warpnest-join",
    "-p",
    "warpnest-kmers",
    "-p",
    "warpnest-renumber",
    "-p",
    "warpnest-shapes",
    "-p",
    "warpnest-tests",
    "-p",
    "warpnest-voxels",
    "-p",
    "warpnest-wordcount",
    "--features",
    "warpnest-tests/cust",
    "--features",
    "warpnest-voxels/cuda",
];
/// The package of the benchmarks with its features, without the CPU engine.
const BENCH: [&str; 3] = ["-p", "warpnest-bench", "--no-default-features"];
/// The same package with the feature for figures.
const FIGURES: [&str; 5] = ["-p", "warpnest-bench", "--no-default-features", "--features", "figures"];

/// The profile of tests and examples.
pub const TESTS_PROFILE: &str = "bundle";
/// The profile of the benchmarks, and the profile for benchmarks alone.
const BENCH_PROFILE: &str = "release";
const TRIAL_PROFILE: &str = "trial";

/// Returns the arguments of `cargo clippy` for each call of cargo that builds a bundle: every
/// target of the packages of tests, and the program of the benchmarks.
pub fn checks() -> Vec<Vec<&'static str>> {
    let of = |targets, packages: &[&'static str]| [&[targets], packages].concat();
    vec![of("--all-targets", &TESTS), of("--bins", &BENCH), of("--bins", &FIGURES)]
}

/// Returns the commands of a bundle's script.
pub fn commands() -> Vec<String> {
    let labels = RUN.lines().skip_while(|line| !line.starts_with("case ")).filter_map(|line| line.split_once(')'));
    let names = labels.flat_map(|(label, _)| label.split('|')).map(str::trim);
    names
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .map(str::to_owned)
        .collect()
}

/// One executable that cargo built.
#[derive(Debug, PartialEq, Eq)]
struct Binary {
    /// The path of the file in the bundle.
    bundle_path: String,
    built: PathBuf,
}

/// Fails if a folder has files but is no bundle.
fn check_output(output: &Path) -> Result<()> {
    ensure!(
        !output.exists() || output.join(MANIFEST).is_file() || fs::read_dir(output)?.next().is_none(),
        "{} is neither empty nor a bundle: name another folder",
        output.display()
    );
    Ok(())
}

/// Runs `cargo xtask gpu-bundle`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let output = args.output.clone().unwrap_or_else(|| root.join("target/gpu-bundle"));
    // This comes first because builds take minutes.
    check_output(&output)?;
    let mut binaries = Vec::new();
    if args.only.is_empty() {
        // `--examples` would also build the program fuzz.
        let examples = ["find-image", "groupby", "join", "kmers", "renumber", "shapes", "voxels", "wordcount"]
            .map(|name| ["--example", name])
            .concat();
        let tests =
            [&["build", "--test", "all", "--test", "applications", "--test", "kernels"], &examples[..]].concat();
        binaries.extend(build(&root, &tests, TESTS_PROFILE, &TESTS)?);
        binaries.extend(build(&root, Only::Unit.words(), TESTS_PROFILE, &TESTS)?);
        binaries.extend(build(&root, Only::Bench.words(), BENCH_PROFILE, &FIGURES)?);
    }
    for &only in &args.only {
        let (profile, packages) =
            if only == Only::Bench { (TRIAL_PROFILE, &BENCH[..]) } else { (TESTS_PROFILE, &TESTS[..]) };
        binaries.extend(build(&root, only.words(), profile, packages)?);
    }

    check_output(&output)?;
    if output.exists() {
        fs::remove_dir_all(&output).with_context(|| format!("cannot empty {}", output.display()))?;
    }
    let mut manifest = describe(&root)?;
    let mut total = 0;
    for binary in &binaries {
        let bundle_path = output.join(&binary.bundle_path);
        ensure!(!bundle_path.exists(), "two binaries are named {}", binary.bundle_path);
        let size = copy_stripped(&binary.built, &bundle_path)?;
        total += size;
        manifest += &format!("{size:>12}  {}\n", binary.bundle_path);
    }
    for module in build_ptx::kernels(&root)?.modules() {
        fs::copy(&module.path, output.join(module.file_name()))?;
    }
    let run = output.join("run.sh");
    fs::write(&run, RUN)?;
    capture(Command::new("chmod").arg("+x").arg(&run))?;
    fs::write(output.join(MANIFEST), &manifest)?;
    // Each binary contains the kernels' PTX. xz has a dictionary larger than a binary, so it finds
    // these copies; an archive of gzip is ten times as large.
    let archive = output.with_extension("tar.xz");
    let name = output.file_name().context("the folder has no name")?;
    let parent = output.parent().context("the folder has no parent")?;
    capture(
        Command::new("tar")
            .args(["-I", "xz -T1 --lzma2=preset=1,dict=128MiB", "-cf"])
            .arg(&archive)
            .arg("-C")
            .arg(parent)
            .arg(name),
    )?;
    let packed = fs::metadata(&archive)?.len();

    print!("{manifest}");
    println!("\n{} MiB in {},", total.div_ceil(1 << 20), output.display());
    println!("{} MiB in {}. On the GPU machine:", packed.div_ceil(1 << 20), archive.display());
    for line in RUN.lines().filter_map(|line| line.strip_prefix("#   ")) {
        println!("  ./{line}");
    }
    Ok(())
}

/// Builds some targets of some packages and returns their executables.
fn build(root: &Path, words: &[&str], profile: &str, packages: &[&str]) -> Result<Vec<Binary>> {
    println!("building ({})", words.join(" "));
    let mut command = cargo();
    command
        .current_dir(root)
        .args(words)
        .args(["--profile", profile])
        .args(packages)
        .env(cuda_stub::VARIABLE, cuda_stub::make(root)?);
    command.arg("--message-format=json-render-diagnostics");
    let found = executables(&stdout_of(&mut command)?)?;
    ensure!(!found.is_empty(), "cargo built no executable for {}", words.join(" "));
    Ok(found)
}

/// Returns the executables in cargo's stream of messages.
fn executables(messages: &str) -> Result<Vec<Binary>> {
    let mut found = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo wrote a line that is not JSON")?;
        let Some(built) = message["executable"].as_str() else { continue };
        let Some(name) = message["target"]["name"].as_str() else { bail!("an executable without a name: {line}") };
        let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
        let bundle_path = match (message["profile"]["test"] == true, kind) {
            (true, "test") => format!("tests/{name}"),
            // A unit test has its library's name, which an integration test may have, too.
            (true, _) => format!("tests/unit-{name}"),
            (false, _) => name.to_string(),
        };
        found.push(Binary { bundle_path, built: built.into() });
    }
    Ok(found)
}

/// Copies a file without its symbols, or completely if there is no `strip`. Returns the size in
/// bytes.
fn copy_stripped(from: &Path, to: &Path) -> Result<u64> {
    fs::create_dir_all(to.parent().context("no folder to copy to")?)?;
    if capture(Command::new("strip").arg("-o").arg(to).arg(from)).is_err() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(fs::metadata(to).with_context(|| format!("{} was not written", to.display()))?.len())
}

/// Returns the first lines of the manifest: the commit, with a `+` if files differ from it, and the
/// date.
fn describe(root: &Path) -> Result<String> {
    let git = |args: &[&str]| capture(Command::new("git").args(args).current_dir(root));
    // Sources without their history have no commit, but they make an equally good bundle.
    let mut commit = git(&["rev-parse", "HEAD"]).map_or_else(|_| "unknown".into(), |(out, _)| out.trim().to_string());
    if commit != "unknown" && git(&["status", "--porcelain"]).is_ok_and(|(out, _)| !out.is_empty()) {
        commit.push('+');
    }
    let (date, _) = capture(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))?;
    Ok(format!("commit: {commit}\ndate: {}\n", date.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_among_cargos_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"serde"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"warpnest"},"profile":{"test":true},"executable":"/t/warpnest-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"page_map"},"profile":{"test":true},"executable":"/t/page_map-2"}
{"reason":"compiler-artifact","target":{"kind":["example"],"name":"voxels"},"profile":{"test":false},"executable":"/t/voxels"}
{"reason":"build-finished","success":true}
"#;
        let bundle_paths: Vec<_> =
            executables(messages).unwrap().into_iter().map(|binary| binary.bundle_path).collect();
        assert_eq!(bundle_paths, ["tests/unit-warpnest", "tests/page_map", "voxels"]);
        assert!(executables("{broken").is_err());
    }

    #[test]
    fn the_script_says_how_to_run_it() {
        let usage = RUN.lines().filter(|line| line.starts_with("#   run.sh ")).count();
        assert_eq!(usage, 5);
        let commands = commands();
        for name in ["tests", "bench", "figures", "sanitize", "voxels", "wordcount"] {
            assert!(commands.contains(&name.to_owned()), "{name} of {commands:?}");
        }
    }
}
