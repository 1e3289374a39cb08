//! The number of scenes that are searched a second.

use std::{io::Write, time::Instant};

use anyhow::ensure;
use indicatif::ProgressBar;
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;
use warpnest::Device;
use warpnest_applications::images::finder::{Finder, MOST_ALIKE, Work};
use warpnest_applications::images::plain::{Hypothesis, Plain};
use warpnest_applications::images::points::Points;
use warpnest_applications::images::scenes::{self, Distortion, Occlusion, unit};
use warpnest_applications::images::sets::Sets;

use super::{Arguments, accuracy::REFERENCES};

/// The number of scenes that the plain version searches, too.
const COMPARED: usize = 5;

/// Measures, and prints what came out.
pub fn run(device: &Device, arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let random = &mut Random::seed_from_u64(arguments.seed);
    let (points, number, batch) = (arguments.points as usize, arguments.scenes as usize, arguments.batch as usize);
    let references: Vec<Points> = (0..REFERENCES).map(|_| scenes::random_points(points, random)).collect();
    // Half of a reference is behind something with as many points, so a scene has as many, too.
    let scenes: Vec<Points> = (0..number)
        .map(|i| {
            let (degrees, scale) = (360.0 * unit(random), 0.5 + unit(random));
            let occlusion = Occlusion::Side;
            let distortion = Distortion { degrees, scale, occlusion, occluded: 0.5, clutter: 0.5, noise: 0.02 };
            scenes::scene(&references[i % REFERENCES], &distortion, random).0
        })
        .collect();
    // The driver compiles a kernel at its first launch, which is no part of a search.
    device.load_kernels()?;
    let start = Instant::now();
    let finder = Finder::new(device, &references)?;
    let built = start.elapsed();
    let (features, keys) = finder.features();
    writeln!(out, "references {REFERENCES} of {points} points: {features} features, {keys} different keys")?;
    writeln!(out, "           built in {:.1} ms, from the host's points to the table", 1e3 * built.as_secs_f64())?;

    let (stream, mut work) = (device.default_stream(), Work::new(device)?);
    // The first search allocates what the others use again.
    let mut sets = Sets::new(device, &scenes[..batch.min(number)])?;
    finder.search(stream, &mut sets, &mut work)?;
    let bar = ProgressBar::new(number as u64);
    let mut found = Vec::with_capacity(number);
    let mut stages: Vec<(&str, f64)> = Vec::new();
    let start = Instant::now();
    for scenes in scenes.chunks(batch) {
        let mut sets = Sets::new(device, scenes)?;
        finder.search(stream, &mut sets, &mut work)?;
        found.extend(Finder::hypotheses(stream, &work)?);
        for (i, (name, time)) in work.stages()?.into_iter().enumerate() {
            match stages.get_mut(i) {
                Some(stage) => stage.1 += time,
                None => stages.push((name, time)),
            }
        }
        bar.inc(scenes.len() as u64);
    }
    let whole = start.elapsed().as_secs_f64();
    bar.finish_and_clear();

    let on_device: f64 = stages.iter().map(|stage| stage.1).sum();
    writeln!(out, "scenes     {number} of {points} points, {batch} at once")?;
    writeln!(out, "           {:.0} a second by the device's clock", 1e3 * number as f64 / on_device)?;
    writeln!(out, "           {:.0} a second from the host's points to what was found", number as f64 / whole)?;
    for (name, time) in &stages {
        writeln!(out, "{name:>12} {:9.3} us a scene", 1e3 * time / number as f64)?;
    }
    let is_right = |(i, hypotheses): (usize, &Vec<Hypothesis>)| {
        let mut claimed = hypotheses.iter().filter(|hypothesis| hypothesis.is_claimed());
        claimed.next().is_some_and(|first| first.reference == i % REFERENCES) && claimed.next().is_none()
    };
    let right = found.iter().enumerate().filter(|scene| is_right(*scene)).count();
    writeln!(out, "found      the right reference, and no other one, in {right} of {number}")?;

    let set = |points: &Points| (points.points.clone(), points.frame);
    let plain = Plain::new(references.iter().map(set).collect(), MOST_ALIKE as usize);
    let start = Instant::now();
    let compared = COMPARED.min(number);
    let expected: Vec<Vec<Hypothesis>> = scenes[..compared].iter().map(|scene| plain.find(&set(scene))).collect();
    let rate = compared as f64 / start.elapsed().as_secs_f64();
    ensure!(found[..compared] == expected, "the device's hypotheses are not those of the plain version");
    writeln!(
        out,
        "plain      {rate:.0} a second, with HashMap on one thread; the first {compared} agree to the last bit"
    )?;
    Ok(())
}
