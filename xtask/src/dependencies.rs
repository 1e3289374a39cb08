//! The packages that the workspace depends on, as `cargo deny` checks them by `deny.toml`.

use std::path::Path;

use anyhow::Result;

use crate::process::{capture, cargo, run};
use crate::report::Outcome;

/// The subcommand of cargo, and the package that provides it.
const TOOL: (&str, &str) = ("deny", "cargo-deny");

/// Checks licences, banned packages and the registries of packages. If the database of advisories
/// can be fetched, it then checks advisories and withdrawn versions.
pub fn check(root: &Path) -> Result<Outcome> {
    if let Some(missing) = missing(TOOL) {
        return Ok(Outcome::Skipped(format!("licences and advisories were not checked: {missing}")));
    }
    let deny = |words: &[&str]| {
        let mut command = cargo();
        command.arg(TOOL.0).args(words).current_dir(root);
        command
    };
    run(&mut deny(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]))?;
    // This runs separately, because `check` has the same status for a missing database and for an
    // advisory.
    if let Err(error) = capture(&mut deny(&["fetch", "db"])) {
        let error = format!("{error:#}");
        let reason = error.trim_end().lines().next_back().unwrap_or_default();
        return Ok(Outcome::Skipped(format!(
            "licences and sources are as deny.toml allows; advisories and withdrawn versions were not checked, \
            since `cargo deny fetch db` failed: {reason}"
        )));
    }
    run(&mut deny(&["check", "--hide-inclusion-graph", "--disable-fetch", "advisories"]))?;
    Ok(Outcome::Passed("licences, sources and advisories are as deny.toml allows".into()))
}

/// Returns how to get a subcommand of cargo unless it is installed, given its name and package.
pub fn missing((name, package): (&str, &str)) -> Option<String> {
    let there = capture(cargo().args([name, "--version"])).is_ok();
    (!there).then(|| format!("there is no `cargo {name}`; install it by `cargo install --locked {package}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_that_is_missing_says_how_to_get_it() {
        assert_eq!(missing(("clippy", "clippy")), None);
        let said = missing(("no-such-subcommand", "no-such-package")).unwrap();
        assert!(said.contains("`cargo install --locked no-such-package`"), "{said}");
    }
}
