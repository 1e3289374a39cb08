//! A result of the search: a reference at a pose in a scene.

use warpnest_applications_kernels::images::is_claimed;

/// A reference with a pose, and the counts by which it was verified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    pub reference: usize,
    /// Rotation and scale as a complex factor.
    pub factor: [f32; 2],
    /// The position of the middle of the reference's frame in the scene.
    pub middle: [f32; 2],
    /// The number of the scene's points that match.
    pub matches: u32,
    /// The number of the scene's points in the rings around the reference's points.
    pub around: u32,
    pub votes: u32,
}

impl Hypothesis {
    /// Returns whether chance cannot explain the matches.
    pub fn is_claimed(&self) -> bool {
        is_claimed(self.matches, self.around)
    }
}
