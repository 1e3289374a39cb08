//! The voxels of a surface, and a view of them.

extern crate std;

use crate::{Vector, View, key};
use std::f32::consts::TAU;
use std::vec::Vec;

/// Returns the keys and the normals of the voxels of a gyroid in a ball: a surface that divides
/// space into two labyrinths (Schoen 1970). The cube around it has `side` voxels along each edge.
pub fn gyroid(side: u32) -> (Vec<u32>, Vec<u32>) {
    let wave = TAU * 3.0 / side as f32;
    let [sines, cosines] = [f32::sin, f32::cos]
        .map(|wave_of| -> Vec<f32> { (0..side).map(|at| wave_of((at as f32 + 0.5) * wave)).collect() });
    let middle = side as f32 / 2.0;
    let from_middle = |at: u32| (at as f32 + 0.5 - middle) / middle;
    let (mut keys, mut normals) = (Vec::new(), Vec::new());
    for z in 0..side {
        for y in 0..side {
            for x in 0..side {
                let [a, b, c] = [x, y, z].map(|at| (sines[at as usize], cosines[at as usize]));
                let height = a.0 * b.1 + b.0 * c.1 + c.0 * a.1;
                let slope = Vector { x: a.1 * b.1 - c.0 * a.0, y: b.1 * c.1 - a.0 * b.0, z: c.1 * a.1 - b.0 * c.0 };
                let steepness = slope.dot(slope).sqrt();
                let [u, v, w] = [x, y, z].map(from_middle);
                if u * u + v * v + w * w < 1.0 && height.abs() < 0.75 * wave * steepness {
                    let part = |part: f32| (127.0 * part / steepness) as i8 as u8 as u32;
                    keys.push(key(x, y, z));
                    normals.push(part(slope.x) | part(slope.y) << 8 | part(slope.z) << 16);
                }
            }
        }
    }
    (keys, normals)
}

/// Returns a view of the whole cube from above a corner of it.
pub fn view(side: u32, width: u32, height: u32) -> View {
    let middle = side as f32 / 2.0;
    let [x, y, z] = [0.62f32, -0.55, 0.56];
    let eye = Vector { x: middle, y: middle, z: middle }.plus(-1.55 * side as f32, Vector { x, y: -z, z: -y });
    let forward = Vector { x, y: -z, z: -y };
    // To the right of the way that goes forward, and above both.
    let right = Vector { x: 0.66, y: 0.0, z: -0.75 };
    let up = cross(right, forward);
    let aspect = width as f32 / height as f32;
    let scaled = |by: f32, way: Vector| Vector { x: by * way.x, y: by * way.y, z: by * way.z };
    let light = Vector { x: -0.28, y: 0.8, z: -0.53 };
    View { eye, forward, right: scaled(0.36 * aspect, right), up: scaled(0.36, up), light, width, height, side }
}

fn cross(a: Vector, b: Vector) -> Vector {
    Vector { x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x }
}
