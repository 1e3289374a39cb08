//! The state of a warp between two slices, and the choice of the lanes that run next.

use super::lanes::{Group, LANES, lanes};

/// How the lanes of a warp are interleaved, until the warp leaves its next barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gait {
    /// Lanes at the same instruction execute it together, if they are on the same side. The mask
    /// has the lanes of one side.
    Sides(u32),
    /// Each lane moves independently.
    Alone,
}

impl Gait {
    /// Returns the gait for a random number. Usually all lanes move together, as on GPUs. Sometimes
    /// they are on two sides, and rarely each lane moves independently.
    pub(super) fn of(random: u64) -> Self {
        match random & 31 {
            0 => Self::Alone,
            1..=8 => Self::Sides((random >> 32) as u32),
            _ => Self::Sides(u32::MAX),
        }
    }
}

/// The lanes of a warp, with the state of each lane: running, in one of the waiting masks, at a
/// barrier, or done.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) pcs: [u32; LANES as usize],
    /// The lanes of the warp that the block has.
    pub(super) lanes: u32,
    pub(super) running: u32,
    /// The lanes that wait at a warp operation.
    pub(super) voting: u32,
    /// The lanes that wait at `activemask`.
    pub(super) gathering: u32,
    pub(super) done: u32,
    pub(super) gait: Gait,
    /// Whether the warp can be picked.
    pub(super) listed: bool,
}

impl WarpState {
    /// Returns a warp that is done. `threads` is the count of the block's threads, starting at the
    /// warp's first thread.
    pub(super) fn of(threads: u32) -> Self {
        Self {
            pcs: [0; LANES as usize],
            lanes: u32::MAX >> (LANES - threads.min(LANES)),
            running: 0,
            voting: 0,
            gathering: 0,
            done: u32::MAX,
            gait: Gait::Alone,
            listed: false,
        }
    }

    /// Picks lanes that are at the same instruction, and the instruction before which they should
    /// stop.
    ///
    /// They stop there because other lanes of their side wait at it.
    #[inline]
    pub(super) fn choose(&self, random: u32) -> (Group, u32) {
        let lead = pick_bit(self.running, random >> 16);
        let Gait::Sides(side) = self.gait else { return (Group { mask: 1 << lead, first: 0 }, u32::MAX) };
        let side = self.running & if side >> lead & 1 == 1 { side } else { !side };
        let first = random >> 8 & 31;
        let with_lead = self.pcs.map(|pc| pc == self.pcs[lead as usize]);
        let with_lead = (0..LANES).fold(0, |mask, lane| mask | u32::from(with_lead[lane as usize]) << lane);
        if side & !with_lead == 0 {
            return (Group { mask: side, first }, u32::MAX);
        }
        let pc = |lane: u32| self.pcs[lane as usize];
        // Usually the lanes that are farthest behind run. Sometimes another lane runs, because they
        // may wait for that lane.
        let at = if random & 15 == 0 { pc(lead) } else { lanes(side).map(pc).min().unwrap_or(pc(lead)) };
        let (mut mask, mut until) = (0, u32::MAX);
        for lane in lanes(side) {
            match pc(lane) {
                other if other == at => mask |= 1 << lane,
                other if other > at => until = until.min(other),
                _ => {}
            }
        }
        (Group { mask, first }, until)
    }
}

/// Returns a random set bit of a nonzero mask, chosen by a random number below 2^16.
fn pick_bit(mask: u32, random: u32) -> u32 {
    let number = ((random & 0xffff) * mask.count_ones()) >> 16;
    lanes(mask).nth(number as usize).unwrap_or(mask.trailing_zeros())
}
