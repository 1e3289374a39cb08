//! Two moving closed surfaces: their voxels, hash tables of these, and the part of each inside the
//! other. A device computes all for every frame (Alcantara 2011, figure 4.1).
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod animation;
mod closed;
mod flood;
mod frame;
pub mod lettering;
pub mod picture;
mod surface;

pub use closed::open_edges;
pub use frame::{Counts, Frame, STAGES, Scene, Voxels};
pub use warpnest_applications_kernels::shapes::{MAX_SIDE, Motion, pack, unpack};

use thiserror::Error;
use warpnest::Module;

/// The kernels of the applications.
static KERNELS: Module = warpnest::module!("../../kernels/ptx/applications");

/// The reason why a frame cannot be computed.
#[derive(Debug, Error)]
pub enum FrameError {
    #[error("a grid of {side} voxels a side is out of range; take 8 to {}", MAX_SIDE)]
    Side { side: u32 },
    #[error(
        "a shape's triangles touch {touched} voxels, each counted for every triangle that touches it; at most \
         {limit} are possible: take a coarser grid or a mesh of fewer triangles"
    )]
    TooManyVoxels { touched: u64, limit: u64 },
    #[error("there are no voxels to copy, since the last frame failed; compute another one first")]
    NoFrame,
    #[error(transparent)]
    Warpnest(#[from] warpnest::Error),
}
