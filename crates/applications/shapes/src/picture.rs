//! Pictures of a frame: union, intersection and difference of the shapes as surfaces, with a
//! glowing curve where they meet.

use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use super::{Motion, Voxels, unpack};
use warpnest_voxels::blur::blur;
use warpnest_voxels::mesh::Mesh;

/// A body that is made of two shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    Union,
    Intersection,
    Difference,
}

/// The bodies, in the order of their panels.
pub const BODIES: [Body; 3] = [Body::Union, Body::Intersection, Body::Difference];

impl Body {
    /// Returns the text under the body's picture.
    pub fn name(self) -> &'static str {
        match self {
            Body::Union => "A or B",
            Body::Intersection => "A and B",
            Body::Difference => "A without B",
        }
    }

    /// Returns whether a voxel of a shape's surface is part of the body's surface. `shape` is 0 for
    /// A, and `inside` means inside the other shape.
    fn has(self, shape: usize, inside: bool) -> bool {
        match self {
            Body::Union => !inside,
            Body::Intersection => inside,
            Body::Difference => inside == (shape == 1),
        }
    }
}

type Colour = [f32; 3];
const COLOURS: [Colour; 2] = [[0.13, 0.36, 0.95], [0.10, 0.72, 0.62]];
const CURVE: Colour = [1.6, 0.62, 0.12];
/// The colour of surfaces for which "inside" is not defined.
const UNKNOWN: Colour = [0.42, 0.40, 0.44];

/// The `shape` of pixels that show the curve.
const ON_CURVE: u8 = 2;
/// The `shape` of pixels that show nothing.
const NOTHING: u8 = 3;

/// Returns the unit normals of the triangles of a moved mesh.
pub fn normals(mesh: &Mesh, motion: &Motion) -> Vec<Vec3> {
    let at: Vec<DVec3> =
        mesh.corners.par_iter().map(|corner| DVec3::from_array(motion.apply(corner.to_array()))).collect();
    let facing = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|corner| at[corner as usize]);
        (b - a).cross(c - a).normalize_or_zero().as_vec3()
    };
    mesh.triangles.par_iter().map(facing).collect()
}

/// A shape of a frame, with the data to draw it.
#[derive(Clone, Copy)]
pub struct Drawn<'a> {
    pub voxels: &'a Voxels,
    pub normals: &'a [Vec3],
    /// Whether `voxels.inside` is known for this shape.
    pub known: bool,
}

/// The nearest voxel that covers a pixel.
#[derive(Clone, Copy)]
struct Pixel {
    depth: f32,
    shape: u8,
    shade: f32,
}

/// Draws a body in a picture of `width` by `height` pixels with three bytes each, from the top
/// left.
///
/// The picture shows the whole grid, with `side` voxels per side, from `yaw` and `pitch` degrees.
pub fn draw(
    shapes: &[Drawn<'_>; 2],
    body: Body,
    side: u32,
    [yaw, pitch]: [f64; 2],
    (width, height): (usize, usize),
) -> Vec<u8> {
    let turn = DMat3::from_rotation_x(pitch.to_radians()) * DMat3::from_rotation_y(-yaw.to_radians());
    // The rows of the matrix are the directions to the right, up, and towards the viewer.
    let rows = turn.transpose().as_mat3();
    let (right, up, toward) = (rows.x_axis, rows.y_axis, rows.z_axis);
    let scale = 1.1 * width.min(height) as f32 / side as f32;
    let centre = Vec3::splat(0.5 * side as f32);
    // The light comes from the viewer's upper left.
    let light = (0.75 * up - 0.5 * right + 0.6 * toward).normalize();
    let mut pixels = vec![Pixel { depth: f32::NEG_INFINITY, shape: NOTHING, shade: 0.0 }; width * height];
    let reach = (0.9 * scale).max(0.5);
    for (number, shape) in shapes.iter().enumerate() {
        for (i, key) in shape.voxels.keys.iter().enumerate() {
            let common = shape.voxels.common[i];
            if !common && shape.known && !body.has(number, shape.voxels.inside[i]) {
                continue;
            }
            let [x, y, z] = unpack(*key).map(|x| x as f32 + 0.5);
            let at = Vec3::new(x, y, z) - centre;
            let depth = at.dot(toward) + if common { 1.5 } else { 0.0 };
            let reach = if common { reach + 0.6 } else { reach };
            let across = 0.5 * width as f32 + scale * at.dot(right);
            let down = 0.5 * height as f32 - scale * at.dot(up);
            let columns = pixel_range(across, reach, width);
            let shade = {
                let normal = shape.normals[shape.voxels.triangles[i] as usize];
                // The visible side of a surface faces the viewer.
                let normal = if normal.dot(toward) < 0.0 { -normal } else { normal };
                let shine = normal.dot((light + toward).normalize()).max(0.0).powi(40);
                0.16 + 0.2 * (0.5 + 0.5 * normal.dot(up)) + 0.75 * normal.dot(light).max(0.0) + 0.35 * shine
            };
            let seen = if common { ON_CURVE } else { number as u8 };
            for row in pixel_range(down, reach, height) {
                for pixel in &mut pixels[row * width..][columns.clone()] {
                    if depth > pixel.depth {
                        *pixel = Pixel { depth, shape: seen, shade };
                    }
                }
            }
        }
    }
    let colours = [0, 1].map(|i| if shapes[i].known { COLOURS[i] } else { UNKNOWN });
    coloured(&pixels, colours, (width, height), side as f32)
}

/// Returns the range of pixels, in a row or column of `length`, that are up to `reach` from
/// `middle`.
fn pixel_range(middle: f32, reach: f32, length: usize) -> std::ops::Range<usize> {
    let bound = |x: f32| (x.round().max(0.0) as usize).min(length);
    bound(middle - reach)..bound(middle + reach)
}

/// Returns the colours of the pixels, darker in hollows and with a halo around the curve.
fn coloured(pixels: &[Pixel], colours: [Colour; 2], (width, height): (usize, usize), depth_range: f32) -> Vec<u8> {
    let depths = pixels.iter().map(|pixel| pixel.depth.max(-depth_range)).collect();
    let around = blur(depths, (width, height), height / 49 + 1);
    let curve = pixels.iter().map(|pixel| if pixel.shape == ON_CURVE { 1.0 } else { 0.0 }).collect();
    let halo = blur(curve, (width, height), height / 73 + 1);
    let mut bytes = vec![0; 3 * width * height];
    bytes.par_chunks_mut(3).enumerate().for_each(|(i, out)| {
        let pixel = &pixels[i];
        let (x, y) = (i % width, i / width);
        let (x, y) = (x as f32 / width as f32 - 0.5, y as f32 / height as f32 - 0.5);
        let glow = 0.035 * (-4.0 * (x * x + y * y)).exp();
        let hollow = ((around[i] - pixel.depth) / depth_range * 9.0).clamp(0.0, 0.6);
        for channel in 0..3 {
            let colour = match pixel.shape {
                ON_CURVE => CURVE[channel],
                NOTHING => glow * [0.5, 0.7, 1.2][channel] + 0.004,
                shape => colours[shape as usize][channel] * pixel.shade * (1.0 - hollow),
            };
            let lit = colour + 0.8 * CURVE[channel] * halo[i];
            out[channel] = (255.0 * (lit / (1.0 + lit * lit).sqrt()).powf(1.0 / 2.2)).round() as u8;
        }
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack;

    /// Returns two flat squares, one above the other, with a common line. The upper square is
    /// inside.
    fn squares() -> [Voxels; 2] {
        [10, 20].map(|z| {
            let keys: Vec<u32> = (0..1024).map(|i| pack([i % 32, i / 32, z])).collect();
            let common = keys.iter().map(|key| unpack(*key)[1] == 16).collect();
            Voxels { triangles: vec![0; 1024], common, inside: vec![z == 20; 1024], keys }
        })
    }

    fn count(picture: &[u8], is: impl Fn(&[u8]) -> bool) -> usize {
        picture.chunks(3).filter(|rgb| is(rgb)).count()
    }

    #[test]
    fn each_body_shows_its_parts_and_the_curve() {
        let voxels = squares();
        let normals = [Vec3::Z];
        let shapes = voxels.each_ref().map(|voxels| Drawn { voxels, normals: &normals, known: true });
        let blue = |rgb: &[u8]| rgb[2] > 100 && rgb[2] > rgb[1] + 30;
        let green = |rgb: &[u8]| rgb[1] > 100 && rgb[1] > rgb[2] + 5 && rgb[1] > rgb[0];
        let hot = |rgb: &[u8]| rgb[0] > 200 && rgb[0] > rgb[2] + 60;
        let seen = BODIES.map(|body| {
            let picture = draw(&shapes, body, 32, [0.0, 0.0], (128, 128));
            assert!(count(&picture, hot) > 100, "{body:?}");
            [count(&picture, blue) > 1000, count(&picture, green) > 1000]
        });
        // A lies outside B. B lies inside A and in front of it.
        assert_eq!(seen, [[true, false], [false, true], [false, true]]);
        let open = shapes.map(|shape| Drawn { known: false, ..shape });
        let grey = draw(&open, Body::Union, 32, [0.0, 0.0], (128, 128));
        assert_eq!([count(&grey, blue), count(&grey, green)], [0, 0]);
    }

    #[test]
    fn nothing_and_the_whole_grid_can_be_drawn_from_everywhere() {
        let nothing = Voxels::default();
        let shapes = [Drawn { voxels: &nothing, normals: &[], known: true }; 2];
        for view in [[0.0, 0.0], [1e6, -1e6], [45.0, 90.0]] {
            assert_eq!(draw(&shapes, Body::Union, 8, view, (7, 5)).len(), 105);
        }
    }
}
