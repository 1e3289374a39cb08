//! The motions of two shapes in an animation that ends as it began.

use std::f64::consts::TAU;
use std::path::Path;

use glam::{DMat3, DVec3};

use super::Motion;
use warpnest_voxels::mesh::{Mesh, MeshError};

/// Returns a mesh of the same form, with its box centred and its furthest corner at distance 1. A
/// mesh without extent is an error, which names `path`.
pub fn at_rest(mesh: Mesh, path: &Path) -> Result<Mesh, MeshError> {
    if let Some(vertex) = mesh.corners.iter().position(|corner| !corner.is_finite()) {
        return Err(MeshError::NotFinite { path: path.into(), vertex });
    }
    // Squares of coordinates, and even differences, may be infinite or 0, unless coordinates are
    // divided by the greatest one first, then by the extent.
    let greatest = mesh.corners.iter().map(|corner| corner.abs().max_element()).fold(0.0, f64::max);
    let mesh = mesh.moved(|corner| corner / greatest);
    let (low, high) = mesh.bounds();
    let (centre, extent) = (low.midpoint(high), (high - low).max_element());
    if !(extent > 0.0 && extent.is_finite()) {
        return Err(MeshError::NoExtent { path: path.into(), corners: mesh.corners.len() });
    }
    let mesh = mesh.moved(|corner| (corner - centre) / extent);
    let radius = mesh.corners.iter().map(|corner| corner.length()).fold(0.0, f64::max);
    Ok(mesh.moved(|corner| corner / radius))
}

/// The motion of one shape.
#[derive(Clone, Copy, Debug)]
pub struct Choreography {
    /// The radius of the shape, as a fraction of half the grid.
    pub size: f64,
    /// The radius of the circle on which its centre moves, as a fraction of half the grid.
    pub orbit: f64,
    /// The greatest fraction by which the shape swells.
    pub swell: f64,
    /// The greatest angle by which the shape is twisted from its middle to an end, in radians.
    pub twist: f64,
    /// The number of turns about x, y and z during the animation, which are whole numbers.
    pub turns: [f64; 3],
    /// The angles about x, y and z at the start, in turns.
    pub start: [f64; 3],
}

/// The choreographies of the animation. No part of a shape leaves the grid.
pub const DANCE: [Choreography; 2] = [
    Choreography { size: 0.62, orbit: 0.26, swell: 0.1, twist: 0.7, turns: [0.0, 1.0, 0.0], start: [0.03, 0.0, 0.0] },
    Choreography { size: 0.9, orbit: 0.0, swell: 0.06, twist: 0.35, turns: [1.0, 0.0, 0.0], start: [0.12, 0.0, 0.06] },
];

/// The shift and the rotation that a user adds to a shape's choreography.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hand {
    /// The shift, in halves of the grid.
    pub shift: DVec3,
    /// The rotation about x, y and z in radians, after the choreography's own rotation.
    pub turn: DVec3,
}

impl Choreography {
    /// Returns the motion at `time`, where 0 is the beginning and 1 the end, in a grid with `side`
    /// voxels per side. `hand` also moves the shape, but never out of the grid.
    pub fn motion(&self, time: f64, side: u32, hand: &Hand) -> Motion {
        // The outermost layers of the grid stay empty.
        let half = 0.5 * f64::from(side);
        let reach = half - 2.0;
        let wave = (TAU * time).sin();
        let angles: [f64; 3] = std::array::from_fn(|i| TAU * (self.start[i] + self.turns[i] * time));
        let turn = rotation(hand.turn.to_array()) * rotation(angles) * (self.size * reach);
        let circle = DVec3::new((TAU * time).cos(), 0.35 * (2.0 * TAU * time).sin(), (TAU * time).sin());
        let wanted = self.orbit * circle + hand.shift;
        let furthest = 1.0 - self.size * (1.0 + self.swell);
        let shift = wanted.clamp_length_max(furthest.max(0.0)) * reach + half;
        Motion {
            corners: 0,
            twist: (0.5 * self.twist * wave).tan(),
            swell: self.swell * (2.0 * TAU * time).cos(),
            turn: turn.transpose().to_cols_array_2d(),
            shift: shift.to_array(),
        }
    }
}

/// Returns the rotation about the x, then the y, then the z axis, by angles in radians.
fn rotation([x, y, z]: [f64; 3]) -> DMat3 {
    DMat3::from_rotation_z(z) * DMat3::from_rotation_y(y) * DMat3::from_rotation_x(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest_voxels::models;

    fn rests(mesh: Mesh) -> Mesh {
        at_rest(mesh, Path::new("m.ply")).unwrap()
    }

    #[test]
    fn no_corner_leaves_the_grid_and_the_end_is_the_beginning() {
        let meshes = [models::wavy_sphere(40, 20), models::torus_knot(100, 10)].map(rests);
        let mut hand = Hand::default();
        for step in 0..60 {
            for (mesh, dance) in meshes.iter().zip(DANCE) {
                let motion = dance.motion(f64::from(step) / 60.0, 64, &hand);
                for corner in &mesh.corners {
                    let at = motion.apply(corner.to_array());
                    assert!(at.iter().all(|x| (1.0..=63.0).contains(x)), "{at:?} at step {step}");
                }
            }
            hand = Hand { shift: DVec3::splat(0.2 * f64::from(step)), turn: DVec3::splat(f64::from(step)) };
        }
        let none = Hand::default();
        for dance in DANCE {
            let (first, last) = (dance.motion(0.0, 64, &none), dance.motion(1.0, 64, &none));
            let numbers = |motion: Motion| motion.turn.into_iter().flatten().chain(motion.shift).collect::<Vec<f64>>();
            let apart = |(a, b): (f64, f64)| (a - b).abs();
            assert!(numbers(first).into_iter().zip(numbers(last)).map(apart).all(|apart| apart < 1e-9));
        }
    }

    #[test]
    fn a_mesh_at_rest_has_a_radius_of_one() {
        let knot = || models::torus_knot(50, 6);
        let right = rests(knot());
        // At the greatest size coordinates just stay finite, and at the least they begin to lose
        // bits.
        for size in [1.0, 9.0, 1e160, 1e200, 5e307, 1e-160, 1e-200, 1e-290] {
            let mesh = rests(knot().moved(|at| at * size));
            let furthest = mesh.corners.iter().map(|at| at.length()).fold(0.0, f64::max);
            assert!((furthest - 1.0).abs() < 1e-12, "{size:e}: {furthest}");
            let same = |(a, b): (&DVec3, &DVec3)| a.abs_diff_eq(*b, 1e-9);
            assert!(mesh.corners.iter().zip(&right.corners).all(same), "{size:e}");
        }
        let far = rests(knot().moved(|at| at * 9.0 + 100.0));
        assert!((far.corners[7] - right.corners[7]).length() < 1e-9);
    }

    #[test]
    fn a_mesh_without_extent_is_refused_by_name() {
        let point = |at: DVec3| Mesh { corners: vec![at; 3], triangles: vec![[0, 1, 2]] };
        for mesh in [point(DVec3::ZERO), point(DVec3::splat(7.0)), point(DVec3::splat(1e300)), Mesh::default()] {
            let error = at_rest(mesh, Path::new("m.ply")).unwrap_err();
            assert!(matches!(error, MeshError::NoExtent { .. }) && error.to_string().starts_with("m.ply: "), "{error}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let error = at_rest(point(DVec3::new(0.0, bad, 1.0)), Path::new("m.ply")).unwrap_err();
            assert!(matches!(error, MeshError::NotFinite { vertex: 0, .. }), "{error}");
        }
    }
}
