//! The command that compiles the workspace's kernels to PTX, as warpnest-build does for any crate.

use std::path::Path;

use anyhow::Result;
use warpnest_build::{Build, Target};

use crate::{examples, workspace};

/// Compile the kernels to PTX, lint it, and write it. The PTX of gpu-kernels goes to
/// crates/warpnest/ptx, and the PTX of the applications, of the benchmarks and of the examples goes
/// beside their sources.
///
/// This needs a rustc with the NVPTX target and the source of its library. The variable
/// WARPNEST_KERNEL_RUSTC may name it. Otherwise it is Debian's (apt-get install rustc-web
/// rust-web-src), or else a rustup toolchain >= 1.97 with rust-src.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, but compare with the committed files: their bytes if the recorded compiler is
    /// installed, and otherwise their digests.
    #[arg(long)]
    check: bool,
    /// Compile only these kernels of the library, named by their structs (Find, BuildPages), and
    /// replace them in the files, to try a change. Checks refuse the files until all kernels are
    /// built.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "check")]
    kernels: Vec<String>,
    /// A GPU and a version of PTX to build for, instead of sm_75/ptx74 and sm_90/ptx83; may be
    /// repeated.
    #[arg(long = "target", value_name = "GPU/PTX", requires = "kernels")]
    targets: Vec<Target>,
}

/// Returns the build of the library's kernels.
pub fn kernels(root: &Path) -> Result<Build> {
    let build = Build::new(root.join("gpu-kernels/Cargo.toml"))?;
    let build = build.output(root.join("crates/warpnest/ptx")).file_stem("kernels");
    Ok(build.work_dir(workspace::target_dir(root).join("ptx-build")).command("cargo xtask build-ptx"))
}

/// Returns the builds of all kernels: the library's, the applications', the benchmarks', and the
/// kernels of the examples outside the workspace. The digests of the examples include the library's
/// sources.
pub fn all(root: &Path) -> Result<Vec<Build>> {
    let work = |name: &str| workspace::target_dir(root).join("ptx-build").join(name);
    let within = |parent: &str| -> Result<Build> {
        let build = Build::new(root.join("crates").join(parent).join("kernels/Cargo.toml"))?.file_stem(parent);
        Ok(build.work_dir(work(parent)).command("cargo xtask build-ptx"))
    };
    let mut builds = vec![kernels(root)?, within("applications")?, within("bench")?];
    for example in examples::ALL.iter().filter(|example| example.has_ptx) {
        let build = Build::new(example.folder(root)?.join("Cargo.toml"))?.work_dir(work(example.name));
        // The PTX's header names the command for users who copy the example.
        builds.push(build);
    }
    Ok(builds)
}

/// Runs `cargo xtask build-ptx`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let mut builds = all(&root)?;
    if !args.kernels.is_empty() {
        let build = kernels(&root)?.kernels(&args.kernels);
        builds = vec![if args.targets.is_empty() { build } else { build.targets(args.targets.clone()) }];
    }
    for build in builds {
        if args.check {
            for (module, comparison) in build.check()? {
                println!("{}: {comparison}", module.file_name());
            }
            continue;
        }
        println!("{}", build.on_progress(|stage| println!("{stage}")).run()?);
    }
    Ok(())
}
