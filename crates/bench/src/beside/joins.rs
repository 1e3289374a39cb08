//! Joins, beside those of polars.

use std::fs::write;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use warpnest::relational::JoinWithValues;

use super::Lab;
use super::record::Comparison;
use super::timing::timed;
use crate::bench::input::{key, shuffle};

/// The rows of a key on the left side, where it has several.
const MULTIPLICITY: u64 = 8;

/// The columns of both tables: keys and values of each.
struct Tables {
    keys: [Vec<u32>; 2],
    values: [Vec<u32>; 2],
}

impl Tables {
    /// Makes tables with so many rows of each key on the left, and one on the right; all match.
    fn new(n: u64, multiplicity: u64) -> Self {
        let n = n.next_multiple_of(multiplicity);
        let mut keys = [multiplicity, 1]
            .map(|of_key| -> Vec<u32> { (0..n * of_key / multiplicity).map(|row| key(row / of_key)).collect() });
        // The right rows once more, so that they are in an order of their own.
        [0, 1, 1].into_iter().for_each(|side| shuffle(&mut keys[side]));
        let values = keys.each_ref().map(|keys| (0..keys.len() as u32).collect());
        Self { keys, values }
    }

    /// Writes the columns to files.
    fn save(&self, folder: &Path) -> Result<()> {
        for (side, name) in ["left", "right"].into_iter().enumerate() {
            for (what, column) in [("keys", &self.keys[side]), ("values", &self.values[side])] {
                let path = folder.join(format!("{name}_{what}"));
                write(&path, bytemuck::cast_slice(column))
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Returns the number of pairs, and the sums of both columns of values in them.
    fn expected(&self) -> [u64; 3] {
        let [left, right] = self.values.each_ref().map(|values| values.iter().map(|&value| u64::from(value)).sum());
        let pairs = self.keys[0].len() as u64;
        [pairs, left, right * (pairs / self.keys[1].len() as u64)]
    }
}

/// A Python program that joins whenever it is told to.
struct Polars {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Polars {
    /// Starts the program with so many threads, or with all.
    fn start(python: &Path, folder: &Path, threads: Option<usize>) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", include_str!("polars.py")]).arg(folder);
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

    /// Joins once; returns the time.
    fn join(&mut self, expected: [u64; 3]) -> Result<Duration> {
        writeln!(self.orders, "join")?;
        let answer = self.answer()?;
        let (seconds, found) = answer.split_once(' ').with_context(|| format!("an answer of polars: {answer}"))?;
        ensure!(found == expected.map(|number| number.to_string()).join(" "), "polars found {found}, not {expected:?}");
        Ok(Duration::from_secs_f64(seconds.parse()?))
    }
}

impl Drop for Polars {
    fn drop(&mut self) {
        // It ends when nothing more can be told to it; what it returns says nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compares inner joins that give keys and a column of values of each side.
pub fn beside_polars(lab: &Lab<'_>, python: &Path) -> Result<Vec<Comparison>> {
    let mut rows = Vec::new();
    for (op, multiplicity) in [("inner, unique keys", 1), ("inner, 8 rows a key on one side", MULTIPLICITY)] {
        let tables = Tables::new(lab.n, multiplicity);
        let folder = tempfile::tempdir()?;
        tables.save(folder.path())?;
        let mut one = Polars::start(python, folder.path(), Some(1))?;
        let (mut all, expected) = (Polars::start(python, folder.path(), None)?, tables.expected());
        let Tables { keys: [left, right], values: [left_values, right_values] } = &tables;
        let mut ours = || {
            let mut join = JoinWithValues::new((left, left_values), (right, right_values));
            let (time, joined) = timed(|| join.seed(1).run(&lab.device));
            let (joined, stream) = (joined?, lab.device.default_stream());
            let sums = [joined.left_values().download(stream)?, joined.right_values().download(stream)?]
                .map(|values| values.into_iter().map(u64::from).sum());
            ensure!([joined.len() as u64, sums[0], sums[1]] == expected, "{} pairs, sums {sums:?}", joined.len());
            Ok(time)
        };
        let (mut theirs, mut theirs_all) = (|| one.join(expected), || all.join(expected));
        let names = ["join", op, "polars"];
        lab.row_in_parallel(&mut rows, names, &mut ours, &mut theirs, Some(&mut theirs_all))?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_pairs_that_are_expected() {
        for (rows, multiplicity) in [(64, 1), (64, MULTIPLICITY), (57, MULTIPLICITY)] {
            let tables = Tables::new(rows, multiplicity);
            assert_eq!(tables.keys[0].len() as u64, tables.keys[1].len() as u64 * multiplicity);
            assert!(tables.keys[0].iter().all(|key| tables.keys[1].contains(key)));
            assert_eq!(tables.expected()[0], 64);
        }
    }

    #[test]
    fn a_program_that_is_no_python_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Polars::start(Path::new("/no/such/python"), folder.path(), None).err().unwrap();
        assert!(format!("{error:#}").starts_with("cannot start /no/such/python"), "{error:#}");
        let error = Polars::start(Path::new("true"), folder.path(), Some(1)).err().unwrap();
        assert!(format!("{error:#}").contains("pip install polars"), "{error:#}");
    }
}
