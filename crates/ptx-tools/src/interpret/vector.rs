//! The frequent instructions on registers, executed for many lanes at once. Each is a loop that the
//! compiler vectorizes.

use super::arithmetic as arith;
use super::lanes::{File, Group};
use crate::code::{Code, Comparison, Instruction, Join, Op, SINK, TRUE};

/// Executes the instruction for the group's lanes if it is a frequent one, and returns whether it
/// did.
#[inline(always)]
pub(crate) fn compute(code: &Code, i: &Instruction, file: &mut File, group: &Group) -> bool {
    let cut = u64::MAX >> i.kind.shift;
    let Instruction { kind, d, a, b, c, .. } = *i;
    match i.op {
        Op::Move => file.each(group, a, d, |a| a & cut),
        Op::Add => file.each2(group, a, b, d, |a, b| a.wrapping_add(b) & cut),
        Op::Sub => file.each2(group, a, b, d, |a, b| a.wrapping_sub(b) & cut),
        Op::MulLow => file.each2(group, a, b, d, |a, b| a.wrapping_mul(b) & cut),
        Op::MulHigh => file.each2(group, a, b, d, |a, b| arith::product(kind, a, b).1),
        Op::MulWide if !kind.signed && kind.bits() == 32 => {
            file.each2(group, a, b, d, |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff));
        }
        Op::MadLow => file.each3(group, [a, b, c], d, |a, b, c| a.wrapping_mul(b).wrapping_add(c) & cut),
        Op::And => file.each2(group, a, b, d, |a, b| a & b & cut),
        Op::Or => file.each2(group, a, b, d, |a, b| (a | b) & cut),
        Op::Xor => file.each2(group, a, b, d, |a, b| (a ^ b) & cut),
        Op::Not => file.each(group, a, d, |a| !a & cut),
        Op::Neg => file.each(group, a, d, |a| a.wrapping_neg() & cut),
        Op::Min | Op::Max => {
            let less = i.op == Op::Min;
            file.each2(group, a, b, d, |a, b| {
                cut & if arith::compare(Comparison::Less, kind, a, b) == less { a } else { b }
            });
        }
        Op::ShiftLeft => file.each2(group, a, b, d, |a, b| arith::shift_left(kind, a, b)),
        Op::ShiftRight if !kind.signed => file.each2(group, a, b, d, |a, b| {
            let by = b & 0xffff_ffff;
            if by < 64 { (a & cut) >> by } else { 0 }
        }),
        Op::ShiftRight => file.each2(group, a, b, d, |a, b| arith::shift_right(kind, a, b)),
        Op::PopCount => file.each(group, a, d, |a| (a & cut).count_ones().into()),
        Op::Select => file.each3(group, [a, b, c], d, |a, b, c| cut & if c != 0 { a } else { b }),
        Op::Compare { how, join, negate } if i.d2 == SINK => compare(i, how, join, negate, file, group),
        Op::Convert if !kind.signed && !i.to.signed => {
            let both = cut & (u64::MAX >> i.to.shift);
            file.each2(group, a, c, d, |a, c| a & both & c);
        }
        Op::Convert => {
            let to = i.to;
            file.each2(group, a, c, d, |a, c| to.widen(to.cut(kind.widen(a))) & c);
        }
        // The first part must not overwrite the source, which the second part needs.
        Op::Unpack if i.c == 2 && code.lists[i.e as usize] != a => {
            let high = kind.bits();
            file.each(group, a, code.lists[i.e as usize], |a| a & cut);
            file.each(group, a, code.lists[i.e as usize + 1], |a| (a >> high) & cut);
        }
        Op::Pack if i.c == 2 => {
            let parts = [code.lists[i.e as usize], code.lists[i.e as usize + 1]];
            let high = kind.bits();
            file.each2(group, parts[0], parts[1], d, |low, top| (low & cut) | (top & cut) << high);
        }
        _ => return false,
    }
    true
}

/// Executes `setp` with one result.
#[inline(always)]
fn compare(i: &Instruction, how: Comparison, join: Join, negate: bool, file: &mut File, group: &Group) {
    let Instruction { kind, d, a, b, c, .. } = *i;
    // Comparisons that are joined with another predicate are rare.
    if join != Join::And || c != TRUE || negate {
        return file.each3(group, [a, b, c], d, |a, b, c| {
            u64::from(arith::join(join, arith::compare(how, kind, a, b), (c != 0) != negate))
        });
    }
    macro_rules! each {
        ($how:ident) => {
            file.each2(group, a, b, d, |a, b| u64::from(arith::compare(Comparison::$how, kind, a, b)))
        };
    }
    match how {
        Comparison::Equal => each!(Equal),
        Comparison::NotEqual => each!(NotEqual),
        Comparison::Less => each!(Less),
        Comparison::LessEqual => each!(LessEqual),
        Comparison::Greater => each!(Greater),
        Comparison::GreaterEqual => each!(GreaterEqual),
        Comparison::Ordered | Comparison::Unordered => each!(Ordered),
    }
}
