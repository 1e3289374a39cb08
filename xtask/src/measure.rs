//! The commands of `warpnest-bench`, a program that depends on all of warpnest.

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

/// Builds `warpnest-bench` in release and runs its command `command`.
pub fn main(command: &str, args: &Args) -> Result<()> {
    // The working folder stays the user's, because paths among the arguments are relative to it.
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "warpnest-bench", "--manifest-path"]);
    cargo.arg(workspace::root()?.join("Cargo.toml")).args(["--", command]).args(&args.rest);
    run(&mut cargo)
}
