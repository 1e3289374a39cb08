//! `cargo warpnest build-ptx`, which compiles the kernels of a package to PTX.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use warpnest_build::{Build, Error, Result, Target, ptxas};

/// The command line that cargo passes on, which begins with the name of the subcommand.
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo")]
enum Cargo {
    /// Commands for crates with kernels of warpnest.
    #[command(subcommand)]
    Warpnest(Command),
}

/// A command's help is the documentation of its arguments' struct.
#[derive(clap::Subcommand)]
enum Command {
    BuildPtx(Args),
}

/// Compile a package's kernels to PTX, lint it, and write ptx/CRATE_sm75.ptx and CRATE_sm90.ptx.
///
/// Each file has a header with a digest of the sources. All files are written, or none. The kernels
/// are those that the package's own src/lib.rs declares with `kernel!` of gpu-kernels. If a ptxas
/// is found (WARPNEST_PTXAS, PATH, /usr/local/cuda/bin), the resources of each kernel are shown.
///
/// This needs a rustc with the NVPTX target and the source of its library. The rustc is the one
/// that the variable WARPNEST_KERNEL_RUSTC names, else Debian's (apt-get install rustc-web
/// rust-web-src), else a rustup toolchain >= 1.97 with rust-src.
#[derive(clap::Args)]
struct Args {
    /// The manifest of the package that has the kernels.
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// Write nothing, and compare with the files of an earlier build: byte by byte if the compiler
    /// that they name is installed, else by the digest.
    #[arg(long)]
    check: bool,
    /// The folder of the files. [default: ptx in the package's folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The beginning of the files' names. [default: the name of the crate]
    #[arg(long, value_name = "NAME")]
    file_stem: Option<String>,
    /// A GPU and a version of PTX, instead of sm_75/ptx74 and sm_90/ptx83. Can be repeated.
    #[arg(long = "target", value_name = "GPU/PTX")]
    targets: Vec<Target>,
    /// Do not run ptxas.
    #[arg(long)]
    no_ptxas: bool,
}

fn main() -> ExitCode {
    let Cargo::Warpnest(Command::BuildPtx(args)) = Cargo::parse();
    let Err(error) = build_ptx(&args) else { return ExitCode::SUCCESS };
    // The `Debug` form includes the cause.
    eprintln!("error: {error:?}");
    if matches!(&error, Error::Failed { command, .. } if command.contains("ptxas")) {
        eprintln!("note: --no-ptxas leaves ptxas out; WARPNEST_PTXAS names another one, 12.3 or later");
    }
    ExitCode::FAILURE
}

fn build_ptx(args: &Args) -> Result<()> {
    let mut build = Build::new(&args.manifest_path)?.command(&command());
    if let Some(folder) = &args.out {
        build = build.output(folder);
    }
    if let Some(stem) = &args.file_stem {
        build = build.file_stem(stem);
    }
    if !args.targets.is_empty() {
        build = build.targets(args.targets.clone());
    }
    if args.check {
        for (module, comparison) in build.check()? {
            println!("{}: {comparison}", module.path.display());
        }
        return Ok(());
    }
    let ptxas = if args.no_ptxas { None } else { ptxas::find(build.target_dir())? };
    if let Some(ptxas) = ptxas {
        build = build.assemble_with(ptxas);
    }
    println!("{}", build.on_progress(|stage| println!("{stage}")).run()?);
    Ok(())
}

/// Returns the command line that builds the files which this command line builds or checks.
fn command() -> String {
    let words = std::env::args().skip(2).filter(|word| word != "--check" && word != "--no-ptxas");
    ["cargo".to_owned(), "warpnest".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
