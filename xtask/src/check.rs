//! `cargo xtask check`: every check before a merge.

use std::path::Path;
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use warpnest_build::{Build, Comparison, ptxas};

use crate::process::{capture, cargo, run};
use crate::report::{Outcome, Report};
use crate::{
    build_ptx, coverage, cpp_header, cuda_stub, examples, feature_sets, gpu_bundle, imports, kernels, outside, prose,
    resources, rows, stale, times, wheel, workspace,
};

/// Run every check before a merge.
///
/// The first checks are on sources: rustfmt; the width and the beginnings of comments, and phrases
/// that comments and documents must not have; names in documents and comments that do not exist,
/// and broken links; figures that are older than their rows; and files that import from each other
/// in a circle. Then clippy runs with the feature cust. All binaries for a GPU machine must
/// compile, and so must the library and the examples with the features that users choose. The unit
/// tests of the kernels' crate and rustdoc run. The README's first program is made outside the
/// workspace by the README's commands, and timed. rustc must refuse a certain program with certain
/// errors. The tests and the output of the example with its own kernel are checked.
///
/// The committed PTX must have been built from these sources. It is linted, and ptxas shows the
/// resources of each kernel; a new build of the PTX for sm_90 must give the same bytes. The Python
/// wheel is built, installed into a clean environment, and tested there.
///
/// If all tests have run before, the last checks are the share of the PTX that they executed, with
/// a floor, and the time of each test, with a limit. All tests and all steps have a budget of CPU
/// time. `--thorough` checks more sets of features, and builds the PTX of all targets again and the
/// wheel as users get it. It also runs all tests again in release, with both targets' PTX
/// interpreted in full and several times as many cases of each property.
///
/// All steps run even if one fails. A step without its tool here is skipped with a line that says
/// how to get the tool. The exit status is not zero if a step failed.
#[derive(clap::Args)]
pub struct Args {
    /// Leave out rustfmt.
    #[arg(long)]
    no_fmt: bool,
    /// Leave out clippy.
    #[arg(long)]
    no_clippy: bool,
    /// Leave out the sets of features and the tests of the kernels' crate.
    #[arg(long)]
    no_features: bool,
    /// Leave out rustdoc.
    #[arg(long)]
    no_doc: bool,
    /// Do not build programs outside the workspace.
    #[arg(long)]
    no_outside: bool,
    /// Build the program outside the workspace and its dependencies from scratch, and show the
    /// time.
    #[arg(long, conflicts_with = "no_outside")]
    from_scratch: bool,
    /// Do not build the PTX again for comparison.
    #[arg(long)]
    no_rebuild: bool,
    /// Leave out ptxas.
    #[arg(long)]
    no_ptxas: bool,
    /// Do not build the Python wheel.
    #[arg(long)]
    no_wheel: bool,
    /// Run all tests, too, with all their cases. This takes half an hour on two cores.
    #[arg(long)]
    thorough: bool,
}

/// The target whose PTX is built again unless `--thorough` is given; it is the target with every
/// kernel.
const NEWEST: &str = "sm_90";

/// Runs `cargo xtask check`; `commands` are the commands of `cargo xtask`.
pub fn main(args: &Args, commands: Vec<String>) -> Result<()> {
    let root = workspace::root()?;
    let mut report = Report::default();
    // These two steps run concurrently with the steps that compile for the host, and each takes one
    // core.
    let targets = if args.thorough { "" } else { NEWEST };
    let rebuilt = beside(args.no_rebuild, &root, |root| rebuild(root, targets));
    let assembled = beside(args.no_ptxas, &root, assemble);
    report.step("rustfmt", args.no_fmt, || cargo_step(&root, &["fmt", "--all", "--check"]));
    report.step("comments", false, || {
        prose::check(&root)?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("stale words", false, || {
        stale::check(&root, commands, gpu_bundle::commands())?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("figures and their rows", false, || {
        rows::check(&root)?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("sources of kernels", false, || {
        kernels::check(&root)?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("circles of imports", false, || {
        imports::check_circles(&root)?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("floors of rooms", false, || {
        imports::check_floors(&root)?;
        Ok(Outcome::Passed(String::new()))
    });
    report.step("clippy", args.no_clippy, || clippy(&root));
    // The workspace has entry points for all types, so this crate would compile every kernel again
    // with it.
    report.step("tests of the kernels' crate", args.no_features, || {
        cargo_step(&root, &["test", "--package", "gpu-kernels", "--lib"])
    });
    report.step("sets of features", args.no_features, || feature_sets::check(&root, args.thorough));
    report.step("rustdoc", args.no_doc, || cargo_step(&root, &["doc", "--workspace", "--no-deps"]));
    report.step("a program outside", args.no_outside, || {
        Ok(Outcome::Passed(outside::build_and_run(&root, args.from_scratch)?.to_string()))
    });
    report.step("kernels of one's own", args.no_outside, || Ok(Outcome::Passed(examples::check(&root)?)));
    report.step("C++ header: nvcc", args.no_ptxas, || cpp_header::check(&root));
    report.step("PTX: digest of the sources", false, || digests(&root));
    report.step("PTX: lint", false, || lints(&root));
    report.step("PTX: new build, same bytes", args.no_rebuild, || join(rebuilt));
    report.step("PTX: ptxas", args.no_ptxas, || join(assembled));
    report.step("Python wheel", args.no_wheel, || wheel::check(&root, args.thorough));
    report.step("tests, thorough", !args.thorough, || thorough(&root));
    report.step("PTX: statements executed", false, || coverage::check(&root));
    report.step("times of tests", false, || times::of_tests(&root));
    report.step("times of the steps", args.thorough, times::of_steps);
    report.end();
    Ok(())
}

/// Runs clippy with the feature `cust`, which needs a CUDA toolkit, or a folder that its build
/// script takes for one.
///
/// Without the feature there is only one more file of tests, which is not worth a second run.
fn clippy(root: &Path) -> Result<Outcome> {
    let words = ["clippy", "--workspace", "--features", "warpnest-tests/cust,warpnest-tests/fuzz", "--all-targets"];
    capture(
        cargo().args(words).args(feature_sets::DENY).env(cuda_stub::VARIABLE, cuda_stub::make(root)?).current_dir(root),
    )?;
    Ok(Outcome::Passed(String::new()))
}

fn cargo_step(root: &Path, words: &[&str]) -> Result<Outcome> {
    capture(cargo().args(words).env("RUSTDOCFLAGS", "-D warnings").current_dir(root))?;
    Ok(Outcome::Passed(String::new()))
}

fn digests(root: &Path) -> Result<Outcome> {
    build_ptx::all(root)?.iter().try_for_each(Build::check_digests)?;
    Ok(Outcome::Passed(String::new()))
}

fn lints(root: &Path) -> Result<Outcome> {
    build_ptx::all(root)?.iter().try_for_each(Build::check_lint)?;
    Ok(Outcome::Passed(String::new()))
}

/// Builds the PTX of all targets whose names begin with `targets`.
fn rebuild(root: &Path, targets: &str) -> Result<Outcome> {
    // If a digest is wrong, its own step has already failed, so this step is skipped.
    if digests(root).is_err() {
        return Ok(Outcome::Skipped("not built from these sources".into()));
    }
    let mut built = 0;
    for build in build_ptx::all(root)? {
        for module in build.modules().iter().filter(|module| module.target.cpu().starts_with(targets)) {
            match build.compare(module)? {
                Comparison::Identical => built += 1,
                other => return Ok(Outcome::Skipped(other.to_string())),
            }
        }
    }
    Ok(Outcome::Passed(format!("{built} files")))
}

/// Work that runs concurrently with the steps.
type Work = Option<JoinHandle<Result<Outcome>>>;

fn beside(left_out: bool, root: &Path, work: impl FnOnce(&Path) -> Result<Outcome> + Send + 'static) -> Work {
    let root = root.to_owned();
    (!left_out).then(|| std::thread::spawn(move || work(&root)))
}

/// Waits for the work. The time in its line is the time of the wait.
fn join(work: Work) -> Result<Outcome> {
    let work = work.context("it was not begun")?;
    work.join().unwrap_or_else(|_| bail!("it panicked: see above"))
}

/// Runs all tests with all their cases.
fn thorough(root: &Path) -> Result<Outcome> {
    let mut command = cargo();
    command.args(["test", "--release", "--workspace"]).env("WARPNEST_THOROUGH", "1").current_dir(root);
    run(&mut command)?;
    Ok(Outcome::Passed(String::new()))
}

fn assemble(root: &Path) -> Result<Outcome> {
    let Some(ptxas) = ptxas::find(&workspace::target_dir(root))? else {
        return Ok(Outcome::Skipped(resources::HOW_TO_GET_PTXAS.into()));
    };
    let (mut text, mut violations, mut count) = (String::new(), Vec::new(), 0);
    for module in build_ptx::all(root)?.iter().flat_map(Build::modules) {
        let cpu = module.target.cpu();
        let (kernels, warnings) = ptxas::assemble(&ptxas, cpu, &module.path)?;
        text += &format!("\n{} for {cpu}\n{}", module.file_name(), resources::table(&kernels));
        warnings.iter().for_each(|warning| text += &format!("\n{warning}"));
        let found = kernels.iter().filter_map(resources::violation);
        violations.extend(found.map(|violation| format!("{cpu}: {violation}")));
        count += kernels.len();
    }
    if !violations.is_empty() {
        bail!("kernels with a stack or spills:\n{}{text}", violations.join("\n"));
    }
    Ok(Outcome::Passed(format!("{count} kernels{text}")))
}
