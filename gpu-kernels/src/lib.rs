//! The kernels of warpnest, in one source for the GPU and for the CPU.
//!
//! Every algorithm is written against the traits of [`seam`]: a thread [`seam::Block`] whose threads act inside closures,
//! a [`seam::Tile`] of lanes in step, [`seam::Global`] memory and its atomics. `cargo xtask build-ptx` compiles this crate
//! to PTX; as an ordinary library it gives the host the same kernels as functions that run a block on one CPU thread.
//!
//! * [`seam`]: what differs between GPU and CPU, and nothing else.
//! * [`types`]: the key and value types, [`double`]: words of two halves, and [`hash`]: hash functions drawn from random constants.
//! * [`scan`], [`compact`], [`radix`], [`search`]: the building blocks, most of them on [`look_back`].
//! * [`slots`]: what the cuckoo tables share; [`lookup`] and [`append`]: how lookups, and all pairs, are written out.
//! * [`cuckoo`]: the single-level cuckoo table of Alcantara et al. (2011).
//! * [`two_level`]: the two-level FKS-cuckoo table of Alcantara et al. (2009).
//! * [`sorted`]: the sorted array that these are measured against, with an index for its searches.
//! * [`page`]: the page table, and [`linear`]: the table that is in use while it changes.
//! * [`extendible`]: the table that grows and shrinks bucket by bucket.
//! * [`compacting`], [`multi`]: what a table of dense ids, and a multimap, need beside the basic table on which they stand.
//! * [`readback`]: how a few words come to the host.
//! * [`roofline`]: kernels that measure what the memory system allows.
#![no_std]
#![allow(
    clippy::needless_range_loop,
    reason = "on the GPU, index loops of constant trip count are unrolled; iterators over arrays end on the stack"
)]
// The two attributes of the GPU target that Rust accepts only here; every other question about the target is the seam's.
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

#[macro_use]
pub mod seam;
pub mod append;
pub mod compact;
pub mod compacting;
pub mod cuckoo;
pub mod double;
pub mod extendible;
pub mod hash;
pub mod linear;
pub mod look_back;
pub mod lookup;
pub mod multi;
pub mod page;
pub mod radix;
pub mod readback;
pub mod roofline;
pub mod scan;
pub mod search;
pub mod slots;
pub mod sorted;
pub mod two_level;
pub mod types;
