//! The content of a figure, independent of how it is drawn, and its numbers as JSON lines.

use serde::{Deserialize, Serialize};

use super::scale::Scale;
use crate::bench::record::{Run, rounded};

/// A figure: lines in one coordinate system.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of the figure's files, without the extension.
    pub name: &'static str,
    pub title: String,
    /// The facts needed to read the figure, in one line.
    pub note: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub end: Option<End>,
}

/// An axis, whose label contains the unit.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub scale: Scale,
}

/// A line of a figure.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
    /// The run of numbers that are cited and not measured: their date and device, and the source as
    /// the commit.
    pub cited: Option<Run>,
}

/// The point at which all lines end, because nothing can be measured beyond it.
#[derive(Clone, Debug)]
pub struct End {
    pub x: f64,
    pub name: String,
}

/// A line of figures.jsonl: a number in a figure. `y` is null where the lines end.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    pub figure: String,
    pub series: String,
    pub x: f64,
    pub y: Option<f64>,
    pub device: String,
    pub commit: String,
    pub date: String,
}

impl Figure {
    /// Returns the numbers in the figure, one per line.
    pub fn json_lines(&self, run: &Run) -> serde_json::Result<String> {
        let points = self.series.iter().flat_map(|series| {
            let run = series.cited.as_ref().unwrap_or(run);
            series.points.iter().map(move |&(x, y)| (series.name, x, Some(y), run))
        });
        let end = self.end.iter().map(|end| (end.name.as_str(), end.x, None, run));
        let mut lines = String::new();
        for (series, x, y, run) in points.chain(end) {
            let line = Line {
                figure: self.name.to_owned(),
                series: series.to_owned(),
                x,
                y: y.map(rounded),
                device: run.device.clone(),
                commit: run.commit.clone(),
                date: run.date.clone(),
            };
            lines += &serde_json::to_string(&line)?;
            lines.push('\n');
        }
        Ok(lines)
    }
}
