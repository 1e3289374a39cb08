//! The program's output: times of the stages, and counts of voxels.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use warpnest_applications_shared::shown;
use warpnest_shapes::{Counts, Frame, STAGES};

use super::models::Model;

/// The results of all frames of a run.
#[derive(Debug, Default)]
pub struct Times {
    frames: Vec<Frame>,
}

impl Times {
    pub fn add(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    /// Discards all but the latest frames.
    pub fn keep_latest(&mut self, frames: usize) {
        self.frames.drain(..self.frames.len().saturating_sub(frames));
    }

    /// Returns the median milliseconds of a stage.
    pub fn median(&self, stage: usize) -> f64 {
        median(self.frames.iter().map(|frame| frame.milliseconds[stage]))
    }

    /// Returns the median milliseconds of a frame.
    pub fn median_frame(&self) -> f64 {
        median(self.frames.iter().map(|frame| frame.milliseconds.iter().sum()))
    }

    /// Returns the median number of voxels of both shapes.
    pub fn median_voxels(&self) -> f64 {
        median(self.frames.iter().map(|frame| frame.counts.iter().map(|counts| counts.voxels as f64).sum()))
    }

    /// Returns the median of a count of one shape over the frames.
    fn median_of(&self, shape: usize, figure: impl Fn(&Counts) -> f64) -> f64 {
        median(self.frames.iter().map(|frame| figure(&frame.counts[shape])))
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the line of text below a picture.
pub fn caption(frame: &Frame) -> String {
    let [a, b] = frame.counts;
    format!(
        "{} and {} voxels, {} in common",
        grouped(a.voxels as f64),
        grouped(b.voxels as f64),
        grouped(a.common as f64)
    )
}

/// Prints medians of the counts and the times, and also each frame's values if `every_frame`.
pub fn print(
    grid: u32,
    every_frame: bool,
    models: &[Model; 2],
    open_edges: [usize; 2],
    times: &Times,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "grid       {grid} x {grid} x {grid}, {} frames; medians", times.frames.len())?;
    let row = |out: &mut dyn Write, name: &str, cell: &dyn Fn(usize) -> String| {
        writeln!(out, "{name:<11}{:>20}{:>20}", cell(0), cell(1))
    };
    let figure = |figure: fn(&Counts) -> f64| move |shape| grouped(times.median_of(shape, figure));
    row(out, "", &|shape| format!("{} {}", ["A:", "B:"][shape], models[shape].name))?;
    row(out, "triangles", &|shape| grouped(models[shape].mesh.triangles.len() as f64))?;
    row(out, "voxels", &figure(|counts| counts.voxels as f64))?;
    row(out, "touched", &figure(|counts| counts.touched as f64))?;
    row(out, "in common", &figure(|counts| counts.common as f64))?;
    row(out, "regions", &figure(|counts| counts.regions as f64))?;
    row(out, "inside", &|shape| match open_edges[1 - shape] {
        0 => figure(|counts| counts.inside.unwrap_or(0) as f64)(shape),
        _ => "not defined".to_owned(),
    })?;
    for (shape, open) in open_edges.into_iter().enumerate().filter(|(_, open)| *open > 0) {
        let name = &models[shape].name;
        writeln!(out, "           {name} has {} open edges, so nothing is inside it", grouped(open as f64))?;
    }

    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = STAGES.map(str::to_owned);
    table.set_header(["frame".to_owned()].into_iter().chain(names).chain(["all".to_owned(), "ms".to_owned()]));
    let milliseconds = |time: f64| format!("{time:.3}");
    for (number, frame) in times.frames.iter().enumerate().filter(|_| every_frame) {
        let all = frame.milliseconds.iter().sum();
        let cells = frame.milliseconds.iter().copied().chain([all]).map(milliseconds);
        table.add_row([number.to_string()].into_iter().chain(cells));
    }
    let medians = (0..STAGES.len()).map(|stage| times.median(stage)).chain([times.median_frame()]);
    table.add_row(["median".to_owned()].into_iter().chain(medians.map(milliseconds)));
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "           {:.1} frames/s, without pictures", 1e3 / times.median_frame())
}

/// Returns a count with commas between its thousands.
pub fn grouped(count: f64) -> String {
    shown::grouped(count as u64)
}
