//! The voxels of one moving surface, on a device.

use glam::DVec3;
use warpnest::primitives::{Scratch, compact, exclusive_scan, flag_last_of_each, iota, sort_pairs};
use warpnest::{Buffer, Device, Stream};
use warpnest_applications_kernels::shapes::{CountPieces, Motion, MoveCorners, SurfaceParams, Voxelize};

use super::FrameError;
use warpnest_voxels::mesh::Mesh;

/// The maximum number of voxels that a shape's triangles touch, each counted for every triangle.
const MAX_TOUCHED: u64 = 1 << 31;

/// A surface: its moved mesh, and the voxels that it touches.
///
/// Every buffer except the mesh's buffers has a different length in every frame.
#[derive(Debug)]
pub struct Surface {
    /// The corners of the mesh at rest, with three coordinates each.
    rest: Buffer<f64>,
    /// The corners of the moved mesh.
    pub corners: Buffer<f64>,
    /// The indices of three corners for each triangle.
    pub triangles: Buffer<u32>,
    /// The number of pieces of each triangle.
    pieces: Buffer<u64>,
    /// The index of the first piece of each triangle, then the number of all pieces.
    starts: Buffer<u64>,
    /// The number of voxels of each piece.
    touched: Buffer<u64>,
    /// The offset of each piece's first voxel, then the number of all voxels.
    offsets: Buffer<u64>,
    /// The sorted keys of the voxels that triangles touch, with repeats.
    repeated_keys: Buffer<u32>,
    /// The index of the triangle that touches each voxel of `repeated_keys`.
    repeated_numbers: Buffer<u32>,
    keep: Buffer<u32>,
    count: Buffer<u32>,
    /// The key of each voxel, in ascending order.
    pub keys: Buffer<u32>,
    /// The index of the last triangle that touches each voxel.
    pub numbers: Buffer<u32>,
    /// The ranks of the voxels: 0, 1, 2 and so on.
    pub ranks: Buffer<u32>,
    scratch: Scratch,
}

impl Surface {
    /// Returns a surface whose mesh is on the device, but which has no voxels yet.
    pub fn new(device: &Device, mesh: &Mesh) -> Result<Self, FrameError> {
        device.load(&crate::KERNELS)?;
        let coordinates: Vec<f64> = mesh.corners.iter().flat_map(DVec3::to_array).collect();
        let triangles: Vec<u32> = mesh.triangles.iter().flatten().copied().collect();
        let (words, wide) = (|| Buffer::zeroed(device, 0), || Buffer::zeroed(device, 0));
        Ok(Self {
            rest: Buffer::from_slice(device, &coordinates)?,
            corners: Buffer::zeroed(device, coordinates.len())?,
            triangles: Buffer::from_slice(device, &triangles)?,
            pieces: Buffer::zeroed(device, mesh.triangles.len())?,
            starts: Buffer::zeroed(device, mesh.triangles.len() + 1)?,
            touched: wide()?,
            offsets: wide()?,
            repeated_keys: words()?,
            repeated_numbers: words()?,
            keep: words()?,
            count: Buffer::zeroed(device, 1)?,
            keys: words()?,
            numbers: words()?,
            ranks: words()?,
            scratch: Scratch::new(device),
        })
    }

    /// Returns the number of triangles.
    pub fn triangle_count(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Queues the kernel that moves the mesh from its position at rest.
    pub fn move_to(&mut self, stream: &Stream, motion: &Motion) -> Result<(), FrameError> {
        let corners = self.rest.len() as u64 / 3;
        let plan = Motion { corners, ..*motion };
        // SAFETY: the buffers have three coordinates for each corner.
        unsafe {
            stream.launch(corners as usize, |uses| MoveCorners {
                corners: uses.read(&self.rest).cast(),
                moved: uses.write(&mut self.corners).cast(),
                plan,
            })?;
        }
        Ok(())
    }

    /// Finds the voxels that the triangles touch in a grid with `side` voxels per side, in the
    /// order of the triangles. Returns their number, each counted for every triangle that touches
    /// it.
    pub fn voxelize(&mut self, stream: &Stream, side: u32) -> Result<u64, FrameError> {
        let mut plan = SurfaceParams { triangles: self.triangle_count(), pieces: 0, side, padding: 0 };
        // SAFETY: `pieces` has an element for each triangle, and triangles refer to corners that
        // the mesh has.
        unsafe {
            stream.launch(plan.triangles as usize, |uses| CountPieces {
                corners: uses.read(&self.corners).cast(),
                triangles: uses.read(&self.triangles),
                pieces: uses.write(&mut self.pieces),
                plan,
            })?;
        }
        exclusive_scan(stream, &mut self.scratch, &self.pieces, &mut self.starts)?;
        plan.pieces = self.starts.get(stream, self.pieces.len())?.unwrap_or(0);
        // Nearly every piece has a voxel, so the limit applies.
        check_touched(plan.pieces)?;

        self.touched.resize(stream, plan.pieces as usize)?;
        self.offsets.resize(stream, plan.pieces as usize + 1)?;
        self.launch_voxelize(stream, false, plan)?;
        exclusive_scan(stream, &mut self.scratch, &self.touched, &mut self.offsets)?;
        let touched = self.offsets.get(stream, plan.pieces as usize)?.unwrap_or(0);
        check_touched(touched)?;

        self.repeated_keys.resize(stream, touched as usize)?;
        self.repeated_numbers.resize(stream, touched as usize)?;
        self.launch_voxelize(stream, true, plan)?;
        Ok(touched)
    }

    /// Sorts the voxels that triangles touch, and keeps each voxel once.
    pub fn sort(&mut self, stream: &Stream) -> Result<(), FrameError> {
        // The sort is stable, so the last triangle of each voxel is kept.
        sort_pairs(stream, &mut self.scratch, &mut self.repeated_keys, &mut self.repeated_numbers)?;
        let length = self.repeated_keys.len();
        self.keep.resize(stream, length.div_ceil(32))?;
        flag_last_of_each(stream, &self.repeated_keys, &mut self.keep)?;
        let Self { repeated_keys, repeated_numbers, keep, count, keys, numbers, scratch, .. } = self;
        for (from, to) in [(repeated_keys, &mut *keys), (repeated_numbers, &mut *numbers)] {
            to.resize(stream, length)?;
            compact(stream, scratch, from, keep, to, count)?;
        }
        let voxels = count.get(stream, 0)?.map_or(0, |voxels| voxels as usize);
        keys.resize(stream, voxels)?;
        numbers.resize(stream, voxels)?;
        self.ranks.resize(stream, voxels)?;
        Ok(iota(stream, &mut self.ranks)?)
    }

    /// Launches the kernel that counts voxels, or the kernel that writes them.
    fn launch_voxelize(&mut self, stream: &Stream, write: bool, plan: SurfaceParams) -> Result<(), FrameError> {
        // SAFETY: the starts belong to the plan's pieces. Counting writes a count for each, and
        // writing finds the same voxels again.
        unsafe {
            stream.launch_dyn(plan.pieces as usize, |uses| {
                let count = Voxelize::<false> {
                    corners: uses.read(&self.corners).cast(),
                    triangles: uses.read(&self.triangles),
                    starts: uses.read(&self.starts),
                    offsets: if write { uses.read(&self.offsets) } else { uses.write(&mut self.touched) },
                    keys: uses.write(&mut self.repeated_keys),
                    numbers: uses.write(&mut self.repeated_numbers),
                    plan,
                };
                if write { Box::new(count.variant::<true>()) } else { Box::new(count) }
            })?;
        }
        Ok(())
    }
}

fn check_touched(touched: u64) -> Result<(), FrameError> {
    if touched <= MAX_TOUCHED { Ok(()) } else { Err(FrameError::TooManyVoxels { touched, limit: MAX_TOUCHED }) }
}
