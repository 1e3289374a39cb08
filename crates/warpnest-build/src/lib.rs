//! Kernels of `warpnest` to PTX, for any crate that has some: what `cuda_builder` was for in
//! rust-cuda.
//!
//! rustc compiles for NVIDIA's GPUs by itself. What it needs beside is here: a compiler that knows
//! how, flags without which kernels are wrong or slow, launch bounds, a lint, and a header by which
//! PTX belongs to its sources. There is no plug-in, and no CUDA.
//!
//! # A crate with kernels
//!
//! The library of a package declares kernels with the macro `kernel!` of `gpu-kernels`. It is
//! `no_std` and says which unstable features of the GPU's target the macro takes:
//!
//! ```text
//! #![no_std]
//! #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! ```
//!
//! A program that launches them may be in the same package, as `src/main.rs`. What is for the host
//! alone is left out of the GPU's build by the manifest:
//!
//! ```toml
//! [dependencies]
//! gpu-kernels = "0.1"
//!
//! [target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
//! warpnest = { version = "0.1", features = ["cuda"] }
//! ```
//!
//! A build gives a file for each GPU, `ptx/own_kernels_sm75.ptx` and `ptx/own_kernels_sm90.ptx` for
//! a crate `own_kernels`. It has the entry points of this crate alone, not the entry points of
//! crates that this one depends on.
//!
//! # How to build
//!
//! *As a cargo subcommand*, to commit what comes out, which users of the crate then need no
//! compiler for:
//!
//! ```text
//! cargo install --path crates/cargo-warpnest   # in a checkout
//! cargo warpnest build-ptx
//! cargo warpnest build-ptx --check
//! ```
//!
//! *From an xtask*, the same by a few lines of Rust:
//!
//! ```no_run
//! use warpnest_build::Build;
//!
//! fn build_ptx(check: bool) -> warpnest_build::Result<()> {
//!     let build = Build::new("kernels/Cargo.toml")?.command("cargo xtask build-ptx");
//!     if check {
//!         for (module, comparison) in build.check()? {
//!             println!("{}: {comparison}", module.path.display());
//!         }
//!         return Ok(());
//!     }
//!     let report = build.on_progress(|stage| println!("{stage}")).run()?;
//!     println!("{report}");
//!     Ok(())
//! }
//! ```
//!
//! *From a build script*, to commit no PTX. Everyone who builds the crate then needs the compiler.
//! Kernels are best in a package of their own then: a script of the same package is compiled again
//! for each target.
//!
//! ```no_run
//! use warpnest_build::{Build, Result};
//!
//! fn main() -> Result<()> {
//!     // `None`: this script belongs to the kernels' package, and runs for the GPU's build of it.
//!     let Some(build) = Build::in_build_script("kernels/Cargo.toml")? else { return Ok(()) };
//!     build.run()?.cargo_lines().iter().for_each(|line| println!("{line}"));
//!     Ok(())
//! }
//! ```
//!
//! The program embeds what was built:
//!
//! ```text
//! static KERNELS: warpnest::Module = warpnest::Module::new(&[
//!     include_str!(concat!(env!("OUT_DIR"), "/own_kernels_sm75.ptx")),
//!     include_str!(concat!(env!("OUT_DIR"), "/own_kernels_sm90.ptx")),
//! ]);
//! ```
//!
//! # What a build needs
//!
//! A rustc with the source of its library. It is the one that the variable `WARPNEST_KERNEL_RUSTC`
//! names, else Debian's (`apt-get install rustc-web rust-web-src`), else a toolchain of rustup from
//! 1.97 on with the component `rust-src`. [`Error::NoCompiler`] has the one command for the system
//! at hand. The host's compiler may be any stable release.
//!
//! # What belongs to the sources
//!
//! The digest in a file's header covers the sources of the package's library and of all crates that
//! it depends on by path, their features and dependencies, the checksums of packages of a registry,
//! and the flags. The root files of the package's programs do not count, nor do files that the
//! manifest names as not for the GPU, relative to its folder, such as the modules of programs:
//!
//! ```toml
//! [package.metadata.warpnest]
//! host-only = ["src/host.rs", "src/engines"]
//! ```
//!
//! [`Build::check`] compares the digest, and, where the compiler is the one that a file names, the
//! bytes of a new build.

mod build;
mod check;
mod compile;
pub mod compiler;
#[doc(hidden)]
pub mod cubins;
mod digest;
mod error;
mod header;
mod launch_bounds;
mod merge;
mod package;
#[doc(hidden)]
pub mod process;
pub mod ptxas;
mod report;
mod target;

pub use build::Build;
pub use error::{Error, Result};
pub use header::Header;
pub use report::{Assembled, Built, Comparison, Module, Progress, Report};
pub use target::{TRIPLE, Target};
