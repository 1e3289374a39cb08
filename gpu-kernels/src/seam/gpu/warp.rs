//! The lanes of a warp.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn read_lane() -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shuffle(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
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
