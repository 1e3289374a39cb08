//! The share of the committed PTX that the tests execute in the interpreter.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::report::Outcome;
use crate::{build_ptx, workspace};

/// The least share of executed statements that passes.
///
/// It is a little less than usual, since much input of the tests is random. About 1 % cannot be
/// executed (docs/architecture.md), and 3 % are of kernels of several columns, each of which has
/// code for all kinds of aggregates and of rows.
const FLOOR: f64 = 0.86;

/// The folder in the target folder to which each test program writes a file when all of its tests
/// have run (`tests/src/coverage.rs`).
const FOLDER: &str = "ptx-coverage";

/// Compares the share of the last run of all tests with the floor.
pub fn check(root: &Path) -> Result<Outcome> {
    let folder = workspace::target_dir(root).join(FOLDER);
    let Ok(files) = fs::read_dir(&folder) else {
        return Ok(Outcome::Skipped("run all tests first: cargo test --workspace".into()));
    };
    let mut digests = Vec::new();
    for module in build_ptx::kernels(root)?.modules() {
        digests.push(module.committed()?.1.digest);
    }
    let texts: Vec<String> = files.map(|file| fs::read_to_string(file?.path())).collect::<Result<_, _>>()?;
    let Some((executed, all)) = figures(&texts, &digests)? else {
        return Ok(Outcome::Skipped("the tests that ran last ran other PTX: cargo test --workspace".into()));
    };
    let share = executed as f64 / all as f64;
    let percent = format!("{executed} of {all}, {:.1} %", 100.0 * share);
    ensure!(share >= FLOOR, "{percent}; at least {:.1} % must be: {} has the others", 100.0 * FLOOR, folder.display());
    Ok(Outcome::Passed(percent))
}

/// Returns the count of statements that any program has executed, and the count of all statements.
/// Only files with one of these digests count. A statement was executed unless each of them lists
/// it.
fn figures(texts: &[String], digests: &[String]) -> Result<Option<(u64, u64)>> {
    let (mut all, mut left_out) = (None, None::<HashSet<&str>>);
    for text in texts {
        let mut lines = text.lines();
        let (first, about) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let count = first.split_once(" of ").and_then(|(_, rest)| rest.strip_suffix(" statements"));
        let count: u64 = count.and_then(|count| count.parse().ok()).with_context(|| format!("{FOLDER}: {first}"))?;
        if !digests.iter().any(|digest| about.contains(digest)) {
            continue;
        }
        let missing: HashSet<&str> = lines.collect();
        left_out = Some(match left_out {
            Some(before) => &before & &missing,
            None => missing,
        });
        all = Some(count);
    }
    Ok(all.zip(left_out).map(|(all, left_out)| (all - left_out.len() as u64, all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_if_they_are_about_the_committed_ptx() {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let (first, second) = (
            "98 of 100 statements\n// sources-sha256: 00ff\nsm_90 entry line 7: trap\nsm_90 entry line 8: ret\n",
            "99 of 100 statements\n// sources-sha256: 00ff\nsm_90 entry line 8: ret\n",
        );
        assert_eq!(figures(&texts(&[first]), &["00ff".into()]).unwrap(), Some((98, 100)));
        assert_eq!(figures(&texts(&[first, second]), &["00ff".into()]).unwrap(), Some((99, 100)));
        let other = "100 of 100 statements\n// sources-sha256: 00fe\n";
        assert_eq!(figures(&texts(&[first, other]), &["00ff".into()]).unwrap(), Some((98, 100)));
        assert_eq!(figures(&texts(&[other]), &["00ff".into()]).unwrap(), None);
        assert!(figures(&texts(&["95 statements"]), &["00ff".into()]).is_err());
    }
}
