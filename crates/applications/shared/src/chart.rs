//! Charts, which are written as SVG or PNG.

use crate::program::cannot_write;
use anyhow::{Context, bail};
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use plotters::style::register_font;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

/// The colour of text.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// The colour of less important parts.
pub const GREY: RGBColor = RGBColor(190, 190, 190);
/// Okabe and Ito's blue.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// Okabe and Ito's vermilion.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);

/// The format of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

impl Format {
    /// Returns the format that the extension of a file's name implies.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => bail!("{}: a chart is SVG or PNG; give a --chart that ends in .svg or .png", path.display()),
        }
    }
}

/// A drawing backend whose errors can be converted to `anyhow`'s.
pub trait Canvas: DrawingBackend<ErrorType: 'static> {}
impl<B: DrawingBackend<ErrorType: 'static>> Canvas for B {}

/// A chart that can be drawn on an area of any backend.
pub trait Chart {
    fn draw<B: Canvas>(&self, area: &DrawingArea<B, Shift>) -> anyhow::Result<()>;
}

/// The file of a chart, which the option `--chart` names.
#[derive(Clone, Copy, Debug)]
pub struct ChartFile<'p> {
    path: &'p Path,
    format: Format,
}

impl<'p> ChartFile<'p> {
    /// Returns the file, if its name implies a format.
    pub fn new(path: &'p Path) -> anyhow::Result<Self> {
        Ok(Self { path, format: Format::of(path)? })
    }

    /// Draws a chart of `size` pixels, and writes it.
    pub fn write(self, size: (u32, u32), chart: &impl Chart) -> anyhow::Result<()> {
        let bytes = match self.format {
            Format::Svg => svg(size, chart)?.into_bytes(),
            Format::Png => png(size, chart)?,
        };
        std::fs::write(self.path, bytes).with_context(|| cannot_write(self.path, "--chart"))
    }
}

/// Returns a chart of `size` pixels as the text of an SVG file. Its labels stay text, in the
/// reader's sans-serif font.
pub fn svg(size: (u32, u32), chart: &impl Chart) -> anyhow::Result<String> {
    register_fonts()?;
    let mut text = String::new();
    chart.draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    Ok(text)
}

/// Returns a chart of `size` pixels as a PNG file, in the program's own font.
pub fn png(size: (u32, u32), chart: &impl Chart) -> anyhow::Result<Vec<u8>> {
    register_fonts()?;
    let mut pixels = vec![0; 3 * (size.0 * size.1) as usize];
    chart.draw(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

/// The plane between two logarithmic axes.
pub type LogPlane<'a, B> = ChartContext<'a, B, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// Draws a title and two logarithmic axes with names; the labels of `y` are `y_labels` pixels wide.
pub fn log_axes<'a, B: Canvas>(
    area: &'a DrawingArea<B, Shift>,
    title: &str,
    [(x, xs), (y, ys)]: [(&str, Range<f64>); 2],
    y_labels: u32,
) -> anyhow::Result<LogPlane<'a, B>> {
    area.fill(&WHITE)?;
    let font = |size: u32| ("sans-serif", size).into_font().color(&INK);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .caption(title, ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK))
        .x_label_area_size(48)
        .y_label_area_size(y_labels)
        .build_cartesian_2d(xs.log_scale(), ys.log_scale())?;
    let label = |number: &f64| if *number >= 1.0 { format!("{number:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(font(15))
        .axis_desc_style(font(16))
        .bold_line_style(GREY)
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(chart)
}

/// Registers the fonts for PNG, under the name that SVG uses for the reader's own font.
pub fn register_fonts() -> anyhow::Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let fonts =
            [(FontStyle::Normal, dejavu::sans_condensed::regular()), (FontStyle::Bold, dejavu::sans_condensed::bold())];
        fonts.into_iter().all(|(style, font)| register_font("sans-serif", style, font).is_ok())
    });
    registered.then_some(()).context("a font of the program is damaged; build it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_name_says_the_format() {
        assert_eq!(Format::of(Path::new("a.SVG")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("a.b/c.png")).unwrap(), Format::Png);
        for wrong in ["svg", "a.jpg", ""] {
            assert!(Format::of(Path::new(wrong)).unwrap_err().to_string().contains("--chart"), "{wrong}");
        }
    }
}
