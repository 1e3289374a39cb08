//! The program behind `cargo xtask bench`, `chains`, `figures` and `rounds`: measurements and
//! drawings.

mod bench;
mod chains;
mod figures;
mod rounds;
mod tables;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures the tables, and draws the papers' figures.
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
    Chains(chains::Args),
    Figures(figures::Args),
    Rounds(rounds::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(args) => bench::main(&args),
        Command::Chains(args) => chains::main(&args),
        Command::Figures(args) => figures::main(&args),
        Command::Rounds(args) => rounds::main(&args),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Only the message: with RUST_BACKTRACE set, returning the error would bury it under a
    // backtrace.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
