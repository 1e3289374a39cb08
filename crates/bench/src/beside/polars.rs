//! A Python process with polars, which computes a result on request.

use std::fs::write;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// Writes a table's columns to the files that the program reads.
pub fn save(folder: &Path, table: &str, keys: &[u32], values: &[u32]) -> Result<()> {
    for (what, column) in [("keys", keys), ("values", values)] {
        let path = folder.join(format!("{table}_{what}"));
        write(&path, bytemuck::cast_slice(column)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A Python process that joins tables, or aggregates rows by keys, on request.
pub struct Polars {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Polars {
    /// Starts the process with `threads` threads, or with all. If `aggregates` are named, it
    /// computes these of the values as floating-point numbers.
    pub fn start(python: &Path, folder: &Path, threads: Option<usize>, aggregates: &[&str]) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", include_str!("polars.py")]).arg(folder).args(aggregates);
        if let Some(threads) = threads {
            command.env("POLARS_MAX_THREADS", threads.to_string());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", python.display()))?;
        let (orders, answers) = (child.stdin.take().context("no input")?, child.stdout.take().context("no output")?);
        let mut polars = Self { child, orders, answers: BufReader::new(answers).lines() };
        polars.answer().context("install polars and numpy for this Python: `pip install polars numpy`")?;
        Ok(polars)
    }

    fn answer(&mut self) -> Result<String> {
        Ok(self.answers.next().context("the Python program has ended")??)
    }

    /// Computes the result once, checks it, and returns the time.
    pub fn run(&mut self, expected: [u64; 3]) -> Result<Duration> {
        writeln!(self.orders)?;
        let answer = self.answer()?;
        let (seconds, found) = answer.split_once(' ').with_context(|| format!("an answer of polars: {answer}"))?;
        ensure!(found == expected.map(|number| number.to_string()).join(" "), "polars found {found}, not {expected:?}");
        Ok(Duration::from_secs_f64(seconds.parse()?))
    }
}

impl Drop for Polars {
    fn drop(&mut self) {
        // The process is killed, because it waits for requests; its exit status does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_python_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Polars::start(Path::new("/no/such/python"), folder.path(), None, &[]).err().unwrap();
        assert!(format!("{error:#}").starts_with("cannot start /no/such/python"), "{error:#}");
        let error = Polars::start(Path::new("true"), folder.path(), Some(1), &[]).err().unwrap();
        assert!(format!("{error:#}").contains("pip install polars"), "{error:#}");
    }
}
