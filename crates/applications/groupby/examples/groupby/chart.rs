//! The bar chart of the groups.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use warpnest_applications_shared::chart::{BLUE, Canvas, Chart, ChartFile, INK};
use warpnest_applications_shared::shown::shortened;
use warpnest_groupby::answer::Answer;

const WIDTH: u32 = 1000;
const HEAD_HEIGHT: i32 = 56;
const ROW_HEIGHT: i32 = 26;
/// The width left of the bars, for keys, in pixels.
const LABELS: i32 = 330;
/// The width right of the bars, for values, in pixels.
const VALUES: i32 = 130;
/// The maximum number of bars; more could not be read.
const MOST_BARS: usize = 100;
const GREY: RGBColor = RGBColor(110, 110, 110);

/// Draws a bar for each group, as long as its value in a column, and writes the chart.
pub fn write(answer: &Answer, groups: &[usize], column: usize, file: ChartFile<'_>) -> anyhow::Result<()> {
    let groups = &groups[..groups.len().min(MOST_BARS)];
    let bars: Vec<Bar> = groups.iter().map(|group| Bar::of(answer, *group, column)).collect();
    let title = title(answer, groups.len(), column);
    let size = (WIDTH, (HEAD_HEIGHT + ROW_HEIGHT * bars.len().max(1) as i32 + 12) as u32);
    file.write(size, &Bars { title, bars })
}

fn title(answer: &Answer, bars: usize, column: usize) -> String {
    let keys = answer.names[..answer.keys].join(", ");
    let part = if bars < answer.groups { format!(", {bars} of {} groups", answer.groups) } else { String::new() };
    // The name of a column may have any length.
    format!("{} by {}{part}", shortened(&answer.names[column]), shortened(&keys))
}

/// A group in the chart.
struct Bar {
    key: String,
    number: f64,
    value: String,
}

impl Bar {
    fn of(answer: &Answer, group: usize, column: usize) -> Self {
        let keys: Vec<String> = (0..answer.keys).map(|key| answer.shown(key, group)).collect();
        let number = answer.columns[column].number(group).unwrap_or(0.0);
        Self { key: shortened(&keys.join(", ")), number, value: answer.shown(column, group) }
    }
}

/// The bars of all groups.
struct Bars {
    title: String,
    bars: Vec<Bar>,
}

impl Chart for Bars {
    fn draw<B: Canvas>(&self, area: &DrawingArea<B, Shift>) -> anyhow::Result<()> {
        let Self { title, bars } = self;
        area.fill(&WHITE)?;
        let style =
            |size: u32, anchor: HPos| ("sans-serif", size).into_font().color(&INK).pos(Pos::new(anchor, VPos::Center));
        let heading =
            ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(title.as_str(), (20, HEAD_HEIGHT / 2), heading))?;
        if bars.is_empty() {
            area.draw(&Text::new("no groups", (20, HEAD_HEIGHT + ROW_HEIGHT / 2), style(16, HPos::Left)))?;
        }
        let (left, right) = (f64::from(LABELS), f64::from(WIDTH as i32 - VALUES));
        let x = |number: f64| (left + position(number, bars) * (right - left)).round() as i32;
        for (bar, row) in bars.iter().zip(0..) {
            let (top, middle) = (HEAD_HEIGHT + ROW_HEIGHT * row, HEAD_HEIGHT + ROW_HEIGHT * row + ROW_HEIGHT / 2);
            area.draw(&Text::new(bar.key.as_str(), (LABELS - 12, middle), style(16, HPos::Right)))?;
            let ends = [x(bar.number), x(0.0)];
            let corners = [(ends[0].min(ends[1]), top + 4), (ends[0].max(ends[1]), top + ROW_HEIGHT - 4)];
            area.draw(&Rectangle::new(corners, BLUE.filled()))?;
            area.draw(&Text::new(bar.value.as_str(), (corners[1].0 + 8, middle), style(16, HPos::Left)))?;
        }
        let bottom = HEAD_HEIGHT + ROW_HEIGHT * bars.len() as i32;
        area.draw(&PathElement::new([(x(0.0), HEAD_HEIGHT), (x(0.0), bottom)], GREY))?;
        area.present()?;
        Ok(())
    }
}

/// Returns the position of a number along the bars, from 0 to 1. A bar begins at the number 0, and
/// has no length if its own number is not finite.
fn position(number: f64, bars: &[Bar]) -> f64 {
    let finite = || bars.iter().map(|bar| bar.number).filter(|number| number.is_finite());
    let (least, most) = (finite().fold(0.0, f64::min), finite().fold(0.0, f64::max));
    // Halves are subtracted, because the difference of finite numbers may not be finite.
    let length = most / 2.0 - least / 2.0;
    let number = if number.is_finite() { number } else { 0.0 };
    if length > 0.0 { (number / 2.0 - least / 2.0) / length } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions<const N: usize>(numbers: [f64; N]) -> [f64; N] {
        let bars: Vec<Bar> =
            numbers.iter().map(|number| Bar { key: String::new(), number: *number, value: String::new() }).collect();
        numbers.map(|number| position(number, &bars))
    }

    #[test]
    fn bars_begin_at_zero_and_end_at_the_extremes() {
        assert_eq!(positions([1.0, 4.0, 2.0]), [0.25, 1.0, 0.5]);
        assert_eq!(positions([-1.0, 3.0, 0.0]), [0.0, 1.0, 0.25]);
        assert_eq!(positions([-2.0, -4.0]), [0.5, 0.0]);
        assert_eq!(positions([0.0, f64::NAN, f64::INFINITY]), [0.0; 3]);
        assert_eq!(positions([f64::MAX, -f64::MAX, 0.0]), [1.0, 0.0, 0.5]);
        assert_eq!(positions([f64::INFINITY, 2.0]), [0.0, 1.0]);
    }
}
