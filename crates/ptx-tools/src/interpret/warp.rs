//! What the lanes of a warp do together, once all of them are there.

use super::arithmetic::compare;
use crate::code::{Comparison, Kind, WarpOp};

/// One lane's part in a warp operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    /// The value it brings.
    pub value: u64,
    /// For shuffles: lane or distance, and the segment's bounds.
    pub b: u64,
    pub c: u64,
    /// What it gets: the result, and the predicate beside it.
    pub result: u64,
    pub predicate: bool,
}

/// Fills in the results of the lanes in `mask`. `garbage` is what a lane gets from one that takes no part.
pub(crate) fn together(op: WarpOp, kind: Kind, mask: u32, lanes: &mut [Lane; 32], garbage: u64) {
    let members = || (0..32usize).filter(move |l| mask >> l & 1 == 1);
    let which = |lanes: &[Lane; 32], f: &dyn Fn(u64) -> bool| {
        members().filter(|&l| f(lanes[l].value)).fold(0u32, |out, l| out | 1 << l)
    };
    let first = mask.trailing_zeros() as usize & 31;
    let holds = which(lanes, &|v| v != 0);
    let same = which(lanes, &|v| v == lanes[first].value);
    let reduce = |lanes: &[Lane; 32], f: &dyn Fn(u64, u64) -> u64| {
        members().map(|l| lanes[l].value).reduce(f).map_or(0, |v| kind.cut(v))
    };
    let pick = |how, a, b| if compare(how, kind, a, b) { a } else { b };
    let all = match op {
        WarpOp::Ballot => holds.into(),
        WarpOp::Any => u64::from(holds != 0),
        WarpOp::All => u64::from(holds == mask),
        WarpOp::Uniform => u64::from(holds == mask || holds == 0),
        WarpOp::MatchAll => u64::from(if same == mask { mask } else { 0 }),
        WarpOp::Elect => first as u64,
        WarpOp::ReduceAdd => reduce(lanes, &|a, b| a.wrapping_add(b)),
        WarpOp::ReduceMin => reduce(lanes, &|a, b| pick(Comparison::Less, a, b)),
        WarpOp::ReduceMax => reduce(lanes, &|a, b| pick(Comparison::Greater, a, b)),
        WarpOp::ReduceAnd => reduce(lanes, &|a, b| a & b),
        WarpOp::ReduceOr => reduce(lanes, &|a, b| a | b),
        WarpOp::ReduceXor => reduce(lanes, &|a, b| a ^ b),
        _ => 0,
    };
    for l in members() {
        let (result, predicate) = match op {
            WarpOp::MatchAny => (which(lanes, &|v| v == lanes[l].value).into(), false),
            WarpOp::ShuffleIndex | WarpOp::ShuffleXor | WarpOp::ShuffleDown | WarpOp::ShuffleUp => {
                let (from, inside) = shuffle(op, l as u32, lanes[l].b as u32, lanes[l].c as u32);
                let takes_part = mask >> from & 1 == 1;
                (if takes_part { lanes[from as usize].value } else { garbage }, inside)
            }
            WarpOp::Elect => (all, l == first),
            WarpOp::MatchAll => (all, same == mask),
            _ => (all, false),
        };
        lanes[l].result = result;
        lanes[l].predicate = predicate;
    }
}

/// The lane that a shuffle reads from, and whether that is inside of the segment.
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
