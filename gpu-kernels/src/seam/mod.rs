//! The seam between GPU and CPU. Everything that differs between them is in this module, in a
//! folder or file for each back end.
//!
//! * [`Block`] and [`Tile`] (`block`): threads and lanes, and their barriers.
//! * [`Shared`]: the memory of one block. [`Global`] and [`Atomic`] (`global`): the memory of the
//!   device, accessed by [`Word`]s.
//! * [`pause`], [`opaque`], [`vectorized`] (`compute`, `work`): what one thread does by itself.
//! * [`kernel!`](crate::kernel): declares a kernel once, for GPU and CPU.
//!
//! `access` and `work` contain the further traits that a back end must implement.
//!
//! There are three back ends: `gpu` (the NVPTX target), [`cpu`] and [`checked`]. On `cpu` a block
//! runs on one thread of the CPU, and the block's threads run one after the other. On `checked` the
//! block's threads run in shuffled order, and conflicts within a phase are reported.

mod access;
mod block;
mod compute;
mod global;
#[macro_use]
mod kernel;
mod word;
mod work;

pub use access::{BlockScope, DeviceScope, Scope, SystemScope};
pub use backend::{IN_STEP, STAGED_TIMES};
pub use block::{Block, Shared, Tile, TileLocal};
pub use compute::{equal_of_four, opaque, pause, square_root, upper_product, wide_product};
pub use compute::{vectorized, vectorized_by_lanes};
pub use global::{Atomic, Global};
pub use word::{AtomicNumber, AtomicWord, Word};
pub use work::{LaneWork, Lanes, Narrow, Work};

#[cfg(target_arch = "nvptx64")]
#[macro_use]
pub mod gpu;
#[cfg(target_arch = "nvptx64")]
pub(crate) use gpu::memory as backend;

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;
#[cfg(not(target_arch = "nvptx64"))]
pub mod checked;
#[cfg(not(target_arch = "nvptx64"))]
#[macro_use]
pub mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use cpu::memory as backend;
#[cfg(not(target_arch = "nvptx64"))]
pub use kernel::{CheckBlock, Entry, Kernel, RunBlocks};
