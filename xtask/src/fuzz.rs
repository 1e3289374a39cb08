//! `cargo xtask fuzz`, which runs an example program of the tests.

use std::ffi::OsString;

use anyhow::Result;

use crate::process::{cargo, run};
use crate::workspace;

/// The arguments that are passed to the program, including `--help`.
#[derive(clap::Args)]
pub struct Args {
    /// The command's own arguments; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<OsString>,
}

/// Builds the program like the tests, with checks of integer overflow, and runs it.
pub fn main(args: &Args) -> Result<()> {
    let mut cargo = cargo();
    cargo.args([
        "run",
        "--quiet",
        "--package",
        "warpnest-tests",
        "--features",
        "fuzz",
        "--example",
        "fuzz",
        "--manifest-path",
    ]);
    cargo.arg(workspace::root()?.join("Cargo.toml")).arg("--").args(&args.rest);
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        // The tables are so small that waiting threads would take most of the time.
        cargo.env("RAYON_NUM_THREADS", "1");
    }
    run(&mut cargo)
}
