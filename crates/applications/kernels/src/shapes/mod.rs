//! Two moving shapes: the voxels of their surfaces, and the part of each surface inside the other
//! shape. This is the application that (Alcantara 2011, figure 4.1) shows.
//!
//! These kernels belong to the example `shapes`.
//!
//! **Grid.** A voxel is a closed unit cube with whole coordinates. Its coordinates have
//! [`COORDINATE_BITS`] bits each and form its key ([`pack`]), so keys are ordered by z, then y,
//! then x.
//!
//! **Numbers.** Coordinates are `f64`, stored as bits in arrays of words. Kernels only add,
//! subtract, multiply, divide and compare them, so every engine computes the same bits.

mod flood;
mod inside;
mod mesh;
mod overlap;
mod surface;

pub use flood::{Flatten, Link, Runs};
pub use inside::{Classify, ClassifyParams, Wind, WindParams};
pub use mesh::{Motion, MoveCorners};
pub use surface::{CountPieces, PIECE_COLUMNS, SurfaceParams, Voxelize};

/// The number of bits of each of a voxel's three coordinates in its key.
pub const COORDINATE_BITS: u32 = 10;
/// The maximum number of voxels along a side of the grid.
pub const MAX_SIDE: u32 = 1 << COORDINATE_BITS;
/// The length, in voxels, by which voxels are enlarged, so that rounding may add a voxel to a
/// surface but never loses one.
pub const SLACK: f64 = 1e-9;

/// Returns the key of a voxel.
#[inline(always)]
pub fn pack([x, y, z]: [u32; 3]) -> u32 {
    x | y << COORDINATE_BITS | z << (2 * COORDINATE_BITS)
}

/// Returns the coordinates of the voxel with this key.
#[inline(always)]
pub fn unpack(key: u32) -> [u32; 3] {
    let mask = MAX_SIDE - 1;
    [key & mask, key >> COORDINATE_BITS & mask, key >> (2 * COORDINATE_BITS)]
}
