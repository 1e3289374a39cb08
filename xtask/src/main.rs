//! The project's own commands: `cargo xtask --help` lists them.

// There is a file for each command. `check` calls the others, and `measure` and `fuzz` start
// programs that do the work. Commands share `process`, `report` and `workspace`.
mod build_cubins;
mod build_ptx;
mod check;
mod coverage;
mod cpp_header;
mod cuda_stub;
mod dependencies;
mod examples;
mod feature_sets;
mod fuzz;
mod gpu_bundle;
mod imports;
mod kernels;
mod measure;
mod outside;
mod process;
mod prose;
mod readme;
mod refused;
mod release;
mod report;
mod resources;
mod rows;
mod sanitize;
mod semver;
mod stale;
mod times;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Everything that is done to warpnest besides `cargo build` and `cargo test`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command's help is the documentation of its arguments' struct, or of the program that it runs.
#[derive(Subcommand)]
enum Command {
    /// Measure every table and operation, and compare them with the memory system's limits.
    #[command(disable_help_flag = true)]
    Bench(measure::Args),
    BuildCubins(build_cubins::Args),
    BuildPtx(build_ptx::Args),
    /// Compare every table on the CPU engine with alternatives that Rust programs already have.
    #[command(disable_help_flag = true)]
    Beside(measure::Args),
    /// Measure how long eviction chains become.
    #[command(disable_help_flag = true)]
    Chains(measure::Args),
    Check(check::Args),
    /// Measure and draw the figures of the papers.
    #[command(disable_help_flag = true)]
    Figures(measure::Args),
    /// Load changed files of saved tables for a given time.
    #[command(disable_help_flag = true)]
    Fuzz(fuzz::Args),
    GpuBundle(gpu_bundle::Args),
    Release(release::Args),
    /// Measure how many rounds the buckets of a two-level map take.
    #[command(disable_help_flag = true)]
    Rounds(measure::Args),
    Rows(rows::Args),
    Sanitize(sanitize::Args),
    /// Draw the sweep of group-by from records.
    #[command(disable_help_flag = true)]
    Sweep(measure::Args),
    Wheel(wheel::Args),
}

/// Returns the names of all commands.
fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(args) => measure::main("bench", &args),
        Command::Beside(args) => measure::main("beside", &args),
        Command::Chains(args) => measure::main("chains", &args),
        Command::BuildCubins(args) => build_cubins::main(&args),
        Command::BuildPtx(args) => build_ptx::main(&args),
        Command::Check(args) => check::main(&args, commands()),
        Command::Figures(args) => measure::main("figures", &args),
        Command::Fuzz(args) => fuzz::main(&args),
        Command::GpuBundle(args) => gpu_bundle::main(&args),
        Command::Release(args) => release::main(&args),
        Command::Rounds(args) => measure::main("rounds", &args),
        Command::Rows(args) => rows::main(&args),
        Command::Sweep(args) => measure::main("sweep", &args),
        Command::Sanitize(args) => sanitize::main(&args),
        Command::Wheel(args) => wheel::main(&args),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Only the message is printed: with RUST_BACKTRACE set, a returned error would print a long
    // backtrace.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
