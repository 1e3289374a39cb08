//! The hot loop. It runs lanes of a warp that are at the same instruction, until they diverge, have
//! to wait, or reach the end of their slice.

use std::sync::atomic::{AtomicBool, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;

use super::arithmetic as arith;
use super::lanes::{File, Group, LANES, lanes};
use super::vector;
use super::warp::together;
use crate::code::{CARRY, Code, Instruction, Join, Kind, Op, TRUE};
use crate::memory::{Problem, View};

/// The reason why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The slice has ended, or the lanes are no longer at the same instruction.
    Slice,
    /// The lanes are at an instruction in which threads wait for each other. It is not executed
    /// yet.
    Together,
    /// The threads have ended.
    Done,
}

/// The reason why a launch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Memory(Problem),
    Trap,
}

/// A warp of which some lanes are run.
pub(crate) struct Warp<'a> {
    pub code: &'a Code,
    pub file: File<'a>,
    pub pcs: &'a mut [u32; LANES as usize],
    /// The lanes of this warp that the block has.
    pub lanes: u32,
    pub memory: View<'a>,
    pub random: &'a mut Xoshiro256PlusPlus,
}

impl Warp<'_> {
    /// Returns whether the group contains all lanes that a warp operation waits for. Lanes that the
    /// block does not have are ignored.
    #[inline(always)]
    fn all_there(&self, group: &Group, i: &Instruction) -> bool {
        lanes(group.mask).all(|lane| self.file.get(i.e, lane) as u32 & self.lanes == group.mask)
    }
}

/// A limited run of a group of lanes.
pub(crate) struct Slice {
    /// The count of instructions that may still be executed.
    pub left: u32,
    /// The instruction before which the run stops, because other lanes wait at it.
    pub until: u32,
    /// The count of instructions that were executed before the slice.
    pub clock: u64,
}

/// Executes instructions of a group whose lanes are all at the same instruction.
pub(crate) fn run(warp: &mut Warp, group: Group, slice: &mut Slice) -> Result<Stop, (u32, Failure)> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features for which the function is compiled.
        return unsafe { run_with_avx2(warp, group, slice) };
    }
    run_here(warp, group, slice)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_with_avx2(warp: &mut Warp, group: Group, slice: &mut Slice) -> Result<Stop, (u32, Failure)> {
    run_here(warp, group, slice)
}

#[inline(always)]
fn run_here(warp: &mut Warp, group: Group, slice: &mut Slice) -> Result<Stop, (u32, Failure)> {
    let first = group.mask.trailing_zeros() % LANES;
    let mut at = warp.pcs[first as usize];
    let end = slice.left;
    let begun = at;
    let stop = loop {
        if slice.left == 0 || (at == slice.until && at != begun) {
            break Ok(Stop::Slice);
        }
        slice.left -= 1;
        let i = &warp.code.instructions[at as usize];
        reached(&warp.code.reached[at as usize]);
        let mut group = group;
        if i.guard != TRUE {
            let holds = warp.file.0[i.guard as usize].odd();
            let mask = group.mask & if i.skip_if { !holds } else { holds };
            if mask == 0 {
                at += 1;
                continue;
            }
            if mask != group.mask {
                if i.op.is_control() {
                    // The lanes diverge. Lanes whose guard is false continue after the instruction,
                    // and the other lanes execute it later.
                    let taken = if i.op == Op::Jump { i.d } else { at };
                    set(warp.pcs, mask, taken);
                    set(warp.pcs, group.mask & !mask, at + 1);
                    return Ok(Stop::Slice);
                }
                group.mask = mask;
            }
        }
        let group = &group;
        match i.op {
            Op::Jump => {
                at = i.d;
                continue;
            }
            Op::JumpTable => match jump(warp, group, i) {
                Ok(Some(to)) => {
                    at = to;
                    continue;
                }
                Ok(None) => return Ok(Stop::Slice),
                Err(lane) => break Err((lane, Failure::Trap)),
            },
            Op::Exit => break Ok(Stop::Done),
            Op::Trap => break Err((first, Failure::Trap)),
            Op::Warp(op) => {
                if !warp.all_there(group, i) {
                    break Ok(Stop::Together);
                }
                together(op, i, group.mask, &mut warp.file, warp.random);
            }
            Op::ActiveMask | Op::Barrier { .. } => break Ok(Stop::Together),
            Op::Clock => {
                let now = i.kind.cut(slice.clock + u64::from(end - slice.left));
                lanes(group.mask).for_each(|lane| warp.file.set(i.d, lane, now));
            }
            Op::Load(_) | Op::LoadList(_) | Op::Store(_) | Op::StoreList(_) | Op::Atomic(..) | Op::WideAtomic(..) => {
                if let Err((lane, problem)) = access_all(warp, group, i) {
                    break Err((lane, Failure::Memory(problem)));
                }
            }
            _ => {
                if group.is_few() || !vector::compute(warp.code, i, &mut warp.file, group) {
                    for lane in lanes(group.mask) {
                        compute(warp.code, i, &mut Registers { file: &mut warp.file, lane });
                    }
                }
            }
        }
        at += 1;
    };
    set(warp.pcs, group.mask, at);
    stop
}

/// Records that an instruction is executed.
#[inline(always)]
fn reached(flag: &AtomicBool) {
    // Usually the flag is already set, and then its cache line stays shared.
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

fn set(pcs: &mut [u32; LANES as usize], mask: u32, at: u32) {
    if mask == u32::MAX {
        *pcs = [at; LANES as usize];
    } else {
        lanes(mask).for_each(|lane| pcs[lane as usize] = at);
    }
}

/// Returns the target of a jump through a branch table.
///
/// Returns `None` if the lanes diverge. Fails with the lane whose index is beyond the table.
fn jump(warp: &mut Warp, group: &Group, i: &Instruction) -> Result<Option<u32>, u32> {
    let mut to = None;
    let mut same = true;
    for lane in lanes(group.mask) {
        let index = warp.file.get(i.a, lane) as u32;
        if index >= i.c {
            return Err(lane);
        }
        let target = warp.code.lists[(i.d + index) as usize];
        warp.pcs[lane as usize] = target;
        same &= *to.get_or_insert(target) == target;
    }
    Ok(to.filter(|_| same))
}

/// The registers of one thread.
struct Registers<'w, 'f> {
    file: &'w mut File<'f>,
    lane: u32,
}

impl Registers<'_, '_> {
    #[inline(always)]
    fn get(&self, slot: crate::code::Slot) -> u64 {
        self.file.get(slot, self.lane)
    }

    #[inline(always)]
    fn set(&mut self, slot: crate::code::Slot, value: u64) {
        self.file.set(slot, self.lane, value);
    }
}

/// Executes a memory instruction for each lane of the group.
#[inline(always)]
fn access_all(warp: &mut Warp, group: &Group, i: &Instruction) -> Result<(), (u32, Problem)> {
    for lane in group.in_order() {
        warp.memory.lane = lane;
        access(warp.code, i, &mut Registers { file: &mut warp.file, lane }, &mut warp.memory)
            .map_err(|problem| (lane, problem))?;
    }
    Ok(())
}

/// Executes a memory instruction for one lane.
#[inline(always)]
fn access(code: &Code, i: &Instruction, file: &mut Registers, memory: &mut View) -> Result<(), Problem> {
    let kind = i.kind;
    let address = file.get(i.a).wrapping_add(file.get(i.b));
    match i.op {
        Op::Load(space) => {
            let value = memory.load(space, address, kind.bytes())?;
            file.set(i.d, i.to.cut(kind.widen(value)));
        }
        Op::Store(space) => memory.store(space, address, kind.bytes(), file.get(i.d))?,
        Op::LoadList(space) => {
            let slots = &code.lists[i.d as usize..][..i.c as usize];
            memory.load_list(space, address, kind.bytes(), i.c, |n, value| file.set(slots[n as usize], value))?;
        }
        Op::StoreList(space) => {
            let slots = &code.lists[i.d as usize..][..i.c as usize];
            memory.store_list(space, address, kind.bytes(), i.c, |n| file.get(slots[n as usize]))?;
        }
        Op::Atomic(space, op) => {
            let (b, c) = (file.get(i.c), file.get(i.e));
            let old = memory.update(space, address, kind.bytes(), |old| arith::atomic(op, kind, old, b, c))?;
            file.set(i.d, old);
        }
        Op::WideAtomic(space, op) => {
            let pair = |file: &Registers, slot| [file.get(slot), file.get(slot + 1)];
            let mut old = [0; 2];
            memory.load_list(space, address, 8, 2, |n, value| old[n as usize] = value)?;
            let new = pair(file, i.c);
            if op == crate::code::AtomicOp::Exchange {
                memory.store_list(space, address, 8, 2, |n| new[n as usize])?;
            } else {
                // If the comparison fails, the old value is written back, so that a write to
                // read-only memory is still detected.
                let new = if old == new { pair(file, i.e) } else { old };
                memory.store_list(space, address, 8, 2, |n| new[n as usize])?;
            }
            file.set(i.d, old[0]);
            file.set(i.d + 1, old[1]);
        }
        _ => {}
    }
    Ok(())
}

/// Executes an instruction that uses only registers.
#[inline(always)]
fn compute(code: &Code, i: &Instruction, file: &mut Registers) {
    let kind = i.kind;
    let (a, b) = (file.get(i.a), file.get(i.b));
    let value = match i.op {
        Op::Move => kind.cut(a),
        Op::Add => kind.cut(a.wrapping_add(b)),
        Op::Sub => kind.cut(a.wrapping_sub(b)),
        Op::MulLow => kind.cut(a.wrapping_mul(b)),
        Op::MulHigh => arith::product(kind, a, b).1,
        Op::MulWide => arith::wide_product(kind, a, b),
        Op::MadLow => kind.cut(a.wrapping_mul(b).wrapping_add(file.get(i.c))),
        Op::MadHigh => kind.cut(arith::product(kind, a, b).1.wrapping_add(file.get(i.c))),
        Op::MadWide => {
            Kind::unsigned((2 * kind.bits()).min(64)).cut(arith::wide_product(kind, a, b).wrapping_add(file.get(i.c)))
        }
        Op::AddCarry { input, output } => {
            with_carry(file, (input, output), |carry| arith::add_carry(kind, a, b, carry))
        }
        Op::SubCarry { input, output } => {
            with_carry(file, (input, output), |borrow| arith::sub_borrow(kind, a, b, borrow))
        }
        Op::MadCarry { high, input, output } => {
            let (low, top) = arith::product(kind, a, b);
            let (part, c) = (if high { top } else { low }, file.get(i.c));
            with_carry(file, (input, output), |carry| arith::add_carry(kind, part, c, carry))
        }
        Op::Div => arith::divide(kind, a, b),
        Op::Rem => arith::remainder(kind, a, b),
        Op::Min | Op::Max => {
            let less = arith::compare(crate::code::Comparison::Less, kind, a, b);
            kind.cut(if less == (i.op == Op::Min) { a } else { b })
        }
        Op::And => kind.cut(a & b),
        Op::Or => kind.cut(a | b),
        Op::Xor => kind.cut(a ^ b),
        Op::Not => kind.cut(!a),
        Op::LogicalNot => u64::from(kind.cut(a) == 0),
        Op::Neg => kind.cut(a.wrapping_neg()),
        Op::Abs => kind.cut((kind.widen(a) as i64).unsigned_abs()),
        Op::ShiftLeft => arith::shift_left(kind, a, b),
        Op::ShiftRight => arith::shift_right(kind, a, b),
        Op::PopCount => kind.cut(a).count_ones().into(),
        Op::LeadingZeros => u64::from(kind.cut(a).leading_zeros()) - u64::from(kind.shift),
        Op::ReverseBits => a.reverse_bits() >> kind.shift,
        Op::Extract => arith::extract(kind, a, b, file.get(i.c)),
        Op::Insert => arith::insert(kind, a, b, file.get(i.c), file.get(i.e)),
        Op::HighestBit { as_shift } => arith::highest_bit(kind, a, as_shift),
        Op::Permute => arith::permute(a, b, file.get(i.c)),
        Op::FunnelLeft { clamp } => arith::funnel(true, clamp, a, b, file.get(i.c)),
        Op::FunnelRight { clamp } => arith::funnel(false, clamp, a, b, file.get(i.c)),
        Op::Logic3 => arith::logic3(a, b, file.get(i.c), i.e),
        Op::Select => kind.cut(if file.get(i.c) != 0 { a } else { b }),
        Op::Compare { how, join, negate } => joined(file, i, (join, negate), arith::compare(how, kind, a, b)),
        Op::FloatCompare { how, or_nan, join, negate } => {
            joined(file, i, (join, negate), arith::float_compare(how, or_nan, kind, a, b))
        }
        Op::Mask(how) => match (arith::compare(how, kind, a, b), i.to.float) {
            (true, true) => 1f32.to_bits().into(),
            (true, false) => i.to.cut(u64::MAX),
            (false, _) => 0,
        },
        Op::Convert => {
            let value = i.to.cut(kind.widen(a));
            i.to.widen(value) & file.get(i.c)
        }
        Op::FloatConvert(round) => arith::float_convert(kind, i.to, a, round, i.e != 0),
        Op::Float(op) => arith::float(op, kind, a, b, file.get(i.c)),
        Op::Pack => {
            let slots = &code.lists[i.e as usize..][..i.c as usize];
            slots.iter().rev().fold(0, |sum, &slot| (sum << (kind.bits() & 63)) | kind.cut(file.get(slot)))
        }
        Op::Unpack => {
            for n in 0..i.c {
                let slot = code.lists[(i.e + n) as usize];
                file.set(slot, kind.cut(a >> (n * kind.bits())));
            }
            return;
        }
        _ => return,
    };
    file.set(i.d, value);
}

/// Returns the result of an instruction that may read and write the carry flag.
#[inline(always)]
fn with_carry(file: &mut Registers, (input, output): (bool, bool), result: impl FnOnce(u64) -> (u64, u64)) -> u64 {
    let (value, carry) = result(if input { file.get(CARRY) } else { 0 });
    if output {
        file.set(CARRY, carry);
    }
    value
}

/// Returns the result of a comparison, joined with a predicate. Writes the negated comparison,
/// joined in the same way, to `d2`.
#[inline(always)]
fn joined(file: &mut Registers, i: &Instruction, (join, negate): (Join, bool), holds: bool) -> u64 {
    let c = (file.get(i.c) != 0) != negate;
    file.set(i.d2, arith::join(join, !holds, c).into());
    arith::join(join, holds, c).into()
}
