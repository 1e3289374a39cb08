//! Compiles kernels of `warpnest` in any crate to PTX, as `cuda_builder` does for rust-cuda.
//!
//! rustc itself can compile for NVIDIA's GPUs. This crate adds what else is needed: the search for
//! a suitable compiler, flags without which kernels are wrong or slow, launch bounds, and a linter.
//! It also writes a header that ties the PTX to its sources. It needs neither a compiler plug-in
//! nor CUDA.
//!
//! # A crate with kernels
//!
//! The library of a package declares kernels with the macro `kernel!` of `gpu-kernels`. It is
//! `no_std` and enables the unstable features of the GPU's target that the macro uses:
//!
//! ```text
//! #![no_std]
//! #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! ```
//!
//! A program that launches the kernels may be in the same package, as `src/main.rs`. The manifest
//! excludes dependencies that only the host needs from the GPU's build:
//!
//! ```toml
//! [dependencies]
//! gpu-kernels = "0.1"
//!
//! [target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
//! warpnest = { version = "0.1", features = ["cuda"] }
//! ```
//!
//! A build makes a file for each GPU: for a crate `own_kernels`, these are
//! `ptx/own_kernels_sm75.ptx` and `ptx/own_kernels_sm90.ptx`. A file has only the entry points of
//! this crate, not the entry points of its dependencies.
//!
//! # How to build
//!
//! *As a cargo subcommand*, if you commit the PTX. Users of the crate then need no compiler for
//! kernels:
//!
//! ```text
//! cargo install --path crates/cargo-warpnest   # in a checkout
//! cargo warpnest build-ptx
//! cargo warpnest build-ptx --check
//! ```
//!
//! *From an xtask*, which does the same in a few lines of Rust:
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
//! *From a build script*, if you do not commit the PTX. Everyone who builds the crate then needs
//! the compiler. Put the kernels in a separate package, because a script of the same package is
//! compiled again for each target.
//!
//! ```no_run
//! use warpnest_build::{Build, Result};
//!
//! fn main() -> Result<()> {
//!     // `None` means that this script belongs to the kernels' package and runs for its GPU build.
//!     let Some(build) = Build::in_build_script("kernels/Cargo.toml")? else { return Ok(()) };
//!     build.run()?.cargo_lines().iter().for_each(|line| println!("{line}"));
//!     Ok(())
//! }
//! ```
//!
//! The program embeds the PTX files:
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
//! A build needs a rustc with the source of its library. The rustc is the one that the variable
//! `WARPNEST_KERNEL_RUSTC` names, else Debian's (`apt-get install rustc-web rust-web-src`), else a
//! rustup toolchain, 1.97 or later, with the component `rust-src`. If there is none,
//! [`Error::NoCompiler`] contains the command that installs one. The host's compiler may be any
//! stable release.
//!
//! # What belongs to the sources
//!
//! The digest in a file's header covers the sources of the package's library and of all its path
//! dependencies, their features and dependencies, the checksums of registry packages, and the
//! flags. It does not cover the root files of the package's programs. Nor does it cover files that
//! the manifest lists as not for the GPU, such as the modules of programs. Their paths are relative
//! to the manifest's folder:
//!
//! ```toml
//! [package.metadata.warpnest]
//! host-only = ["src/host.rs", "src/engines"]
//! ```
//!
//! [`Build::check`] compares the digest. If the compiler that a file names is installed, it also
//! compares the bytes of a new build.

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
