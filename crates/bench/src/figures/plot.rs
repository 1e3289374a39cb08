//! The drawing of a figure as SVG or PNG.
//!
//! The labels of an SVG stay text, which is shown in the reader's own sans-serif font. A PNG is
//! drawn with a font that is part of the program, so the machine needs no fonts.

use std::ops::Range;
use std::sync::OnceLock;

use anyhow::Context as _;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figure::Figure;
use super::scale::Scale;
use crate::bench::record::Run;

const SIZE: (u32, u32) = (1000, 560);
const HEAD_HEIGHT: u32 = 84;
const LEGEND_WIDTH: u32 = 260;
const INK: RGBColor = RGBColor(34, 34, 34);
const GREY: RGBColor = RGBColor(110, 110, 110);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Okabe and Ito's colours, which the colour-blind can distinguish. The lightest, hard to see in
/// thin lines, come last.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(120, 94, 30),
    BLACK,
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The positions along an axis. The crate plotters sees a linear axis with these ticks.
struct Positions {
    scale: Scale,
    range: (f64, f64),
}

impl Ranged for Positions {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (position - self.range.0) / (self.range.1 - self.range.0);
        first + (share * (last - first) as f64).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.scale.ticks(self.range)
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

impl ValueFormatter<f64> for Positions {
    fn format_ext(&self, position: &f64) -> String {
        self.scale.name(*position)
    }
}

type Area<B> = DrawingArea<B, Shift>;

/// A drawing backend whose errors can be converted to `anyhow`'s.
trait Canvas: DrawingBackend<ErrorType: 'static> {}
impl<B: DrawingBackend<ErrorType: 'static>> Canvas for B {}

/// Returns the figure as the text of an SVG file.
pub fn svg(figure: &Figure, run: &Run) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, SIZE), figure, run)?;
    Ok(text)
}

/// Returns the figure as the bytes of a PNG file.
pub fn png(figure: &Figure, run: &Run) -> anyhow::Result<Vec<u8>> {
    let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
    draw(BitMapBackend::with_buffer(&mut pixels, SIZE), figure, run)?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

fn draw<B: Canvas>(canvas: B, figure: &Figure, run: &Run) -> anyhow::Result<()> {
    register_fonts()?;
    let root = canvas.into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD_HEIGHT);
    let (plot, legend) = body.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    draw_head(&head, figure, run)?;
    draw_plot(&plot, figure)?;
    draw_legend(&legend, figure)?;
    root.present()?;
    Ok(())
}

/// Registers the fonts for PNG, under the name that SVG uses for the reader's own font.
fn register_fonts() -> anyhow::Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let fonts =
            [(FontStyle::Normal, dejavu::sans_condensed::regular()), (FontStyle::Bold, dejavu::sans_condensed::bold())];
        fonts.into_iter().all(|(style, font)| register_font("sans-serif", style, font).is_ok())
    });
    registered.then_some(()).context("a font of the program is damaged")
}

fn style(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center))
}

fn draw_head<B: Canvas>(area: &Area<B>, figure: &Figure, run: &Run) -> anyhow::Result<()> {
    let title = ("sans-serif", 23, FontStyle::Bold).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(figure.title.as_str(), (20, 24), title))?;
    area.draw(&Text::new(figure.note.as_str(), (20, 48), style(16, INK)))?;
    let run = format!("{}, commit {}, {}", run.device, run.commit, run.date);
    area.draw(&Text::new(run, (20, 68), style(16, GREY)))?;
    Ok(())
}

fn draw_plot<B: Canvas>(area: &Area<B>, figure: &Figure) -> anyhow::Result<()> {
    let (x, y) = (figure.x.scale, figure.y.scale);
    let points = || figure.series.iter().flat_map(|series| series.points.iter());
    let end = figure.end.as_ref().and_then(|end| x.position(end.x));
    let x_range = x.range(points().map(|point| point.0).chain(figure.end.iter().map(|end| end.x)));
    let y_range = y.range(points().map(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(20)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(Positions { scale: x, range: x_range }, Positions { scale: y, range: y_range })?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .label_style(("sans-serif", 16).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 17).into_font().color(&INK))
        .x_desc(figure.x.label)
        .y_desc(figure.y.label)
        .draw()?;
    if let Some(at) = end {
        chart.draw_series(DashedLineSeries::new([(at, y_range.0), (at, y_range.1)], 6, 5, GREY.stroke_width(2)))?;
    }
    for (index, series) in figure.series.iter().enumerate() {
        let places = series.points.iter().filter_map(|point| Some((x.position(point.0)?, y.position(point.1)?)));
        let places: Vec<(f64, f64)> = places.collect();
        let colour = COLOURS[index % COLOURS.len()];
        chart.draw_series(LineSeries::new(places.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(places.iter().map(|&place| EmptyElement::at(place) + marker(index, (0, 0))))?;
    }
    Ok(())
}

/// Returns the marker of a series. Shapes differ, too, for print without colour.
fn marker(index: usize, (x, y): (i32, i32)) -> Polygon<(i32, i32)> {
    // Corners are on a circle: a square, a triangle, a diamond, a triangle upside down, nearly a
    // circle, a pentagon, and triangles to both sides.
    const SHAPES: [(u32, f64, f64); COLOURS.len()] = [
        (4, 0.125, 5.0),
        (3, 0.25, 5.5),
        (4, 0.0, 5.5),
        (3, 0.75, 5.5),
        (12, 0.0, 4.5),
        (5, 0.25, 5.5),
        (3, 0.0, 5.5),
        (3, 0.5, 5.5),
    ];
    let (corners, turn, radius) = SHAPES[index % SHAPES.len()];
    let corner = |i: u32| {
        let angle = std::f64::consts::TAU * (i as f64 / corners as f64 + turn);
        (x + (radius * angle.cos()).round() as i32, y - (radius * angle.sin()).round() as i32)
    };
    Polygon::new((0..corners).map(corner).collect::<Vec<_>>(), COLOURS[index % COLOURS.len()].filled())
}

fn draw_legend<B: Canvas>(area: &Area<B>, figure: &Figure) -> anyhow::Result<()> {
    let row = |index: usize| 24 + 26 * index as i32;
    for (index, series) in figure.series.iter().enumerate() {
        let (y, colour) = (row(index), COLOURS[index % COLOURS.len()]);
        area.draw(&PathElement::new([(0, y), (26, y)], colour.stroke_width(2)))?;
        area.draw(&marker(index, (13, y)))?;
        area.draw(&Text::new(series.name, (34, y), style(16, INK)))?;
    }
    if let Some(end) = &figure.end {
        let y = row(figure.series.len());
        for dash in [-10, -2, 6] {
            area.draw(&PathElement::new([(13, y + dash), (13, y + dash + 4)], GREY.stroke_width(2)))?;
        }
        area.draw(&Text::new(end.name.as_str(), (34, y), style(16, INK)))?;
    }
    Ok(())
}
