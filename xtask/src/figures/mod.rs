//! `cargo xtask figures`: the figures of the poster of 2009 and of Sahu's report of 2015, measured anew.

mod figure;
mod plot;
mod scale;
mod stages;
#[cfg(test)]
mod tests;
mod voxelization;
mod voxels;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use figure::Figure;
use indicatif::{ProgressBar, ProgressStyle};
use voxelization::Model;
use warpnest::{Device, TwoLevelConfig};

use crate::bench::record::Run;
use crate::bench::{device_name, parse_size};

/// Measure and draw the figures of the poster of 2009 and of Sahu's report of 2015.
///
/// Writes to OUTPUT, over what is there: sahu_kernels.svg and default_kernels.svg (time of each kernel over the number of
/// pairs, with Sahu's configuration as far as it works, and with the default one), poster_stages.svg (time of each stage),
/// poster_voxels.svg (hash table and sorted array, for finer and finer voxels of a mesh), and figures.jsonl with the numbers
/// drawn. Keys and values have 32 bits. Times are medians by the device's clock; a wrong answer is an error.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best")]
    device: String,
    /// The folder for the figures.
    #[arg(long, value_name = "DIR", default_value = "docs/figures")]
    output: PathBuf,
    /// The mesh to voxelize: .ply or .obj, plain or gzipped. Default: the torus knot of the example voxels.
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
    /// The most pairs, 512 or more, as 1000000 or 2^20. Default: 2^27 on a GPU, 2^20 on the CPU.
    #[arg(long, value_name = "N", value_parser = parse_largest)]
    largest: Option<u64>,
    /// Timed runs of each measurement, after a warm-up.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Sahu's figures start at 512 pairs.
const FEWEST: u64 = 512;

fn parse_largest(text: &str) -> anyhow::Result<u64> {
    let largest = parse_size(text)?;
    anyhow::ensure!(largest >= FEWEST, "the figures start at {FEWEST} pairs: give at least as many");
    Ok(largest)
}

/// Where and how to measure.
struct Lab {
    device: Device,
    runs: u32,
    largest: u64,
    progress: ProgressBar,
}

impl Lab {
    /// Says what `steps` steps are of; [`Lab::step`] counts them.
    fn begin(&self, what: &'static str, steps: usize) {
        self.progress.reset();
        self.progress.set_prefix(what);
        self.progress.set_length(steps as u64);
    }

    fn step(&self, detail: String) {
        self.progress.set_message(detail);
        self.progress.inc(1);
    }
}

pub fn main(args: &Args) -> anyhow::Result<()> {
    let device = args.device.parse::<Device>()?;
    if let Some(reason) = device.fallback_reason() {
        eprintln!("on the CPU engine: {reason}");
    }
    // What can be wrong with the files should not cost the measurements.
    let model = Model::load(args.mesh.as_deref())?;
    fs::create_dir_all(&args.output).with_context(|| format!("cannot make the folder {}", args.output.display()))?;
    let run = Run::new(&device_name(&device));
    let default_largest = if device == Device::cpu() { 1 << 20 } else { 1 << 27 };
    let progress = ProgressBar::new(0);
    // The template is a constant; were it wrong, the plain bar would do.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg}") {
        progress.set_style(style);
    }
    let lab = Lab { device, runs: args.runs, largest: args.largest.unwrap_or(default_largest), progress };
    let figures = measure(&lab, &model)?;
    lab.progress.finish_and_clear();
    for path in save(&args.output, &figures, &run)? {
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn measure(lab: &Lab, model: &Model) -> anyhow::Result<Vec<Figure>> {
    let [sahu, default] = stages::kernels(lab, &TwoLevelConfig::sahu())?;
    Ok(vec![sahu, default, stages::poster(lab)?, voxels::poster(lab, model)?])
}

/// Writes the figures and their numbers; returns the files.
fn save(folder: &Path, figures: &[Figure], run: &Run) -> anyhow::Result<Vec<PathBuf>> {
    let mut lines = String::new();
    let mut files = Vec::new();
    for figure in figures {
        let svg = plot::svg(figure, run).with_context(|| format!("cannot draw {}", figure.name))?;
        files.push((folder.join(figure.name).with_extension("svg"), svg));
        lines += &figure.json_lines(run)?;
    }
    files.push((folder.join("figures.jsonl"), lines));
    for (path, text) in &files {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}
