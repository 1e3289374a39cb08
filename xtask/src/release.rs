//! `cargo xtask release`: everything between a commit and the registry, in order.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{capture, cargo, run};
use crate::{outside, workspace};

/// Pack, verify and publish the crates that users need.
///
/// The steps: the tree has no changes; CHANGELOG.md has a section for the version; every crate is
/// packed and built from its archive alone; a program outside of the workspace is built with the
/// archives and run; the crates are published, each after those that it needs.
#[derive(clap::Args)]
pub struct Args {
    /// Do everything but the last step.
    #[arg(long)]
    dry_run: bool,
    /// Take a tree with changes, for a try of the other steps.
    #[arg(long, requires = "dry_run")]
    allow_dirty: bool,
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

    let packages: Vec<&str> = outside::PACKAGES.iter().flat_map(|&name| ["-p", name]).collect();
    let mut package = cargo();
    package.args(["package", "--target-dir"]).arg(workspace::target_dir(&root).join("release-archives"));
    if args.allow_dirty {
        package.arg("--allow-dirty");
    }
    run(package.args(&packages).current_dir(&root))?;
    println!("every archive builds by itself");

    println!("{}", outside::build_and_run(&root, true)?);
    publish(&root, &packages, args.dry_run)
}

/// Fails unless the changelog has a section for the version: of a day, or `unreleased` for a try.
fn check_changelog(changelog: &str, version: &str, dry_run: bool) -> Result<()> {
    let heading = format!("## {version} - ");
    match changelog.lines().find_map(|line| line.strip_prefix(&heading)) {
        Some("unreleased") if dry_run => Ok(()),
        Some("unreleased") => bail!("CHANGELOG.md says that {version} is unreleased: write down the day"),
        Some(_) => Ok(()),
        None => bail!("CHANGELOG.md has no section `{heading}DAY`: write down what users get"),
    }
}

/// Publishes the packages, which `cargo` puts in the order of their dependencies.
fn publish(root: &Path, packages: &[&str], dry_run: bool) -> Result<()> {
    if dry_run {
        println!("nothing was published: this was a dry run");
        return Ok(());
    }
    run(cargo().arg("publish").args(packages).current_dir(root))
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
}
