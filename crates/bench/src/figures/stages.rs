//! The stages of building a two-level map: the figures of (Sahu 2015) and (Alcantara 2009).

use anyhow::Context as _;
use warpnest::error::BuildError;
use warpnest::two_level::TwoLevelStages;
use warpnest::{Error, TwoLevelConfig};

use super::figure::{Axis, End, Figure, Series};
use super::lab::Lab;
use super::scale::{Scale, power_of_two};
use crate::bench::input::wrong_hits;
use crate::bench::maps::Subjects;

/// A line of a figure: its name, and a function that returns the stage's time.
type Line = (&'static str, fn(&TwoLevelStages) -> f64);

/// The kernels of (Sahu 2015), in the order in which they run. Sahu does not count the
/// initialization.
const KERNELS: [Line; 4] = [
    ("phase 1: assigning, counting", |stages| stages.count),
    ("prefix sum: scan", |stages| stages.scan),
    ("store: shuffle", |stages| stages.shuffle),
    ("phase 2: cuckoo hashing", |stages| stages.cuckoo),
];

/// The stages of (Alcantara 2009), in the order of its legend.
const STAGES: [Line; 5] = [
    ("cuckoo hashing", |stages| stages.cuckoo),
    ("assigning keys, counting", |stages| stages.count),
    ("shuffling into the buckets", |stages| stages.shuffle),
    ("initialization", |stages| stages.initialization),
    ("bucket data locations", |stages| stages.scan),
];

const MILLISECONDS: &str = "time (ms)";

/// Returns the time of each kernel of (Sahu 2015), for 512, 1024, 2048, … pairs.
///
/// They are measured with the configuration `sahu` as long as it works, and with the default.
pub fn kernels(lab: &Lab, sahu: &TwoLevelConfig) -> anyhow::Result<[Figure; 2]> {
    let sizes = lab.doubling_sizes();
    lab.begin("Sahu's kernels", sizes.len());
    let (mut his, mut default) = (Vec::new(), Vec::new());
    let mut end = None;
    for n in sizes {
        lab.step(format!("{n} pairs"));
        let pairs = Subjects::new(&lab.device, n, lab.runs).with_context(|| format!("{n} pairs"))?;
        if end.is_none() {
            match stages_of(&pairs, sahu) {
                Ok(stages) => his.push((n, stages)),
                Err(error) => match error.downcast_ref() {
                    Some(&Error::BuildFailed(BuildError::TwoLevel { overflows, failures, .. })) => {
                        end = Some((n, overflows, failures));
                    }
                    _ => return Err(error.context(format!("{n} pairs, Sahu's configuration"))),
                },
            }
        }
        default.push((n, stages_of(&pairs, &TwoLevelConfig::default()).with_context(|| format!("{n} pairs"))?));
    }
    let mut note = "Prime 1900813, wrapping 32-bit products, buckets of 512 filled to 80 %.".to_owned();
    if let Some((n, overflows, failures)) = end {
        let n = power_of_two(n.ilog2());
        note += &format!(" {n} pairs: {overflows} attempts overflowed a bucket, {failures} failed in one.");
    }
    let figure = |name, title: &str, note, measured: &[_]| Figure {
        name,
        title: title.to_owned(),
        note,
        x: Axis { label: "pairs (N)", scale: Scale::Log2 },
        y: Axis { label: MILLISECONDS, scale: Scale::Log10 },
        series: series(&KERNELS, measured, 1.0),
        end: None,
    };
    let his = Figure {
        end: end.map(|(n, ..)| End { x: n as f64, name: format!("no table of {} pairs", power_of_two(n.ilog2())) }),
        ..figure("sahu_kernels", "Sahu's variant: time of each kernel", note, &his)
    };
    let note = "Three sub-tables a bucket, mixing hash functions of 32 bits. Keys known to be unique.".to_owned();
    Ok([his, figure("default_kernels", "Default configuration: time of each kernel", note, &default)])
}

/// Returns the stages of (Alcantara 2009) over half a million to ten million pairs, or over fewer
/// pairs if the limit is lower.
pub fn alcantara_2009(lab: &Lab) -> anyhow::Result<Figure> {
    const POINTS: u64 = 20;
    let most = lab.largest.min(10_000_000);
    lab.begin("stages", POINTS as usize);
    let mut measured = Vec::new();
    for n in (1..=POINTS).map(|i| most * i / POINTS) {
        lab.step(format!("{n} pairs"));
        let pairs = Subjects::new(&lab.device, n, lab.runs).with_context(|| format!("{n} pairs"))?;
        let stages = stages_of(&pairs, &TwoLevelConfig::default()).with_context(|| format!("{n} pairs"))?;
        measured.push((n, stages));
    }
    Ok(Figure {
        name: "alcantara_2009_stages",
        title: "Time of each stage of building TwoLevelMap".to_owned(),
        note: "Random keys of 32 bits, known to be unique, and values of 32 bits; default configuration.".to_owned(),
        x: Axis { label: "pairs (millions)", scale: Scale::Linear },
        y: Axis { label: MILLISECONDS, scale: Scale::Linear },
        series: series(&STAGES, &measured, 1e6),
        end: None,
    })
}

fn series(lines: &[Line], measured: &[(u64, TwoLevelStages)], x_unit: f64) -> Vec<Series> {
    let points =
        |of: fn(&TwoLevelStages) -> f64| measured.iter().map(|(n, stages)| (*n as f64 / x_unit, of(stages))).collect();
    lines.iter().map(|&(name, of)| Series { name, points: points(of), cited: None }).collect()
}

/// Returns the stages of the median build of a map with `config`, after a check of all answers.
///
/// Failed attempts of a build are not included.
fn stages_of(pairs: &Subjects<'_, u32, u32>, config: &TwoLevelConfig) -> anyhow::Result<TwoLevelStages> {
    let mut map = pairs.build(&config.clone().assume_unique().timings().seed(1))?;
    // A build keeps no scratch memory, but a rebuild does, so the first rebuild has to allocate it.
    map.rebuild(&pairs.keys, &pairs.values)?;
    let stages = pairs.stages(&mut map, TwoLevelStages::total, |report| report.stages)?;
    let wrong = wrong_hits(&pairs.input.present, &map.get_many(&pairs.input.present)?);
    anyhow::ensure!(wrong == 0, "{wrong} of {} answers are wrong", map.len());
    stages.context("the build measured no stages")
}
