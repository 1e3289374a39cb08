//! The regions of one surface that lie inside the other, on a device.

use warpnest::primitives::{Scratch, compact};
use warpnest::{Buffer, Device, PageMap, Stream};
use warpnest_applications_kernels::shapes::{Classify, ClassifyParams, Flatten, Link, Runs, Wind, WindParams};

use super::FrameError;
use super::surface::Surface;

/// The flood over one surface, bounded by walls, and its results.
#[derive(Debug)]
pub struct Flood {
    /// The bits of the walls, the voxels that the other surface touches, too.
    pub walls: Buffer<u32>,
    /// The rank of each voxel's parent; after the flood, the rank of its region's least voxel.
    parents: Buffer<u32>,
    /// The bits of the roots, the least voxels of their regions.
    roots: Buffer<u32>,
    /// The keys of the roots, followed by arbitrary words.
    seeds: Buffer<u32>,
    /// The ranks of the roots.
    seed_ranks: Buffer<u32>,
    /// The number of regions.
    regions: Buffer<u32>,
    /// The winding number of the other surface around each root, at the root's rank.
    windings: Buffer<u32>,
    /// The bits of the voxels inside the other surface.
    pub inside: Buffer<u32>,
    /// The count of voxels inside, and the count of walls.
    counts: Buffer<u32>,
    scratch: Scratch,
}

impl Flood {
    /// Returns a flood with empty buffers.
    pub fn new(device: &Device) -> Result<Self, FrameError> {
        let words = |length| Buffer::zeroed(device, length);
        Ok(Self {
            walls: words(0)?,
            parents: words(0)?,
            roots: words(0)?,
            seeds: words(0)?,
            seed_ranks: words(0)?,
            regions: words(1)?,
            windings: words(0)?,
            inside: words(0)?,
            counts: words(2)?,
            scratch: Scratch::new(device),
        })
    }

    /// Looks up the voxels of `surface` in the other surface's table, and flags the found ones as
    /// walls.
    pub fn ask(&mut self, stream: &Stream, surface: &Surface, other: &PageMap<u32, u32>) -> Result<(), FrameError> {
        self.walls.resize(stream, surface.keys.len().div_ceil(32))?;
        other.contains_many_into(stream, &surface.keys, &mut self.walls)?;
        Ok(())
    }

    /// Computes the least voxel of its region for each voxel that is no wall. `map` has the rank of
    /// each voxel of `surface`.
    pub fn fill(&mut self, stream: &Stream, surface: &Surface, map: &PageMap<u32, u32>) -> Result<(), FrameError> {
        let (voxels, words) = (surface.keys.len(), surface.keys.len().div_ceil(32));
        self.parents.resize(stream, voxels)?;
        self.roots.resize(stream, words)?;
        let Self { walls, parents, roots, .. } = self;
        let (keys, voxels) = (&surface.keys, voxels as u64);
        // SAFETY: there is a parent for each voxel, and a bit for each in walls and roots. The map
        // has the rank of each key.
        unsafe {
            stream.launch(keys.len(), |uses| Runs {
                keys: uses.read(keys),
                walls: uses.read(walls),
                parents: uses.write(parents),
                voxels,
            })?;
            stream.launch(keys.len(), |uses| Link {
                keys: uses.read(keys),
                walls: uses.read(walls),
                ranks: uses.table(map),
                parents: uses.write(parents),
                voxels,
            })?;
            stream.launch(keys.len(), |uses| Flatten {
                walls: uses.read(walls),
                parents: uses.write(parents),
                roots: uses.write(roots),
                voxels,
            })?;
        }
        self.seeds.resize(stream, keys.len())?;
        self.seed_ranks.resize(stream, keys.len())?;
        let Self { parents, roots, seeds, seed_ranks, regions, scratch, .. } = self;
        compact(stream, scratch, &surface.keys, roots, seeds, regions)?;
        // The parent of a root is its own rank.
        compact(stream, scratch, parents, roots, seed_ranks, regions)?;
        Ok(())
    }

    /// Computes which regions lie inside the mesh of `other`, which must be closed.
    pub fn classify(
        &mut self,
        stream: &Stream,
        surface: &Surface,
        other: &Surface,
        side: u32,
    ) -> Result<(), FrameError> {
        let (voxels, words) = (surface.keys.len(), surface.keys.len().div_ceil(32));
        self.windings.resize(stream, 0)?;
        self.windings.resize(stream, voxels)?;
        self.inside.resize(stream, words)?;
        self.counts.fill(stream, 0)?;
        let triangles = other.triangle_count();
        // SAFETY: the seeds are in ascending order, and no triangle of the other mesh touches them,
        // because they are no walls. There is a root and a winding number for each voxel, and a bit
        // for each in walls and inside.
        unsafe {
            stream.launch(triangles as usize, |uses| Wind {
                corners: uses.read(&other.corners).cast(),
                triangles: uses.read(&other.triangles),
                seeds: uses.read(&self.seeds),
                ranks: uses.read(&self.seed_ranks),
                count: uses.read(&self.regions),
                windings: uses.write(&mut self.windings),
                plan: WindParams { triangles, side, padding: 0 },
            })?;
            stream.launch(voxels, |uses| Classify {
                walls: uses.read(&self.walls),
                roots: uses.read(&self.parents),
                windings: uses.read(&self.windings),
                inside: uses.write(&mut self.inside),
                counts: uses.write(&mut self.counts),
                plan: ClassifyParams { voxels: voxels as u64 },
            })?;
        }
        Ok(())
    }

    /// Returns the counts of voxels inside, of walls, and of regions.
    pub fn counts(&self, stream: &Stream) -> Result<[usize; 3], FrameError> {
        let counts = self.counts.download(stream)?;
        let regions = self.regions.get(stream, 0)?.unwrap_or(0);
        Ok([counts[0] as usize, counts[1] as usize, regions as usize])
    }
}
