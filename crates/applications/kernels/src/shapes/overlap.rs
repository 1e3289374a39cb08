//! The test of which voxels a triangle touches, by separating axes.
//!
//! A triangle and a cube are apart exactly if their projections on one of thirteen lines are apart.
//! Three lines are the cube's axes, one is the triangle's normal, and nine are perpendicular to an
//! edge of each. Columns run along the axis nearest to the normal, so few of their voxels come near
//! the triangle.

use super::SLACK;
use super::mesh::{Vector, cross, extent, minus};

/// The projections of a triangle and a unit cube on a line in the plane of two axes.
#[derive(Clone, Copy)]
struct Shadow {
    /// The direction of the line.
    along: [f64; 2],
    /// The least position of the cube's middle at which it is not apart.
    low: f64,
    /// The greatest position of the cube's middle at which it is not apart.
    high: f64,
}

impl Shadow {
    /// Returns the projections on the line perpendicular to the edge from `from` to `to`. The edge
    /// is one point of this line, so the third corner gives the triangle's other end.
    #[inline(always)]
    fn new(from: [f64; 2], to: [f64; 2], third: [f64; 2]) -> Self {
        let along = [from[1] - to[1], to[0] - from[0]];
        let at = |corner: [f64; 2]| along[0] * corner[0] + along[1] * corner[1];
        let (low, high) = extent(at(from), at(to), at(third));
        let reach = (0.5 + SLACK) * (along[0].abs() + along[1].abs());
        Self { along, low: low - reach, high: high + reach }
    }

    /// Returns whether the cube around a point is apart from the triangle on this line.
    #[inline(always)]
    fn is_apart(&self, first: f64, second: f64) -> bool {
        let at = self.along[0] * first + self.along[1] * second;
        at < self.low || at > self.high
    }
}

/// A triangle, prepared for the test. Its axes are the grid's axes, permuted cyclically so that the
/// last one is the nearest to the triangle's normal.
#[derive(Clone, Copy)]
pub struct Prepared {
    /// The index of the grid's axis that is the last axis here.
    axis: u32,
    /// The first voxel of the box around the triangle.
    low: [u32; 3],
    /// The number of columns along the first axis, and in all; both are 0 if the triangle is
    /// outside the grid.
    columns: [u64; 2],
    /// The index of the box's last voxel along the last axis.
    last: u32,
    corners: [Vector; 3],
}

impl Prepared {
    /// Prepares a triangle for a grid with `side` voxels per side.
    #[inline(always)]
    pub fn new([a, b, c]: [Vector; 3], side: u32) -> Self {
        let normal = cross(minus(b, a), minus(c, a));
        let [x, y, z] = [normal[0].abs(), normal[1].abs(), normal[2].abs()];
        let axis = if x > y && x > z {
            0
        } else if y > z {
            1
        } else {
            2
        };
        let corners = [turned(a, axis), turned(b, axis), turned(c, axis)];
        let [a, b, c] = corners;
        let (mut low, mut high, mut inside) = ([0; 3], [0; 3], true);
        for i in 0..3 {
            let (least, most) = extent(a[i], b[i], c[i]);
            // A corner on the plane between two voxels touches both.
            let (least, most) = (least - SLACK, most + SLACK);
            inside &= most >= 0.0 && least <= side as f64;
            // These casts saturate and discard the fraction.
            low[i] = (least as u32).min(side - 1);
            high[i] = (most as u32).min(side - 1);
        }
        // Outside the grid, or with a coordinate that is NaN, the box may end before it begins.
        let length = |i: usize| if inside { (high[i] - low[i] + 1) as u64 } else { 0 };
        let width = length(0);
        Self { axis, low, columns: [width, width * length(1)], last: high[2], corners }
    }

    /// Returns the number of columns of the grid, along the last axis, that the triangle may touch.
    #[inline(always)]
    pub fn columns(&self) -> u64 {
        self.columns[1]
    }

    /// Calls `found` once for every voxel that the triangle touches in the columns `first..end`, in
    /// a fixed order.
    #[inline(always)]
    pub fn each_voxel(&self, first: u64, end: u64, mut found: impl FnMut([u32; 3])) {
        let [a, b, c] = self.corners;
        let flat = |[x, y, _]: Vector| [x, y];
        let side = |[_, y, z]: Vector| [y, z];
        let front = |[x, _, z]: Vector| [z, x];
        let shadows = |seen: fn(Vector) -> [f64; 2]| {
            let [a, b, c] = [seen(a), seen(b), seen(c)];
            [Shadow::new(a, b, c), Shadow::new(b, c, a), Shadow::new(c, a, b)]
        };
        let (flat, side, front) = (shadows(flat), shadows(side), shadows(front));
        let normal = cross(minus(b, a), minus(c, a));
        // A nearly linear triangle may have an inexact normal. As all corners are projected on it,
        // a touching voxel is never taken to be apart.
        let along = |corner: Vector| normal[0] * corner[0] + normal[1] * corner[1] + normal[2] * corner[2];
        let (low, high) = extent(along(a), along(b), along(c));
        let plane = 0.5 * (low + high);
        let reach = 0.5 * (high - low) + (0.5 + SLACK) * (normal[0].abs() + normal[1].abs() + normal[2].abs());
        for column in first..end {
            let (x, y) = ((column % self.columns[0]) as u32, (column / self.columns[0]) as u32);
            let (x, y) = (self.low[0] + x, self.low[1] + y);
            let (middle_x, middle_y) = (x as f64 + 0.5, y as f64 + 0.5);
            if flat.iter().any(|shadow| shadow.is_apart(middle_x, middle_y)) {
                continue;
            }
            let (mut from, mut to) = (self.low[2], self.last);
            if normal[2] != 0.0 {
                // The plane's height at the column's middle, and a voxel's greatest distance from
                // it.
                let height = (plane - normal[0] * middle_x - normal[1] * middle_y) / normal[2];
                let reach = reach / normal[2].abs();
                let (least, most) = (height - reach - 0.5, height + reach - 0.5);
                if most < from as f64 || least > to as f64 {
                    continue;
                }
                // `from` is rounded up, and `to` is rounded down.
                let whole = least as u32;
                from = from.max(whole + ((whole as f64) < least) as u32);
                to = to.min(most as u32);
            }
            let mut z = from;
            while z <= to {
                let middle_z = z as f64 + 0.5;
                let apart = side.iter().any(|shadow| shadow.is_apart(middle_y, middle_z))
                    || front.iter().any(|shadow| shadow.is_apart(middle_z, middle_x));
                if !apart {
                    found(self.back([x, y, z]));
                }
                z += 1;
            }
        }
    }

    /// Returns a voxel's coordinates in the order of the grid's axes.
    #[inline(always)]
    fn back(&self, [x, y, z]: [u32; 3]) -> [u32; 3] {
        match self.axis {
            0 => [z, x, y],
            1 => [y, z, x],
            _ => [x, y, z],
        }
    }
}

/// Returns a point with its axes permuted cyclically, so that `axis` is last.
#[inline(always)]
fn turned([x, y, z]: Vector, axis: u32) -> Vector {
    match axis {
        0 => [y, z, x],
        1 => [z, x, y],
        _ => [x, y, z],
    }
}
