//! The arrays of a mesh as kernels read them, and meshes that move and deform.

use gpu_kernels::seam::{Block, Global};

/// A point or a direction.
pub type Vector = [f64; 3];

/// The arrays of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct Mesh {
    /// The bits of three coordinates for each corner.
    pub corners: Global<u64>,
    /// The indices of three corners for each triangle.
    pub triangles: Global<u32>,
}

impl Mesh {
    /// Returns the corners of a triangle.
    #[inline(always)]
    pub fn triangle(&self, triangle: u64) -> [Vector; 3] {
        let corner = |i: u64| corner(self.corners, self.triangles.load_read_only(3 * triangle + i) as u64);
        [corner(0), corner(1), corner(2)]
    }
}

#[inline(always)]
fn corner(corners: Global<u64>, number: u64) -> Vector {
    let coordinate = |i: u64| f64::from_bits(corners.load_read_only(3 * number + i));
    [coordinate(0), coordinate(1), coordinate(2)]
}

/// Returns the least and the greatest of three coordinates.
#[inline(always)]
pub fn extent(a: f64, b: f64, c: f64) -> (f64, f64) {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    (if c < low { c } else { low }, if c > high { c } else { high })
}

/// Returns the vector from `from` to `to`.
#[inline(always)]
pub fn minus(to: Vector, from: Vector) -> Vector {
    [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
}

/// Returns the cross product.
#[inline(always)]
pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The motion of a mesh, which is twisted about its own y axis and swells, and then is turned,
/// scaled and shifted as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Motion {
    /// The number of corners.
    pub corners: u64,
    /// The tangent of half the angle by which the corners at a height of 1 are twisted.
    pub twist: f64,
    /// The fraction by which corners at height 0, but none at 1 or -1, move away from the y axis.
    pub swell: f64,
    /// The rows of the matrix that turns and scales.
    pub turn: [[f64; 3]; 3],
    /// The shift.
    pub shift: [f64; 3],
}

impl Motion {
    /// Returns the position to which a corner moves.
    #[inline(always)]
    pub fn apply(&self, [x, y, z]: Vector) -> Vector {
        // Sine and cosine of an angle are rational functions of the tangent of half the angle.
        let tangent = self.twist * y;
        let square = tangent * tangent;
        let (cos, sin) = ((1.0 - square) / (1.0 + square), 2.0 * tangent / (1.0 + square));
        let width = 1.0 + self.swell * (1.0 - y * y);
        let (x, z) = (width * (cos * x + sin * z), width * (cos * z - sin * x));
        let along = |row: [f64; 3], shift: f64| row[0] * x + row[1] * y + row[2] * z + shift;
        let ([first, second, third], [sx, sy, sz]) = (self.turn, self.shift);
        [along(first, sx), along(second, sy), along(third, sz)]
    }
}

gpu_kernels::kernel! {
    /// Writes the moved corners of `corners` to `moved`. One thread per corner.
    MoveCorners<>, "shapes_move", threads 256;
    { corners: Global<u64>, moved: Global<u64>, plan: Motion }
}

impl MoveCorners {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.plan.corners, |number| {
            let [x, y, z] = args.plan.apply(corner(args.corners, number));
            args.moved.store(3 * number, x.to_bits());
            args.moved.store(3 * number + 1, y.to_bits());
            args.moved.store(3 * number + 2, z.to_bits());
        });
    }
}
