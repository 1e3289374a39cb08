//! The state of a warp between two slices, and which of its lanes go on.

use super::lanes::{Group, LANES, lanes};

/// The movement of the lanes of a warp, until it leaves a barrier again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gait {
    /// Lanes at the same instruction execute it together, apart from the lanes of the other side if
    /// there are two.
    Sides(u32),
    /// Each lane by itself.
    Alone,
}

impl Gait {
    /// Returns the gait of a random number: mostly all lanes together, as GPUs run them too; now
    /// and then on two sides, rarely each by itself.
    pub(super) fn of(random: u64) -> Self {
        match random & 31 {
            0 => Self::Alone,
            1..=8 => Self::Sides((random >> 32) as u32),
            _ => Self::Sides(u32::MAX),
        }
    }
}

/// The lanes of a warp and the state of each: running, in one of these masks, at a barrier, or
/// done.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) pcs: [u32; LANES as usize],
    /// The lanes that the block has in the warp.
    pub(super) lanes: u32,
    pub(super) running: u32,
    /// The lanes at a warp operation.
    pub(super) voting: u32,
    /// The lanes at `activemask`.
    pub(super) gathering: u32,
    pub(super) done: u32,
    pub(super) gait: Gait,
    /// Whether the warp is among those that can be picked.
    pub(super) listed: bool,
}

impl WarpState {
    /// Returns a warp that is done. `threads` is how many threads the block has, counted from the
    /// warp's first.
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

    /// Picks lanes that are at the same instruction, and the instruction before which
    /// they should stop.
    ///
    /// They stop there because others of their side wait at it.
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
        // Lanes that are behind catch up. Now and then it is another lane's turn, which may have
        // what they wait for.
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

/// Returns one of the bits of a mask that is not 0, by a random number below 2^16.
fn pick_bit(mask: u32, random: u32) -> u32 {
    let number = ((random & 0xffff) * mask.count_ones()) >> 16;
    lanes(mask).nth(number as usize).unwrap_or(mask.trailing_zeros())
}
