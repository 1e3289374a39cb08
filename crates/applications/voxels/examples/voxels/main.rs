//! An example that finds where two surfaces meet.
//!
//! Both surfaces are turned into voxels of one grid, and a hash table is built of each surface's
//! voxels. Each table is queried for the other's voxels, which gives a count and a picture. The
//! first GPU hash tables were made for this: spatial hashing of voxelized models (Alcantara 2009).

mod summary;
mod tables;

use std::{
    cmp::Ordering,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Parser;
use glam::DVec3;
use tables::Measured;
use warpnest::Device;
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::program;
use warpnest_applications_shared::shown::grouped;
use warpnest_voxels::mesh::{self, Mesh};
use warpnest_voxels::placement::{Placement, fit_to_grid};
use warpnest_voxels::voxelize::{self, Surface};
use warpnest_voxels::{models, picture};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Find where two surfaces meet, with hash tables of their voxels.
#[derive(Debug, Parser)]
#[command(
    after_help = "Without a path two built-in shapes are used; with one path, the mesh and a turned copy of it.\n\
    With two paths B is brought to A's size and centre, then turned, scaled and shifted as asked."
)]
struct Arguments {
    /// A mesh: .ply (ascii or binary) or .obj, plain or gzipped
    a: Option<PathBuf>,
    /// Another mesh
    b: Option<PathBuf>,
    /// Voxels along each side of the grid, 8 to 4096: keys have 32 bits up to 1024, 64 above
    /// (memory grows with the square)
    #[arg(short, long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(8..=4096))]
    grid: u32,
    /// The device that holds the tables: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The file to which the picture is written
    #[arg(short, long, default_value = "voxels.png")]
    output: PathBuf,
    /// Factor on B's size
    #[arg(long, default_value_t = 1.0, value_parser = positive, allow_hyphen_values = true)]
    scale_b: f64,
    /// Turn B about the x, y and z axis, in degrees
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    rotate_b: Option<DVec3>,
    /// Shift B, in widths of A's bounding box
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    offset_b: Option<DVec3>,
    /// Keep B at the position and the size that its file has
    #[arg(long)]
    as_is: bool,
    /// The direction from which the picture is seen, in degrees
    #[arg(long, value_name = "YAW,PITCH", value_parser = numbers::<2>, default_value = "28,38", allow_hyphen_values = true)]
    view: [f64; 2],
    #[command(flatten)]
    memory: MemoryArgument,
}

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let parsed: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
    let numbers = parsed.ok().filter(|numbers| numbers.iter().all(|x| x.is_finite()));
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| format!("give {N} numbers with commas between"))
}

fn vector(text: &str) -> Result<DVec3, String> {
    numbers::<3>(text).map(DVec3::from_array)
}

fn positive(text: &str) -> Result<f64, String> {
    let [number] = numbers::<1>(text)?;
    if number > 0.0 { Ok(number) } else { Err("give a number above 0".to_owned()) }
}

/// A surface, with its name and its measurements.
struct Side {
    name: String,
    mesh: Mesh,
    surface: Surface,
    voxelized: Duration,
}

fn main() -> ExitCode {
    program::exit_code(program::is_done(&run(&Arguments::parse())))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let start = Instant::now();
    // `println!` would panic if the output is a pipe whose reader has gone.
    let out = &mut io::stdout();
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    memory::now("reading meshes".to_owned(), "give smaller ones");
    program::print_device(&device, out)?;

    let [a, b] = meshes(arguments)?;
    memory::now("finding voxels".to_owned(), "give a smaller --grid");
    let sides = [voxelized("A", a, arguments.grid), voxelized("B", b, arguments.grid)];
    let surfaces = sides.each_ref().map(|side| &side.surface);
    let tables = tables::measure(&device, arguments.grid, surfaces)?;
    summary::print(arguments.grid, &sides, &tables, out)?;
    let common = common_voxels(surfaces, &tables, out)?;
    summary::print_memory(arguments.grid, &tables, out)?;
    let spinner = program::spinner("drawing");
    let bodies = sides.each_ref().map(|side| picture::Body { mesh: &side.mesh, surface: &side.surface });
    let pixels = picture::draw(&bodies, &common, arguments.view);
    picture::write(&arguments.output, &pixels)
        .with_context(|| format!("{}: cannot write the picture; give another --output", arguments.output.display()))?;
    spinner.finish_and_clear();
    writeln!(out, "picture    {}", arguments.output.display())?;
    writeln!(out, "time       {:.2} s in all", start.elapsed().as_secs_f64())?;
    Ok(())
}

/// Returns both meshes with their names, moved to the grid.
fn meshes(arguments: &Arguments) -> anyhow::Result<[(String, Mesh); 2]> {
    let spinner = program::spinner("reading");
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut placement = Placement {
        fit: arguments.b.is_some() && !arguments.as_is,
        scale: arguments.scale_b,
        rotation: arguments.rotate_b.unwrap_or_default(),
        offset: arguments.offset_b.unwrap_or_default(),
    };
    let (a_name, a, b_name, b) = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => (name(a), mesh::load(a)?, name(b), mesh::load(b)?),
        (Some(a), None) => {
            placement.rotation = arguments.rotate_b.unwrap_or(DVec3::new(0.0, 40.0, 0.0));
            placement.offset = arguments.offset_b.unwrap_or(DVec3::new(0.12, 0.0, 0.0));
            let mesh = mesh::load(a)?;
            (name(a), mesh.clone(), "its copy".to_owned(), mesh)
        }
        (None, _) => {
            let (knot, sphere) = (models::torus_knot(1400, 96), models::wavy_sphere(600, 300));
            ("wavy sphere".to_owned(), sphere, "torus knot".to_owned(), knot)
        }
    };
    let b = placement.place(&a, b);
    let (a, b) = fit_to_grid(a, b, arguments.grid)?;
    spinner.finish_and_clear();
    Ok([(a_name, a), (b_name, b)])
}

fn voxelized(label: &str, (name, mesh): (String, Mesh), grid: u32) -> Side {
    let bar = program::bar(mesh.triangles.len() as u64, "{msg} {wide_bar} {human_pos}/{human_len} triangles");
    bar.set_message(format!("voxelizing {label}"));
    let start = Instant::now();
    let surface = voxelize::voxelize(&mesh, grid, |count| bar.inc(count));
    let voxelized = start.elapsed();
    bar.finish_and_clear();
    Side { name, mesh, surface, voxelized }
}

/// Returns the common voxels of both surfaces, by the answers of both tables.
///
/// Both must find the same voxels, with the stored triangles. The lists are sorted, so one pass
/// along both computes the expected answers.
fn common_voxels(
    [a, b]: [&Surface; 2],
    [in_a, in_b]: &[Measured; 2],
    out: &mut impl Write,
) -> anyhow::Result<Vec<u64>> {
    let (mut i, mut j) = (0, 0);
    let (mut common, mut wrong) = (Vec::new(), 0_usize);
    while i < a.keys.len() || j < b.keys.len() {
        let order = match (a.keys.get(i), b.keys.get(j)) {
            (Some(left), Some(right)) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let (left, right) = match order {
            Ordering::Equal => {
                common.push(a.keys[i]);
                (Some(b.triangles[j]), Some(a.triangles[i]))
            }
            _ => (None, None),
        };
        if order.is_le() {
            wrong += usize::from(in_b.answers[i] != left);
            i += 1;
        }
        if order.is_ge() {
            wrong += usize::from(in_a.answers[j] != right);
            j += 1;
        }
    }
    let hits = [in_a, in_b].map(|table| table.answers.iter().flatten().count());
    writeln!(out, "in common  {} voxels", grouped(common.len() as u64))?;
    if wrong > 0 || hits != [common.len(); 2] {
        bail!(
            "the tables are wrong: {} of A's voxels are in B, {} of B's in A, {wrong} answers differ",
            hits[1],
            hits[0]
        );
    }
    writeln!(
        out,
        "           (A's voxels in B's table and B's in A's agree, and with a walk along both sorted lists)"
    )?;
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_out_of_shape_are_refused() {
        assert_eq!(numbers::<3>("1, -2.5,3e1"), Ok([1.0, -2.5, 30.0]));
        for text in ["", "1,2", "1,2,3,4", "1,x,3", "1,2,inf", "nan,0,0"] {
            assert!(numbers::<3>(text).is_err(), "{text:?}");
        }
        assert!(positive("0.5").is_ok() && positive("0").is_err() && positive("-1").is_err());
        for grid in ["7", "4097", "x"] {
            assert!(Arguments::try_parse_from(["voxels", "--grid", grid]).is_err(), "{grid}");
        }
        let shifted =
            Arguments::try_parse_from(["voxels", "a.ply", "--offset-b", "-1,0,0", "--view", "-30,-10"]).unwrap();
        assert_eq!((shifted.offset_b, shifted.view), (Some(DVec3::NEG_X), [-30.0, -10.0]));
    }
}
