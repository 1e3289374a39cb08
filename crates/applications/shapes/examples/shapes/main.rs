//! An example in which two solid shapes move through each other. Every frame shows anew where they
//! meet, and which part of each lies inside the other.
//!
//! This is the application that (Alcantara 2011, figure 4.1) shows. Both surfaces become voxels in
//! hash tables. Each table is queried for the other surface's voxels, and a flood over the tables
//! separates inside from outside.

mod controls;
mod film;
mod fineness;
mod models;
mod report;
#[cfg(test)]
mod tests;
mod window;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Parser;
use film::Film;
use glam::Vec3;
use indicatif::ProgressBar;
use models::Model;
use report::Times;
use warpnest::Device;
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::program;
use warpnest_shapes::animation::{Choreography, DANCE, Hand};
use warpnest_shapes::picture::{self, Drawn};
use warpnest_shapes::{MAX_SIDE, Motion, Scene};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Let two solid shapes move through each other: where do they meet, and what is inside?
#[derive(Debug, Parser)]
#[command(after_help = "A shape is a mesh (.ply, ascii or binary, or .obj, plain or gzipped) or one of the built-in \
    shapes: sphere, knot, braid.\nBoth are brought to the size of the scene, then turn, twist and swell. Every frame \
    is computed from scratch:\nboth surfaces become voxels, a hash table is built of each, each is asked for the \
    other's voxels,\nand a flood over the tables tells inside from outside. \
    What is inside a mesh with holes is not defined:\nthe other shape is then drawn grey.")]
struct Arguments {
    /// The first shape: a path or a built-in shape
    #[arg(default_value = "sphere")]
    a: String,
    /// The second shape
    #[arg(default_value = "knot")]
    b: String,
    /// Voxels along each side of the grid, 8 to 1024
    #[arg(short, long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=i64::from(MAX_SIDE)))]
    grid: u32,
    /// Frames of the animation
    #[arg(short, long, default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frames: u32,
    /// The device for tables and kernels: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The folder for the pictures: shapes.png, which browsers play, and a file for each frame
    #[arg(short, long, default_value = "shapes")]
    output: PathBuf,
    /// Height of a picture in pixels; it is three times as wide
    #[arg(long, default_value_t = 360, value_parser = clap::value_parser!(u32).range(16..=2160))]
    height: u32,
    /// The direction from which the pictures are seen, in degrees
    #[arg(long, value_name = "YAW,PITCH", value_parser = view, default_value = "25,30", allow_hyphen_values = true)]
    view: [f64; 2],
    /// Measure only, and draw no pictures
    #[arg(long)]
    no_pictures: bool,
    /// Radii of the shapes, as fractions of half the grid; up to .9 each
    #[arg(long, value_name = "A,B", value_parser = sizes, default_value = "0.62,0.9")]
    sizes: [f64; 2],
    /// Open a window in which a shape can be turned and moved
    #[arg(long, conflicts_with_all = ["fineness", "no_pictures"])]
    window: bool,
    /// Sweep the grid up to --grid, and draw milliseconds against voxels to fineness.svg and .png
    #[arg(long)]
    fineness: bool,
    #[command(flatten)]
    memory: MemoryArgument,
}

fn view(text: &str) -> Result<[f64; 2], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[first, second]) if first.is_finite() && second.is_finite() => Ok([first, second]),
        _ => Err("give two numbers with a comma between".to_owned()),
    }
}

fn sizes(text: &str) -> Result<[f64; 2], String> {
    let sizes = view(text)?;
    let fits = |size: &f64| (0.01..=0.9).contains(size);
    if sizes.iter().all(fits) { Ok(sizes) } else { Err("give two numbers from 0.01 to 0.9".to_owned()) }
}

fn main() -> ExitCode {
    program::exit_code(program::is_done(&run(&Arguments::parse(), &mut io::stdout())))
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    memory::now("reading meshes".to_owned(), "give smaller ones");
    program::print_device(&device, out)?;
    let models = [Model::load(&arguments.a)?, Model::load(&arguments.b)?];
    memory::now("finding voxels".to_owned(), "give a smaller --grid");
    if arguments.fineness {
        return fineness::sweep(arguments, &device, &models, out);
    }
    let mut scene = Scene::new(&device, models.each_ref().map(|model| &model.mesh), arguments.grid)?;
    if arguments.window {
        return window::show(arguments, &models, &mut scene, out);
    }
    let times = play(arguments, &models, &mut scene)?;
    report::print(arguments.grid, true, &models, scene.open_edges(), &times, out)?;
    if !arguments.no_pictures {
        writeln!(out, "pictures   {}", arguments.output.join(film::ANIMATION).display())?;
    }
    Ok(())
}

impl Arguments {
    /// Returns the motions of both shapes at a time, where 0 is the animation's beginning and 1 its
    /// end.
    fn motions(&self, time: f64, side: u32, hands: &[Hand; 2]) -> [Motion; 2] {
        std::array::from_fn(|i| Choreography { size: self.sizes[i], ..DANCE[i] }.motion(time, side, &hands[i]))
    }

    /// Returns the motions of both shapes in frame `number` of the animation.
    fn motions_in(&self, number: u32, side: u32) -> [Motion; 2] {
        self.motions(f64::from(number) / f64::from(self.frames), side, &[Hand::default(); 2])
    }
}

/// Computes all frames, and draws them unless `--no-pictures` is given.
fn play(arguments: &Arguments, models: &[Model; 2], scene: &mut Scene) -> anyhow::Result<Times> {
    let bar = bar(arguments.frames);
    let size = (3 * arguments.height as usize, arguments.height as usize);
    let mut film =
        (!arguments.no_pictures).then(|| Film::create(&arguments.output, size, arguments.frames)).transpose()?;
    let mut times = Times::default();
    // The first frame is computed twice, because it compiles kernels and allocates memory.
    scene.frame(&arguments.motions_in(0, arguments.grid))?;
    for number in 0..arguments.frames {
        let motions = arguments.motions_in(number, arguments.grid);
        let frame = scene.frame(&motions)?;
        if let Some(film) = &mut film {
            film.add(&panels(arguments, models, scene, &motions)?, &report::caption(&frame))?;
        }
        times.add(frame);
        bar.inc(1);
    }
    if let Some(film) = film {
        film.finish()?;
    }
    bar.finish_and_clear();
    Ok(times)
}

/// Returns the pictures of the three bodies.
fn panels(
    arguments: &Arguments,
    models: &[Model; 2],
    scene: &Scene,
    motions: &[Motion; 2],
) -> anyhow::Result<[Vec<u8>; 3]> {
    let size = (arguments.height as usize, arguments.height as usize);
    drawn_shapes(models, scene, motions, |shapes| {
        picture::BODIES.map(|body| picture::draw(shapes, body, arguments.grid, arguments.view, size))
    })
}

/// Calls `draw` with the shapes of the last frame.
fn drawn_shapes<R>(
    models: &[Model; 2],
    scene: &Scene,
    motions: &[Motion; 2],
    draw: impl FnOnce(&[Drawn<'_>; 2]) -> R,
) -> anyhow::Result<R> {
    let voxels = scene.voxels()?;
    let normals: [Vec<Vec3>; 2] = std::array::from_fn(|i| picture::normals(&models[i].mesh, &motions[i]));
    let open = scene.open_edges();
    // Only a closed other mesh defines what is inside it.
    Ok(draw(&std::array::from_fn(|i| Drawn { voxels: &voxels[i], normals: &normals[i], known: open[1 - i] == 0 })))
}

/// Returns the message for a file that cannot be written.
fn cannot_write(path: &Path) -> String {
    program::cannot_write(path, "--output")
}

/// Returns a progress bar over frames.
fn bar(frames: u32) -> ProgressBar {
    program::bar(u64::from(frames), "{msg} {wide_bar} {pos}/{len} {eta}").with_message("frames")
}

/// Makes the folder of the output.
fn make_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder; give another --output", folder.display()))
}
