//! Sets of interest points, and similarities of the plane.

use thiserror::Error;
use warpnest_applications_kernels::images::{Frame, MAX_SET, MAX_SETS};

/// The greatest absolute value of a coordinate, which keeps a fit's sums far below 2^63.
pub const MAX_COORDINATE: f32 = 32768.0;

/// The interest points of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    pub points: Vec<[f32; 2]>,
    /// The picture's rectangle.
    pub frame: Frame,
}

/// The reason why sets of points are refused.
#[derive(Debug, Error, PartialEq)]
pub enum PointsError {
    #[error("set {set} has {points} points; keep the strongest {MAX_SET}")]
    TooManyPoints { set: usize, points: usize },
    #[error("{sets} sets at once; hand over {MAX_SETS} at most")]
    TooManySets { sets: usize },
    #[error("set {set} has a coordinate or a frame beyond ±{MAX_COORDINATE}, or that is no number; scale the picture")]
    OutOfRange { set: usize },
}

/// Checks that the sets are within the kernels' limits.
pub fn check(sets: &[Points]) -> Result<(), PointsError> {
    if sets.len() > MAX_SETS {
        return Err(PointsError::TooManySets { sets: sets.len() });
    }
    for (set, Points { points, frame }) in sets.iter().enumerate() {
        if points.len() > MAX_SET {
            return Err(PointsError::TooManyPoints { set, points: points.len() });
        }
        let corners = [[frame.left, frame.top], [frame.left + frame.width, frame.top + frame.height]];
        let inside = |x: &f32| x.abs() <= MAX_COORDINATE;
        let is_frame = frame.width >= 0.0 && frame.height >= 0.0;
        if !is_frame || !points.iter().chain(&corners).flatten().all(inside) {
            return Err(PointsError::OutOfRange { set });
        }
    }
    Ok(())
}

/// A similarity: a rotation and a scale as one complex factor, and a shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    pub factor: [f64; 2],
    pub shift: [f64; 2],
}

impl Similarity {
    /// Returns the similarity that turns by an angle in degrees, scales, and maps `from` to `to`.
    pub fn about(degrees: f64, scale: f64, from: [f64; 2], to: [f64; 2]) -> Self {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let turned = Self { factor: [scale * cos, scale * sin], shift: [0.0; 2] };
        let [x, y] = turned.at(from);
        Self { shift: [to[0] - x, to[1] - y], ..turned }
    }

    /// Returns the position of a mapped point.
    pub fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [a, b] = self.factor;
        [self.shift[0] + a * x - b * y, self.shift[1] + a * y + b * x]
    }

    /// Returns the factor by which lengths change.
    pub fn scale(&self) -> f64 {
        self.factor[0].hypot(self.factor[1])
    }

    /// Returns the angle of rotation in degrees, from the `x` axis towards the `y` axis.
    pub fn degrees(&self) -> f64 {
        self.factor[1].atan2(self.factor[0]).to_degrees()
    }

    /// Returns the transformed corners of a frame, in the order of its outline.
    pub fn corners(&self, frame: Frame) -> [[f64; 2]; 4] {
        let Frame { left, top, width, height } = frame;
        let corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]];
        corners.map(|corner| self.at(corner.map(f64::from)))
    }
}

/// Returns the rectangle from the origin with this width and height.
pub fn frame_of(width: f32, height: f32) -> Frame {
    Frame { left: 0.0, top: 0.0, width, height }
}

/// Returns the point in the middle of a frame.
pub fn middle(frame: Frame) -> [f64; 2] {
    [frame.left + 0.5 * frame.width, frame.top + 0.5 * frame.height].map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_brings_a_point_where_it_is_told_to() {
        let turned = Similarity::about(90.0, 2.0, [1.0, 1.0], [5.0, 5.0]);
        let [x, y] = turned.at([2.0, 1.0]);
        assert!((x - 5.0).abs() < 1e-9 && (y - 7.0).abs() < 1e-9);
        assert!((turned.scale() - 2.0).abs() < 1e-9 && (turned.degrees() - 90.0).abs() < 1e-9);
    }

    #[test]
    fn sets_that_kernels_cannot_take_are_refused() {
        let set = |points: Vec<[f32; 2]>, width| Points { points, frame: frame_of(width, 5.0) };
        assert_eq!(check(&[set(vec![[1.0, 2.0]], 5.0)]), Ok(()));
        let refused = |set| check(&[Points { points: vec![], frame: frame_of(0.0, 0.0) }, set]).unwrap_err();
        for bad in [f32::NAN, f32::INFINITY, 40_000.0, -40_000.0] {
            assert_eq!(refused(set(vec![[1.0, bad]], 5.0)), PointsError::OutOfRange { set: 1 });
            assert_eq!(refused(set(vec![], bad)), PointsError::OutOfRange { set: 1 });
        }
        let many = set(vec![[0.0; 2]; MAX_SET + 1], 5.0);
        assert_eq!(refused(many), PointsError::TooManyPoints { set: 1, points: MAX_SET + 1 });
        let sets = vec![set(vec![], 1.0); MAX_SETS + 1];
        assert_eq!(check(&sets), Err(PointsError::TooManySets { sets: MAX_SETS + 1 }));
    }
}
