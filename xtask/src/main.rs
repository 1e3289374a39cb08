//! The project's own commands: `cargo xtask --help` lists them.

mod bench;
mod build_ptx;
mod chains;
mod check;
mod compiler;
mod digest;
mod figures;
mod gpu_bundle;
mod header;
mod launch_bounds;
mod process;
mod ptxas;
mod rounds;
mod tables;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything that is done to warpnest besides `cargo build` and `cargo test`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command's help is the documentation of its arguments' struct.
#[derive(Subcommand)]
enum Command {
    Bench(bench::Args),
    BuildPtx(build_ptx::Args),
    Chains(chains::Args),
    Check(check::Args),
    Figures(figures::Args),
    GpuBundle(gpu_bundle::Args),
    Rounds(rounds::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(args) => bench::main(&args),
        Command::Chains(args) => chains::main(&args),
        Command::BuildPtx(args) => build_ptx::main(&args),
        Command::Check(args) => check::main(&args),
        Command::Figures(args) => figures::main(&args),
        Command::GpuBundle(args) => gpu_bundle::main(&args),
        Command::Rounds(args) => rounds::main(&args),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Only the words: with RUST_BACKTRACE set, returning the error would bury them under a backtrace.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
