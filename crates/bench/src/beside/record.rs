//! The results of comparisons, as a table and as lines of a file.

use std::fs::{OpenOptions, read_to_string};
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use comfy_table::Table;
use serde::{Deserialize, Serialize};

use super::timing::Times;
use crate::bench::record::{Run, rounded};
use crate::tables::new_table;

/// The median times of an operation for one number of pairs.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub table: &'static str,
    pub op: &'static str,
    /// The name of the other side.
    pub beside: &'static str,
    pub n: u64,
    pub times: Times,
}

/// A line of the file. Times are in nanoseconds per item. A ratio is the other side's time divided
/// by ours.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    pub date: String,
    pub commit: String,
    /// The machine's processor.
    pub machine: String,
    pub table: String,
    pub op: String,
    pub beside: String,
    /// The hasher of the other side's maps.
    pub hasher: String,
    pub n: u64,
    /// The threads of this line's ratio: the other side's threads, then ours.
    pub threads: [usize; 2],
    pub ns_an_item: f64,
    pub ratio: f64,
}

impl Comparison {
    /// Returns the ratios with both sides' threads and our time, for `all` threads.
    fn ratios(&self, all: usize) -> impl Iterator<Item = ([usize; 2], f64, f64)> {
        let Times { theirs, theirs_all, ours } = self.times;
        let mut ratios = vec![([1, 1], ours[0], theirs / ours[0]), ([1, all], ours[1], theirs / ours[1])];
        ratios.extend(theirs_all.map(|theirs| ([all, all], ours[1], theirs / ours[1])));
        ratios.into_iter()
    }

    /// Returns the lines of the file, one for each ratio.
    fn lines(&self, run: &Run, hasher: &str, all: usize) -> Vec<Line> {
        let line = |(threads, nanoseconds, ratio): ([usize; 2], f64, f64)| Line {
            date: run.date.clone(),
            commit: run.commit.clone(),
            machine: run.device.clone(),
            table: self.table.to_owned(),
            op: self.op.to_owned(),
            beside: self.beside.to_owned(),
            hasher: hasher.to_owned(),
            n: self.n,
            threads,
            ns_an_item: rounded(nanoseconds / self.n as f64),
            ratio: rounded(ratio),
        };
        self.ratios(all).map(line).collect()
    }
}

/// Appends the lines of all comparisons to a file.
pub fn append(path: &Path, run: &Run, hasher: &str, threads: usize, comparisons: &[Comparison]) -> anyhow::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    for line in comparisons.iter().flat_map(|comparison| comparison.lines(run, hasher, threads)) {
        writeln!(file, "{}", serde_json::to_string(&line)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the name of this machine's processor.
pub fn machine() -> String {
    let name = read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Returns the ratios as a table, with a column for each number of pairs.
pub fn table(comparisons: &[Comparison], sizes: &[u64], threads: usize) -> Table {
    let sizes_as_text = sizes.iter().map(|&n| match n.is_power_of_two() {
        true => format!("2^{}", n.ilog2()),
        false => n.to_string(),
    });
    let header = ["table", "operation", "beside", "threads"].map(str::to_owned);
    let mut table = new_table(header.into_iter().chain(sizes_as_text), 4);
    let mut rows: Vec<(&str, &str, &str)> = Vec::new();
    for comparison in comparisons {
        let row = (comparison.table, comparison.op, comparison.beside);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for row in rows {
        let of_row: Vec<&Comparison> =
            comparisons.iter().filter(|one| (one.table, one.op, one.beside) == row).collect();
        let kinds: Vec<[usize; 2]> = of_row[0].ratios(threads).map(|(kind, ..)| kind).collect();
        for (number, [theirs, ours]) in kinds.into_iter().enumerate() {
            let cells = sizes.iter().map(|&n| {
                let one = of_row.iter().find(|one| one.n == n);
                let ratio = one.and_then(|one| one.ratios(threads).nth(number)).map(|(_, _, ratio)| ratio);
                ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
            });
            let names = [row.0.to_owned(), row.1.to_owned(), row.2.to_owned(), format!("{ours}/{theirs}")];
            table.add_row(names.into_iter().chain(cells));
        }
    }
    table
}
