//! `cargo xtask release`: all steps from a commit to the registry, in order.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{capture, cargo, run};
use crate::report::Outcome;
use crate::{dependencies, outside, semver, workspace};

/// Check, pack, verify and publish the crates that users need.
///
/// The steps: the tree must have no changes. CHANGELOG.md must have a section for the version.
/// `cargo deny` checks that deny.toml allows the licences, sources and advisories of all packages.
/// `cargo semver-checks` must find no change that the step from the last tagged version forbids.
/// Every crate is packed and built from its archive alone. The README's first program is made
/// outside of the workspace from the archives. Then the crates are published, each after the crates
/// that it needs.
#[derive(clap::Args)]
pub struct Args {
    /// Do everything except the last step. Steps that cannot run here are skipped, with a line.
    #[arg(long)]
    dry_run: bool,
    /// Accept a tree with changes, to try the other steps.
    #[arg(long, requires = "dry_run")]
    allow_dirty: bool,
    /// The revision to compare the interface with, instead of the last tagged version.
    #[arg(long, value_name = "REV")]
    baseline_rev: Option<String>,
}

/// Runs the steps.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let version = env!("CARGO_PKG_VERSION");
    if !args.allow_dirty {
        let (changes, _) =
            capture(std::process::Command::new("git").args(["status", "--porcelain"]).current_dir(&root))?;
        ensure!(changes.is_empty(), "the tree has changes; commit them, or leave them out:\n{changes}");
    }
    let changelog = fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    check_changelog(&changelog, version, args.dry_run)?;
    println!("CHANGELOG.md has version {version}");

    let mut passed_over = Vec::new();
    passed_over.extend(say(dependencies::check(&root)?, args.dry_run)?);
    passed_over.extend(say(semver::check(&root, version, args.baseline_rev.as_deref())?, args.dry_run)?);

    let packages: Vec<&str> =
        workspace::LIBRARIES.iter().chain(&workspace::PROGRAMS).flat_map(|&name| ["-p", name]).collect();
    let mut package = cargo();
    package.args(["package", "--target-dir"]).arg(workspace::target_dir(&root).join("release-archives"));
    if args.allow_dirty {
        package.arg("--allow-dirty");
    }
    run(package.args(&packages).current_dir(&root))?;
    println!("every archive builds by itself");

    println!("{}", outside::build_and_run(&root, true)?);
    if args.dry_run {
        passed_over.iter().for_each(|why| println!("passed over: {why}"));
        println!("nothing was published: this was a dry run");
        return Ok(());
    }
    run(cargo().arg("publish").args(packages).current_dir(&root))?;
    println!("published; tag the commit as v{version}, with which the next version is compared");
    Ok(())
}

/// Prints the outcome of a step. If the step could not run, returns its text in a dry run, and
/// otherwise fails.
fn say(outcome: Outcome, dry_run: bool) -> Result<Option<String>> {
    match outcome {
        Outcome::Passed(text) => println!("{text}"),
        Outcome::Skipped(why) if dry_run => {
            println!("passed over: {why}");
            return Ok(Some(why));
        }
        Outcome::Skipped(why) => bail!(why),
    }
    Ok(None)
}

/// Fails unless the changelog has a section for the version, with a date, or with `unreleased` in a
/// dry run.
fn check_changelog(changelog: &str, version: &str, dry_run: bool) -> Result<()> {
    let heading = format!("## {version} - ");
    match changelog.lines().find_map(|line| line.strip_prefix(&heading)) {
        Some("unreleased") if dry_run => Ok(()),
        Some("unreleased") => bail!("CHANGELOG.md says that {version} is unreleased: write down the day"),
        Some(_) => Ok(()),
        None => bail!("CHANGELOG.md has no section `{heading}DAY`: write down what users get"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_needs_a_section_with_a_day_and_a_try_takes_an_unreleased_one() {
        let unreleased = "# Changelog\n\n## 0.1.0 - unreleased\n\n- Tables.\n";
        assert!(check_changelog(unreleased, "0.1.0", true).is_ok());
        assert!(check_changelog(unreleased, "0.1.0", false).is_err());
        for dry_run in [true, false] {
            assert!(check_changelog("## 0.1.0 - 2026-12-01\n", "0.1.0", dry_run).is_ok());
            assert!(check_changelog("## 0.0.9 - 2026-12-01\n", "0.1.0", dry_run).is_err());
        }
    }

    #[test]
    fn what_cannot_be_checked_is_told_in_a_try_and_fails_otherwise() {
        let skipped = || Outcome::Skipped("there is no tool".into());
        assert_eq!(say(skipped(), true).unwrap().as_deref(), Some("there is no tool"));
        assert_eq!(say(skipped(), false).unwrap_err().to_string(), "there is no tool");
        assert_eq!(say(Outcome::Passed("all is well".into()), false).unwrap(), None);
    }
}
