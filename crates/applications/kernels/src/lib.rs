//! The kernels of the applications, in a `no_std` crate with its own PTX, as any user's kernels
//! are. The applications load this PTX.
//!
//! * [`shapes`]: two shapes that move through each other.
//! * [`images`]: pictures that are found in scenes by their geometry.
//! * [`kmers`]: the k-mers of sequences as keys.
#![no_std]
#![allow(
    clippy::needless_range_loop,
    reason = "on the GPU, index loops of constant trip count are unrolled; iterators over arrays end on the stack"
)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod images;
pub mod kmers;
pub mod shapes;
