//! The hot loop: one thread, until its time slice ends or it has to wait.

use super::arithmetic as arith;
use crate::code::{CARRY, Code, Instruction, Kind, Op, Slot};
use crate::memory::{Problem, View};

/// Why [`run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The slice is over.
    Slice,
    /// At an instruction of several threads; it is not executed yet.
    Together,
    /// The thread is done.
    Done,
}

/// What ends a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Memory(Problem),
    Trap,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Memory(problem)
    }
}

/// A thread's registers.
struct File<'a>(&'a mut [u64]);

impl File<'_> {
    #[inline(always)]
    fn get(&self, slot: Slot) -> u64 {
        self.0[slot as usize]
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, value: u64) {
        self.0[slot as usize] = value;
    }
}

/// Executes at most `budget` instructions of the thread at `pc`; counts them down in `budget`.
pub(crate) fn run(
    code: &Code,
    registers: &mut [u64],
    pc: &mut u32,
    memory: &mut View,
    budget: &mut u32,
    clock: u64,
) -> Result<Stop, Failure> {
    let mut file = File(registers);
    let mut at = *pc as usize;
    let end = *budget;
    let mut left = end;
    let stop = loop {
        if left == 0 {
            break Ok(Stop::Slice);
        }
        left -= 1;
        let i = &code.instructions[at];
        if (file.get(i.guard) != 0) == i.skip_if {
            at += 1;
            continue;
        }
        match i.op {
            Op::Jump => {
                at = i.d as usize;
                continue;
            }
            Op::JumpTable => {
                let index = file.get(i.a) as u32;
                if index >= i.c {
                    break Err(Failure::Trap);
                }
                at = code.lists[(i.d + index) as usize] as usize;
                continue;
            }
            Op::Exit => break Ok(Stop::Done),
            Op::Trap => break Err(Failure::Trap),
            Op::Warp(_) | Op::ActiveMask | Op::Barrier { .. } => break Ok(Stop::Together),
            Op::Clock => file.set(i.d, i.kind.cut(clock + u64::from(end - left))),
            Op::Load(_) | Op::LoadList(_) | Op::Store(_) | Op::StoreList(_) | Op::Atomic(..) | Op::WideAtomic(..) => {
                if let Err(problem) = access(code, i, &mut file, memory) {
                    break Err(problem.into());
                }
            }
            _ => compute(code, i, &mut file),
        }
        at += 1;
    };
    *pc = at as u32;
    *budget = left;
    stop
}

/// Instructions on memory.
#[inline(always)]
fn access(code: &Code, i: &Instruction, file: &mut File, memory: &mut View) -> Result<(), Problem> {
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
            let pair = |file: &File, slot| [file.get(slot), file.get(slot + 1)];
            let mut old = [0; 2];
            memory.load_list(space, address, 8, 2, |n, value| old[n as usize] = value)?;
            let new = pair(file, i.c);
            if op == crate::code::AtomicOp::Exchange {
                memory.store_list(space, address, 8, 2, |n| new[n as usize])?;
            } else {
                // A failed comparison writes the old value back, so that read-only memory is noticed all the same.
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

/// Instructions on registers alone.
#[inline(always)]
fn compute(code: &Code, i: &Instruction, file: &mut File) {
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
            let (sum, carry) = arith::add_carry(kind, a, b, if input { file.get(CARRY) } else { 0 });
            if output {
                file.set(CARRY, carry);
            }
            sum
        }
        Op::SubCarry { input, output } => {
            let (difference, borrow) = arith::sub_borrow(kind, a, b, if input { file.get(CARRY) } else { 0 });
            if output {
                file.set(CARRY, borrow);
            }
            difference
        }
        Op::MadCarry { high, input, output } => {
            let (low, top) = arith::product(kind, a, b);
            let part = if high { top } else { low };
            let (sum, carry) = arith::add_carry(kind, part, file.get(i.c), if input { file.get(CARRY) } else { 0 });
            if output {
                file.set(CARRY, carry);
            }
            sum
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
        Op::Compare { how, join, negate } => {
            let c = (file.get(i.c) != 0) != negate;
            let holds = arith::compare(how, kind, a, b);
            file.set(i.d2, arith::join(join, !holds, c).into());
            arith::join(join, holds, c).into()
        }
        Op::FloatCompare { how, or_nan, join, negate } => {
            let c = (file.get(i.c) != 0) != negate;
            let holds = arith::float_compare(how, or_nan, kind, a, b);
            file.set(i.d2, arith::join(join, !holds, c).into());
            arith::join(join, holds, c).into()
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
            let slots = &code.lists[i.b as usize..][..i.c as usize];
            slots.iter().rev().fold(0, |sum, &slot| (sum << (kind.bits() & 63)) | kind.cut(file.get(slot)))
        }
        Op::Unpack => {
            for n in 0..i.c {
                let slot = code.lists[(i.b + n) as usize];
                file.set(slot, kind.cut(a >> (n * kind.bits())));
            }
            return;
        }
        _ => return,
    };
    file.set(i.d, value);
}
