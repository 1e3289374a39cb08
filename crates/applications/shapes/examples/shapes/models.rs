//! The shapes: meshes from files, and built-in shapes.

use std::path::Path;

use warpnest_shapes::animation::at_rest;
use warpnest_voxels::mesh::{self, Mesh};
use warpnest_voxels::models::{braid, torus_knot, wavy_sphere};

/// A shape at rest and its name.
#[derive(Debug)]
pub struct Model {
    pub name: String,
    pub mesh: Mesh,
}

impl Model {
    /// Loads the mesh at a path, or makes the built-in shape with this name.
    pub fn load(given: &str) -> anyhow::Result<Self> {
        let mesh = match given {
            "sphere" => wavy_sphere(600, 300),
            "knot" => torus_knot(1400, 96),
            "braid" => braid(6000, 80),
            path => mesh::load(Path::new(path))?,
        };
        let name = Path::new(given).file_name().map_or(given.into(), |name| name.to_string_lossy().into_owned());
        Ok(Self { name, mesh: at_rest(mesh, Path::new(given))? })
    }
}
