//! The operations that the lanes of a warp do together, executed once all lanes have arrived.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::arithmetic::compare;
use super::lanes::{File, Row, lanes};
use crate::code::{Comparison, Instruction, SINK, Slot, WarpOp};

/// Executes a warp operation for the lanes in `mask`.
pub(super) fn together(op: WarpOp, i: &Instruction, mask: u32, file: &mut File, random: &mut Xoshiro256PlusPlus) {
    let values = file.0[i.a as usize];
    let value = |lane: u32| i.kind.cut(values.get(lane));
    let first = mask.trailing_zeros() & 31;
    let which = |test: &dyn Fn(u64) -> bool| {
        lanes(mask).filter(|&lane| test(value(lane))).fold(0u32, |out, lane| out | 1 << lane)
    };
    let reduce = |join: &dyn Fn(u64, u64) -> u64| lanes(mask).map(value).reduce(join).map_or(0, |v| i.kind.cut(v));
    let pick = |how, a, b| if compare(how, i.kind, a, b) { a } else { b };
    // Votes use predicates.
    let holds = || values.odd() & mask;
    let all = match op {
        WarpOp::Sync => return,
        WarpOp::Ballot => holds().into(),
        WarpOp::Any => u64::from(holds() != 0),
        WarpOp::All => u64::from(holds() == mask),
        WarpOp::Uniform => u64::from(holds() == mask || holds() == 0),
        WarpOp::ReduceAdd => reduce(&|a, b| a.wrapping_add(b)),
        WarpOp::ReduceMin => reduce(&|a, b| pick(Comparison::Less, a, b)),
        WarpOp::ReduceMax => reduce(&|a, b| pick(Comparison::Greater, a, b)),
        WarpOp::ReduceAnd => reduce(&|a, b| a & b),
        WarpOp::ReduceOr => reduce(&|a, b| a | b),
        WarpOp::ReduceXor => reduce(&|a, b| a ^ b),
        WarpOp::Elect => {
            put(file, i.d, mask, first.into());
            return put_each(file, i.d2, mask, |lane| u64::from(lane == first));
        }
        WarpOp::MatchAll => {
            let same = which(&|v| v == value(first)) == mask;
            put(file, i.d, mask, if same { mask.into() } else { 0 });
            return put(file, i.d2, mask, same.into());
        }
        WarpOp::MatchAny => {
            put_each(file, i.d, mask, |lane| which(&|v| v == value(lane)).into());
            return put(file, i.d2, mask, 0);
        }
        WarpOp::ShuffleIndex | WarpOp::ShuffleXor | WarpOp::ShuffleDown | WarpOp::ShuffleUp => {
            // The value that a lane reads from a lane that does not participate.
            let garbage = random.next_u64() & 0xffff_ffff;
            let (bs, cs) = (file.0[i.b as usize], file.0[i.c as usize]);
            let from = |lane| shuffle(op, lane, bs.get(lane) as u32, cs.get(lane) as u32);
            put_each(file, i.d, mask, |lane| {
                let from = from(lane).0;
                if mask >> from & 1 == 1 { value(from) } else { garbage }
            });
            return put_each(file, i.d2, mask, |lane| from(lane).1.into());
        }
    };
    put(file, i.d, mask, all);
    put(file, i.d2, mask, 0);
}

/// Stores the same value in a register of all lanes in `mask`.
fn put(file: &mut File, slot: Slot, mask: u32, value: u64) {
    if mask == u32::MAX {
        file.0[slot as usize] = Row::all(value);
    } else {
        put_each(file, slot, mask, |_| value);
    }
}

/// Stores a value for each lane in `mask` in a register.
fn put_each(file: &mut File, slot: Slot, mask: u32, value: impl Fn(u32) -> u64) {
    if slot != SINK {
        lanes(mask).for_each(|lane| file.set(slot, lane, value(lane)));
    }
}

/// Returns the lane from which a shuffle reads, and whether that lane is inside of the segment.
fn shuffle(op: WarpOp, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let low = lane & segment;
    let high = low | (clamp & !segment);
    let (from, inside) = match op {
        WarpOp::ShuffleUp => (lane.wrapping_sub(b), lane as i32 - b as i32 >= high as i32),
        WarpOp::ShuffleDown => (lane + b, lane + b <= high),
        WarpOp::ShuffleXor => (lane ^ b, lane ^ b <= high),
        _ => {
            let from = low | (b & !segment);
            (from, from <= high)
        }
    };
    (if inside { from & 31 } else { lane }, inside)
}
