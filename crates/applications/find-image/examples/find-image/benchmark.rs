//! A benchmark of scenes searched per second.

use std::{io::Write, time::Instant};

use anyhow::{Result, ensure};
use indicatif::ProgressBar;
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;
use warpnest::Device;
use warpnest_applications_kernels::images::FEATURES;
use warpnest_find_image::finder::{Finder, MOST_ALIKE, Work};
use warpnest_find_image::hypothesis::Hypothesis;
use warpnest_find_image::points::Points;
use warpnest_find_image::scenes::{self, Distortion, Occlusion, unit};
use warpnest_find_image::sets::Sets;

use super::{Arguments, accuracy::REFERENCES, plain::Plain};

/// The number of scenes that [`plain`](super::plain) searches for comparison.
const COMPARED: usize = 5;

/// The limit of bytes for the points of all scenes on the host. It admits 500,000 scenes of 1000
/// points, well above what a measurement needs.
const MAX_HOST_BYTES: u64 = 4 << 30;

/// The minimum bytes of a point on the device, without its votes. A point has [`FEATURES`] keys,
/// and each key has the start, the length and the offset of its run.
const DEVICE_BYTES: u64 = 20 * FEATURES as u64;

/// Fails if the points of all scenes exceed the host's limit, or if the points of a batch exceed
/// `device_bytes`.
fn check_sizes(arguments: &Arguments, device_bytes: u64) -> Result<()> {
    let (scenes, points) = (u64::from(arguments.scenes), u64::from(arguments.points));
    let gibibytes = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    let on_host = scenes * points * size_of::<[f32; 2]>() as u64;
    ensure!(
        on_host <= MAX_HOST_BYTES,
        "{scenes} scenes of {points} points take {:.1} GiB on the host, and at most {:.1} GiB are possible; \
         give fewer --scenes or --points",
        gibibytes(on_host),
        gibibytes(MAX_HOST_BYTES)
    );
    let batch = scenes.min(u64::from(arguments.batch));
    let on_device = batch * points * DEVICE_BYTES;
    ensure!(
        on_device <= device_bytes,
        "{batch} scenes of {points} points at once take {:.1} GiB on the device at least, and it has {:.1} GiB free; \
         give a smaller --batch or fewer --points",
        gibibytes(on_device),
        gibibytes(device_bytes)
    );
    Ok(())
}

/// Measures the rate of searches, and prints it.
pub fn run(device: &Device, arguments: &Arguments, out: &mut impl Write) -> Result<()> {
    check_sizes(arguments, device.memory()?.free)?;
    let random = &mut Random::seed_from_u64(arguments.seed);
    let (points, number, batch) = (arguments.points as usize, arguments.scenes as usize, arguments.batch as usize);
    let references: Vec<Points> = (0..REFERENCES).map(|_| scenes::random_points(points, random)).collect();
    // Clutter replaces the lost half of a reference's points, so a scene has as many points as a
    // reference.
    let scenes: Vec<Points> = (0..number)
        .map(|i| {
            let (degrees, scale) = (360.0 * unit(random), 0.5 + unit(random));
            let occlusion = Occlusion::Side;
            let distortion = Distortion { degrees, scale, occlusion, occluded: 0.5, clutter: 0.5, noise: 0.02 };
            scenes::scene(&references[i % REFERENCES], &distortion, random).0
        })
        .collect();
    // The driver compiles kernels at their first launch, so they are loaded before the measurement.
    device.load_kernels()?;
    let start = Instant::now();
    let finder = Finder::new(device, &references)?;
    let built = start.elapsed();
    let (features, keys) = finder.features();
    writeln!(out, "references {REFERENCES} of {points} points: {features} features, {keys} different keys")?;
    writeln!(out, "           built in {:.1} ms, from the host's points to the table", 1e3 * built.as_secs_f64())?;

    let (stream, mut work) = (device.default_stream(), Work::new(device)?);
    // The first search, which allocates buffers for later searches, is not timed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn more_points_than_there_is_memory_for_are_refused() {
        let refusal = |scenes: &str, points: &str, batch: &str, free: u64| {
            let line = ["find-image", "--benchmark", "--scenes", scenes, "--points", points, "--batch", batch];
            let arguments = Arguments::try_parse_from(line).unwrap();
            check_sizes(&arguments, free).err().map(|error| error.to_string())
        };
        let text = refusal("1000000", "20000", "250", 1 << 40).unwrap();
        assert!(text.contains("149.0 GiB on the host") && text.contains("--scenes"), "{text}");
        // The host's limit is 2^29 points.
        assert_eq!(refusal("524288", "1024", "1", 1 << 30), None);
        assert!(refusal("524289", "1024", "1", 1 << 30).is_some());
        let text = refusal("2000", "20000", "2000", 16 << 30).unwrap();
        assert!(text.contains("26.1 GiB on the device") && text.contains("--batch"), "{text}");
        // With one scene, a batch of 2000 needs memory for one scene.
        assert_eq!(refusal("1", "1000", "2000", 700_000), None);
        assert!(refusal("1", "1000", "2000", 699_999).is_some());
        assert_eq!(refusal("1000", "1000", "250", 1 << 30), None);
    }

    #[test]
    fn the_program_refuses_them_before_it_makes_any() {
        let line = ["find-image", "--benchmark", "--scenes", "1000000", "--points", "20000", "--device", "cpu"];
        let error = run(&Device::cpu(), &Arguments::try_parse_from(line).unwrap(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("1000000 scenes of 20000 points"), "{error}");
    }
}
