//! The figures of the ratios.

use super::record::Comparison;
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::scale::Scale;

/// A kind of figure, and the rows that are in it.
struct Kind {
    /// The names of the figure with one thread, and with all threads.
    names: [&'static str; 2],
    title: &'static str,
    /// Returns whether a row is in the figure.
    has: fn(&Comparison) -> bool,
    /// Returns the name of a row's line.
    line: fn(&Comparison) -> &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        names: ["beside_builds_one_thread", "beside_builds_all_threads"],
        title: "Builds",
        has: |row| row.op.starts_with("build") || row.op.starts_with("insert"),
        line: |row| row.table,
    },
    Kind {
        names: ["beside_present_one_thread", "beside_present_all_threads"],
        title: "Lookups of present keys",
        has: |row| row.op == "look up present",
        line: |row| row.table,
    },
    Kind {
        names: ["beside_absent_one_thread", "beside_absent_all_threads"],
        title: "Lookups of absent keys",
        has: |row| row.op == "look up absent",
        line: |row| row.table,
    },
    Kind {
        names: ["beside_others_one_thread", "beside_others_all_threads"],
        title: "Sorts, unique, sets, removals",
        has: |row| {
            matches!(row.op, "sort" | "union" | "intersection" | "difference" | "remove") || row.table == "unique"
        },
        line: |row| row.op,
    },
];

/// Returns the figures that have rows. The other side has one thread; ours has one thread or `all`.
pub fn figures(comparisons: &[Comparison], all: usize) -> Vec<Figure> {
    let figures = KINDS.iter().flat_map(|kind| [0, 1].map(|threads| figure(comparisons, kind, threads, all)));
    figures.filter(|figure| !figure.series.is_empty()).collect()
}

fn figure(comparisons: &[Comparison], kind: &Kind, threads: usize, all: usize) -> Figure {
    let mut series: Vec<Series> = Vec::new();
    for row in comparisons.iter().filter(|row| (kind.has)(row) && row.beside != "rdst") {
        let (name, point) = ((kind.line)(row), (row.n as f64, row.times.theirs / row.times.ours[threads]));
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point], cited: None }),
        }
    }
    Figure {
        name: kind.names[threads],
        title: format!("{} on the CPU engine, threads: {}", kind.title, [1, all][threads]),
        note: "Time of HashMap, or of a sort of std, on one thread divided by ours: above 1 ours is faster".to_owned(),
        x: Axis { label: "pairs", scale: Scale::Log2 },
        y: Axis { label: "other side's time / ours", scale: Scale::Log10 },
        series,
        end: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::timing::Times;
    use super::*;

    #[test]
    fn rows_become_the_lines_of_their_figures() {
        let row = |table, op, n, theirs| {
            let times = Times { theirs, theirs_all: None, ours: [10.0, 5.0] };
            Comparison { table, op, beside: "HashMap", n, times }
        };
        let rows = [
            row("PageMap", "build", 64, 20.0),
            row("PageMap", "build", 256, 40.0),
            row("CuckooMap", "build", 64, 10.0),
            row("unique", "unique, Zipf 1.2", 64, 30.0),
        ];
        let figures = figures(&rows, 2);
        let names: Vec<&str> = figures.iter().map(|figure| figure.name).collect();
        let [one, all] = KINDS[0].names;
        assert_eq!(names, [one, all, KINDS[3].names[0], KINDS[3].names[1]]);
        assert_eq!(figures[0].series[0].points, [(64.0, 2.0), (256.0, 4.0)]);
        assert_eq!(figures[1].series[0].points, [(64.0, 4.0), (256.0, 8.0)]);
        assert_eq!((figures[0].series[1].name, figures[2].series[0].name), ("CuckooMap", "unique, Zipf 1.2"));
    }
}
