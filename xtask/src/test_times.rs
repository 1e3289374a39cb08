//! The CPU time that tests take, with a limit for each.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::report::Outcome;
use crate::workspace;

/// The most of all tests' CPU time that one may take. A share is the same on slow machines and on
/// busy ones.
const MOST: f64 = 0.02;

/// Tests that may take more, each with the reason.
const ALLOWED: [(&str, &str); 5] = [
    ("relational::distinct::edges", "all functions at each length; the interpreter takes the time of idle threads"),
    ("relational::distinct::functions_of_whole_columns", "each case has ten calls, of which some sort"),
    ("relational::distinct::signed_keys_and_pairs", "the same, and pairs besides"),
    ("relational::group_by::edges", "four columns of keys a case, each with ten queries"),
    (
        "strings::edges::no_rows_and_empty_strings_and_zeros_and_what_is_no_utf_8",
        "five texts of 128 KiB, in the interpreter, too",
    ),
];

/// The number of tests that are shown.
const SHOWN: usize = 30;

/// The folder in the target folder where each program of tests leaves a file when all of its tests
/// have run (`tests/src/times.rs`).
const FOLDER: &str = "test-times";

/// Shows the slowest tests of the last run of all tests, and fails if one took too long.
pub fn check(root: &Path) -> Result<Outcome> {
    let Ok(files) = fs::read_dir(workspace::target_dir(root).join(FOLDER)) else {
        return Ok(Outcome::Skipped("run all tests first: cargo test --workspace".into()));
    };
    let mut tests = Vec::new();
    for file in files {
        let text = fs::read_to_string(file?.path())?;
        tests.extend(text.lines().map(test).collect::<Result<Vec<_>>>()?);
    }
    tests.sort_by(|one, other| other.0.total_cmp(&one.0));
    let slow: Vec<String> = too_slow(&tests).map(|(seconds, name)| format!("{name} {seconds:.1}")).collect();
    ensure!(
        slow.is_empty(),
        "tests of more than {} % of all CPU-seconds without a reason in ALLOWED: {}",
        MOST * 100.0,
        slow.join(", ")
    );
    let all = seconds_of(&tests);
    let shown: String = tests.iter().take(SHOWN).map(|(seconds, name)| format!("\n{seconds:8.1} {name}")).collect();
    Ok(Outcome::Passed(format!("{} tests, {all:.0} CPU-seconds; the slowest:{shown}", tests.len())))
}

/// Reads a line: the CPU-seconds of a test, and its name.
fn test(line: &str) -> Result<(f64, String)> {
    let words = line.split_once(' ').and_then(|(seconds, name)| Some((seconds.parse().ok()?, name.to_owned())));
    words.with_context(|| format!("{FOLDER}: {line}"))
}

fn seconds_of(tests: &[(f64, String)]) -> f64 {
    tests.iter().map(|test| test.0).sum()
}

fn too_slow(tests: &[(f64, String)]) -> impl Iterator<Item = &(f64, String)> {
    let most = MOST * seconds_of(tests);
    tests.iter().filter(move |(seconds, name)| *seconds > most && !ALLOWED.iter().any(|allowed| allowed.0 == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_above_the_limit_needs_a_reason() {
        let tests = ["20.10 a::b", "19.90 c", "960.00 relational::group_by::edges"].map(|line| test(line).unwrap());
        assert_eq!(too_slow(&tests).map(|test| &test.1).collect::<Vec<_>>(), ["a::b"]);
        assert!(test("20.0").is_err() && test("x y").is_err());
    }
}
