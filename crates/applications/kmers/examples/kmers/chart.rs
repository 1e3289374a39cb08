//! The spectrum of k-mers, on logarithmic axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use warpnest_applications_shared::chart::{BLUE, Canvas, Chart, ChartFile, log_axes};
use warpnest_kmers::spectrum::Spectrum;

const SIZE: (u32, u32) = (1000, 640);

/// Draws the spectrum, and writes the chart.
pub fn write(spectrum: &Spectrum, k: u32, file: ChartFile<'_>) -> anyhow::Result<()> {
    let points = spectrum.iter().map(|(count, kmers)| (count as f64, kmers as f64)).collect();
    file.write(SIZE, &Points { points, k })
}

/// Counts, and the number of k-mers with each.
struct Points {
    points: Vec<(f64, f64)>,
    k: u32,
}

impl Chart for Points {
    fn draw<B: Canvas>(&self, area: &DrawingArea<B, Shift>) -> anyhow::Result<()> {
        let Self { points, k } = self;
        let highest = points.last().map_or(1.0, |point| point.0);
        let most = points.iter().map(|point| point.1).fold(1.0, f64::max);
        let title = format!("How many {k}-mers occur how often");
        let x = ("occurrences of a k-mer", 0.8..highest.max(10.0) * 1.3);
        let mut chart = log_axes(area, &title, [x, ("different k-mers", 0.8..most.max(10.0) * 1.3)], 110)?;
        // Only consecutive counts are joined, because no k-mer has a count in a gap.
        for run in points.chunk_by(|one, next| one.0 + 1.0 == next.0) {
            chart.draw_series(LineSeries::new(run.iter().copied(), BLUE.stroke_width(2)))?;
        }
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, BLUE.filled())))?;
        area.present()?;
        Ok(())
    }
}
