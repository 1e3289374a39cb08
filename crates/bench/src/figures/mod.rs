//! `cargo xtask figures`: the figures of five papers, from new measurements.
//!
//! They are (Alcantara 2009), (Alcantara 2011), (Sahu 2015), (Hu 2015) on gEHT, and (Farrell 2020).

// `alcantara`, `extendible`, `filling`, `stages` and `voxels` are experiments on a `lab`'s device.
// Each returns a `figure`, which `plot` draws on axes of `scale`.
mod alcantara;
mod extendible;
pub mod figure;
mod filling;
mod lab;
mod plot;
pub mod scale;
mod stages;
#[cfg(test)]
mod tests;
mod voxelization;
mod voxels;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use figure::{Figure, Line};
use indicatif::{ProgressBar, ProgressStyle};
use lab::{Lab, MIN_PAIRS};
use voxelization::Model;
use warpnest::{Device, TwoLevelConfig};

use crate::bench::record::Run;
use crate::bench::{device_name, is_cpu, parse_size};

/// Measure and draw the figures of Alcantara 2009, Alcantara 2011, Sahu 2015, Hu 2015 (gEHT) and
/// Farrell 2020.
///
/// Writes each figure to OUTPUT as .svg and as .png, and overwrites old files. The numbers drawn go
/// to figures.jsonl, which keeps the numbers of figures that are not drawn. Keys and values have 32
/// bits, except the keys of extendible maps that grow, which have 64. Times are medians by the
/// device's clock; a wrong answer is an error.
///
/// The figures of Sahu 2015 are sahu_kernels and default_kernels, with the time of each kernel over
/// the number of pairs. The first has Sahu's configuration as far as it works, and the second the
/// default configuration. The figures of Alcantara 2009 are alcantara_2009_stages (time of each
/// stage) and alcantara_2009_voxels (hash table and sorted array, for finer and finer voxels of a
/// mesh). The figures of Farrell 2020 are farrell_insertions and farrell_probes (rate and probe
/// lengths of a table that is filled).
///
/// Of Alcantara 2011, alcantara_2011_builds and alcantara_2011_lookups have rates over the number
/// of pairs, and alcantara_2011_misses has lookups of absent keys. Keys are repeated in
/// alcantara_2011_compacting_builds, alcantara_2011_compacting_lookups, alcantara_2011_multi_builds
/// and alcantara_2011_multi_lookups. alcantara_2011_strides has updates of words that are a stride
/// apart. alcantara_2011_construction and alcantara_2011_exchanges have cuckoo tables with more and
/// more slots, beside the theory.
///
/// Of Hu 2015, geht_mixed has rates of batches that look up, insert and remove, beside concurrent
/// hash maps on the CPU. geht_directory_uniform, geht_directory_skewed and geht_buckets have sizes
/// of extendible maps that grow, which are equal on every device.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best")]
    device: String,
    /// The folder for the figures.
    #[arg(long, value_name = "DIR", default_value = "docs/figures")]
    output: PathBuf,
    /// The mesh to voxelize: .ply or .obj, plain or gzipped. Default: the torus knot of the example
    /// voxels.
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
    /// The maximum number of pairs, of slots in the table that is filled, or of words a stride
    /// apart: 512 or more, as 1000000 or 2^20. The table that is filled has at most the 2^27 slots
    /// of Farrell 2020. The tables of ten million pairs of Alcantara 2009 and 2011 do not exceed
    /// that number, and extendible maps have at most 2^24 keys. Default: 2^27 on a GPU, 2^20 on the
    /// CPU.
    #[arg(long, value_name = "N", value_parser = parse_largest)]
    largest: Option<u64>,
    /// The figures to draw. Default: all.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Part>,
    /// The number of timed runs of each measurement, after a warm-up.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// The figures of one experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The kernels of Sahu 2015.
    Kernels,
    /// The stages of Alcantara 2009.
    Stages,
    /// The voxels of Alcantara 2009.
    Voxels,
    /// The table of Farrell 2020 that is filled.
    Filling,
    /// The rates of Alcantara 2011 over the number of pairs (figure 4.4).
    Rates,
    /// The lookups of absent keys of Alcantara 2011 (section 4.5.1).
    Misses,
    /// The repeated keys of Alcantara 2011 (figures 4.5 and 4.6).
    Multiplicity,
    /// The strided updates of Alcantara 2011, and the construction rates predicted from them
    /// (figure 4.7).
    Strides,
    /// The batches of Hu 2015 that look up, insert and remove (gEHT, figure 4).
    Mixed,
    /// The directory of Hu 2015 that grows (gEHT, figure 5).
    Directory,
}

fn parse_largest(text: &str) -> anyhow::Result<u64> {
    let largest = parse_size(text)?;
    anyhow::ensure!(largest >= MIN_PAIRS, "the figures start at {MIN_PAIRS} pairs: give at least as many");
    Ok(largest)
}

pub fn main(args: &Args) -> anyhow::Result<()> {
    let device = args.device.parse::<Device>()?;
    if let Some(reason) = device.fallback_reason() {
        eprintln!("on the CPU engine: {reason}");
    }
    // An error in the mesh's file should not waste measurements.
    let model = Model::load(args.mesh.as_deref())?;
    let run = Run::new(&device_name(&device));
    let default_largest = if is_cpu(&device) { 1 << 20 } else { 1 << 27 };
    let progress = ProgressBar::new(0);
    // A wrong template, which is a constant, would leave the plain bar.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg}") {
        progress.set_style(style);
    }
    let lab = Lab { device, runs: args.runs, largest: args.largest.unwrap_or(default_largest), progress };
    let figures = measure(&lab, &model, &args.only)?;
    lab.progress.finish_and_clear();
    for path in save(&args.output, &figures, &run)? {
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Measures the experiments in `only`, or all if it is empty.
fn measure(lab: &Lab, model: &Model, only: &[Part]) -> anyhow::Result<Vec<Figure>> {
    let wanted = |part| only.is_empty() || only.contains(&part);
    let mut figures = Vec::new();
    if wanted(Part::Kernels) {
        figures.extend(stages::kernels(lab, &TwoLevelConfig::sahu())?);
    }
    if wanted(Part::Stages) {
        figures.push(stages::alcantara_2009(lab)?);
    }
    if wanted(Part::Voxels) {
        figures.push(voxels::alcantara_2009(lab, model)?);
    }
    if wanted(Part::Filling) {
        figures.extend(filling::farrell(lab)?);
    }
    if wanted(Part::Rates) {
        figures.extend(alcantara::rates(lab)?);
    }
    if wanted(Part::Misses) {
        figures.push(alcantara::misses(lab)?);
    }
    if wanted(Part::Multiplicity) {
        figures.extend(alcantara::multiplicity(lab)?);
    }
    if wanted(Part::Strides) {
        figures.extend(alcantara::strides(lab)?);
    }
    if wanted(Part::Mixed) {
        figures.push(extendible::mixed(lab)?);
    }
    if wanted(Part::Directory) {
        figures.extend(extendible::directory(lab)?);
    }
    Ok(figures)
}

/// Writes the figures and their numbers, and returns the paths of the files.
pub fn save(folder: &Path, figures: &[Figure], run: &Run) -> anyhow::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let numbers = folder.join("figures.jsonl");
    let mut lines = if numbers.exists() {
        let old = fs::read_to_string(&numbers).with_context(|| format!("cannot read {}", numbers.display()))?;
        of_others(&old, figures)
    } else {
        String::new()
    };
    let mut files = Vec::new();
    for figure in figures {
        let drawn = || format!("cannot draw {}", figure.name);
        let (svg, png) = (plot::svg(figure, run).with_context(drawn)?, plot::png(figure, run).with_context(drawn)?);
        for (extension, bytes) in [("svg", svg.into_bytes()), ("png", png)] {
            files.push((folder.join(figure.name).with_extension(extension), bytes));
        }
        lines += &figure.json_lines(run)?;
    }
    files.push((numbers, lines.into_bytes()));
    for (path, bytes) in &files {
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Returns the lines of figures.jsonl that do not belong to `figures`.
fn of_others(lines: &str, figures: &[Figure]) -> String {
    let drawn = |line: &Line| figures.iter().any(|figure| figure.name == line.figure);
    let kept = lines.lines().filter(|line| !serde_json::from_str(line).is_ok_and(|line| drawn(&line)));
    kept.flat_map(|line| [line, "\n"]).collect()
}
