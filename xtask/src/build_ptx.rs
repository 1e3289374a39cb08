//! Compiling gpu-kernels to PTX, as warpnest-build does it for any crate.

use std::path::Path;

use anyhow::Result;
use warpnest_build::Build;

use crate::workspace;

/// Compile gpu-kernels to PTX, lint it, and write it to crates/warpnest/ptx.
///
/// Needs a rustc with the NVPTX target and the source of its library. It is the one that the
/// variable WARPNEST_KERNEL_RUSTC names, else Debian's (apt-get install rustc-web rust-web-src),
/// else a rustup toolchain >= 1.97 with rust-src.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing: compare with the committed files (bytes where the recorded compiler is here,
    /// else the digest).
    #[arg(long)]
    check: bool,
}

/// Returns the build of the library's kernels.
pub fn kernels(root: &Path) -> Result<Build> {
    let build = Build::new(root.join("gpu-kernels/Cargo.toml"))?;
    let build = build.output(root.join("crates/warpnest/ptx")).file_stem("kernels");
    Ok(build.work_dir(workspace::target_dir(root).join("ptx-build")).command("cargo xtask build-ptx"))
}

/// Runs `cargo xtask build-ptx`.
pub fn main(args: &Args) -> Result<()> {
    let build = kernels(&workspace::root()?)?;
    if args.check {
        for (module, comparison) in build.check()? {
            println!("{}: {comparison}", module.file_name());
        }
        return Ok(());
    }
    println!("{}", build.on_progress(|stage| println!("{stage}")).run()?);
    Ok(())
}
