//! The commands that `warpnest-bench` carries out, a program that depends on all of warpnest.

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

/// Builds `warpnest-bench` in release and has it carry out `command`.
pub fn main(command: &str, args: &Args) -> Result<()> {
    // Not from the workspace's root: paths among the arguments are relative to the user's current
    // folder.
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "warpnest-bench", "--manifest-path"]);
    cargo.arg(workspace::root()?.join("Cargo.toml")).args(["--", command]).args(&args.rest);
    run(&mut cargo)
}
