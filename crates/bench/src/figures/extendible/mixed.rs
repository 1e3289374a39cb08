//! Experiment 1, figure 4: batches in which most operations look up, and a few insert or remove.

use anyhow::{Context as _, ensure};

use super::batches::{Batch, Shares};
use super::host::{dashmap, papaya};
use super::maps::{Content, New, extendible, linear, linear_mixed};
use crate::bench::input::key;
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::lab::Lab;
use crate::figures::scale::Scale;

const CONTENDERS: [(&str, New); 5] = [
    ("ExtendibleMap, three calls", extendible),
    ("LinearMap, three calls", linear),
    ("LinearMap, one mixed call", linear_mixed),
    ("papaya, all CPU cores", papaya),
    ("dashmap, all CPU cores", dashmap),
];

/// The maximum number of keys in the table, and of operations in a batch.
const MAX_KEYS: u64 = 1 << 24;
/// The number of operations in the smallest batch.
const MIN_KEYS: u64 = 1 << 10;
/// The factor from one size of batches to the next.
const STEP: u64 = 4;

/// Measures the rates of all contenders, for batches with more and more operations.
pub fn mixed(lab: &Lab) -> anyhow::Result<Figure> {
    let keys = lab.largest.min(MAX_KEYS);
    let sizes: Vec<u64> =
        std::iter::successors(Some(MIN_KEYS.min(keys)), |n| Some(STEP * n)).take_while(|&n| n <= keys).collect();
    lab.begin("mixed batches", sizes.len() * CONTENDERS.len());
    let mut series = CONTENDERS.map(|(name, _)| Series { name, points: Vec::new(), cited: None });
    for size in sizes {
        // One batch more than the runs, for the warm-up.
        let batches: Vec<Batch> = (0..=lab.runs as u64).map(|number| Batch::new(keys, size, number)).collect();
        let most = keys + batches.len() as u64 * Shares::of(size).insertions;
        let content = Content { keys: (0..keys).map(key).collect(), most };
        for ((name, new), series) in CONTENDERS.into_iter().zip(&mut series) {
            lab.step(format!("{size} operations, {name}"));
            let ms = measure(lab, &content, new, &batches)
                .with_context(|| format!("{name}, batches of {size} operations"))?;
            series.points.push((size as f64, size as f64 / ms / 1e3));
        }
    }
    Ok(Figure {
        name: "geht_mixed",
        title: "Batches of 90 % lookups, 6 % insertions and 4 % removals".to_owned(),
        note: format!(
            "Keys and values of 32 bits; {keys} keys before the first batch of a size; ours on the device, the others on {} threads.",
            rayon::current_num_threads()
        ),
        x: Axis { label: "operations of a batch", scale: Scale::Log2 },
        y: Axis { label: "10⁶ operations a second", scale: Scale::Log10 },
        series: series.into(),
        end: None,
    })
}

/// Measures the median milliseconds of a batch. The first batch is a warm-up.
fn measure(lab: &Lab, content: &Content, new: New, batches: &[Batch]) -> anyhow::Result<f64> {
    let mut map = new(&lab.device, content)?;
    let mut expected = content.keys.len() as u64;
    let mut times = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let ms = map.run(batch).with_context(|| format!("batch {number}"))?;
        expected = expected + batch.inserted.len() as u64 - batch.removed.len() as u64;
        ensure!(map.len() == expected, "it has {} keys after batch {number} instead of {expected}", map.len());
        if number > 0 {
            times.push(ms);
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("nothing was timed")
}

#[cfg(test)]
mod tests {
    use super::super::maps::Contender;
    use super::*;
    use indicatif::ProgressBar;
    use warpnest::Device;

    /// A contender that answers correctly, but reports one key too many.
    struct Miscounting;

    impl Contender for Miscounting {
        fn run(&mut self, _: &Batch) -> anyhow::Result<f64> {
            Ok(1.0)
        }
        fn len(&self) -> u64 {
            513
        }
    }

    fn lab() -> Lab {
        Lab { device: Device::cpu(), runs: 2, largest: 4096, progress: ProgressBar::hidden() }
    }

    #[test]
    fn every_contender_has_a_rate_for_each_size() {
        let figure = mixed(&lab()).unwrap();
        assert!(figure.note.contains("; 4096 keys before"), "{}", figure.note);
        for series in &figure.series {
            assert_eq!(
                series.points.iter().map(|point| point.0).collect::<Vec<_>>(),
                [1024.0, 4096.0],
                "{}",
                series.name
            );
            assert!(series.points.iter().all(|point| point.1 > 0.0 && point.1.is_finite()), "{:?}", series.points);
        }
    }

    #[test]
    fn the_wrong_number_of_keys_is_an_error_and_so_are_batches_out_of_turn() {
        let content = Content { keys: (0..512).map(key).collect(), most: 600 };
        let batches = [Batch::new(512, 512, 0), Batch::new(512, 512, 1)];
        assert!(measure(&lab(), &content, extendible, &batches).unwrap() > 0.0);
        let error = measure(&lab(), &content, |_, _| Ok(Box::new(Miscounting)), &batches).unwrap_err();
        assert_eq!(error.to_string(), "it has 513 keys after batch 0 instead of 522");
        for (name, new) in CONTENDERS {
            let twice = [Batch::new(512, 512, 0), Batch::new(512, 512, 0)];
            let error = measure(&lab(), &content, new, &twice).unwrap_err();
            assert_eq!(error.to_string(), "batch 1", "{name}");
        }
    }
}
