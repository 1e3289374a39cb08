//! What the search says of a reference in a scene.

use warpnest_applications_kernels::images::is_claimed;

/// A reference with a pose, and how it was verified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    pub reference: usize,
    /// Rotation and scale as a complex factor.
    pub factor: [f32; 2],
    /// Where the middle of the reference's frame is in the scene.
    pub middle: [f32; 2],
    /// The number of the scene's points that match.
    pub matches: u32,
    /// The number of points in the rings around the reference's points.
    pub around: u32,
    pub votes: u32,
}

impl Hypothesis {
    /// Returns whether that is more than chance.
    pub fn is_claimed(&self) -> bool {
        is_claimed(self.matches, self.around)
    }
}
