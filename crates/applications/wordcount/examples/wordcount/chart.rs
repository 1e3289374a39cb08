//! The chart of the counts of words by their ranks, on logarithmic axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use warpnest_applications_shared::chart::{BLUE, Canvas, Chart, ChartFile, GREY, INK, VERMILION, log_axes};
use warpnest_wordcount::counter::Counter;

const SIZE: (u32, u32) = (1000, 640);
/// The number of points drawn per factor of ten in rank, because more could not be seen.
const POINTS_A_DECADE: f64 = 60.0;

/// Draws the counts of all words, and writes the chart.
pub fn write(counter: &Counter, file: ChartFile<'_>) -> anyhow::Result<()> {
    let mut counts = counter.counts().counts().to_vec();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    file.write(SIZE, &Points(points(&counts)))
}

/// Returns ranks, which start at 1, and the counts of their words, as many as can be seen.
fn points(counts: &[u64]) -> Vec<(f64, f64)> {
    let step = |rank: usize| rank as f64 * 10f64.powf(1.0 / POINTS_A_DECADE);
    let ranks = std::iter::successors(Some(1), |rank| Some((step(*rank) as usize).max(rank + 1)));
    let mut ranks: Vec<usize> = ranks.take_while(|rank| *rank < counts.len()).collect();
    ranks.extend((!counts.is_empty()).then_some(counts.len()));
    ranks.into_iter().map(|rank| (rank as f64, counts[rank - 1] as f64)).collect()
}

/// The ranks and counts that are drawn.
struct Points(Vec<(f64, f64)>);

impl Chart for Points {
    fn draw<B: Canvas>(&self, area: &DrawingArea<B, Shift>) -> anyhow::Result<()> {
        let points = &self.0;
        let (ranks, most) = (points.last().map_or(1.0, |point| point.0), points.first().map_or(1.0, |point| point.1));
        let axes = [("rank of the word", 1.0..ranks.max(10.0)), ("count", 0.8..most.max(10.0) * 1.3)];
        let mut chart = log_axes(area, "How often words come, by their rank", axes, 90)?;
        // By Zipf's law the count of the word with rank r is the first count divided by r.
        let zipf = points.iter().map(|(rank, _)| (*rank, most / rank)).take_while(|(_, count)| *count >= 0.8);
        chart
            .draw_series(LineSeries::new(zipf, VERMILION.stroke_width(2)))?
            .label("Zipf's law: the first count, divided by the rank")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 24, y)], VERMILION.stroke_width(2)));
        chart
            .draw_series(points.iter().map(|point| Circle::new(*point, 3, BLUE.filled())))?
            .label("words")
            .legend(|(x, y)| Circle::new((x + 12, y), 3, BLUE.filled()));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE)
            .border_style(GREY)
            .label_font(("sans-serif", 15).into_font().color(&INK))
            .draw()?;
        area.present()?;
        Ok(())
    }
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
