//! The chart of the accuracy, with a panel for each axis.

use anyhow::Result;
use image::RgbImage;
use plotters::coord::Shift;
use plotters::prelude::*;
use warpnest_applications_shared::chart::{BLUE, INK, VERMILION, register_fonts};

use super::accuracy::{Accuracy, Axis, REFERENCES, Rates};

const SIZE: (u32, u32) = (1200, 760);
const HEAD_HEIGHT: u32 = 70;
const GRID: RGBColor = RGBColor(225, 225, 225);
/// Okabe and Ito's colours for the two kinds of occlusion.
const COLOURS: [RGBColor; 2] = [BLUE, VERMILION];
const NAMES: [&str; 2] = ["points lost on one side", "points lost here and there"];

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;

/// Draws the rates over all axes.
pub fn draw(accuracy: &Accuracy, cases: usize, points: usize) -> Result<RgbImage> {
    register_fonts()?;
    let mut canvas = RgbImage::new(SIZE.0, SIZE.1);
    {
        let root = BitMapBackend::with_buffer(&mut canvas, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(HEAD_HEIGHT);
        draw_head(&head, accuracy, cases, points)?;
        for (axis, panel) in Axis::ALL.into_iter().zip(body.split_evenly((2, 3))) {
            let rates: Vec<&Rates> = accuracy.rates.iter().filter(|rates| rates.axis == axis).collect();
            draw_panel(&panel, axis, &rates)?;
        }
        root.present()?;
    }
    Ok(canvas)
}

fn draw_head(area: &Area, accuracy: &Accuracy, cases: usize, points: usize) -> Result<()> {
    let title = ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK);
    area.draw(&Text::new("Right reference found in the right place, % of scenes", (20, 10), title))?;
    let style = ("sans-serif", 15).into_font().color(&INK);
    let note = format!(
        "{REFERENCES} references of {points} points, {cases} scenes a setting; unless said otherwise half of the points lost, \
        20 % clutter, 2 % noise; claimed in {} of {} scenes without a reference",
        accuracy.claimed, accuracy.without
    );
    area.draw(&Text::new(note, (20, 36), style.clone()))?;
    for (i, (name, colour)) in NAMES.into_iter().zip(COLOURS).enumerate() {
        let x = 20 + 230 * i as i32;
        area.draw(&PathElement::new([(x, 61), (x + 26, 61)], colour.stroke_width(2)))?;
        area.draw(&Text::new(name, (x + 34, 54), style.clone()))?;
    }
    Ok(())
}

fn draw_panel(area: &Area, axis: Axis, rates: &[&Rates]) -> Result<()> {
    // Settings are drawn at equal distances, whatever their values are.
    let last = rates.len().saturating_sub(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(44)
        .build_cartesian_2d(-0.2..last + 0.2, 0.0..105.0)?;
    let name = |x: &f64| {
        let setting = (x - x.round()).abs() < 1e-6 && *x >= 0.0;
        setting
            .then(|| rates.get(x.round() as usize).map(|rates| rates.value.to_string()))
            .flatten()
            .unwrap_or_default()
    };
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 14).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 15).into_font().color(&INK))
        .x_labels(rates.len() + 2)
        .x_label_formatter(&name)
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc(axis.label())
        .draw()?;
    for (series, colour) in COLOURS.into_iter().enumerate() {
        let places = || rates.iter().enumerate().map(|(i, rates)| (i as f64, 100.0 * rates.found[series]));
        chart.draw_series(LineSeries::new(places(), colour.stroke_width(2)))?;
        chart.draw_series(places().map(|place| Circle::new(place, 4, colour.filled())))?;
    }
    Ok(())
}
