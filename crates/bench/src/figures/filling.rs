//! The experiment of (Farrell 2020): batches of new keys are inserted into a table of fixed size
//! until it is almost full.

use anyhow::{Context as _, ensure};
use comfy_table::Table;
use warpnest::design::ProbeLengths;
use warpnest::{Answers, Buffer, LinearConfig};

use super::figure::{Axis, Figure, Series};
use super::lab::Lab;
use super::scale::Scale;
use crate::bench::input::{Input, wrong_hits};
use crate::bench::record::{Run, rounded};
use crate::tables::new_table;

/// The number of batches that would fill all slots.
const SHARES: u64 = 32;
/// The number of batches, after which there is capacity for one more batch.
const BATCHES: u64 = SHARES - 1;
/// The number of slots of Farrell's table.
const MAX_SLOTS: u64 = 1 << 27;

/// The loads before each batch, from "Linear Probing Problems" in (Farrell 2020), whose batches
/// have [`FARRELL_BATCH`] keys.
const FARRELL_LOADS: [f64; BATCHES as usize] = [
    0.00, 0.03, 0.06, 0.09, 0.12, 0.16, 0.19, 0.22, 0.25, 0.28, 0.31, 0.34, 0.37, 0.41, 0.44, 0.47, 0.50, 0.53, 0.56,
    0.59, 0.62, 0.66, 0.69, 0.72, 0.75, 0.78, 0.81, 0.84, 0.87, 0.90, 0.94,
];
/// The milliseconds of Farrell's kernel for each batch, on a GTX 1060.
const FARRELL_MS: [f64; BATCHES as usize] = [
    11.608448, 11.751424, 11.942592, 12.081120, 12.242560, 12.396448, 12.533024, 12.703328, 12.884512, 13.033472,
    13.239296, 13.392448, 13.624000, 13.875520, 14.126528, 14.399328, 14.690304, 15.039136, 15.478656, 15.985664,
    16.668673, 17.587200, 18.690048, 20.278816, 22.545408, 26.053312, 31.895008, 42.103294, 61.849056, 105.695999,
    240.204636,
];
const FARRELL_BATCH: u64 = 4_194_304;
/// The probe lengths of (Farrell 2020), each with its load.
const FARRELL_PASSED: [(f64, Passed); 2] =
    [(0.50, Passed { mean: 0.4774, longest: 60.0 }), (0.97, Passed { mean: 10.1757, longest: 6474.0 })];

/// The slots that a search passes before it reaches its key (Farrell's probe length): the mean over
/// all keys, and the maximum.
#[derive(Clone, Copy)]
struct Passed {
    mean: f64,
    longest: f64,
}

/// A function that returns one of the two numbers.
type Of = fn(&Passed) -> f64;

impl Passed {
    /// Returns the slots passed, from a report that counts the key's own slot, too.
    fn of(report: &ProbeLengths) -> Self {
        Self { mean: report.mean - 1.0, longest: report.longest.saturating_sub(1) as f64 }
    }
}

/// The results of filling a map by one kind of probing.
struct Filling {
    batch: u64,
    slots: u64,
    /// The milliseconds of each batch.
    ms: Vec<f64>,
    /// The slots passed after each batch, over all keys that are in the map then.
    passed: Vec<Passed>,
}

impl Filling {
    /// Returns the load after `batches` batches.
    fn load(&self, batches: usize) -> f64 {
        rounded(batches as f64 * self.batch as f64 / self.slots as f64)
    }

    fn rates(&self, name: &'static str) -> Series {
        let points = self.ms.iter().enumerate().map(|(i, &ms)| (self.load(i), millions_a_second(self.batch, ms)));
        Series { name, points: points.collect(), cited: None }
    }

    fn passed(&self, name: &'static str, of: Of) -> Series {
        let points = self.passed.iter().enumerate().map(|(i, passed)| (self.load(i + 1), of(passed)));
        Series { name, points: points.collect(), cited: None }
    }
}

fn of_farrell(name: &'static str, points: Vec<(f64, f64)>) -> Series {
    let from_paper = ["2020-03-06", "D. Farrell, A Simple GPU Hash Table", "NVIDIA GTX 1060"].map(str::to_owned);
    let [date, commit, device] = from_paper;
    Series { name, points, cited: Some(Run { date, commit, device }) }
}

fn millions_a_second(keys: u64, ms: f64) -> f64 {
    keys as f64 / ms / 1e3
}

/// Fills a `LinearMap` whose probe steps depend on the key, and one that probes line by line.
/// Prints the times beside Farrell's.
///
/// The two figures show the rates and the slots passed.
pub fn farrell(lab: &Lab) -> anyhow::Result<[Figure; 2]> {
    let batch = lab.largest.min(MAX_SLOTS) / SHARES;
    let pairs = BATCHES * batch;
    let input = Input::<u32, u32>::new(pairs);
    // With line-by-line probing, 32 batches fill the slots exactly. Otherwise there are a few more,
    // because the number of lines is a prime.
    let config = LinearConfig::default().pairs(pairs as usize).load(BATCHES as f64 / SHARES as f64).fixed().seed(1);
    lab.begin("filling", 2 * (1 + lab.runs as usize));
    let own = fill(lab, &config, &input, batch).context("steps of the keys' own")?;
    let next = fill(lab, &config.linear_probing(), &input, batch).context("to the next line")?;
    lab.progress.suspend(|| println!("{}\n{}", times_table(&own, &next), passed_table(&own, &next)));

    let farrell_rates = FARRELL_LOADS.into_iter().zip(FARRELL_MS.map(|ms| millions_a_second(FARRELL_BATCH, ms)));
    let farrell_passed = |of: Of| FARRELL_PASSED.iter().map(|(load, passed)| (*load, of(passed))).collect();
    let (mean, longest): (Of, Of) = (|passed| passed.mean, |passed| passed.longest);
    let load = |label| Axis { label, scale: Scale::Linear };
    Ok([
        Figure {
            name: "farrell_insertions",
            title: "Insertion into a table that fills up".to_owned(),
            note: format!(
                "Batches of {batch} new keys, LinearMap with {} or (next line) {} slots; Farrell 2020: {FARRELL_BATCH} keys, 2²⁷ slots.",
                own.slots, next.slots
            ),
            x: load("load before the batch"),
            y: Axis { label: "10⁶ keys a second", scale: Scale::Log10 },
            series: vec![
                own.rates("own steps (default)"),
                next.rates("to the next line"),
                of_farrell("Farrell 2020, GTX 1060", farrell_rates.collect()),
            ],
            end: None,
        },
        Figure {
            name: "farrell_probes",
            title: "Slots passed on the way to a key".to_owned(),
            note: "Of all keys in the table, after each of the same batches; Farrell 2020 has them at two loads."
                .to_owned(),
            x: load("load"),
            y: Axis { label: "slots passed", scale: Scale::Log10 },
            series: vec![
                own.passed("own steps: mean", mean),
                next.passed("to the next line: mean", mean),
                of_farrell("Farrell 2020: mean", farrell_passed(mean)),
                own.passed("own steps: longest", longest),
                next.passed("to the next line: longest", longest),
                of_farrell("Farrell 2020: longest", farrell_passed(longest)),
            ],
            end: None,
        },
    ])
}

/// Fills a map once to count the slots passed, and then `lab.runs` times to measure. All keys must
/// be in the map afterwards.
fn fill(lab: &Lab, config: &LinearConfig, input: &Input<u32, u32>, batch: u64) -> anyhow::Result<Filling> {
    let (device, stream) = (&lab.device, lab.device.default_stream());
    let batches = || input.keys.chunks(batch as usize);
    let on_device = batches()
        .zip(input.values.chunks(batch as usize))
        .map(|(keys, values)| Ok((Buffer::from_slice(device, keys)?, Buffer::from_slice(device, values)?)));
    let on_device = on_device.collect::<warpnest::Result<Vec<_>>>()?;
    let mut map = config.create::<u32, u32>(device)?;
    let mut times = vec![Vec::new(); on_device.len()];
    let mut passed = Vec::new();
    for run in 0..=lab.runs {
        lab.step(format!("{} slots, run {run}", map.table().slots()));
        map.clear()?;
        for ((keys, values), times) in on_device.iter().zip(&mut times) {
            let start = stream.record()?;
            let new = map.insert_many(keys, values)?;
            let end = stream.record()?;
            ensure!(new as u64 == batch, "{new} of {batch} new keys were counted");
            // The first run warms up.
            if run == 0 {
                passed.push(Passed::of(&map.table().probe_lengths()?));
            } else {
                times.push(end.milliseconds_since(&start)?);
            }
        }
    }
    ensure!(map.len() as u64 == BATCHES * batch, "the map has {} keys instead of {}", map.len(), BATCHES * batch);
    let mut wrong = 0;
    for (keys, (queries, _)) in batches().zip(&on_device) {
        let mut answers = Answers::new(device, keys.len())?;
        map.get_many_into(stream, queries, &mut answers)?;
        wrong += wrong_hits::<u32, u32>(keys, &answers.download(stream)?);
    }
    ensure!(wrong == 0, "{wrong} of {} answers are wrong", map.len());
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(Filling { batch, slots: map.table().slots(), ms: times.into_iter().map(median).collect(), passed })
}

/// Returns the table of (Farrell 2020), with columns for the two kinds of probing.
fn times_table(own: &Filling, next: &Filling) -> Table {
    let rate = "10⁶ keys/s";
    let mut table = new_table(
        ["load", "own steps: ms", rate, "to the next line: ms", rate, "Farrell 2020 (GTX 1060): ms", rate],
        0,
    );
    for (i, &farrell_ms) in FARRELL_MS.iter().enumerate() {
        let times = [(own.batch, own.ms[i]), (next.batch, next.ms[i]), (FARRELL_BATCH, farrell_ms)];
        let cells = times.map(|(keys, ms)| [format!("{ms:.3}"), format!("{:.1}", millions_a_second(keys, ms))]);
        table.add_row([format!("{:.2}", own.load(i))].into_iter().chain(cells.into_iter().flatten()));
    }
    table
}

/// Returns a table of the slots passed at the loads of (Farrell 2020): when half of the slots are
/// full, and after all batches.
fn passed_table(own: &Filling, next: &Filling) -> Table {
    let longest = "longest";
    let header = [
        "load",
        "slots passed, own steps: mean",
        longest,
        "to the next line: mean",
        longest,
        "Farrell 2020: mean",
        longest,
    ];
    let mut table = new_table(header, 0);
    for (batches, (_, from_paper)) in [SHARES / 2, BATCHES].into_iter().zip(FARRELL_PASSED) {
        let batches = batches as usize;
        let cells = [own.passed[batches - 1], next.passed[batches - 1], from_paper]
            .map(|passed| [format!("{:.4}", passed.mean), passed.longest.to_string()]);
        table.add_row([format!("{:.2}", own.load(batches))].into_iter().chain(cells.into_iter().flatten()));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressBar;
    use warpnest::Device;

    #[test]
    fn a_filling_has_a_time_for_each_batch_and_takes_the_slots_that_were_asked_for() {
        let lab = Lab { device: Device::cpu(), runs: 2, largest: 4096, progress: ProgressBar::hidden() };
        let [rates, passed] = farrell(&lab).unwrap();
        assert!(rates.note.starts_with("Batches of 128 new keys, LinearMap with 4168 or (next line) 4096 slots;"));
        for series in &rates.series {
            assert_eq!(series.points.len(), 31, "{}", series.name);
            assert!(series.points.is_sorted_by(|a, b| a.0 < b.0) && series.points.iter().all(|point| point.1 > 0.0));
        }
        for of in passed.series.chunks(3) {
            assert_eq!(of.iter().map(|series| series.points.len()).collect::<Vec<_>>(), [31, 31, 2]);
            assert!(of.iter().all(|series| series.points.is_sorted_by(|a, b| a.0 < b.0)));
            assert!(of.iter().all(|series| series.points[0].1 < series.points.last().unwrap().1));
        }
        let (means, longest) = passed.series.split_at(3);
        assert!(means.iter().zip(longest).all(|(mean, longest)| mean.points[1].1 <= longest.points[1].1));
        // Keys stay in their slots, so no search gets shorter.
        assert!(longest.iter().all(|series| series.points.is_sorted_by(|a, b| a.1 <= b.1)));
        // Most keys of the first batch share their home slot with no other key.
        assert!(means[0].points[0].1 < 0.2, "{:?}", means[0].points[0]);
    }

    #[test]
    fn the_posts_times_give_its_rates() {
        let rate = |i: usize| (millions_a_second(FARRELL_BATCH, FARRELL_MS[i]) * 1e3).round() / 1e3;
        assert_eq!([rate(0), rate(16), rate(29), rate(30)], [361.315, 285.515, 39.683, 17.461]);
    }
}
