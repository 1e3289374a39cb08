//! `cargo xtask sweep`: figures, drawn from records, of group-by over numbers of groups and skews,
//! and of joins over rows per key.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::bench::record::{Record, Run};
use crate::figures;
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::scale::Scale;

/// Draw sweeps from records that `bench --only group-by --every-power` and `bench --only join`
/// appended.
///
/// Writes group_by_groups (rate over the number of groups) and group_by_skew (rate over the
/// exponent of a Zipf distribution) to OUTPUT, as .svg and as .png, and overwrites old ones. The
/// numbers drawn go to figures.jsonl. They have rates by the default method and by sorting, also of
/// 64-bit keys and values if recorded, of one commit and its largest number of rows.
/// join_multiplicity has joins with 32-bit keys by the rows per key, of the last commit that has
/// any.
#[derive(clap::Args)]
pub struct Args {
    /// The file of records.
    #[arg(long, value_name = "FILE", default_value = "docs/measurements/nvidia-h200.jsonl")]
    records: PathBuf,
    /// The commit whose group-bys are drawn, as it is named in the records. Default: the commit of
    /// the last records.
    #[arg(long)]
    commit: Option<String>,
    /// The folder for the figures.
    #[arg(long, value_name = "DIR", default_value = "docs/figures")]
    output: PathBuf,
}

/// Runs the command.
pub fn main(args: &Args) -> anyhow::Result<()> {
    let file = &args.records;
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (mut records, mut joins) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let record: Record = serde_json::from_str(line)
            .with_context(|| format!("line {} of {} is no record", number + 1, file.display()))?;
        if OPS.contains(&record.op.as_str()) {
            records.push(record);
        } else if record.table == "join" && record.key_bits == 32 {
            joins.push(record);
        }
    }
    let commit = args.commit.as_ref().or(records.last().map(|record| &record.commit)).cloned();
    let of_commit: Vec<&Record> = records.iter().filter(|record| Some(&record.commit) == commit.as_ref()).collect();
    let Some(last) = of_commit.last() else {
        anyhow::bail!("{} has no group-by of commit {}", file.display(), commit.unwrap_or_else(|| "any".to_owned()))
    };
    save(&args.output, &sweep(&of_commit), last)?;
    if let Some(last) = joins.last() {
        let of_commit: Vec<&Record> = joins.iter().filter(|record| record.commit == last.commit).collect();
        save(&args.output, &[multiplicities(&of_commit)], last)?;
    }
    Ok(())
}

/// Writes figures of records from one run; `last` is one of these records.
fn save(folder: &Path, drawn: &[Figure], last: &Record) -> anyhow::Result<()> {
    let run = Run { date: last.date.clone(), commit: last.commit.clone(), device: last.device.clone() };
    for path in figures::save(folder, drawn, &run)? {
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// The joins in the figure: name, operation, and whether keys have many rows on both sides.
const JOINS: [(&str, &str, bool); 3] = [
    ("many rows on the probe side", "join_repeated_probe", false),
    ("many rows on the build side", "join_repeated_build", false),
    ("as many on both", "join_repeated_both", true),
];

/// Returns the figure of joins by the rows per key. All lines begin with unique keys.
fn multiplicities(records: &[&Record]) -> Figure {
    let line = |(name, op, are_both): (&'static str, &str, bool)| {
        let of_line = |record: &&&Record| record.op == op || record.op == "join";
        let mut points: Vec<(f64, f64)> = Vec::new();
        for record in records.iter().filter(of_line) {
            let multiplicity = record.multiplicity.unwrap_or(1);
            // A row of the repeated side is in one pair, or, if both are repeated, in as many pairs
            // as the other side has rows with its key.
            let pairs = record.n / 2 * if are_both { multiplicity } else { 1 };
            let point = (multiplicity as f64, (record.n + pairs) as f64 / record.ms / 1e6);
            points.retain(|known| known.0 != point.0);
            points.push(point);
        }
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Series { name, points, cited: None }
    };
    Figure {
        name: "join_multiplicity",
        title: "Inner joins by the rows of a key".to_owned(),
        note: "2²⁷ with 2²⁷ rows, or 2²⁸ pairs where both sides have many; keys of 32 bits, row numbers".to_owned(),
        x: Axis { label: "rows of a key", scale: Scale::Log2 },
        y: Axis { label: "10⁹ rows read and pairs written a second", scale: Scale::Log10 },
        series: JOINS.into_iter().map(line).filter(|series| !series.points.is_empty()).collect(),
        end: None,
    }
}

/// The operations in the figures.
const OPS: [&str; 2] = ["group_by", "group_by_sort"];

/// The lines in the figures: name, width of the keys, operation.
const LINES: [(&str, u32, &str); 4] = [
    ("32 bits", 32, OPS[0]),
    ("32 bits, by sorting", 32, OPS[1]),
    ("64 bits", 64, OPS[0]),
    ("64 bits, by sorting", 64, OPS[1]),
];

/// Returns the figures of the records with the most rows. Of several records of one point, the last
/// is drawn.
fn sweep(records: &[&Record]) -> Vec<Figure> {
    let rows = records.iter().map(|record| record.n).max().unwrap_or(0);
    let figure = |name, title: &str, x: Axis, of: &dyn Fn(&Record) -> Option<f64>| {
        let line = |(name, key_bits, op): (&'static str, u32, &str)| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for record in records.iter().filter(|of| (of.n, of.key_bits, of.op.as_str()) == (rows, key_bits, op)) {
                if let Some(x) = of(record) {
                    points.retain(|point| point.0 != x);
                    points.push((x, record.gops));
                }
            }
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            (!points.is_empty()).then_some(Series { name, points, cited: None })
        };
        Figure {
            name,
            title: title.to_owned(),
            note: format!("Sums of {rows} rows, keys and values of equal width"),
            x,
            y: Axis { label: "10⁹ rows a second", scale: Scale::Log10 },
            series: LINES.into_iter().filter_map(line).collect(),
            end: None,
        }
    };
    let groups = Axis { label: "groups", scale: Scale::Log2 };
    let skews = Axis { label: "exponent of a Zipf distribution over 2²⁴ keys", scale: Scale::Linear };
    vec![
        figure("group_by_groups", "Group-by over the number of groups, uniform keys", groups, &|record| {
            record.groups.filter(|_| record.skew.is_none()).map(|groups| groups as f64)
        }),
        figure("group_by_skew", "Group-by of skewed keys", skews, &|record| record.skew),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record::Subject;

    #[test]
    fn a_point_is_drawn_once_in_its_line_and_the_most_rows_alone() {
        let record = |op, n, groups, skew, ms| {
            let subject = Subject { table: "group-by".to_owned(), op, n, load: 0.0, key_bits: 32, value_bits: 32 };
            let run = Run { date: String::new(), commit: String::new(), device: String::new() };
            Record { groups: Some(groups), skew, ..run.record(subject, ms, 0.0, 0) }
        };
        let records = [
            record("group_by", 4_000_000, 8, None, 1.0),
            record("group_by", 4_000_000, 2, None, 2.0),
            record("group_by_sort", 4_000_000, 2, None, 4.0),
            record("group_by", 1_000_000, 4, None, 1.0),
            record("group_by", 4_000_000, 8, None, 8.0),
            record("group_by", 4_000_000, 8, Some(1.2), 0.5),
        ];
        let figures = sweep(&records.iter().collect::<Vec<_>>());
        let lines = |figure: &Figure| -> Vec<(&str, Vec<(f64, f64)>)> {
            figure.series.iter().map(|series| (series.name, series.points.clone())).collect()
        };
        let uniform = [("32 bits", vec![(2.0, 2.0), (8.0, 0.5)]), ("32 bits, by sorting", vec![(2.0, 1.0)])];
        assert_eq!(lines(&figures[0]), uniform);
        assert_eq!(lines(&figures[1]), [("32 bits", vec![(1.2, 8.0)])]);
    }

    #[test]
    fn joins_are_drawn_by_the_rows_read_and_the_pairs_written() {
        let record = |op, n, multiplicity, ms| {
            let subject = Subject { table: "join".to_owned(), op, n, load: 0.0, key_bits: 32, value_bits: 32 };
            let run = Run { date: String::new(), commit: String::new(), device: String::new() };
            Record { multiplicity: Some(multiplicity), ..run.record(subject, ms, 0.0, 0) }
        };
        let records = [record("join", 4_000_000, 1, 1.0), record("join_repeated_both", 2_000_000, 4, 1.0)];
        let figure = multiplicities(&records.iter().collect::<Vec<_>>());
        let points = |name: &str| figure.series.iter().find(|series| series.name == name).unwrap().points.clone();
        assert_eq!(points(JOINS[2].0), [(1.0, 6.0), (4.0, 6.0)]);
        assert_eq!(points(JOINS[0].0), [(1.0, 6.0)]);
    }
}
