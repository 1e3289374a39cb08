//! `cargo xtask fuzz`, which a program of the tests carries out.

use std::ffi::OsString;

use anyhow::Result;

use crate::process::{cargo, run};
use crate::workspace;

/// The arguments that are handed on, `--help` included.
#[derive(clap::Args)]
pub struct Args {
    /// The command's own arguments; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<OsString>,
}

/// Builds the program as tests are built, with checks of overflow, and runs it.
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
        // Tables are so small that threads which wait for work take most of the time.
        cargo.env("RAYON_NUM_THREADS", "1");
    }
    run(&mut cargo)
}
