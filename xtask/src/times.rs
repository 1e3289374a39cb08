//! The CPU time of tests and checks, with limits. Other work on the machine changes it little; a
//! slow machine takes twice as much as a fast one.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::report::Outcome;
use crate::workspace;

/// The largest share of all tests' CPU time that one test may take. A share is the same on slow and
/// on busy machines. Inputs differ in each run, so the limit is twice the usual share of the
/// slowest test.
const MOST: f64 = 0.04;

/// The most CPU-seconds of all tests, and of all steps of a check from scratch: twice the time of a
/// slow machine on 2026-11-28.
const BUDGET_OF_TESTS: f64 = 3000.0;
const BUDGET_OF_STEPS: f64 = 4000.0;

/// The count of tests that are shown.
const SHOWN: usize = 30;

/// The folder in the target folder to which each test program writes a file when all of its tests
/// have run (`tests/src/times.rs`).
const FOLDER: &str = "test-times";

/// Shows the slowest tests of the last run of all tests, and fails if a test took too long.
pub fn of_tests(root: &Path) -> Result<Outcome> {
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
    ensure!(slow.is_empty(), "tests of more than {} % of all CPU-seconds: {}", MOST * 100.0, slow.join(", "));
    let all = seconds_of(&tests);
    within(all, BUDGET_OF_TESTS)?;
    let shown: String = tests.iter().take(SHOWN).map(|(seconds, name)| format!("\n{seconds:8.1} {name}")).collect();
    Ok(Outcome::Passed(format!("{} tests, {all:.0} CPU-seconds; the slowest:{shown}", tests.len())))
}

/// Fails if the programs that this process has waited for took too long.
pub fn of_steps() -> Result<Outcome> {
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else {
        return Ok(Outcome::Skipped("only Linux says what they took".into()));
    };
    let seconds = seconds_of_children(&stat).with_context(|| format!("/proc/self/stat: {stat}"))?;
    within(seconds, BUDGET_OF_STEPS)?;
    Ok(Outcome::Passed(format!("{seconds:.0} CPU-seconds")))
}

fn within(seconds: f64, budget: f64) -> Result<()> {
    ensure!(seconds <= budget, "{seconds:.0} CPU-seconds, and the budget is {budget}");
    Ok(())
}

/// Returns the CPU seconds of a process's children, user and system, from the 16th and 17th words
/// of its line in /proc, which are hundredths of a second. The second word, a name in parentheses,
/// may have spaces.
fn seconds_of_children(stat: &str) -> Option<f64> {
    let (_, words) = stat.rsplit_once(')')?;
    let hundredths: Vec<u64> = words.split_whitespace().skip(13).take(2).map_while(|word| word.parse().ok()).collect();
    (hundredths.len() == 2).then(|| hundredths.iter().sum::<u64>() as f64 / 100.0)
}

/// Parses a line: the CPU-seconds of a test, and its name.
fn test(line: &str) -> Result<(f64, String)> {
    let words = line.split_once(' ').and_then(|(seconds, name)| Some((seconds.parse().ok()?, name.to_owned())));
    words.with_context(|| format!("{FOLDER}: {line}"))
}

fn seconds_of(tests: &[(f64, String)]) -> f64 {
    tests.iter().map(|test| test.0).sum()
}

fn too_slow(tests: &[(f64, String)]) -> impl Iterator<Item = &(f64, String)> {
    let most = MOST * seconds_of(tests);
    tests.iter().filter(move |test| test.0 > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_above_the_limit_is_named() {
        let mut tests = [["39.90 c"; 24].as_slice(), &["42.40 a::b"]].concat();
        let tests: Vec<_> = tests.drain(..).map(|line| test(line).unwrap()).collect();
        assert_eq!(too_slow(&tests).map(|test| &test.1).collect::<Vec<_>>(), ["a::b"]);
        assert!(test("20.0").is_err() && test("x y").is_err());
    }

    #[test]
    fn the_time_of_children_is_read_behind_a_name_of_any_words() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 5 6 0 0 11 12 250 50 20 0 1 0 100";
        assert_eq!(seconds_of_children(stat), Some(3.0));
        assert_eq!(seconds_of_children("7 (a) S 1"), None);
        assert!(within(3.0, 3.0).is_ok() && within(3.1, 3.0).is_err());
    }
}
