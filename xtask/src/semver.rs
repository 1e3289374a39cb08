//! The public interface compared with an earlier version's, by `cargo semver-checks`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{capture, cargo, run};
use crate::report::Outcome;
use crate::{cuda_stub, dependencies, workspace};

/// The subcommand of cargo, and the package that provides it.
const TOOL: (&str, &str) = ("semver-checks", "cargo-semver-checks");

/// Fails if the libraries that users need changed more than the step from the earlier version to
/// `version` allows. The earlier version is `baseline`, or the last tagged one.
pub fn check(root: &Path, version: &str, baseline: Option<&str>) -> Result<Outcome> {
    let list = ["tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname"];
    let (tags, _) = capture(Command::new("git").args(list).current_dir(root))?;
    let Some(baseline) = baseline.or_else(|| earlier(&tags, version)) else {
        return Ok(Outcome::Passed("semver: no earlier version is tagged, so there is nothing to compare with".into()));
    };
    if let Some(missing) = dependencies::missing(TOOL) {
        return Ok(Outcome::Skipped(format!("semver was not checked: {missing}")));
    }
    let mut compare = cargo();
    compare.args([TOOL.0, "--baseline-rev", baseline]).args(workspace::LIBRARIES.iter().flat_map(|name| ["-p", name]));
    // All features are compared, and `cust` needs a toolkit.
    run(compare.env(cuda_stub::VARIABLE, cuda_stub::make(root)?).current_dir(root))?;
    Ok(Outcome::Passed(format!("semver: what changed since {baseline} is allowed by the step to {version}")))
}

/// Returns the first tag of a version, except the tag of `version` itself, which may exist already.
fn earlier<'a>(tags: &'a str, version: &str) -> Option<&'a str> {
    let is_version =
        |tag: &str| tag.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    tags.lines().find(|tag| is_version(tag) && tag[1..] != *version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_version_is_the_last_tagged_one_that_is_not_this() {
        assert_eq!(earlier("voxels\nv0.2.0\nv0.1.1\nv0.1.0\n", "0.2.0"), Some("v0.1.1"));
        assert_eq!(earlier("v0.1.1\nv0.1.0\n", "0.2.0"), Some("v0.1.1"));
        assert_eq!(earlier("v0.1.0\n", "0.1.0"), None);
        assert_eq!(earlier("", "0.1.0"), None);
    }
}
