//! The share of the committed PTX that the tests execute in the interpreter.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::build_ptx::TARGETS;
use crate::report::Outcome;
use crate::workspace;

/// The share of statements below which the check fails.
///
/// It is a little less than the tests execute, since much of their input is random. About 1 %
/// cannot be executed (docs/architecture.md).
const FLOOR: f64 = 0.96;

/// The file that the tests write when all of them have run (`tests/src/coverage.rs`), in the target
/// folder.
const FILE: &str = "ptx-coverage.txt";

/// Compares the figure of the last run of all tests with the floor.
pub fn check(root: &Path) -> Result<Outcome> {
    let path = workspace::target_dir(root).join(FILE);
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(Outcome::Skipped("run all tests first: cargo test --workspace".into()));
    };
    let mut digests = Vec::new();
    for target in &TARGETS {
        digests.push(target.committed(root)?.1.digest);
    }
    let Some((executed, all)) = figures(&text, &digests)? else {
        return Ok(Outcome::Skipped("the tests that ran last ran other PTX: cargo test --workspace".into()));
    };
    let share = executed as f64 / all as f64;
    let percent = format!("{executed} of {all}, {:.1} %", 100.0 * share);
    ensure!(share >= FLOOR, "{percent}; at least {:.0} % must be: {} has the others", 100.0 * FLOOR, path.display());
    Ok(Outcome::Passed(percent))
}

/// The numbers of executed statements and of all, if the file is about one of these digests.
fn figures(text: &str, digests: &[String]) -> Result<Option<(u64, u64)>> {
    let mut lines = text.lines();
    let (first, about) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let (executed, rest) = first.split_once(" of ").with_context(|| format!("{FILE}: {first}"))?;
    let all = rest.strip_suffix(" statements").with_context(|| format!("{FILE}: {first}"))?;
    let known = digests.iter().any(|digest| about.contains(digest));
    Ok(if known { Some((executed.parse()?, all.parse()?)) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_if_they_are_about_the_committed_ptx() {
        let text = "95 of 100 statements\n// sources-sha256: 00ff\nsm_90 entry line 7: trap\n";
        assert_eq!(figures(text, &["00ff".into()]).unwrap(), Some((95, 100)));
        assert_eq!(figures(text, &["00fe".into()]).unwrap(), None);
        assert!(figures("95 statements", &["00ff".into()]).is_err());
    }
}
