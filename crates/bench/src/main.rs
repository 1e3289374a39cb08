//! The program behind `cargo xtask bench`, `beside`, `chains`, `figures`, `rounds` and `sweep`:
//! measurements and drawings.

#![cfg_attr(not(feature = "figures"), allow(dead_code, reason = "some is for the figures alone"))]

mod bench;
#[cfg(all(feature = "cpu", feature = "figures"))]
mod beside;
mod chains;
#[cfg(feature = "figures")]
mod figures;
mod rounds;
#[cfg(feature = "figures")]
mod sweep;
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

/// The commands. A command's help is the documentation of its arguments' struct.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, read once")]
enum Command {
    Bench(bench::Args),
    #[cfg(all(feature = "cpu", feature = "figures"))]
    Beside(beside::Args),
    Chains(chains::Args),
    #[cfg(feature = "figures")]
    Figures(figures::Args),
    Rounds(rounds::Args),
    #[cfg(feature = "figures")]
    Sweep(sweep::Args),
}

fn main() -> ExitCode {
    for digest in warpnest::low_level::ptx::replaced() {
        eprintln!("PTX of a file beside the program: {}", digest.trim_start_matches("// "));
    }
    let outcome = match Cli::parse().command {
        Command::Bench(args) => bench::main(&args),
        #[cfg(all(feature = "cpu", feature = "figures"))]
        Command::Beside(args) => beside::main(&args),
        Command::Chains(args) => chains::main(&args),
        #[cfg(feature = "figures")]
        Command::Figures(args) => figures::main(&args),
        Command::Rounds(args) => rounds::main(&args),
        #[cfg(feature = "figures")]
        Command::Sweep(args) => sweep::main(&args),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Only the message is printed. RUST_BACKTRACE would bury a returned error under a backtrace.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
