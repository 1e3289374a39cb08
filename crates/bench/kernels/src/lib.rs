//! The kernels of the benchmarks, in a `no_std` crate with its own PTX, as any user's kernels are.
//! The benchmarks load this PTX.
//!
//! * [`roofline`]: the limits of a device's memory.
//! * [`lookups`], [`changes`]: kernels of a user that work on tables by their refs. They are
//!   measured beside the batches that do the same.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod changes;
pub mod lookups;
pub mod roofline;
