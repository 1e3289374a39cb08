//! The lanes of a warp.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn read_lane() -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shuffle(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any(mask: u32, value: u32) -> u32;
}

/// The lane's number in its warp.
#[inline(always)]
pub fn lane_id() -> u32 {
    // SAFETY: reads a special register.
    unsafe { read_lane() }
}

/// The votes of the lanes in `mask`.
#[inline(always)]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step.
    unsafe { ballot(mask, predicate) }
}

/// `value` as lane `lane` of the warp holds it.
#[inline(always)]
pub fn warp_shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step, and names a lane of the mask.
    unsafe { shuffle(mask, value, lane, 31) }
}

/// The lanes of `mask` that hold the same `value` as this one.
#[inline(always)]
pub fn warp_match_any(mask: u32, value: u32) -> u32 {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step.
    unsafe { match_any(mask, value) }
}

/// A word that lanes pass to each other.
pub trait LaneWord: Sized {
    /// The word as lane `lane` of the warp holds it.
    fn from_lane(self, mask: u32, lane: u32) -> Self;
    /// The difference, wrapping.
    fn minus(self, other: Self) -> Self;
}

impl LaneWord for u32 {
    #[inline(always)]
    fn from_lane(self, mask: u32, lane: u32) -> Self {
        warp_shuffle_idx(mask, self, lane)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
}

impl LaneWord for u64 {
    #[inline(always)]
    fn from_lane(self, mask: u32, lane: u32) -> Self {
        let [low, high] = [self as u32, (self >> 32) as u32].map(|half| warp_shuffle_idx(mask, half, lane) as u64);
        low | high << 32
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
}
