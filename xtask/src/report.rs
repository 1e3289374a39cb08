//! The output of commands that run one step after the other and continue if one fails.

use std::io::Write;
use std::time::Instant;

use anyhow::{Error, Result};

/// The outcome of a step that did not fail; its text is printed in the step's line.
pub enum Outcome {
    Passed(String),
    Skipped(String),
}

/// Counts the steps and prints their lines.
#[derive(Default)]
pub struct Report {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Report {
    /// Runs a step, unless it is left out, and prints its line.
    pub fn step(&mut self, name: &str, left_out: bool, work: impl FnOnce() -> Result<Outcome>) {
        print!("{name:<32} ");
        // The name is printed first, because a step can take minutes. If the pipe is closed, the
        // next line fails.
        let _ = std::io::stdout().flush();
        let start = Instant::now();
        let outcome = if left_out { Ok(Outcome::Skipped("left out".into())) } else { work() };
        println!("{}", self.count(outcome, start.elapsed().as_secs_f64()));
    }

    /// Counts an outcome and returns the rest of its line.
    fn count(&mut self, outcome: Result<Outcome, Error>, seconds: f64) -> String {
        let (counter, word, text) = match outcome {
            Ok(Outcome::Passed(text)) => (&mut self.passed, "ok", text),
            Ok(Outcome::Skipped(text)) => (&mut self.skipped, "skipped", text),
            Err(error) => (&mut self.failed, "FAILED", format!("{error:#}")),
        };
        *counter += 1;
        format!("{word:<8}{seconds:6.1} s  {text}").trim_end().to_string()
    }

    fn summary(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    /// Prints the counts, ends the process if a step failed, and returns the count of steps that
    /// passed.
    pub fn end(self) -> u32 {
        println!("{}", self.summary());
        // The lines above are enough, so no error is printed.
        if self.failed > 0 {
            std::process::exit(1);
        }
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_counted_and_shown() {
        let mut report = Report::default();
        assert_eq!(report.count(Ok(Outcome::Passed(String::new())), 0.25), "ok         0.2 s");
        assert_eq!(report.count(Ok(Outcome::Skipped("no tool".into())), 0.0), "skipped    0.0 s  no tool");
        let error = Error::msg("inner").context("outer");
        assert_eq!(report.count(Err(error), 12.0), "FAILED    12.0 s  outer: inner");
        assert_eq!(report.summary(), "1 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_step_that_is_left_out_does_not_run() {
        let mut report = Report::default();
        report.step("x", true, || unreachable!());
        assert_eq!(report.summary(), "0 passed, 0 failed, 1 skipped");
    }
}
