//! The registers of a warp, and the groups of lanes that execute an instruction together.

use std::array;

use crate::code::Slot;

/// The count of lanes of a warp.
pub(crate) const LANES: u32 = 32;

/// One register of all lanes of a warp.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Row([u64; LANES as usize]);

impl Row {
    #[inline(always)]
    pub fn get(&self, lane: u32) -> u64 {
        self.0[(lane % LANES) as usize]
    }

    #[inline(always)]
    pub fn set(&mut self, lane: u32, value: u64) {
        self.0[(lane % LANES) as usize] = value;
    }

    /// Returns a row with the same value for each lane.
    pub fn all(value: u64) -> Self {
        Row([value; LANES as usize])
    }

    /// Returns a row with the value `value(lane)` for each lane.
    pub fn of(value: impl Fn(u32) -> u64) -> Self {
        Row(array::from_fn(|lane| value(lane as u32)))
    }

    /// Returns the mask of lanes whose value is odd, which for a predicate means true.
    #[inline(always)]
    pub fn odd(&self) -> u32 {
        let mut odd = 0;
        for lane in 0..LANES as usize {
            odd |= (self.0[lane] & 1) << lane;
        }
        odd as u32
    }
}

/// Returns the lanes in a mask, in ascending order.
#[inline(always)]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The lanes that execute an instruction together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub mask: u32,
    /// The lane that accesses memory first. Only memory accesses can show the order of lanes.
    pub first: u32,
}

impl Group {
    /// Returns whether the lanes are so few that executing each separately is faster.
    #[inline(always)]
    pub fn is_few(&self) -> bool {
        self.mask.count_ones() <= 3
    }

    /// Returns the lanes in the order in which they access memory.
    #[inline(always)]
    pub fn in_order(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first;
        lanes(self.mask.rotate_right(first)).map(move |lane| (lane + first) % LANES)
    }
}

/// The registers of a warp.
pub(crate) struct File<'a>(pub &'a mut [Row]);

impl File<'_> {
    #[inline(always)]
    pub fn get(&self, slot: Slot, lane: u32) -> u64 {
        self.0[slot as usize].get(lane)
    }

    #[inline(always)]
    pub fn set(&mut self, slot: Slot, lane: u32, value: u64) {
        self.0[slot as usize].set(lane, value);
    }

    /// Stores `value` of one register in another register, for all lanes of the group.
    #[inline(always)]
    pub fn each(&mut self, group: &Group, a: Slot, to: Slot, value: impl Fn(u64) -> u64) {
        let mut new = Row([0; LANES as usize]);
        let a = &self.0[a as usize];
        for lane in 0..LANES as usize {
            new.0[lane] = value(a.0[lane]);
        }
        self.put(group, to, &new);
    }

    /// Stores `value` of two registers in another register, for all lanes of the group.
    #[inline(always)]
    pub fn each2(&mut self, group: &Group, a: Slot, b: Slot, to: Slot, value: impl Fn(u64, u64) -> u64) {
        let mut new = Row([0; LANES as usize]);
        let (a, b) = (&self.0[a as usize], &self.0[b as usize]);
        for lane in 0..LANES as usize {
            new.0[lane] = value(a.0[lane], b.0[lane]);
        }
        self.put(group, to, &new);
    }

    /// Stores `value` of three registers in another register, for all lanes of the group.
    #[inline(always)]
    pub fn each3(&mut self, group: &Group, from: [Slot; 3], to: Slot, value: impl Fn(u64, u64, u64) -> u64) {
        let mut new = Row([0; LANES as usize]);
        let [a, b, c] = from;
        let (a, b, c) = (&self.0[a as usize], &self.0[b as usize], &self.0[c as usize]);
        for lane in 0..LANES as usize {
            new.0[lane] = value(a.0[lane], b.0[lane], c.0[lane]);
        }
        self.put(group, to, &new);
    }

    #[inline(always)]
    fn put(&mut self, group: &Group, to: Slot, new: &Row) {
        let old = &mut self.0[to as usize];
        if group.mask == u32::MAX {
            *old = *new;
        } else {
            for lane in 0..LANES as usize {
                let keep = u64::from(group.mask >> lane & 1).wrapping_neg();
                old.0[lane] = (new.0[lane] & keep) | (old.0[lane] & !keep);
            }
        }
    }
}
