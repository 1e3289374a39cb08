//! An example that finds which of several pictures is in a scene, and where.
//!
//! The example finds interest points in the pictures, and hashes the relative positions of
//! neighbouring points into a multimap. The keys of a scene's points are then looked up: each value
//! found is a vote for a picture and a pose. The first GPU hash tables were made for geometric
//! hashing, too (Alcantara 2009).

mod accuracy;
mod benchmark;
mod drawing;
mod figure;
mod plain;

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Parser;
use rayon::prelude::*;
use warpnest::Device;
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::program;
use warpnest_find_image::drawn;
use warpnest_find_image::gallery::{Gallery, LEAST_CORNERS, Match, views};
use warpnest_find_image::load::{LoadError, Picture, load};
use warpnest_find_image::points::{Points, frame_of, middle};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Find which of several pictures is in a scene, and where, with a hash table of the relative
/// positions of their interest points.
#[derive(Debug, Parser)]
#[command(
    after_help = "Without a path six pictures are made up, and a scene with one of them: turned, scaled and partly\n\
    covered. With paths, the first is the scene, the others are the pictures looked for. A picture may be turned,\n\
    scaled and partly hidden in the scene, but not seen from the side.\n\n\
    examples:\n  find-image --seed 3\n  find-image photo.jpg stamp.png poster.png\n  find-image --accuracy --cases 200\n  \
    find-image --benchmark --device cuda:0"
)]
struct Arguments {
    /// The picture to search: PNG or JPEG
    #[arg(requires = "references")]
    scene: Option<PathBuf>,
    /// The pictures to look for: PNG or JPEG
    references: Vec<PathBuf>,
    /// The device that holds the tables: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// Where to write the picture, as PNG: find-image.png, or find-image-accuracy.png
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// The seed of made-up scenes: another seed gives another scene
    #[arg(short, long, default_value_t = 1)]
    seed: u64,
    /// Measure how often made-up point sets are found, over rotation, scale, clutter, occlusion,
    /// noise and size, and draw a chart of it
    #[arg(long, conflicts_with_all = ["scene", "benchmark"])]
    accuracy: bool,
    /// Measure how many made-up scenes are searched per second
    #[arg(long, conflicts_with_all = ["scene", "output"])]
    benchmark: bool,
    /// Scenes for each setting of --accuracy
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cases: u32,
    /// Scenes of --benchmark
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    scenes: u32,
    /// Scenes that --benchmark searches at once
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=2000))]
    batch: u32,
    /// Interest points of each made-up point set of --accuracy and --benchmark
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=20_000))]
    points: u32,
    #[command(flatten)]
    memory: MemoryArgument,
}

fn main() -> ExitCode {
    program::exit_code(program::is_done(&run(&Arguments::parse())))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // `println!` would panic if the output is a pipe whose reader has gone.
    let out = &mut io::stdout();
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    memory::now("searching pictures".to_owned(), "scale the pictures down");
    program::print_device(&device, out)?;
    if arguments.benchmark {
        return benchmark::run(&device, arguments, out);
    }
    if arguments.accuracy {
        let accuracy = accuracy::measure(&device, arguments.points as usize, arguments.cases as usize, arguments.seed)?;
        accuracy::print(&accuracy, arguments.cases as usize, out)?;
        let path = arguments.output.as_deref().unwrap_or(Path::new("find-image-accuracy.png"));
        let figure = figure::draw(&accuracy, arguments.cases as usize, arguments.points as usize)?;
        return write(path, &figure, out);
    }
    find(&device, arguments, out)
}

/// Searches one scene, and draws what was found.
fn find(device: &Device, arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let start = Instant::now();
    let spinner = program::spinner("looking for corners");
    let (scene, references, truth) = match &arguments.scene {
        Some(scene) => {
            (load(scene)?, arguments.references.iter().map(|path| load(path)).collect::<Result<_, _>>()?, None)
        }
        None => {
            let references = drawn::references();
            let (scene, of, pose) = drawn::scene(&references, arguments.seed);
            (scene, references, Some((of, pose)))
        }
    };
    let references: Vec<Picture> = references;
    let of_references: Vec<Vec<Points>> = references.par_iter().map(|reference| views(&reference.grey)).collect();
    for (number, views) in of_references.iter().enumerate() {
        let points = views[0].points.len();
        if points < LEAST_CORNERS {
            let path =
                arguments.references.get(number).cloned().unwrap_or_else(|| references[number].name.clone().into());
            return Err(LoadError::TooPlain { path, points, least: LEAST_CORNERS }.into());
        }
    }
    let of_scene = views(&scene.grey);
    let corners = start.elapsed();
    spinner.set_message("searching");
    let start = Instant::now();
    let gallery = Gallery::new(device, of_references)?;
    let built = start.elapsed();
    let start = Instant::now();
    let found = gallery.find(&of_scene)?;
    let searched = start.elapsed();
    spinner.finish_and_clear();

    let (points, keys) = gallery.size();
    writeln!(out, "references {}, with {points} interest points and {keys} different keys", references.len())?;
    writeln!(out, "scene      {}, with {} interest points", scene.name, of_scene[0].points.len())?;
    if let Some((of, pose)) = truth {
        let (name, size) = (&references[of].name, references[of].colour.dimensions());
        let [x, y] = pose.at(middle(frame_of(size.0 as f32, size.1 as f32)));
        writeln!(out, "truth      {name}, {}, its middle at ({x:.0}, {y:.0})", turned(pose.degrees(), pose.scale()))?;
    }
    if found.is_empty() {
        writeln!(out, "found      none of the references")?;
    }
    for found in &found {
        writeln!(out, "found      {}", described(found, &references[found.reference]))?;
    }
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    let times = [corners, built, searched].map(milliseconds);
    writeln!(
        out,
        "time       {:.1} ms for pictures and their interest points, {:.1} ms for the table, {:.1} ms for the search",
        times[0], times[1], times[2]
    )?;
    let path = arguments.output.as_deref().unwrap_or(Path::new("find-image.png"));
    write(path, &drawing::draw(&scene, &references, &found)?, out)
}

/// Describes a match in one line.
fn described(found: &Match, reference: &Picture) -> String {
    let size = reference.colour.dimensions();
    let [x, y] = found.pose.at(middle(frame_of(size.0 as f32, size.1 as f32)));
    let mut text = format!(
        "{}, {}, its middle at ({x:.0}, {y:.0})",
        reference.name,
        turned(found.pose.degrees(), found.pose.scale())
    );
    // A fifth of the points in the rings around would match by chance.
    let (matches, chance) = (found.hypothesis.matches, found.hypothesis.around / 5);
    let _ = write!(text, "; {matches} points match, {chance} would by chance");
    text
}

fn turned(degrees: f64, scale: f64) -> String {
    format!("turned by {degrees:.1} degrees, scaled by {scale:.3}")
}

fn write(path: &Path, picture: &image::RgbImage, out: &mut impl Write) -> anyhow::Result<()> {
    picture
        .save_with_format(path, image::ImageFormat::Png)
        .with_context(|| format!("{}: cannot write the picture; give another --output", path.display()))?;
    writeln!(out, "picture    {}", path.display())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["find-image"], arguments].concat())
    }

    #[test]
    fn arguments_out_of_shape_are_refused() {
        for wrong in [
            &["scene.png"][..],
            &["--accuracy", "--benchmark"],
            &["--accuracy", "a.png", "b.png"],
            &["--cases", "0"],
            &["--points", "7"],
            &["--batch", "x"],
        ] {
            assert!(asked(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(asked(&["a.png", "b.png", "c.png"]).unwrap().references.len(), 2);
        assert!(asked(&[]).unwrap().scene.is_none());
    }

    #[test]
    fn a_reference_without_detail_is_refused_by_name() {
        let folder = std::env::temp_dir().join(format!("warpnest-find-image-main-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).display().to_string();
        image::RgbImage::from_pixel(90, 60, image::Rgb([9, 9, 9])).save(path("plain.png")).unwrap();
        drawn::references()[0].colour.save(path("mosaic.png")).unwrap();
        let found = |scene: &str, reference: &str| {
            let (scene, reference, output) = (path(scene), path(reference), path("out.png"));
            let arguments = asked(&[&scene, &reference, "--device", "cpu", "--output", &output]).unwrap();
            let mut out = Vec::new();
            find(&Device::cpu(), &arguments, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        let error = found("mosaic.png", "plain.png").unwrap_err().to_string();
        assert!(error.starts_with(&path("plain.png")) && error.contains("only 0 interest points"), "{error}");
        assert!(found("plain.png", "mosaic.png").unwrap().contains("none of the references"));
        let text = found("mosaic.png", "mosaic.png").unwrap();
        assert!(text.contains("found      mosaic.png, turned by"), "{text}");
        let drawn = load(Path::new(&path("out.png"))).unwrap();
        assert!(drawn.colour.width() > 640);
    }
}
