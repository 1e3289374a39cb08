//! The counts of words by their ranks, on logarithmic axes.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use warpnest_wordcount::counter::Counter;

use super::cannot_write;

const SIZE: (u32, u32) = (1000, 640);
/// The points between two ranks of which one is ten times the other: more could not be seen.
const POINTS_A_DECADE: f64 = 60.0;
const INK: RGBColor = RGBColor(34, 34, 34);
const GREY: RGBColor = RGBColor(190, 190, 190);
/// The blue and the vermilion of Okabe and Ito.
const WORDS: RGBColor = RGBColor(0, 114, 178);
const ZIPF: RGBColor = RGBColor(213, 94, 0);

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

/// Draws the counts of all words, and writes the chart.
pub fn write(counter: &Counter, path: &Path, format: Format) -> anyhow::Result<()> {
    let mut counts = counter.counts().counts().to_vec();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let points = points(&counts);
    let bytes = match format {
        Format::Svg => {
            let mut text = String::new();
            draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), &points)?;
            text.into_bytes()
        }
        Format::Png => {
            let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
            draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), &points)?;
            let mut file = Vec::new();
            let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
            encoder.set_color(png::ColorType::Rgb);
            encoder.write_header()?.write_image_data(&pixels)?;
            file
        }
    };
    std::fs::write(path, bytes).with_context(|| cannot_write(path, "--chart"))
}

/// Returns ranks, from 1 on, and the counts of their words, as many as can be seen.
fn points(counts: &[u64]) -> Vec<(f64, f64)> {
    let step = |rank: usize| rank as f64 * 10f64.powf(1.0 / POINTS_A_DECADE);
    let ranks = std::iter::successors(Some(1), |rank| Some((step(*rank) as usize).max(rank + 1)));
    let mut ranks: Vec<usize> = ranks.take_while(|rank| *rank < counts.len()).collect();
    ranks.extend((!counts.is_empty()).then_some(counts.len()));
    ranks.into_iter().map(|rank| (rank as f64, counts[rank - 1] as f64)).collect()
}

fn draw<B: DrawingBackend<ErrorType: 'static>>(
    area: &DrawingArea<B, Shift>,
    points: &[(f64, f64)],
) -> anyhow::Result<()> {
    register_fonts()?;
    area.fill(&WHITE)?;
    let (ranks, most) = (points.last().map_or(1.0, |point| point.0), points.first().map_or(1.0, |point| point.1));
    let font = |size: u32| ("sans-serif", size).into_font().color(&INK);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .caption("How often words come, by their rank", ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK))
        .x_label_area_size(48)
        .y_label_area_size(90)
        .build_cartesian_2d((1.0..ranks.max(10.0)).log_scale(), (0.8..most.max(10.0) * 1.3).log_scale())?;
    let label = |number: &f64| if *number >= 1.0 { format!("{number:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .x_desc("rank of the word")
        .y_desc("count")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(font(15))
        .axis_desc_style(font(16))
        .bold_line_style(GREY)
        .light_line_style(TRANSPARENT)
        .draw()?;
    // The law says that the word of rank r comes as often as the first one divided by r.
    let zipf = points.iter().map(|(rank, _)| (*rank, most / rank)).take_while(|(_, count)| *count >= 0.8);
    chart
        .draw_series(LineSeries::new(zipf, ZIPF.stroke_width(2)))?
        .label("Zipf's law: the first count, divided by the rank")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 24, y)], ZIPF.stroke_width(2)));
    chart
        .draw_series(points.iter().map(|point| Circle::new(*point, 3, WORDS.filled())))?
        .label("words")
        .legend(|(x, y)| Circle::new((x + 12, y), 3, WORDS.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(GREY)
        .label_font(font(15))
        .draw()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_have_all_small_ranks_and_the_last() {
        assert_eq!(points(&[]), []);
        assert_eq!(points(&[7]), [(1.0, 7.0)]);
        assert_eq!(points(&[7, 5, 5]), [(1.0, 7.0), (2.0, 5.0), (3.0, 5.0)]);
        let many: Vec<u64> = (1..=100_000).rev().collect();
        let points = points(&many);
        assert!(points.len() < 300 && points.is_sorted_by(|a, b| a.0 < b.0));
        assert!(points.iter().all(|(rank, count)| many[*rank as usize - 1] as f64 == *count));
        assert_eq!((points[9].0, points[points.len() - 1]), (10.0, (100_000.0, 1.0)));
    }
}
