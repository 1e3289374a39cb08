//! How often the right reference is found in the right place, over what happens to it in scenes.

use std::{
    f64::consts::LN_2,
    io::{self, Write},
};

use indicatif::ProgressBar;
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;
use warpnest::Device;
use warpnest_applications::images::finder::{FindError, Finder};
use warpnest_applications::images::plain::Hypothesis;
use warpnest_applications::images::points::{Points, Similarity, middle};
use warpnest_applications::images::scenes::{self, Distortion, Occlusion, unit};

/// The number of references among which the right one is to be found.
pub const REFERENCES: usize = 100;

/// The number of scenes searched at once.
const BATCH: usize = 50;

/// The most that a corner may be off, as a share of the diagonal of the reference in the scene.
const MOST_OFF: f64 = 0.02;

/// Both ways to lose points.
pub const OCCLUSIONS: [Occlusion; 2] = [Occlusion::Side, Occlusion::Scattered];

/// What changes from setting to setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    Rotation,
    Scale,
    Clutter,
    Occlusion,
    Noise,
    Points,
}

impl Axis {
    pub const ALL: [Axis; 6] = [Axis::Rotation, Axis::Scale, Axis::Clutter, Axis::Occlusion, Axis::Noise, Axis::Points];

    /// What the numbers of the axis are.
    pub fn label(self) -> &'static str {
        match self {
            Axis::Rotation => "rotation, degrees",
            Axis::Scale => "scale",
            Axis::Clutter => "clutter, % of the scene's points",
            Axis::Occlusion => "occlusion, % of the picture's points",
            Axis::Noise => "noise, % of the points' mean distance",
            Axis::Points => "points of a reference",
        }
    }

    /// The settings.
    pub fn values(self) -> &'static [f64] {
        match self {
            Axis::Rotation => &[0.0, 15.0, 30.0, 45.0, 90.0, 135.0, 180.0],
            Axis::Scale => &[0.2, 0.35, 0.5, 1.0, 2.0, 4.0],
            Axis::Clutter => &[0.0, 20.0, 30.0, 40.0, 50.0, 60.0],
            Axis::Occlusion => &[0.0, 20.0, 40.0, 50.0, 60.0, 70.0, 80.0],
            Axis::Noise => &[0.0, 1.0, 2.0, 4.0, 6.0, 8.0],
            Axis::Points => &[30.0, 60.0, 125.0, 250.0, 500.0, 1000.0],
        }
    }

    /// A scene's distortion: half of the points lost, a fifth clutter, 2 % noise, and any rotation
    /// and scale, but for what the axis sets.
    fn distortion(self, value: f64, occlusion: Occlusion, random: &mut Random) -> Distortion {
        let degrees = 360.0 * unit(random);
        let scale = (2.0 * LN_2 * (unit(random) - 0.5)).exp();
        let usual = Distortion { degrees, scale, occlusion, occluded: 0.5, clutter: 0.2, noise: 0.02 };
        match self {
            Axis::Rotation => Distortion { degrees: value, ..usual },
            Axis::Scale => Distortion { scale: value, ..usual },
            Axis::Clutter => Distortion { clutter: value / 100.0, ..usual },
            Axis::Occlusion => Distortion { occluded: value / 100.0, ..usual },
            Axis::Noise => Distortion { noise: value / 100.0, ..usual },
            Axis::Points => usual,
        }
    }
}

/// The share of scenes in which the right reference was found in the right place.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    pub axis: Axis,
    pub value: f64,
    /// One for each of [`OCCLUSIONS`].
    pub found: [f64; 2],
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    pub rates: Vec<Rates>,
    /// The number of scenes without any reference, and of those in which one was claimed.
    pub without: usize,
    pub claimed: usize,
    /// The number of scenes with a reference in which another one was claimed, of all.
    pub with: usize,
    pub mistaken: usize,
}

/// Measures with `cases` scenes a setting.
pub fn measure(device: &Device, points: usize, cases: usize, seed: u64) -> Result<Accuracy, FindError> {
    let random = &mut Random::seed_from_u64(seed);
    let settings: usize = Axis::ALL.iter().map(|axis| axis.values().len()).sum();
    let bar = ProgressBar::new((settings * OCCLUSIONS.len() * cases + 10 * cases) as u64);
    let pictures = |points: usize, random: &mut Random| -> Vec<Points> {
        (0..REFERENCES).map(|_| scenes::random_points(points, random)).collect()
    };
    let references = pictures(points, random);
    let finder = Finder::new(device, &references)?;
    let mut accuracy = Accuracy { rates: Vec::new(), without: 0, claimed: 0, with: 0, mistaken: 0 };
    for axis in Axis::ALL {
        for &value in axis.values() {
            let others = if axis == Axis::Points { pictures(value as usize, random) } else { Vec::new() };
            let other_finder = Finder::new(device, &others)?;
            let (finder, references) =
                if axis == Axis::Points { (&other_finder, &others) } else { (&finder, &references) };
            let mut found = [0.0; 2];
            for (found, occlusion) in found.iter_mut().zip(OCCLUSIONS) {
                let mut right = 0;
                for first in (0..cases).step_by(BATCH) {
                    let truths: Vec<(usize, Points, Similarity)> = (first..cases.min(first + BATCH))
                        .map(|case| {
                            let distortion = axis.distortion(value, occlusion, random);
                            let (scene, pose) = scenes::scene(&references[case % REFERENCES], &distortion, random);
                            (case % REFERENCES, scene, pose)
                        })
                        .collect();
                    let asked: Vec<Points> = truths.iter().map(|(_, scene, _)| scene.clone()).collect();
                    for (hypotheses, (of, _, pose)) in finder.find(&asked)?.iter().zip(&truths) {
                        let claimed = || hypotheses.iter().filter(|hypothesis| hypothesis.is_claimed());
                        let is_right = |hypothesis: &Hypothesis| {
                            hypothesis.reference == *of && is_in_place(hypothesis, &references[*of], pose)
                        };
                        right += usize::from(claimed().any(is_right));
                        accuracy.mistaken += usize::from(claimed().any(|hypothesis| !is_right(hypothesis)));
                        accuracy.with += 1;
                    }
                    bar.inc(truths.len() as u64);
                }
                *found = right as f64 / cases as f64;
            }
            accuracy.rates.push(Rates { axis, value, found });
        }
    }
    while accuracy.without < 10 * cases {
        let number = BATCH.min(10 * cases - accuracy.without);
        // From few to as many points as references have.
        let asked: Vec<Points> = (0..number).map(|i| scenes::random_points(points / (1 << (i % 4)), random)).collect();
        let is_claimed = |hypotheses: &&Vec<Hypothesis>| hypotheses.iter().any(Hypothesis::is_claimed);
        accuracy.claimed += finder.find(&asked)?.iter().filter(is_claimed).count();
        accuracy.without += number;
        bar.inc(number as u64);
    }
    bar.finish_and_clear();
    Ok(accuracy)
}

/// Whether the corners are where they belong.
fn is_in_place(hypothesis: &Hypothesis, reference: &Points, pose: &Similarity) -> bool {
    let [a, b] = hypothesis.factor.map(f64::from);
    let found = Similarity::about(
        b.atan2(a).to_degrees(),
        a.hypot(b),
        middle(reference.frame),
        hypothesis.middle.map(f64::from),
    );
    let (expected, found) = (pose.corners(reference.frame), found.corners(reference.frame));
    let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let most = MOST_OFF * distance(expected[0], expected[2]);
    expected.iter().zip(&found).all(|(a, b)| distance(*a, *b) <= most)
}

/// Prints a table for each axis.
pub fn print(accuracy: &Accuracy, cases: usize, out: &mut impl Write) -> io::Result<()> {
    let Accuracy { rates, without, claimed, with, mistaken } = accuracy;
    writeln!(out, "{cases} scenes a setting; found in the right place, % of scenes")?;
    for axis in Axis::ALL {
        writeln!(out, "\n{:<40} lost on one side   here and there", axis.label())?;
        for Rates { value, found: [side, scattered], .. } in rates.iter().filter(|rates| rates.axis == axis) {
            writeln!(out, "{value:>40} {:>16.1} {:>16.1}", 100.0 * side, 100.0 * scattered)?;
        }
    }
    writeln!(out, "\nwithout a reference in the scene: claimed in {claimed} of {without}")?;
    writeln!(out, "with one: another one, or another place, claimed in {mistaken} of {with}")
}
