//! Voxels of a mesh, by the code that the examples use.

use std::path::Path;

use warpnest_voxels::mesh::{self, Mesh};
use warpnest_voxels::{models, placement, voxelize};

/// The finest grid whose voxels have keys of 32 bits, with ten bits per coordinate, as in
/// (Alcantara 2009).
pub const FINEST: u32 = voxelize::FINEST_NARROW;
/// The coarsest grid that the voxelizer accepts.
pub const COARSEST: u32 = *placement::GRIDS.start();

/// A mesh and its name.
pub struct Model {
    pub name: String,
    mesh: Mesh,
}

impl Model {
    /// Reads a mesh, or makes the example's torus knot.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::torus_knot(1400, 96)) };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, mesh: mesh::load(path)? })
    }

    /// Returns the knot with these numbers of corners around the knot and around its tube.
    pub fn torus_knot(around_knot: u32, around_tube: u32) -> Self {
        Self { name: "a torus knot".to_owned(), mesh: models::torus_knot(around_knot, around_tube) }
    }

    /// Returns the voxels that the surface touches in a grid of at most [`FINEST`] voxels per side.
    ///
    /// Each voxel is there once, with one of its triangles, in ascending order of the keys.
    pub fn voxels(&self, grid: u32) -> anyhow::Result<Vec<(u32, u32)>> {
        let (mesh, _) = placement::fit_to_grid(self.mesh.clone(), Mesh::default(), grid)?;
        let surface = voxelize::voxelize(&mesh, grid, |_| ());
        Ok(surface.keys.into_iter().map(voxelize::narrow).zip(surface.triangles).collect())
    }
}
