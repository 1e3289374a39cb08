//! The kernels of the benchmarks, in a crate of their own, as any other user's kernels are:
//! `no_std`, with their own PTX, which the benchmarks load.
//!
//! * [`roofline`]: the limits of a device's memory.
//! * [`lookups`], [`changes`]: what kernels of one's own do with tables by their refs, which is
//!   measured beside the batches that do the same.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod changes;
pub mod lookups;
pub mod roofline;
