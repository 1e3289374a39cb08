//! Where do two surfaces meet? Both are turned into voxels of one grid, a hash table is built of each surface's voxels,
//! and each table is asked for the other's. This is what the first GPU hash tables were made for (Alcantara and others:
//! spatial hashing of voxelized models). The answer is a number, and a picture.

mod camera;
mod mesh;
mod picture;
mod shapes;
mod voxelize;

use std::{
    cmp::Ordering,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use mesh::{Mesh, Vec3};
use voxelize::{Placement, Surface};
use warpnest::{CuckooMap, Device};

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
    /// Voxels along each side of the grid, 8 to 4096 (memory grows with the square)
    #[arg(short, long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(8..=4096))]
    grid: u32,
    /// Where the tables live: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// Where to write the picture
    #[arg(short, long, default_value = "voxels.png")]
    output: PathBuf,
    /// Factor on B's size
    #[arg(long, default_value_t = 1.0, value_parser = positive, allow_hyphen_values = true)]
    scale_b: f64,
    /// Turn B about the x, y and z axis, in degrees
    #[arg(long, value_name = "X,Y,Z", value_parser = numbers::<3>, allow_hyphen_values = true)]
    rotate_b: Option<Vec3>,
    /// Shift B, in widths of A's bounding box
    #[arg(long, value_name = "X,Y,Z", value_parser = numbers::<3>, allow_hyphen_values = true)]
    offset_b: Option<Vec3>,
    /// Leave B where its file says, at the size it has there
    #[arg(long)]
    as_is: bool,
    /// Where the picture is seen from, in degrees
    #[arg(long, value_name = "YAW,PITCH", value_parser = numbers::<2>, default_value = "28,38", allow_hyphen_values = true)]
    view: [f64; 2],
}

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let parsed: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
    let numbers = parsed.ok().filter(|numbers| numbers.iter().all(|x| x.is_finite()));
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| format!("give {N} numbers with commas between"))
}

fn positive(text: &str) -> Result<f64, String> {
    let [number] = numbers::<1>(text)?;
    if number > 0.0 { Ok(number) } else { Err("give a number above 0".to_owned()) }
}

/// One of the two surfaces, and what was measured with it.
struct Side {
    name: String,
    mesh: Mesh,
    surface: Surface,
    voxelized: Duration,
}

struct Measured {
    map: CuckooMap<u64, u32>,
    build: Duration,
    query: Duration,
    /// For each voxel of the other surface whether this table has it.
    answers: Vec<Option<u32>>,
}

fn main() -> ExitCode {
    let Err(error) = run(&Arguments::parse()) else { return ExitCode::SUCCESS };
    // Only the words: with RUST_BACKTRACE set, returning the error would bury them under a backtrace.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let start = Instant::now();
    // Not `println!`, which panics where the output is a pipe that nobody reads any more.
    let out = &mut io::stdout();
    let device: Device = arguments.device.parse()?;
    writeln!(out, "device     {}", device.name())?;
    if let Some(reason) = device.fallback_reason() {
        writeln!(out, "           ({reason})")?;
    }

    let [a, b] = meshes(arguments)?;
    let sides = [voxelized("A", a, arguments.grid), voxelized("B", b, arguments.grid)];
    let [a, b] = &sides;

    // The first launch of a kernel has the driver compile it, which is no part of what a table costs.
    CuckooMap::<u64, u32>::build(&device, &[0], &[0])?.get_many(&[0])?;
    let tables = [measure(&device, a, b)?, measure(&device, b, a)?];
    print_summary(arguments.grid, &sides, &tables, out)?;
    let common = common_voxels(&sides, &tables, out)?;
    print_memory(arguments.grid, &tables, out)?;
    let spinner = spinner("drawing");
    let bodies = sides.each_ref().map(|side| picture::Body { mesh: &side.mesh, surface: &side.surface });
    let pixels = picture::draw(&bodies, &common, arguments.view);
    picture::write(&arguments.output, &pixels)
        .with_context(|| format!("{}: cannot write the picture; give another --output", arguments.output.display()))?;
    spinner.finish_and_clear();
    writeln!(out, "picture    {}", arguments.output.display())?;
    writeln!(out, "time       {:.2} s in all", start.elapsed().as_secs_f64())?;
    Ok(())
}

/// Both meshes with their names, placed on the grid.
fn meshes(arguments: &Arguments) -> anyhow::Result<[(String, Mesh); 2]> {
    let spinner = spinner("reading");
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
            placement.rotation = arguments.rotate_b.unwrap_or([0.0, 40.0, 0.0]);
            placement.offset = arguments.offset_b.unwrap_or([0.12, 0.0, 0.0]);
            let mesh = mesh::load(a)?;
            (name(a), mesh.clone(), "its copy".to_owned(), mesh)
        }
        (None, _) => {
            let (knot, sphere) = (shapes::torus_knot(1400, 96), shapes::wavy_sphere(600, 300));
            ("wavy sphere".to_owned(), sphere, "torus knot".to_owned(), knot)
        }
    };
    let b = placement.place(&a, b);
    let (a, b) = voxelize::fit_to_grid(a, b, arguments.grid)?;
    spinner.finish_and_clear();
    Ok([(a_name, a), (b_name, b)])
}

fn voxelized(label: &str, (name, mesh): (String, Mesh), grid: u32) -> Side {
    let bar = ProgressBar::new(mesh.triangles.len() as u64);
    // The template is a constant; were it wrong, the plain bar would do.
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} triangles") {
        bar.set_style(style);
    }
    bar.set_message(format!("voxelizing {label}"));
    let start = Instant::now();
    let surface = voxelize::voxelize(&mesh, grid, |count| bar.inc(count));
    let voxelized = start.elapsed();
    bar.finish_and_clear();
    Side { name, mesh, surface, voxelized }
}

/// Builds the table of one surface and asks it for the voxels of the other.
fn measure(device: &Device, own: &Side, other: &Side) -> anyhow::Result<Measured> {
    let start = Instant::now();
    let map = CuckooMap::build(device, &own.surface.keys, &own.surface.triangles)?;
    let build = start.elapsed();
    let start = Instant::now();
    let answers = map.get_many(&other.surface.keys)?;
    let query = start.elapsed();
    Ok(Measured { map, build, query, answers })
}

/// The voxels that both tables say are in common. Both must find the same ones, and each with the triangle that was
/// stored; the lists are sorted, so one walk along both shows what is right.
fn common_voxels([a, b]: &[Side; 2], [in_a, in_b]: &[Measured; 2], out: &mut impl Write) -> anyhow::Result<Vec<u64>> {
    let (mut i, mut j) = (0, 0);
    let (mut common, mut wrong) = (Vec::new(), 0_usize);
    while i < a.surface.keys.len() || j < b.surface.keys.len() {
        let order = match (a.surface.keys.get(i), b.surface.keys.get(j)) {
            (Some(left), Some(right)) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let (left, right) = match order {
            Ordering::Equal => {
                common.push(a.surface.keys[i]);
                (Some(b.surface.triangles[j]), Some(a.surface.triangles[i]))
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

fn print_summary(grid: u32, sides: &[Side; 2], tables: &[Measured; 2], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "grid       {grid} x {grid} x {grid}\n")?;
    writeln!(out, "{:<18}{:>20}{:>20}", "", "A", "B")?;
    let mut row = |title: &str, unit: &str, cell: &dyn Fn(&Side, &Measured) -> String| {
        let [a, b] = [0, 1].map(|i| cell(&sides[i], &tables[i]));
        writeln!(out, "{}", format!("{title:<18}{a:>20}{b:>20}  {unit}").trim_end())
    };
    let rate = |count: usize, time: Duration| format!("{:.1}", count as f64 / time.as_secs_f64().max(1e-9) / 1e6);
    let milliseconds = |time: Duration| format!("{:.1}", 1e3 * time.as_secs_f64());
    row("surface", "", &|side, _| shortened(&side.name))?;
    row("triangles", "", &|side, _| grouped(side.mesh.triangles.len() as u64))?;
    row("voxels", "", &|side, _| grouped(side.surface.keys.len() as u64))?;
    row("voxelized in", "ms", &|side, _| milliseconds(side.voxelized))?;
    row("table slots", "", &|_, table| grouped(table.map.slots()))?;
    row("table bytes", "", &|_, table| grouped(table.map.memory_bytes()))?;
    row("built in", "ms", &|_, table| milliseconds(table.build))?;
    row("built at", "M pairs/s", &|side, table| rate(side.surface.keys.len(), table.build))?;
    row("queried in", "ms", &|_, table| milliseconds(table.query))?;
    row("queried at", "M queries/s", &|_, table| rate(table.answers.len(), table.query))?;
    row("of them found", "", &|_, table| grouped(table.answers.iter().flatten().count() as u64))?;
    writeln!(out)
}

/// What the tables save: the reason to have tables at all.
fn print_memory(grid: u32, tables: &[Measured; 2], out: &mut impl Write) -> io::Result<()> {
    let size = |bytes: u64| match bytes >> 20 {
        0..10 => format!("{} KiB", grouped(bytes >> 10)),
        mebibytes => format!("{} MiB", grouped(mebibytes)),
    };
    let tables = tables.iter().map(|table| table.map.memory_bytes()).sum();
    let full = 2 * u64::from(grid).pow(3) * size_of::<u32>() as u64;
    writeln!(out, "memory     {} for both tables", size(tables))?;
    writeln!(out, "           ({} for two full grids with a triangle's number in each voxel)", size(full))
}

/// At most as much of a name as a column of the summary holds.
fn shortened(name: &str) -> String {
    const MOST: usize = 18;
    if name.chars().count() <= MOST {
        name.to_owned()
    } else {
        name.chars().take(MOST - 3).chain("...".chars()).collect()
    }
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Shows that something is going on; nothing where the output is not a terminal.
fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
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
        assert_eq!((shifted.offset_b, shifted.view), (Some([-1.0, 0.0, 0.0]), [-30.0, -10.0]));
    }

    #[test]
    fn numbers_and_names_fit_the_summary() {
        let numbers = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(shortened("stanford_dragon_res2.ply.gz").chars().count(), 18);
        assert_eq!(shortened("bunny.ply"), "bunny.ply");
    }
}
