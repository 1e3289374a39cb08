//! Experiment 2, figure 5: the size of the directory while keys are inserted.

use anyhow::{Context as _, ensure};
use comfy_table::Table;
use warpnest::{Answers, Buffer, ExtendibleConfig};

use super::expansion::{
    Expansion, Size, asymptotic_one_level, expected_buckets, expected_directory, expected_one_level, predicted,
};
use super::placed::Spread;
use super::{BUCKETS, RECORDS, SEGMENTS};
use crate::bench::input::{value, wrong_hits};
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::lab::Lab;
use crate::figures::scale::Scale;
use crate::tables::new_table;

/// The maximum number of keys; more would show nothing new.
const MAX_KEYS: u64 = 1 << 24;
/// The number of batches in which all keys are inserted.
const BATCHES: u64 = 64;

/// The initial shape of a directory.
#[derive(Clone, Copy, Debug)]
struct Shape {
    segments: u32,
    buckets: u32,
    name: &'static str,
    /// The name of the line with the paper's prediction.
    predicted: &'static str,
}

/// The shape of (Hu 2015), and a shape with equally many buckets but small bucket tables.
const SHAPES: [Shape; 2] = [
    Shape { segments: SEGMENTS, buckets: BUCKETS, name: "8 × 1024", predicted: "8 × 1024: sum of M + aN" },
    Shape { segments: BUCKETS, buckets: SEGMENTS, name: "1024 × 8", predicted: "1024 × 8: sum of M + aN" },
];

const ONE_LEVEL: &str = "one level (counted)";

/// The maps of an experiment, and the number of keys in a batch.
struct Experiment {
    shapes: [Shape; 2],
    records: u32,
    batch: u64,
}

/// Returns figures of both shapes' directories, for evenly spread and for skewed hashes, and of
/// their buckets.
pub fn directory(lab: &Lab) -> anyhow::Result<[Figure; 3]> {
    Experiment { shapes: SHAPES, records: RECORDS, batch: lab.largest.min(MAX_KEYS) / BATCHES }.figures(lab)
}

/// The sizes of the maps of both shapes, before the first batch and after each batch.
type Courses = [Vec<Size>; 2];

impl Experiment {
    fn figures(&self, lab: &Lab) -> anyhow::Result<[Figure; 3]> {
        lab.begin("directory", 4 * BATCHES as usize);
        let uniform = self.courses(lab, Spread::Uniform)?;
        let skewed = self.courses(lab, Spread::Skewed)?;
        lab.progress.suspend(|| {
            for (what, courses) in [("Evenly spread hashes", &uniform), ("Skewed hashes", &skewed)] {
                println!("{what}, buckets of {} records:\n{}", self.records, self.sizes_table(courses));
                println!("{}", self.expansions_table(courses));
            }
        });
        let asymptotic = |size: &Size| asymptotic_one_level(size.keys, self.records);
        let formula = series("one level: 3.92 m^(1 + 1/b) / b", &uniform[0][1..], asymptotic);
        let buckets = series("buckets", &skewed[0], |size| size.buckets as f64);
        let spread =
            |how: &str| format!("{how}; M × N segments and buckets at first, buckets of b = {} records.", self.records);
        Ok([
            Figure {
                name: "geht_directory_uniform",
                title: "Entries of the directory, keys' hashes spread evenly".to_owned(),
                note: spread("Counted after each batch, whatever the device"),
                series: self.lines(&uniform, formula),
                ..empty()
            },
            Figure {
                name: "geht_directory_skewed",
                title: "Entries of the directory, most hashes in a sixteenth of the range".to_owned(),
                note: spread("Counted, whatever the device; hashes normally distributed, σ = 1/64"),
                series: self.lines(&skewed, buckets),
                ..empty()
            },
            self.buckets_figure(&uniform[0], &skewed[0]),
        ])
    }

    /// Returns the sizes of both shapes while keys are inserted. Both must have the same size of a
    /// directory with one level.
    fn courses(&self, lab: &Lab, spread: Spread) -> anyhow::Result<Courses> {
        let [few, many] = self.shapes;
        let grow = |shape: Shape| self.grow(lab, spread, shape).with_context(|| format!("{spread:?}, {}", shape.name));
        let courses = [grow(few)?, grow(many)?];
        let counted =
            |course: &[Size]| -> Vec<(u64, u64)> { course.iter().map(|size| (size.buckets, size.one_level)).collect() };
        ensure!(counted(&courses[0]) == counted(&courses[1]), "{spread:?}: the shapes have different buckets");
        Ok(courses)
    }

    fn grow(&self, lab: &Lab, spread: Spread, shape: Shape) -> anyhow::Result<Vec<Size>> {
        let (device, stream) = (&lab.device, lab.device.default_stream());
        let config = ExtendibleConfig::default().segments(shape.segments).buckets(shape.buckets);
        let mut map = config.records(self.records).seed(1).create::<u64, u32>(device)?;
        let keys = spread.keys(&map.table().layout(), BATCHES * self.batch)?;
        let mut sizes = vec![Size::from(map.table().report())];
        for keys in keys.chunks(self.batch as usize) {
            lab.step(format!("{spread:?}, {}", shape.name));
            let values: Vec<u32> = keys.iter().map(|&key| value(key)).collect();
            let new = map.insert_many(keys, &values)?;
            ensure!(new as u64 == self.batch, "{new} of {} new keys were counted", self.batch);
            let size = Size::from(map.table().report());
            let whole = (shape.segments as u64) << size.depth;
            ensure!(size.segments == whole, "{} segments instead of {whole}", size.segments);
            sizes.push(size);
        }
        let mut wrong = 0;
        for keys in keys.chunks(self.batch as usize) {
            let mut answers = Answers::new(device, keys.len())?;
            map.get_many_into(stream, &Buffer::from_slice(device, keys)?, &mut answers)?;
            wrong += wrong_hits::<u64, u32>(keys, &answers.download(stream)?);
        }
        ensure!(wrong == 0, "{wrong} of {} answers are wrong", map.len());
        Ok(sizes)
    }

    /// Returns the lines of the figure for one spread, followed by `last`.
    fn lines(&self, courses: &Courses, last: Series) -> Vec<Series> {
        let mut lines = Vec::new();
        for (shape, sizes) in self.shapes.iter().zip(courses) {
            lines.push(series(shape.name, sizes, |size| size.directory() as f64));
            let predicted =
                sizes.iter().zip(predicted(sizes)).map(|(size, entries)| (size.keys as f64, entries as f64));
            lines.push(Series { name: shape.predicted, points: predicted.collect(), cited: None });
        }
        lines.push(series(ONE_LEVEL, &courses[0], |size| size.one_level as f64));
        lines.push(last);
        lines
    }

    fn buckets_figure(&self, uniform: &[Size], skewed: &[Size]) -> Figure {
        let expected = |size: &Size| expected_buckets(size.keys, self.records);
        Figure {
            name: "geht_buckets",
            title: "Buckets, and what a filling of ln 2 would make of them".to_owned(),
            note: format!("Counted after each batch, whatever the device; buckets of b = {} records.", self.records),
            y: Axis { label: "buckets", scale: Scale::Linear },
            series: vec![
                series("hashes spread evenly", uniform, |size| size.buckets as f64),
                series("most in a sixteenth", skewed, |size| size.buckets as f64),
                series("m / (b ln 2)", uniform, expected),
            ],
            ..empty()
        }
    }

    /// Returns a table of the sizes at each doubling of the keys.
    fn sizes_table(&self, courses: &Courses) -> Table {
        let [few, many] = self.shapes.map(|shape| format!("{}: entries", shape.name));
        let (of_one, even) = ("of one level", "expected if even");
        let header = [
            "keys",
            "buckets",
            "m / (b ln 2)",
            "fill",
            "one level",
            even,
            "3.92 m^(1 + 1/b) / b",
            &few,
            of_one,
            even,
            &many,
            of_one,
            even,
        ];
        let mut table = new_table(header, 0);
        for after in (0..=BATCHES.ilog2()).map(|log| 1usize << log) {
            let size = &courses[0][after];
            let fill = size.keys as f64 / (size.buckets * self.records as u64) as f64;
            let mut cells = vec![size.keys.to_string(), size.buckets.to_string()];
            cells.push(format!("{:.0}", expected_buckets(size.keys, self.records)));
            cells.push(format!("{fill:.3}"));
            cells.push(size.one_level.to_string());
            cells.push(format!("{:.0}", expected_one_level(size.keys, self.records, courses[0][0].one_level)));
            cells.push(format!("{:.0}", asymptotic_one_level(size.keys, self.records)));
            for (shape, course) in self.shapes.iter().zip(courses) {
                let entries = course[after].directory();
                cells.extend([entries.to_string(), format!("{:.3}", entries as f64 / size.one_level as f64)]);
                let expected = expected_directory(size.keys, self.records, (shape.segments, shape.buckets));
                cells.push(format!("{expected:.0}"));
            }
            table.add_row(cells);
        }
        table
    }

    /// Returns a table of all expansions of the segment tables.
    fn expansions_table(&self, courses: &Courses) -> Table {
        let header = [
            "shape",
            "keys",
            "depth",
            "M",
            "new segments",
            "a",
            "a / new segments",
            "new entries",
            "one level: new",
            "entries",
            "sum of M + aN",
        ];
        let mut table = new_table(header, 0);
        for (shape, sizes) in self.shapes.iter().zip(courses) {
            let sums = predicted(sizes);
            let after = |keys: u64| sizes.iter().position(|size| size.keys == keys).unwrap_or(0);
            for e in Expansion::all(sizes) {
                let now = after(e.keys);
                let numbers =
                    [e.keys, e.depth as u64, e.segments, e.new_segments, e.new_tables].map(|number| number.to_string());
                let grown = [e.entries(), e.one_level_entries(), sizes[now].directory(), sums[now]];
                let cells = [shape.name.to_owned()].into_iter().chain(numbers).chain([format!("{:.4}", e.share())]);
                table.add_row(cells.chain(grown.map(|number| number.to_string())));
            }
            if let (Some(last), Some(sum)) = (sizes.last(), sums.last()) {
                let mut cells = vec![shape.name.to_owned(), last.keys.to_string(), last.depth.to_string()];
                cells.extend([""; 6].map(str::to_owned));
                cells.extend([last.directory().to_string(), sum.to_string()]);
                table.add_row(cells);
            }
        }
        table
    }
}

fn series(name: &'static str, sizes: &[Size], of: impl Fn(&Size) -> f64) -> Series {
    Series { name, points: sizes.iter().map(|size| (size.keys as f64, of(size))).collect(), cited: None }
}

/// Returns a figure with the texts that all figures share.
fn empty() -> Figure {
    Figure {
        name: "",
        title: String::new(),
        note: String::new(),
        x: Axis { label: "keys inserted", scale: Scale::Linear },
        y: Axis { label: "entries", scale: Scale::Log10 },
        series: Vec::new(),
        end: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressBar;
    use warpnest::Device;

    /// 2 segments of 16 buckets, and 8 of 4 buckets, with 8 records per bucket, are split many
    /// times by 64 batches of 256 keys.
    const SMALL: Experiment = Experiment {
        shapes: [
            Shape { segments: 2, buckets: 16, name: "2 × 16", predicted: "2 × 16: sum of M + aN" },
            Shape { segments: 8, buckets: 4, name: "8 × 4", predicted: "8 × 4: sum of M + aN" },
        ],
        records: 8,
        batch: 256,
    };

    fn lab() -> Lab {
        Lab { device: Device::cpu(), runs: 1, largest: 1 << 14, progress: ProgressBar::hidden() }
    }

    fn last(series: &Series) -> f64 {
        series.points.last().unwrap().1
    }

    #[test]
    fn the_figures_have_all_counts_and_the_directory_of_two_levels_is_smaller_where_hashes_are_skewed() {
        let figures = SMALL.figures(&lab()).unwrap();
        for figure in &figures[..2] {
            let lengths: Vec<usize> = figure.series.iter().map(|series| series.points.len()).collect();
            let of_formula = if figure.name == "geht_directory_uniform" { 64 } else { 65 };
            assert_eq!(lengths, [65, 65, 65, 65, 65, of_formula], "{}", figure.name);
            for series in &figure.series {
                assert!(series.points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{}: {}", figure.name, series.name);
            }
            // The sum leaves out bucket tables that were added without an expansion.
            for pair in figure.series[..4].chunks(2) {
                assert_eq!(pair[0].points[0].1, pair[1].points[0].1);
                assert!(
                    pair[0].points.iter().zip(&pair[1].points).all(|(all, sum)| all.1 >= sum.1),
                    "{}",
                    pair[0].name
                );
            }
        }
        let [uniform, skewed, buckets] = figures;
        // With evenly spread keys, a directory of two levels exceeds one level by the segment table
        // at most.
        assert!(last(&uniform.series[0]) <= last(&uniform.series[4]) * (1.0 + 1.0 / 16.0));
        let expected = expected_one_level(64 * 256, 8, 32);
        assert!((0.5..2.0).contains(&(last(&uniform.series[4]) / expected)), "{expected} expected");
        for (of, shape) in [(0, (2, 16)), (2, (8, 4))] {
            let (counted, expected) = (last(&uniform.series[of]), expected_directory(64 * 256, 8, shape));
            assert!((0.6..1.6).contains(&(counted / expected)), "{counted} counted, {expected} expected");
        }
        assert!(last(&skewed.series[0]) < last(&skewed.series[4]));
        assert!(last(&skewed.series[2]) < last(&skewed.series[4]) / 2.0);
        let [even, dense, expected] = [0, 1, 2].map(|i| last(&buckets.series[i]));
        assert!(
            (even / expected - 1.0).abs() < 0.2 && (dense / expected - 1.0).abs() < 0.2,
            "{even}, {dense}, {expected}"
        );
    }

    #[test]
    fn shapes_whose_buckets_differ_and_directories_that_make_no_sense_are_errors() {
        let [few, many] = SMALL.shapes;
        let twice_as_many = Experiment { shapes: [few, Shape { buckets: 8, ..many }], ..SMALL };
        let error = twice_as_many.courses(&lab(), Spread::Uniform).unwrap_err();
        assert_eq!(error.to_string(), "Uniform: the shapes have different buckets");
        let none = Experiment { shapes: [few, Shape { segments: 0, ..many }], ..SMALL };
        assert_eq!(none.courses(&lab(), Spread::Skewed).unwrap_err().to_string(), "Skewed, 8 × 4");
    }
}
