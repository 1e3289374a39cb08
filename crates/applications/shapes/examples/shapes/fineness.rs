//! The figure of milliseconds per frame against the number of voxels, over finer and finer grids.

use std::io::Write;

use anyhow::Context;
use plotters::coord::Shift;
use plotters::prelude::*;
use warpnest::Device;
use warpnest_shapes::lettering::Lettering;
use warpnest_shapes::{STAGES, Scene};

use super::models::Model;
use super::report::{Times, grouped};
use super::{Arguments, bar, cannot_write, film, make_folder};

/// The size of the figure in pixels.
const SIZE: (u32, u32) = (900, 560);
/// The side of the coarsest grid, in voxels.
const COARSEST: u32 = 16;

/// The medians on one grid.
struct Point {
    grid: u32,
    voxels: f64,
    /// The times of the stages, and their sum.
    milliseconds: Vec<f64>,
}

/// Computes the animation on each grid, prints the medians and draws them.
pub fn sweep(arguments: &Arguments, device: &Device, models: &[Model; 2], out: &mut impl Write) -> anyhow::Result<()> {
    let grids = grids(arguments.grid);
    let bar = bar(grids.len() as u32 * arguments.frames);
    let mut points = Vec::new();
    writeln!(out, "{:>6}{:>14}{:>14}{:>14}", "grid", "voxels", "ms a frame", "M voxels/s")?;
    for grid in grids {
        let mut scene = Scene::new(device, models.each_ref().map(|model| &model.mesh), grid)?;
        let mut times = Times::default();
        scene.frame(&arguments.motions_in(0, grid))?;
        for number in 0..arguments.frames {
            times.add(scene.frame(&arguments.motions_in(number, grid))?);
            bar.inc(1);
        }
        let all = times.median_frame();
        let milliseconds = (0..STAGES.len()).map(|stage| times.median(stage)).chain([all]).collect();
        let point = Point { grid, voxels: times.median_voxels(), milliseconds };
        let rate = point.voxels / all / 1e3;
        writeln!(out, "{:>6}{:>14}{all:>14.3}{rate:>14.1}", point.grid, grouped(point.voxels))?;
        points.push(point);
    }
    bar.finish_and_clear();
    make_folder(&arguments.output)?;
    let title = format!("{} and {}, {}", models[0].name, models[1].name, device.name());
    let [svg, png] = ["fineness.svg", "fineness.png"].map(|name| arguments.output.join(name));
    Lettering::new()?;
    draw(SVGBackend::new(&svg, SIZE).into_drawing_area(), &title, &points).with_context(|| cannot_write(&svg))?;
    let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
    draw(BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), &title, &points)?;
    film::write_png(&png, (SIZE.0 as usize, SIZE.1 as usize), &pixels)?;
    writeln!(out, "figure     {}", svg.display())?;
    Ok(())
}

/// Returns the side lengths of a sweep's grids, each about the square root of two times the last.
fn grids(finest: u32) -> Vec<u32> {
    let steps = (0..).map(|step| (f64::from(COARSEST) * 2_f64.powf(0.5 * f64::from(step))).round() as u32);
    steps.take_while(|grid| *grid < finest).chain([finest]).collect()
}

/// Draws a line for each stage and one for the whole frame.
fn draw<B: DrawingBackend>(area: DrawingArea<B, Shift>, title: &str, points: &[Point]) -> anyhow::Result<()>
where
    B::ErrorType: 'static,
{
    area.fill(&WHITE)?;
    let most = |value: fn(&Point) -> f64| points.iter().map(value).fold(f64::MIN, f64::max);
    let least = |value: fn(&Point) -> f64| points.iter().map(value).fold(f64::MAX, f64::min);
    let voxels = least(|point| point.voxels).max(1.0) * 0.8..most(|point| point.voxels).max(2.0) * 1.25;
    let all: fn(&Point) -> f64 = |point| point.milliseconds[STAGES.len()];
    let times = least(all).max(1e-3) * 0.01..most(all).max(1e-2) * 1.6;
    let mut chart = ChartBuilder::on(&area)
        .margin(14)
        .caption(title, ("sans-serif", 20))
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(voxels.log_scale(), times.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("voxels of both surfaces")
        .y_desc("milliseconds a frame")
        .label_style(("sans-serif", 15))
        .x_label_formatter(&|voxels| grouped(*voxels))
        .light_line_style(WHITE)
        .draw()?;
    let names = STAGES.into_iter().chain(["all"]);
    for (stage, name) in names.enumerate() {
        let colour = if stage == STAGES.len() { BLACK.to_rgba() } else { Palette99::pick(stage).to_rgba() };
        let style = colour.stroke_width(if stage == STAGES.len() { 3 } else { 2 });
        let line = points.iter().map(|point| (point.voxels.max(1.0), point.milliseconds[stage].max(1e-6)));
        chart
            .draw_series(LineSeries::new(line, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(("sans-serif", 15))
        .background_style(WHITE.mix(0.8))
        .draw()?;
    area.present()?;
    Ok(())
}
