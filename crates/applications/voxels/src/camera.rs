//! A view of the grid along parallel rays, and the image of a voxel in it.

use glam::{DVec2, DVec3};

use crate::voxelize::unpack;

/// Returns the middle of a voxel.
pub fn middle(key: u64) -> DVec3 {
    DVec3::from_array(unpack(key).map(f64::from)) + 0.5
}

/// A view along parallel rays.
pub struct Camera {
    pub right: DVec3,
    pub up: DVec3,
    pub toward: DVec3,
    /// The number of pixels per unit of length.
    pub scale: f64,
    /// The shift of pixel coordinates that centres the bodies.
    shift: DVec2,
    pub size: (usize, usize),
}

impl Camera {
    /// Returns a camera that sees all voxels, given the directions to its right and towards the
    /// viewer.
    pub fn around<'a>(
        keys: impl Iterator<Item = &'a u64>,
        (right, toward): (DVec3, DVec3),
        size: (usize, usize),
    ) -> Camera {
        let up = toward.cross(right);
        let (mut low, mut high) = (DVec2::INFINITY, DVec2::NEG_INFINITY);
        for key in keys {
            let at = DVec2::new(middle(*key).dot(right), middle(*key).dot(up));
            (low, high) = (low.min(at), high.max(at));
        }
        let size_in_pixels = DVec2::new(size.0 as f64, size.1 as f64);
        // The limit is for bodies seen end on, whose many voxels would otherwise each fill the
        // picture.
        let scale = (0.9 * size_in_pixels / (high - low + 2.0)).min_element().min(160.0);
        let shift = 0.5 * (size_in_pixels - scale * (low + high));
        Camera { right, up, toward, scale, shift, size }
    }

    /// Returns column and row of the pixel at a voxel's middle, and its nearness.
    pub fn place(&self, key: u64) -> (isize, isize, f32) {
        let at = middle(key);
        let pixel = (DVec2::new(at.dot(self.right), at.dot(self.up)) * self.scale + self.shift).floor();
        // Rows are counted from the top.
        (pixel.x as isize, self.size.1 as isize - 1 - pixel.y as isize, at.dot(self.toward) as f32)
    }

    /// Returns the light that reaches a surface's voxel with direction `normal`, if this camera is
    /// the light.
    ///
    /// `nearest` is the nearness of the nearest voxel at each pixel.
    pub fn light_at(&self, nearest: &[f32], key: u64, normal: DVec3) -> f64 {
        const REACH: isize = 3;
        let (x, y, depth) = self.place(key);
        // The slack keeps a surface from shading itself. Its voxels lie behind each other, further
        // in flatter light.
        let flat = (1.0 / normal.dot(self.toward).abs()).min(8.0);
        let slack = (3.0 + 1.5 * REACH as f64 / self.scale * flat) as f32;
        let mut lit = 0;
        for row in [y - REACH, y, y + REACH] {
            for column in [x - REACH, x, x + REACH] {
                let pixel = row.max(0) as usize * self.size.0 + column.max(0) as usize;
                lit += u8::from(nearest.get(pixel).is_none_or(|near| *near <= depth + slack));
            }
        }
        f64::from(lit) / 9.0
    }
}

/// The pixels that a voxel covers: offset from its middle, how much nearer than the middle, and
/// brightness of the face.
pub struct Stamp(Vec<(isize, isize, f32, f32)>);

impl Stamp {
    /// Returns the pixels of a voxel that is enlarged by `more` pixels on all sides.
    pub fn new(camera: &Camera, more: f64) -> Stamp {
        let half = 0.5 + more / camera.scale;
        // Faces of voxels that are a few pixels large differ in brightness. On smaller voxels the
        // differences would only be noise.
        let contrast = ((camera.scale - 5.0) / 15.0).clamp(0.0, 1.0);
        let reach = (2.0 * half * camera.scale).ceil() as isize;
        let mut pixels = Vec::new();
        for y in -reach..=reach {
            for x in -reach..=reach {
                let (right, up) = (x as f64 / camera.scale, -y as f64 / camera.scale);
                let at = camera.right * right + camera.up * up;
                // The ray through this pixel is in the cube where it is between all three pairs of
                // planes.
                let (mut near, mut far, mut face) = (f64::INFINITY, f64::NEG_INFINITY, 0);
                for (axis, (slope, at)) in camera.toward.to_array().into_iter().zip(at.to_array()).enumerate() {
                    let slope = if slope.abs() < 1e-9 { 1e-9 } else { slope };
                    let first = (half * slope.signum() - at) / slope;
                    far = far.max((-half * slope.signum() - at) / slope);
                    if first < near {
                        (near, face) = (first, axis);
                    }
                }
                if far <= near || (x, y) == (0, 0) {
                    let brightness = 1.0 + contrast * ([-0.12, 0.22, -0.3][face]);
                    pixels.push((x, y, near as f32, brightness as f32));
                }
            }
        }
        Stamp(pixels)
    }

    /// Calls `pixel` with index, nearness and brightness for each pixel of a voxel that is in the
    /// picture.
    pub fn set_down(
        &self,
        (x, y, depth): (isize, isize, f32),
        size: (usize, usize),
        mut pixel: impl FnMut(usize, f32, f32),
    ) {
        for (dx, dy, nearer, brightness) in &self.0 {
            let (column, row) = ((x + dx) as usize, (y + dy) as usize);
            if column < size.0 && row < size.1 {
                pixel(row * size.0 + column, depth + nearer, *brightness);
            }
        }
    }
}
