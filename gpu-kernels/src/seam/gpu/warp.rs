//! The operations of the lanes of a warp.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn read_lane() -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shuffle(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
}

/// Returns the lane's index in its warp.
#[inline(always)]
pub fn lane_id() -> u32 {
    // SAFETY: this reads a special register.
    unsafe { read_lane() }
}

/// Waits for the lanes in `mask`. Their memory accesses before this call come before their accesses
/// after it.
#[inline(always)]
pub fn sync_warp(mask: u32) {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step.
    unsafe { sync(mask) }
}

/// Returns the mask of the lanes in `mask` whose `predicate` is true.
#[inline(always)]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step.
    unsafe { ballot(mask, predicate) }
}

/// Returns the `value` of lane `lane` of the warp.
#[inline(always)]
pub fn warp_shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    // SAFETY: `Tile` calls it with all of the mask's lanes in step, and names a lane of the mask.
    unsafe { shuffle(mask, value, lane, 31) }
}

/// Returns the index of the highest bit that is set. At least one bit must be set. This takes one
/// instruction, where `leading_zeros` takes two.
#[inline(always)]
pub fn highest_bit(word: u32) -> u32 {
    let bit: u32;
    // SAFETY: this only computes, and needs no convergence.
    unsafe { core::arch::asm!("bfind.u32 {}, {};", out(reg32) bit, in(reg32) word, options(pure, nomem, nostack)) };
    bit
}

/// A word that lanes pass to each other.
pub trait LaneWord: Sized {
    /// Returns the word that lane `lane` of the warp holds.
    fn from_lane(self, mask: u32, lane: u32) -> Self;
}

impl LaneWord for u32 {
    #[inline(always)]
    fn from_lane(self, mask: u32, lane: u32) -> Self {
        warp_shuffle_idx(mask, self, lane)
    }
}

impl LaneWord for u64 {
    #[inline(always)]
    fn from_lane(self, mask: u32, lane: u32) -> Self {
        let [low, high] = [self as u32, (self >> 32) as u32].map(|half| warp_shuffle_idx(mask, half, lane) as u64);
        low | high << 32
    }
}
