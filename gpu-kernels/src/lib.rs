//! The kernels of warpnest, in one source for the GPU and for the CPU.
//!
//! Every algorithm is written against the traits of [`seam`]: a [`seam::Block`], whose threads run
//! inside closures, a [`seam::Tile`], whose lanes run in step, and [`seam::Global`] memory with its
//! atomics. `cargo xtask build-ptx` compiles this crate to PTX. As an ordinary library it contains
//! the same kernels as functions that run a block on one CPU thread.
//!
//! * [`seam`]: all differences between GPU and CPU.
//! * [`plain`]: the elements of buffers. [`types`]: keys, values and payloads as words.
//! * [`double_word`]: words of two halves, for the linear table. [`hash`]: hash functions with
//!   random constants, for the cuckoo tables and radix passes. [`column_values`]: how the values of
//!   a column are added and compared.
//! * [`primitives`]: scans, compaction, radix partition and search, and appending to an output.
//! * [`table`]: code that tables of several kinds share: lookups, the slots of cuckoo tables, and
//!   functions that combine values.
//! * [`split`]: the division of rows into bins, for page tables, group-by and joins.
//! * [`cuckoo`]: the single-level cuckoo table (Alcantara 2011).
//! * [`two_level`]: the two-level FKS-cuckoo table (Alcantara 2009).
//! * [`sorted`]: the sorted array with which these are compared, with an index for its searches.
//! * [`page`]: the page table, and [`linear`]: the table that is used while it changes.
//! * [`extendible`]: the table that grows and shrinks bucket by bucket.
//! * [`layered`]: the kernels of compacting tables and multimaps, which have another table below.
//! * [`refs`]: tables as arguments of your own kernels.
//! * [`relational`]: group-by, joins and distinct keys.
#![no_std]
#![allow(
    clippy::needless_range_loop,
    reason = "on the GPU, index loops of constant trip count are unrolled; iterators over arrays end on the stack"
)]
#![cfg_attr(
    any(target_arch = "nvptx64", not(all(feature = "cpu", feature = "checked"))),
    allow(dead_code, reason = "a GPU, and a host without these features, do not run all that blocks can do")
)]
// Rust accepts these two attributes of the GPU's target only here. Except for the lint above, all
// other code that depends on the target is in the seam.
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

#[macro_use]
pub mod seam;
pub mod column_values;
pub mod columns;
pub mod cuckoo;
pub mod double_word;
pub mod extendible;
pub mod hash;
pub mod layered;
pub mod linear;
pub mod page;
pub mod plain;
pub mod primitives;
pub mod refs;
pub mod relational;
pub mod sorted;
pub mod split;
pub mod table;
pub mod two_level;
pub mod types;

/// The name of this package, by which a launch finds the PTX of these kernels.
pub const PACKAGE: &str = env!("CARGO_PKG_NAME");
