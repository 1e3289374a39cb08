//! The CPU time that tests take, with a limit for each.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::report::Outcome;
use crate::workspace;

/// The most CPU-seconds of a test: 20 of an idle machine. On cores that others use, too, they are
/// up to twice as many.
const LIMIT: f64 = 40.0;

/// Tests that may take longer, each with the reason.
const ALLOWED: [(&str, &str); 4] = [
    ("relational::distinct::edges", "all functions at each length; the interpreter takes the time of idle threads"),
    ("relational::distinct::functions_of_whole_columns", "each case has ten calls, of which some sort"),
    (
        "page::edges::tables_of_five_slots_a_bucket_with_few_pairs_and_with_many",
        "a bucket has five slots from two million pairs on",
    ),
    (
        "page::forms::pages_of_every_form_are_filled_nearly_to_the_last_slot_and_never_beyond",
        "each form of a page at each fill on each engine",
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
    ensure!(slow.is_empty(), "tests of more than {LIMIT} CPU-seconds without a reason in ALLOWED: {}", slow.join(", "));
    let all: f64 = tests.iter().map(|test| test.0).sum();
    let shown: String = tests.iter().take(SHOWN).map(|(seconds, name)| format!("\n{seconds:8.1} {name}")).collect();
    Ok(Outcome::Passed(format!("{} tests, {all:.0} CPU-seconds; the slowest:{shown}", tests.len())))
}

/// Reads a line: the CPU-seconds of a test, and its name.
fn test(line: &str) -> Result<(f64, String)> {
    let words = line.split_once(' ').and_then(|(seconds, name)| Some((seconds.parse().ok()?, name.to_owned())));
    words.with_context(|| format!("{FOLDER}: {line}"))
}

fn too_slow(tests: &[(f64, String)]) -> impl Iterator<Item = &(f64, String)> {
    tests.iter().filter(|(seconds, name)| *seconds > LIMIT && !ALLOWED.iter().any(|allowed| allowed.0 == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_above_the_limit_needs_a_reason() {
        let tests = ["40.01 a::b", "40.00 c"].map(|line| test(line).unwrap());
        assert_eq!(too_slow(&tests).map(|test| &test.1).collect::<Vec<_>>(), ["a::b"]);
        assert!(test("20.0").is_err() && test("x y").is_err());
    }
}
