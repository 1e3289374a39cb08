//! The search for the voxels that triangles touch. The first pass counts them, and the second
//! writes them at offsets from the counts.

use super::mesh::Mesh;
use super::overlap::Prepared;
use super::pack;
use gpu_kernels::seam::{Block, Global};

/// The maximum number of columns of a piece, which is a thread's part of a triangle.
pub const PIECE_COLUMNS: u64 = 32;

/// The scalar arguments of [`CountPieces`] and [`Voxelize`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SurfaceParams {
    /// The number of triangles.
    pub triangles: u64,
    /// The number of pieces of all triangles. [`CountPieces`] does not use it.
    pub pieces: u64,
    /// The number of voxels along a side of the grid: 1 to [`MAX_SIDE`](super::MAX_SIDE).
    pub side: u32,
    /// Unused.
    pub padding: u32,
}

gpu_kernels::kernel! {
    /// Writes the number of pieces of triangle `i` to `pieces[i]`. One thread per triangle.
    CountPieces<>, "shapes_pieces", threads 256;
    { corners: Global<u64>, triangles: Global<u32>, pieces: Global<u64>, plan: SurfaceParams }
}

impl CountPieces {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let mesh = Mesh { corners: args.corners, triangles: args.triangles };
        block.each_item(args.plan.triangles, |triangle| {
            let columns = Prepared::new(mesh.triangle(triangle), args.plan.side).columns();
            args.pieces.store(triangle, columns.div_ceil(PIECE_COLUMNS));
        });
    }
}

gpu_kernels::kernel! {
    /// Writes the count of voxels that a triangle touches in piece `i` to `offsets[i]`. If `WRITE`,
    /// writes their keys instead, starting at `keys[offsets[i]]`, and the triangle's index for
    /// each. One thread per piece.
    ///
    /// The pieces of triangle `t` begin at index `starts[t]`. Without `WRITE`, `keys` and `numbers`
    /// may be null.
    Voxelize<; const WRITE: bool>, "shapes_count" | "shapes_write", threads 128;
    {
        corners: Global<u64>, triangles: Global<u32>, starts: Global<u64>, offsets: Global<u64>,
        keys: Global<u32>, numbers: Global<u32>, plan: SurfaceParams,
    }
}

impl<const WRITE: bool> Voxelize<WRITE> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let mesh = Mesh { corners: args.corners, triangles: args.triangles };
        block.each_item(args.plan.pieces, |piece| {
            let triangle = triangle_of(args.starts, args.plan.triangles, piece);
            let prepared = Prepared::new(mesh.triangle(triangle), args.plan.side);
            let column = (piece - args.starts.load_read_only(triangle)) * PIECE_COLUMNS;
            let end = prepared.columns().min(column + PIECE_COLUMNS);
            let mut offset = if WRITE { args.offsets.load(piece) } else { 0 };
            prepared.each_voxel(column, end, |voxel| {
                if WRITE {
                    args.keys.store(offset, pack(voxel));
                    args.numbers.store(offset, triangle as u32);
                }
                offset += 1;
            });
            if !WRITE {
                args.offsets.store(piece, offset);
            }
        });
    }
}

/// Returns the triangle of a piece: the last triangle whose pieces start at or before it.
#[inline(always)]
fn triangle_of(starts: Global<u64>, triangles: u64, piece: u64) -> u64 {
    let (mut low, mut high) = (0, triangles);
    // At most 64 rounds, because each halves the range.
    while high - low > 1 {
        let middle = low.midpoint(high);
        if starts.load_read_only(middle) <= piece {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
