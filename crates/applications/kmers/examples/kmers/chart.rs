//! The spectrum of k-mers, on logarithmic axes.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use warpnest_kmers::spectrum::Spectrum;

use super::cannot_write;

const SIZE: (u32, u32) = (1000, 640);
const INK: RGBColor = RGBColor(34, 34, 34);
const GREY: RGBColor = RGBColor(190, 190, 190);
/// The blue of Okabe and Ito.
const KMERS: RGBColor = RGBColor(0, 114, 178);

/// The format of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

impl Format {
    /// Returns the format that the end of a file's name says.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => bail!("{}: a chart is SVG or PNG; give a --chart that ends in .svg or .png", path.display()),
        }
    }
}

/// Draws the spectrum, and writes the chart.
pub fn write(spectrum: &Spectrum, k: u32, path: &Path, format: Format) -> anyhow::Result<()> {
    let points: Vec<(f64, f64)> = spectrum.iter().map(|(count, kmers)| (count as f64, kmers as f64)).collect();
    let bytes = match format {
        Format::Svg => {
            let mut text = String::new();
            draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), &points, k)?;
            text.into_bytes()
        }
        Format::Png => {
            let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
            draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), &points, k)?;
            let mut file = Vec::new();
            let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
            encoder.set_color(png::ColorType::Rgb);
            encoder.write_header()?.write_image_data(&pixels)?;
            file
        }
    };
    std::fs::write(path, bytes).with_context(|| cannot_write(path, "--chart"))
}

fn draw<B: DrawingBackend<ErrorType: 'static>>(
    area: &DrawingArea<B, Shift>,
    points: &[(f64, f64)],
    k: u32,
) -> anyhow::Result<()> {
    register_fonts()?;
    area.fill(&WHITE)?;
    let highest = points.last().map_or(1.0, |point| point.0);
    let most = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let font = |size: u32| ("sans-serif", size).into_font().color(&INK);
    let caption = ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .caption(format!("How many {k}-mers occur how often"), caption)
        .x_label_area_size(48)
        .y_label_area_size(110)
        .build_cartesian_2d((0.8..highest.max(10.0) * 1.3).log_scale(), (0.8..most.max(10.0) * 1.3).log_scale())?;
    let label = |number: &f64| if *number >= 1.0 { format!("{number:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .x_desc("occurrences of a k-mer")
        .y_desc("different k-mers")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(font(15))
        .axis_desc_style(font(16))
        .bold_line_style(GREY)
        .light_line_style(TRANSPARENT)
        .draw()?;
    // Only neighbouring counts are joined: between others are counts that no k-mer has.
    for run in points.chunk_by(|one, next| one.0 + 1.0 == next.0) {
        chart.draw_series(LineSeries::new(run.iter().copied(), KMERS.stroke_width(2)))?;
    }
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, KMERS.filled())))?;
    area.present()?;
    Ok(())
}

/// Returns the font for pixels, under the name that SVG gives to whatever the reader has.
fn register_fonts() -> anyhow::Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let fonts =
            [(FontStyle::Normal, dejavu::sans_condensed::regular()), (FontStyle::Bold, dejavu::sans_condensed::bold())];
        fonts.into_iter().all(|(style, font)| register_font("sans-serif", style, font).is_ok())
    });
    registered.then_some(()).context("a font of the program is damaged; build it again")
}
