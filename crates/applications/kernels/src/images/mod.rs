//! Geometric hashing of point sets, which finds references and their poses in a scene.
//!
//! A *feature* is a point with four of its [`NEIGHBOURS`] nearest neighbours. The point and the
//! farthest of the four are a basis. In the frame of this basis, the other three have coordinates
//! that no translation, rotation or scaling changes; their cells in a grid are the feature's key
//! ([`Keys`]). A scene's features are looked up among the references' features. Each feature found,
//! which has the same key, is a vote for a reference at a pose ([`Vote`]). Votes are sorted and
//! counted ([`Tally`], [`Choose`]), and the poses with most votes are fitted and verified
//! ([`Verify`]).
//!
//! Coordinates are `f32`, stored as bits. Every back end computes the same bits, because kernels
//! only add, multiply and divide, and no compiler contracts these. Sums of unknown order are sums
//! of integers.
//!
//! The points of all sets are in one array: `starts[s]..starts[s + 1]` are the points of set `s`,
//! and `sets[p]` is the set of point `p`. A point is a word with `x` in its low half ([`point`]). A
//! set has a frame of four words: the left, the top, the width and the height of its picture
//! ([`Frame`]).

mod keys;
mod tally;
mod verify;
mod votes;

pub use keys::{Keys, KeysParams};
pub use tally::{Choose, ChooseParams, Tally, TallyParams};
pub use verify::{Verify, VerifyParams};
pub use votes::{LimitRuns, LimitRunsParams, Vote, VoteParams};

use gpu_kernels::seam::Global;

/// The number of a point's nearest neighbours, from which each feature takes four.
pub const NEIGHBOURS: usize = 7;
/// The number of features of a point: one for each choice of four neighbours.
pub const FEATURES: usize = 35;
/// The lowest rank of a neighbour that can be the farthest of four.
pub const FIRST_FAR: usize = 3;
/// The number of cells along a side of the square from -1 to 1, in which all coordinates lie.
pub const LEVELS: u32 = 20;
/// The number of bits of a cell in a key.
pub const CELL_BITS: u32 = 9;
/// The key of a feature of a reference that lacks neighbours. No key of a scene equals it.
pub const NO_REFERENCE_KEY: u32 = u32::MAX;
/// The key of a feature of a scene that lacks neighbours. No key of a reference equals it.
pub const NO_SCENE_KEY: u32 = u32::MAX - 1;
/// The maximum points of a set, because votes have 16-bit indices.
pub const MAX_SET: usize = 1 << 16;
/// The maximum number of references, and of scenes at once.
pub const MAX_SETS: usize = 1 << 16;
/// The number of hypotheses that are verified for a scene.
pub const HYPOTHESES: usize = 4;
/// The minimum number of votes for a hypothesis.
pub const MIN_VOTES: u64 = 3;
/// The sort key that stands for no vote or no hypothesis.
pub const NO_VOTE: u64 = u64::MAX;
/// The number of low bits of a vote's sort key that contain the pose.
pub const POSE_BITS: u32 = 20;
/// The number of low bits of a vote's sort key that contain the reference and the pose.
pub const REFERENCE_BITS: u32 = 36;
/// The number of cells into which votes divide positions along the longer side of a scene.
pub const POSITIONS: f32 = 16.0;
/// The squared distance within which two points match, as a share of the mean area of a point in
/// the scene's frame.
pub const TOLERANCE: f32 = 0.01;
/// The number of fixed-point steps per unit of coordinates, for the sums of a fit.
pub const STEPS: f32 = 16.0;
/// The number of words of a verified hypothesis: four for the pose, then counts of matches, points
/// around and votes, and a spare word.
pub const RESULT_WORDS: usize = 8;
/// The minimum excess of matches over the number expected by chance.
pub const MIN_MATCHES: u32 = 10;

/// Returns a point as a word.
#[inline(always)]
pub fn word_of_point([x, y]: [f32; 2]) -> u64 {
    (y.to_bits() as u64) << 32 | x.to_bits() as u64
}

/// Returns the point of a word.
#[inline(always)]
pub fn point(word: u64) -> [f32; 2] {
    [f32::from_bits(word as u32), f32::from_bits((word >> 32) as u32)]
}

/// Returns whether there are too many matches for chance.
///
/// A match is a point of the reference that has a point of the scene within the tolerance. `around`
/// counts the scene's points between twice and three times the tolerance. This ring has five times
/// the area, so a fifth of `around` is the number of matches expected by chance, whatever the local
/// density is. A claim needs [`MIN_MATCHES`] plus four standard deviations more.
pub fn is_claimed(matches: u32, around: u32) -> bool {
    let (matches, around) = (matches as i64, around as i64);
    let excess = 5 * (matches - MIN_MATCHES as i64) - around;
    // With r = `around`, this means (excess / 5)² >= 4² · r / 5.
    excess >= 0 && excess * excess >= 80 * around
}

/// The rectangle of the picture in which the points of a set were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The least `x`.
    pub left: f32,
    /// The least `y`.
    pub top: f32,
    /// The extent along `x`.
    pub width: f32,
    /// The extent along `y`.
    pub height: f32,
}

impl Frame {
    /// Returns the frame of a set.
    #[inline(always)]
    fn load(frames: Global<u32>, set: u64) -> Self {
        let [left, top, width, height] = frames.load_four_read_only(4 * set).map(f32::from_bits);
        Self { left, top, width, height }
    }

    /// Returns the point in the middle.
    #[inline(always)]
    fn middle(self) -> [f32; 2] {
        [self.left + 0.5 * self.width, self.top + 0.5 * self.height]
    }
}
