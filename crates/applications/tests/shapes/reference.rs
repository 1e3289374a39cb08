//! A reference for frames: plain programs on the host, which share no code with the kernels.

use glam::DVec3;
use std::collections::HashMap;
use warpnest_shapes::{Motion, Voxels};
use warpnest_voxels::mesh::Mesh;
use warpnest_voxels::voxelize::{narrow, unpack, voxelize};

/// Moves a mesh.
pub fn moved(mesh: &Mesh, motion: &Motion) -> Mesh {
    let Motion { twist, swell, turn, shift, .. } = *motion;
    let place = |corner: &DVec3| {
        let (sin, cos) = (2.0 * (twist * corner.y).atan()).sin_cos();
        let wide = 1.0 + swell * (1.0 - corner.y * corner.y);
        let at =
            DVec3::new(wide * (cos * corner.x + sin * corner.z), corner.y, wide * (cos * corner.z - sin * corner.x));
        DVec3::from_array([0, 1, 2].map(|i| DVec3::from_array(turn[i]).dot(at) + shift[i]))
    };
    Mesh { corners: mesh.corners.iter().map(place).collect(), triangles: mesh.triangles.clone() }
}

/// Returns the voxels of a mesh, each with the last triangle that touches it, by the voxelizer of
/// the example `voxels` for one triangle at a time.
fn touched(mesh: &Mesh, side: u32) -> HashMap<[u32; 3], u32> {
    let mut last = HashMap::new();
    for (number, triangle) in mesh.triangles.iter().enumerate() {
        // The voxelizer expects meshes within the grid.
        let corners = triangle.map(|corner| mesh.corners[corner as usize]);
        let (low, high) = (corners[0].min(corners[1]).min(corners[2]), corners[0].max(corners[1]).max(corners[2]));
        if high.min_element() < -1e-9 || low.max_element() > f64::from(side) + 1e-9 {
            continue;
        }
        let alone = Mesh { corners: corners.to_vec(), triangles: vec![[0, 1, 2]] };
        for key in voxelize(&alone, side, |_| ()).keys {
            last.insert(unpack(key), number as u32);
        }
    }
    last
}

/// Returns the winding number of a mesh about a point: the sum of the solid angles of its
/// triangles, divided by a sphere's solid angle (van Oosterom and Strackee 1983).
fn winding(mesh: &Mesh, from: DVec3) -> f64 {
    let angle = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|corner| mesh.corners[corner as usize] - from);
        let [p, q, r] = [a, b, c].map(DVec3::length);
        let below = p * q * r + a.dot(b) * r + a.dot(c) * q + b.dot(c) * p;
        2.0 * a.dot(b.cross(c)).atan2(below)
    };
    mesh.triangles.iter().map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

/// Returns the expected results of a frame for both shapes: voxels, and the number of regions.
pub fn frame(meshes: [&Mesh; 2], side: u32, closed: [bool; 2]) -> [(Voxels, usize); 2] {
    let touched = meshes.map(|mesh| touched(mesh, side));
    [(0, 1), (1, 0)].map(|(own, other)| {
        let mut sorted: Vec<([u32; 3], u32)> = touched[own].iter().map(|(at, number)| (*at, *number)).collect();
        sorted.sort_by_key(|([x, y, z], _)| [*z, *y, *x]);
        let key = |at: &[u32; 3]| narrow(warpnest_voxels::voxelize::pack(*at));
        let is_common = |at: &[u32; 3]| touched[other].contains_key(at);
        let winds = |at: &[u32; 3]| {
            let winds = winding(meshes[other], DVec3::from_array(at.map(f64::from)) + 0.5);
            assert!((winds - winds.round()).abs() < 1e-6, "{winds}");
            winds.round() != 0.0
        };
        let inside = |at: &[u32; 3]| closed[other] && !is_common(at) && winds(at);
        let voxels = Voxels {
            keys: sorted.iter().map(|(at, _)| key(at)).collect(),
            triangles: sorted.iter().map(|(_, number)| *number).collect(),
            common: sorted.iter().map(|(at, _)| is_common(at)).collect(),
            inside: sorted.iter().map(|(at, _)| inside(at)).collect(),
        };
        (voxels, regions(&touched[own], is_common))
    })
}

/// Returns the number of sets of voxels that are not common, and are connected, even at corners.
fn regions(voxels: &HashMap<[u32; 3], u32>, is_common: impl Fn(&[u32; 3]) -> bool) -> usize {
    let mut open: std::collections::HashSet<[u32; 3]> = voxels.keys().copied().filter(|at| !is_common(at)).collect();
    let mut count = 0;
    while let Some(&start) = open.iter().next() {
        open.remove(&start);
        count += 1;
        let mut ahead = vec![start];
        while let Some(at) = ahead.pop() {
            for step in 0..27 {
                let steps = [step % 3, step / 3 % 3, step / 9];
                let next: [u32; 3] = std::array::from_fn(|i| (at[i] + steps[i]).wrapping_sub(1));
                if open.remove(&next) {
                    ahead.push(next);
                }
            }
        }
    }
    count
}
