//! The placement of two meshes beside each other and in a grid of voxels.

use std::ops::RangeInclusive;

use glam::{DMat3, DVec3};

use crate::mesh::{Mesh, MeshError};

/// The range of voxels along a side of the grid. A grid of 4096 still fits the memory of a
/// workstation.
pub const GRIDS: RangeInclusive<u32> = 8..=4096;

/// The position of the second mesh, B, relative to the first mesh, A.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Whether B is first brought to A's size and centre, because different scanners have different
    /// coordinates.
    pub fit: bool,
    /// The factor by which B is scaled.
    pub scale: f64,
    /// The rotation about the x, then the y, then the z axis, in degrees, through B's centre.
    pub rotation: DVec3,
    /// The shift, in sizes of A's bounding box.
    pub offset: DVec3,
}

impl Placement {
    /// Places `b` relative to `a`.
    pub fn place(&self, a: &Mesh, b: Mesh) -> Mesh {
        let ((a_low, a_high), (b_low, b_high)) = (a.bounds(), b.bounds());
        let ratio = length(a_high - a_low) / length(b_high - b_low);
        // A mesh without extent has no size to fit. The grid refuses two such meshes later.
        let factor = self.scale * if self.fit && ratio.is_normal() { ratio } else { 1.0 };
        let from = b_low.midpoint(b_high);
        let to = if self.fit { a_low.midpoint(a_high) } else { from };
        let shift = to + self.offset * (a_high - a_low);
        let [x, y, z] = self.rotation.map(f64::to_radians).to_array();
        let turn = DMat3::from_rotation_z(z) * DMat3::from_rotation_y(y) * DMat3::from_rotation_x(x);
        b.moved(|corner| turn * ((corner - from) * factor) + shift)
    }
}

/// Returns the length of a vector, even if the squares of its coordinates are infinite or 0.
fn length(of: DVec3) -> f64 {
    let greatest = of.abs().max_element();
    if greatest.is_normal() { greatest * (of / greatest).length() } else { 0.0 }
}

/// Moves both meshes together to coordinates in which a voxel is a unit cube.
///
/// They are centred in the grid, and as large as possible with one empty layer of voxels around
/// them.
pub fn fit_to_grid(a: Mesh, b: Mesh, grid: u32) -> Result<(Mesh, Mesh), MeshError> {
    if !GRIDS.contains(&grid) {
        return Err(MeshError::Grid { grid, least: *GRIDS.start(), most: *GRIDS.end() });
    }
    let ((a_low, a_high), (b_low, b_high)) = (a.bounds(), b.bounds());
    let (low, high) = (a_low.min(b_low), a_high.max(b_high));
    let extent = (high - low).max_element();
    // The slack keeps the outermost corners inside their layer.
    let scale = (f64::from(grid) - 2.0 - 1e-6) / extent;
    // Bounds ignore NaN, so every corner is checked.
    let finite =
        low.is_finite() && high.is_finite() && a.corners.iter().chain(&b.corners).all(|corner| corner.is_finite());
    if !scale.is_normal() || !finite {
        return Err(MeshError::Extent { extent });
    }
    let place = |corner: DVec3| (corner - low - 0.5 * (high - low)) * scale + 0.5 * f64::from(grid);
    Ok((a.moved(place), b.moved(place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models;

    #[test]
    fn a_mesh_turns_about_x_then_y_then_z_through_its_centre() {
        let centre = DVec3::new(5.0, -2.0, 1.0);
        let points = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
        let mesh = || Mesh { corners: points.map(|point| centre + point).to_vec(), triangles: vec![] };
        for (rotation, x, y) in [
            ([90.0, 0.0, 0.0], DVec3::X, DVec3::Z),
            ([0.0, 90.0, 0.0], DVec3::NEG_Z, DVec3::Y),
            ([0.0, 0.0, 90.0], DVec3::Y, DVec3::NEG_X),
            ([90.0, 90.0, 0.0], DVec3::NEG_Z, DVec3::X),
            ([90.0, 0.0, 90.0], DVec3::Y, DVec3::Z),
        ] {
            let rotation = DVec3::from_array(rotation);
            let placement = Placement { fit: false, scale: 1.0, rotation, offset: DVec3::ZERO };
            let turned = placement.place(&mesh(), mesh()).corners;
            for (found, expected) in [(turned[0], x), (turned[1], y)] {
                assert!((found - centre).abs_diff_eq(expected, 1e-12), "{rotation} {found} {expected}");
            }
        }
    }

    #[test]
    fn placements_and_grids_out_of_range_are_errors() {
        let ball = || models::wavy_sphere(8, 4);
        for grid in [0, 7, 4097, u32::MAX] {
            assert!(matches!(fit_to_grid(ball(), ball(), grid), Err(MeshError::Grid { .. })));
        }
        let point = || ball().moved(|_| DVec3::splat(7.0));
        let huge = || ball().moved(|at| at * 1.7e308);
        for (a, b) in [(point(), point()), (ball(), huge()), (huge(), huge())] {
            let error = fit_to_grid(a, b, 64).unwrap_err();
            assert!(matches!(error, MeshError::Extent { .. }), "{error}");
        }
        let rotation = DVec3::new(0.0, 90.0, 0.0);
        let half = Placement { fit: true, scale: 0.5, rotation, offset: DVec3::X };
        let (low, high) = half.place(&ball(), ball().moved(|at| at * 9.0 + 50.0)).bounds();
        let (a_low, a_high) = ball().bounds();
        assert!((high[1] - low[1] - 0.5 * (a_high[1] - a_low[1])).abs() < 1e-9);
        assert!((0.5 * (low[0] + high[0]) - (1.5 * a_high[0] - 0.5 * a_low[0])).abs() < 0.5);
        // Meshes are fitted even if the squares of their coordinates are infinite or 0.
        for size in [1e160, 1e-200] {
            let (low, high) = half.place(&ball(), ball().moved(|at| at * size)).bounds();
            assert!((high[1] - low[1] - 0.5 * (a_high[1] - a_low[1])).abs() < 1e-9, "{size:e}: {low} {high}");
        }
        // Meaningless placements must not panic, and the grid refuses them afterwards.
        let wild = Placement { fit: true, scale: 1e300, rotation: DVec3::splat(1e300), offset: DVec3::MAX };
        assert!(fit_to_grid(ball(), wild.place(&point(), huge()), 64).is_err());
    }
}
