//! Two closed surfaces that need no file: a tube along a torus knot, and a wavy sphere through
//! which the tube winds.

use std::f64::consts::TAU;

use glam::DVec3;

use crate::mesh::Mesh;

/// Returns a tube along a torus knot that goes three times around the torus's axis and seven times
/// through its hole.
pub fn torus_knot(around_knot: u32, around_tube: u32) -> Mesh {
    tube(3.0, 7.0, 0.135, around_knot, around_tube)
}

/// Returns a thinner tube along a knot that goes seven times around the axis and nineteen times
/// through the hole, which has more surface in the same space.
pub fn braid(around_knot: u32, around_tube: u32) -> Mesh {
    tube(7.0, 19.0, 0.08, around_knot, around_tube)
}

/// Returns a tube of radius `radius` along the knot that goes `turns` times around the axis and
/// `winds` times through the hole.
fn tube(turns: f64, winds: f64, radius: f64, around_knot: u32, around_tube: u32) -> Mesh {
    let knot = |t: f64| {
        let (turn, wind) = (turns * t, winds * t);
        let radius = 1.0 + 0.40 * wind.cos();
        DVec3::new(radius * turn.cos(), 0.55 * wind.sin(), radius * turn.sin())
    };
    let mut mesh = Mesh::default();
    for i in 0..around_knot {
        let t = TAU * f64::from(i) / f64::from(around_knot);
        let (at, ahead) = (knot(t), knot(t + 1e-3));
        let along = (ahead - at).normalize_or_zero();
        // The direction depends only on the position and never runs along the knot, so the tube
        // closes without a twist.
        let side = along.cross(DVec3::new(0.3 * at.x, 1.0, 0.3 * at.z)).normalize_or_zero();
        let up = side.cross(along);
        for j in 0..around_tube {
            let angle = TAU * f64::from(j) / f64::from(around_tube);
            mesh.corners.push(at + (side * (radius * angle.cos()) + up * (radius * angle.sin())));
        }
    }
    for i in 0..around_knot {
        for j in 0..around_tube {
            let corner = |i: u32, j: u32| (i % around_knot) * around_tube + j % around_tube;
            let [a, b, c, d] = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    mesh
}

/// Returns a sphere whose radius swells and shrinks with longitude and latitude; its poles are
/// single corners.
pub fn wavy_sphere(longitudes: u32, latitudes: u32) -> Mesh {
    let radius = |longitude: f64, latitude: f64| {
        // The waves fade towards the poles, where all longitudes meet.
        let fade = latitude.sin().powi(3);
        1.0 + 0.08 * fade * (9.0 * longitude + 2.5 * (3.0 * latitude).sin()).sin() + 0.02 * (8.0 * latitude).cos()
    };
    let at = |longitude: f64, latitude: f64| {
        let (ring, height) = latitude.sin_cos();
        DVec3::new(ring * longitude.cos(), height, ring * longitude.sin()) * radius(longitude, latitude)
    };
    let mut mesh = Mesh { corners: vec![at(0.0, 0.0)], ..Mesh::default() };
    for j in 1..latitudes {
        for i in 0..longitudes {
            let part = |index: u32, of: u32| TAU * f64::from(index) / f64::from(of);
            mesh.corners.push(at(part(i, longitudes), 0.5 * part(j, latitudes)));
        }
    }
    let last = mesh.corners.len() as u32;
    mesh.corners.push(at(0.0, 0.5 * TAU));
    for i in 0..longitudes {
        let corner = |i: u32, j: u32| 1 + (j - 1) * longitudes + i % longitudes;
        mesh.triangles.push([0, corner(i + 1, 1), corner(i, 1)]);
        for j in 1..latitudes - 1 {
            let [a, b, c, d] = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
        mesh.triangles.push([corner(i, latitudes - 1), corner(i + 1, latitudes - 1), last]);
    }
    mesh
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Asserts that every edge is used once in each direction, as in a closed surface whose
    /// triangles are oriented consistently.
    fn assert_closed(mesh: &Mesh) {
        let mut edges = HashMap::new();
        for [a, b, c] in &mesh.triangles {
            for edge in [(a, b), (b, c), (c, a)] {
                *edges.entry(edge).or_insert(0) += 1;
            }
        }
        for ((from, to), count) in &edges {
            assert_eq!((*count, edges.get(&(*to, *from))), (1, Some(&1)), "edge {from} {to}");
        }
        assert!(mesh.corners.iter().all(|corner| corner.is_finite()));
    }

    /// Returns the volume that the surface bounds, by the divergence theorem. It is positive if
    /// triangles face outwards.
    fn volume(mesh: &Mesh) -> f64 {
        let tetrahedron = |[a, b, c]: [DVec3; 3]| a.dot(b.cross(c)) / 6.0;
        (0..mesh.triangles.len()).map(|index| tetrahedron(mesh.triangle(index))).sum()
    }

    #[test]
    fn both_shapes_are_closed_and_face_outwards() {
        for mesh in [torus_knot(120, 16), braid(300, 12), wavy_sphere(90, 45)] {
            assert_closed(&mesh);
            assert!(volume(&mesh) > 1.0, "{}", volume(&mesh));
        }
    }
}
