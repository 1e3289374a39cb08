//! A measurement: a line of the printed table, and of `docs/measurements/<device>.jsonl`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use comfy_table::Table;
use serde::{Deserialize, Serialize};

use crate::tables::new_table;

/// A measurement. `limit_gops` is the roofline of the same run. `load` is the pairs' share of the
/// table's bytes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    pub date: String,
    pub commit: String,
    pub device: String,
    pub table: String,
    pub op: String,
    pub n: u64,
    pub load: f64,
    pub key_bits: u32,
    pub value_bits: u32,
    /// The number of distinct keys, if results depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// The exponent of a Zipf distribution of the keys. Without it, the keys are uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// The maximum rows per key on either side of a join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplicity: Option<u64>,
    pub ms: f64,
    pub gops: f64,
    pub limit_gops: f64,
    pub wrong: u64,
}

/// The fields that are equal in all records of a run.
#[derive(Clone, Debug)]
pub struct Run {
    pub date: String,
    pub commit: String,
    pub device: String,
}

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    pub table: String,
    pub op: &'a str,
    pub n: u64,
    pub load: f64,
    pub key_bits: u32,
    pub value_bits: u32,
}

impl<'a> Subject<'a> {
    /// Returns the subject of an operation on a table of `bytes` bytes with `n` pairs.
    pub fn new(table: String, op: &'a str, n: u64, [key_bits, value_bits]: [u32; 2], bytes: u64) -> Self {
        let load = (n * (key_bits + value_bits) as u64 / 8) as f64 / bytes as f64;
        Self { table, op, n, load, key_bits, value_bits }
    }
}

impl Run {
    pub fn new(device: &str) -> Self {
        let described = || {
            let output = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=10"]).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            // On a GPU machine, the bundle's script sets the commit from which the bundle was
            // built.
            commit: std::env::var("WARPNEST_COMMIT").ok().or_else(described).unwrap_or_else(|| "unknown".to_owned()),
            device: device.to_owned(),
        }
    }

    pub fn record(&self, subject: Subject, ms: f64, limit_gops: f64, wrong: u64) -> Record {
        Record {
            date: self.date.clone(),
            commit: self.commit.clone(),
            device: self.device.clone(),
            table: subject.table,
            op: subject.op.to_owned(),
            n: subject.n,
            load: rounded(subject.load),
            key_bits: subject.key_bits,
            value_bits: subject.value_bits,
            groups: None,
            skew: None,
            multiplicity: None,
            ms: rounded(ms),
            gops: rounded(subject.n as f64 / ms / 1e6),
            limit_gops: rounded(limit_gops),
            wrong,
        }
    }
}

/// Rounds to four digits, which is more than the clock's precision.
pub fn rounded(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - x.abs().log10().floor() as i32);
    (x * scale).round() / scale
}

/// Appends the records to `<folder>/<device>.jsonl`.
pub fn append(folder: &Path, records: &[Record]) -> anyhow::Result<Option<PathBuf>> {
    let Some(first) = records.first() else { return Ok(None) };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let file_name: String =
        first.device.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let path = folder.join(format!("{file_name}.jsonl"));
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    for record in records {
        writeln!(file, "{}", serde_json::to_string(record)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Some(path))
}

/// Returns the records as a table for printing.
pub fn table(records: &[Record]) -> Table {
    let mut table = new_table(["table", "op", "n", "load", "bits", "ms", "G/s", "limit", "of it", "wrong"], 2);
    for r in records {
        let share = if r.limit_gops > 0.0 { format!("{:.0} %", 100.0 * r.gops / r.limit_gops) } else { String::new() };
        let groups = r.groups.map_or(String::new(), |groups| format!(", {groups} groups"));
        let times = r.multiplicity.map_or(String::new(), |times| format!(", {times} rows a key"));
        let skew = r.skew.map_or(String::new(), |skew| format!(", Zipf {skew}"));
        table.add_row([
            r.table.clone(),
            format!("{}{groups}{times}{skew}", r.op),
            r.n.to_string(),
            if r.load > 0.0 { format!("{:.2}", r.load) } else { String::new() },
            format!("{}/{}", r.key_bits, r.value_bits),
            format!("{:.3}", r.ms),
            format!("{:.3}", r.gops),
            if r.limit_gops > 0.0 { format!("{:.3}", r.limit_gops) } else { String::new() },
            share,
            r.wrong.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_rate_of_its_time_and_reads_back() {
        let table = "CuckooMap".to_owned();
        let subject = Subject { table, op: "build", n: 3_000_000, load: 0.8, key_bits: 32, value_bits: 32 };
        let record = Run::new("Some GPU").record(subject, 1.5, 15.6789, 0);
        assert_eq!((record.gops, record.limit_gops), (2.0, 15.68));
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}
