//! An example that gives the nodes of a made-up graph dense ids, and prints the rates.

#[cfg(test)]
mod tests;

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use warpnest::Device;
use warpnest_applications_shared::program;
use warpnest_renumber::graph::{Degrees, Graph};
use warpnest_renumber::renumber::{Renumbered, Stage, renumber};

/// The default number of edges on a GPU.
const GPU_EDGES: usize = 100_000_000;
/// The default number of edges on the cores of a CPU.
const CPU_EDGES: usize = 4_000_000;
/// The default number of edges per node.
const EDGES_A_NODE: usize = 8;

/// Give the nodes of a made-up graph, whose ids are random numbers of 64 bits, dense ids: 0, 1, 2,
/// ….
#[derive(Debug, Parser)]
#[command(
    after_help = "Graphs come with ids such as hashes or accounts. Whoever works on them wants arrays with an element a node,\n\
    and so ids from 0 on without gaps. A compacting table gives them, and leads back from them.\n\n\
    Every end of every edge is looked up, and every id again: each must lead back to its end. The rates are ends a\n\
    second, of which an edge has two, without the copies from and to the host. On a GPU the first numbering includes\n\
    what a program does once: memory is allocated, and the driver compiles the kernels.\n\n\
    examples:\n  renumber\n  renumber --edges 1000000 --degrees power-law --in-order"
)]
struct Arguments {
    /// The number of edges [default: 100,000,000 on a GPU, 4,000,000 on a CPU]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..1 << 30))]
    edges: Option<u32>,
    /// The number of nodes to choose the ends of edges from [default: an eighth of the edges]
    #[arg(short, long, value_parser = clap::value_parser!(u64).range(1..1 << 48))]
    nodes: Option<u64>,
    /// The distribution of the edges' ends over the nodes
    #[arg(long, value_enum, default_value_t = Choice::PowerLaw)]
    degrees: Choice,
    /// The exponent of the power law: node r has a frequency about proportional to 1 / r^exponent
    #[arg(long, default_value_t = 0.8, value_parser = exponent)]
    exponent: f64,
    /// Give ids in the order of first appearance, the same in every run
    #[arg(short, long)]
    in_order: bool,
    /// The seed of the graph
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The device that holds the table: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Choice {
    /// All nodes are equally frequent
    Uniform,
    /// Few nodes have most edges
    PowerLaw,
}

fn exponent(text: &str) -> Result<f64, String> {
    let exponent: Option<f64> = text.parse().ok().filter(|exponent| (0.0..=10.0).contains(exponent));
    exponent.ok_or_else(|| "give a number from 0 to 10".to_owned())
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let device: Device = arguments.device.parse()?;
    let usual = if device == Device::cpu() { CPU_EDGES } else { GPU_EDGES };
    let edges = arguments.edges.map_or(usual, |edges| edges as usize);
    let nodes = arguments.nodes.unwrap_or((edges / EDGES_A_NODE).max(1) as u64);
    let degrees = match arguments.degrees {
        Choice::Uniform => Degrees::Uniform,
        Choice::PowerLaw => Degrees::PowerLaw { exponent: arguments.exponent },
    };
    let graph = Graph { nodes, edges, degrees, seed: arguments.seed };

    let bar = program::bar(2 * edges as u64, "{msg:18} {wide_bar} {percent}% {elapsed}").with_message("make the graph");
    let start = Instant::now();
    let ends = graph.ends(&|ends| bar.inc(ends as u64)).context("give another --exponent, such as 0.8")?;
    let making = start.elapsed();
    bar.reset();
    bar.set_length(Stage::ALL.len() as u64);
    let mut begin = |stage: Stage| {
        bar.set_position(stage as u64);
        bar.set_message(stage.name());
    };
    let done = renumber(&device, &ends, arguments.in_order, &mut begin)?;
    bar.finish_and_clear();

    program::print_device(&device, out)?;
    writeln!(
        out,
        "graph      {edges} edges between {} of {nodes} nodes, made in {:.2} s",
        done.nodes,
        making.as_secs_f64()
    )?;
    // The table has space for as many nodes as there are ends.
    writeln!(out, "table      {} bytes, {:.1} an end", done.table_bytes, done.table_bytes as f64 / ends.len() as f64)?;
    print_times(&done, arguments.in_order, ends.len(), out)?;
    ensure!(done.wrong == 0, "{} of {} ends have a wrong id: this is a bug of warpnest", done.wrong, ends.len());
    writeln!(out, "checked    every id leads back to its node")?;
    Ok(())
}

/// Prints the times of the stages on the device, with their rates.
fn print_times(done: &Renumbered, in_order: bool, ends: usize, out: &mut impl Write) -> io::Result<()> {
    let order = if in_order { ", in order of appearance" } else { ", in any order" };
    for stage in [Stage::Build, Stage::Rebuild, Stage::Ids, Stage::Back] {
        let seconds = done.times[stage as usize].as_secs_f64();
        let rate = ends as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6;
        let order = if matches!(stage, Stage::Build | Stage::Rebuild) { order } else { "" };
        writeln!(out, "{:<18} {:>10.2} ms {rate:>10.1} M ends/s{order}", stage.name(), 1e3 * seconds)?;
    }
    Ok(())
}
