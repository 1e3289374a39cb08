//! The share of scenes in which the right reference is found in the right place, by distortion.

use std::{
    f64::consts::LN_2,
    io::{self, Write},
};

use indicatif::ProgressBar;
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;
use warpnest::Device;
use warpnest_find_image::finder::Finder;
use warpnest_find_image::gallery::pose_of;
use warpnest_find_image::hypothesis::Hypothesis;
use warpnest_find_image::points::{Points, Similarity};
use warpnest_find_image::scenes::{self, Distortion, Occlusion, unit};
use warpnest_find_image::sets::FindError;

/// The number of references, one of which a scene shows.
pub const REFERENCES: usize = 100;

/// The number of scenes searched at once.
const BATCH: usize = 50;

/// The greatest error of a corner's position, as a share of the reference's diagonal in the scene.
const MOST_OFF: f64 = 0.02;

/// The two ways to lose points of a reference.
pub const OCCLUSIONS: [Occlusion; 2] = [Occlusion::Side, Occlusion::Scattered];

/// The parameter that a series of measurements varies.
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

    /// Returns a label: the parameter and its unit.
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

    /// Returns the parameter's measured values.
    pub fn values(self) -> &'static [f64] {
        match self {
            Axis::Rotation => &[0.0, 15.0, 30.0, 45.0, 90.0, 135.0, 180.0],
            Axis::Scale => &[0.2, 0.35, 0.5, 1.0, 2.0, 4.0],
            Axis::Clutter => &[0.0, 20.0, 40.0, 60.0, 70.0, 80.0, 90.0],
            Axis::Occlusion => &[0.0, 20.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0],
            Axis::Noise => &[0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0],
            Axis::Points => &[30.0, 60.0, 125.0, 250.0, 500.0, 1000.0],
        }
    }

    /// Returns a scene's distortion, in which the axis's parameter is `value`. By default, half of
    /// the points are lost, a fifth is clutter, noise is 2 %, and rotation and scale are random.
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
    /// The share for each of [`OCCLUSIONS`], in that order.
    pub found: [f64; 2],
}

/// The results of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    pub rates: Vec<Rates>,
    /// The number of scenes that show no reference.
    pub without: usize,
    /// The number of `without` scenes in which one was claimed.
    pub claimed: usize,
    /// The number of scenes that show a reference.
    pub with: usize,
    /// The number of `with` scenes with a wrong claim.
    pub mistaken: usize,
}

/// Measures `cases` scenes for each setting, and `10 * cases` scenes without a reference.
pub fn measure(device: &Device, points: usize, cases: usize, seed: u64) -> Result<Accuracy, FindError> {
    let random = &mut Random::seed_from_u64(seed);
    let settings: usize = Axis::ALL.iter().map(|axis| axis.values().len()).sum();
    let bar = ProgressBar::new((settings * OCCLUSIONS.len() * cases + 10 * cases) as u64);
    let usual = Album::new(device, points, random)?;
    let mut accuracy = Accuracy { rates: Vec::new(), without: 10 * cases, claimed: 0, with: 0, mistaken: 0 };
    for axis in Axis::ALL {
        for &value in axis.values() {
            let other = if axis == Axis::Points { Some(Album::new(device, value as usize, random)?) } else { None };
            let album = other.as_ref().unwrap_or(&usual);
            let mut found = [0.0; 2];
            for (found, occlusion) in found.iter_mut().zip(OCCLUSIONS) {
                let distortion = |random: &mut Random| axis.distortion(value, occlusion, random);
                let [right, mistaken] = album.search(cases, random, distortion, |scenes| bar.inc(scenes))?;
                *found = right as f64 / cases as f64;
                accuracy.with += cases;
                accuracy.mistaken += mistaken;
            }
            accuracy.rates.push(Rates { axis, value, found });
        }
    }
    accuracy.claimed = usual.search_others(accuracy.without, random, |scenes| bar.inc(scenes))?;
    bar.finish_and_clear();
    Ok(accuracy)
}

/// References, and the finder that searches scenes for them.
struct Album {
    references: Vec<Points>,
    finder: Finder,
}

impl Album {
    fn new(device: &Device, points: usize, random: &mut Random) -> Result<Self, FindError> {
        let references: Vec<Points> = (0..REFERENCES).map(|_| scenes::random_points(points, random)).collect();
        Ok(Self { finder: Finder::new(device, &references)?, references })
    }

    /// Returns the number of scenes in which the right reference is claimed in the right place, and
    /// the number of scenes in which anything else is claimed.
    fn search(
        &self,
        cases: usize,
        random: &mut Random,
        distortion: impl Fn(&mut Random) -> Distortion,
        done: impl Fn(u64),
    ) -> Result<[usize; 2], FindError> {
        let (mut right, mut mistaken) = (0, 0);
        for first in (0..cases).step_by(BATCH) {
            let cases = first..cases.min(first + BATCH);
            let references = || cases.clone().map(|case| case % REFERENCES);
            let (asked, poses): (Vec<Points>, Vec<Similarity>) = references()
                .map(|of| {
                    let distortion = distortion(random);
                    scenes::scene(&self.references[of], &distortion, random)
                })
                .unzip();
            let found = self.finder.find(&asked)?;
            for ((hypotheses, of), pose) in found.iter().zip(references()).zip(&poses) {
                let is_right = |hypothesis: &&Hypothesis| {
                    hypothesis.reference == of && is_in_place(hypothesis, &self.references[of], pose)
                };
                let (good, bad): (Vec<&Hypothesis>, Vec<&Hypothesis>) =
                    hypotheses.iter().filter(|hypothesis| hypothesis.is_claimed()).partition(is_right);
                right += usize::from(!good.is_empty());
                mistaken += usize::from(!bad.is_empty());
            }
            done(cases.len() as u64);
        }
        Ok([right, mistaken])
    }

    /// Searches scenes without a reference, and returns how many have a claim. A scene has 1, 1/2,
    /// 1/4 or 1/8 times the points of a reference.
    fn search_others(&self, cases: usize, random: &mut Random, done: impl Fn(u64)) -> Result<usize, FindError> {
        let points = self.references[0].points.len();
        let mut claimed = 0;
        for first in (0..cases).step_by(BATCH) {
            let cases = first..cases.min(first + BATCH);
            let asked: Vec<Points> =
                cases.clone().map(|case| scenes::random_points(points >> (case % 4), random)).collect();
            let is_claimed = |hypotheses: &&Vec<Hypothesis>| hypotheses.iter().any(Hypothesis::is_claimed);
            claimed += self.finder.find(&asked)?.iter().filter(is_claimed).count();
            done(cases.len() as u64);
        }
        Ok(claimed)
    }
}

/// Returns whether all corners are within [`MOST_OFF`] of their true positions.
fn is_in_place(hypothesis: &Hypothesis, reference: &Points, pose: &Similarity) -> bool {
    let (expected, found) = (pose.corners(reference.frame), pose_of(hypothesis, reference).corners(reference.frame));
    let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let most = MOST_OFF * distance(expected[0], expected[2]);
    expected.iter().zip(&found).all(|(a, b)| distance(*a, *b) <= most)
}

/// Prints a table of the rates for each axis.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of scenes for each assertion.
    const CASES: usize = 200;

    #[test]
    fn half_hidden_references_are_found_and_none_is_claimed_where_there_is_none() {
        let random = &mut Random::seed_from_u64(11);
        let album = Album::new(&Device::cpu(), 250, random).unwrap();
        for occlusion in OCCLUSIONS {
            let usual = |random: &mut Random| Axis::Occlusion.distortion(50.0, occlusion, random);
            let [right, mistaken] = album.search(CASES, random, usual, |_| ()).unwrap();
            assert!(right * 100 >= 95 * CASES, "{occlusion:?}: {right} of {CASES}");
            assert!(mistaken * 100 <= CASES, "{occlusion:?}: {mistaken} of {CASES}");
        }
        let claimed = album.search_others(2 * CASES, random, |_| ()).unwrap();
        assert!(claimed * 100 <= 2 * CASES, "{claimed} of {}", 2 * CASES);
    }

    #[test]
    fn every_setting_is_what_its_axis_says() {
        let random = &mut Random::seed_from_u64(12);
        for axis in Axis::ALL {
            for &value in axis.values() {
                let distortion = axis.distortion(value, Occlusion::Side, random);
                let expected = match axis {
                    Axis::Rotation => distortion.degrees,
                    Axis::Scale => distortion.scale,
                    Axis::Clutter => 100.0 * distortion.clutter,
                    Axis::Occlusion => 100.0 * distortion.occluded,
                    Axis::Noise => 100.0 * distortion.noise,
                    Axis::Points => value,
                };
                assert!((expected - value).abs() < 1e-9, "{axis:?} {value}");
            }
        }
        let rates = vec![Rates { axis: Axis::Noise, value: 2.0, found: [1.0, 0.25] }];
        let accuracy = Accuracy { rates, without: 100, claimed: 1, with: 200, mistaken: 2 };
        let mut out = Vec::new();
        print(&accuracy, 100, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("2            100.0             25.0") && text.contains("claimed in 1 of 100"), "{text}");
        assert_eq!(crate::figure::draw(&accuracy, 100, 250).unwrap().width(), 1200);
    }
}
