//! The allocation of slots. Registers whose values are not needed at the same time share a slot.
//!
//! PTX has a register for each value. A kernel has thousands of registers, but only dozens are live
//! at a time. With fewer slots per warp, the processor's caches hold a larger share of them.

use std::collections::BTreeSet;

use crate::code::{CARRY, Code, Instruction, Op, SINK, Slot, TRUE, ZERO};

/// How an instruction uses a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

/// Calls `visit` for each slot of an instruction. Slots that are read are visited first.
fn slots(i: &mut Instruction, lists: &mut [Slot], mut visit: impl FnMut(&mut Slot, Use)) {
    use Use::{Read, Written};
    visit(&mut i.guard, Read);
    let (list, count) = match i.op {
        Op::LoadList(_) | Op::StoreList(_) => (i.d, i.c),
        Op::Pack | Op::Unpack => (i.e, i.c),
        _ => (0, 0),
    };
    let list = &mut lists[list as usize..][..count as usize];
    match i.op {
        Op::Nop | Op::Jump | Op::Exit | Op::Trap => {}
        Op::JumpTable => visit(&mut i.a, Read),
        Op::Clock | Op::ActiveMask => visit(&mut i.d, Written),
        Op::Load(_) => {
            [&mut i.a, &mut i.b].into_iter().for_each(|slot| visit(slot, Read));
            visit(&mut i.d, Written);
        }
        Op::Store(_) => [&mut i.a, &mut i.b, &mut i.d].into_iter().for_each(|slot| visit(slot, Read)),
        Op::LoadList(_) => {
            [&mut i.a, &mut i.b].into_iter().for_each(|slot| visit(slot, Read));
            list.iter_mut().for_each(|slot| visit(slot, Written));
        }
        Op::StoreList(_) => {
            [&mut i.a, &mut i.b].into_iter().for_each(|slot| visit(slot, Read));
            list.iter_mut().for_each(|slot| visit(slot, Read));
        }
        Op::Pack => {
            list.iter_mut().for_each(|slot| visit(slot, Read));
            visit(&mut i.d, Written);
        }
        Op::Unpack => {
            visit(&mut i.a, Read);
            list.iter_mut().for_each(|slot| visit(slot, Written));
        }
        Op::FloatConvert(_) => {
            visit(&mut i.a, Read);
            visit(&mut i.d, Written);
        }
        Op::Logic3 => {
            [&mut i.a, &mut i.b, &mut i.c].into_iter().for_each(|slot| visit(slot, Read));
            visit(&mut i.d, Written);
        }
        _ => {
            [&mut i.a, &mut i.b, &mut i.c, &mut i.e].into_iter().for_each(|slot| visit(slot, Read));
            [&mut i.d, &mut i.d2].into_iter().for_each(|slot| visit(slot, Written));
        }
    }
}

/// Returns the instructions that can be executed next after instruction `at`.
fn successors(code: &Code, at: usize) -> Vec<usize> {
    let i = &code.instructions[at];
    let mut to = match i.op {
        Op::Jump => vec![i.d as usize],
        Op::JumpTable => code.lists[i.d as usize..][..i.c as usize].iter().map(|&target| target as usize).collect(),
        Op::Exit | Op::Trap => vec![],
        _ => return vec![at + 1],
    };
    if i.guard != TRUE {
        to.push(at + 1);
    }
    to
}

/// A set of slots, as a bitmap.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(slots: usize) -> Self {
        Set(vec![0; slots.div_ceil(64)])
    }
    fn insert(&mut self, slot: Slot) {
        self.0[slot as usize / 64] |= 1 << (slot % 64);
    }
    fn has(&self, slot: Slot) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }
    fn union(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        self.0.iter().enumerate().flat_map(move |(at, &word)| bits(word).map(move |bit| at as Slot * 64 + bit))
    }
}

/// A run of instructions that branches enter only at its start.
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
    /// The slots that are read before the block writes them.
    read: Set,
    written: Set,
    live_in: Set,
    live_out: Set,
}

/// Divides the code into blocks, and finds which slots are live at their starts and ends.
fn blocks(code: &mut Code, count: usize) -> Vec<Block> {
    let length = code.instructions.len();
    let mut starts = BTreeSet::from([0]);
    for at in 0..length {
        let next = successors(code, at);
        if next != [at + 1] {
            starts.extend(next);
            starts.insert(at + 1);
        }
    }
    starts.remove(&length);
    let starts: Vec<usize> = starts.into_iter().collect();
    let number = |start: usize| starts.binary_search(&start).ok();
    let mut blocks: Vec<Block> = Vec::new();
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(length);
        let next = successors(code, end - 1).into_iter().filter_map(number).collect();
        let (mut read, mut written) = (Set::new(count), Set::new(count));
        for i in &mut code.instructions[start..end] {
            let always = i.guard == TRUE;
            slots(i, &mut code.lists, |&mut slot, how| match how {
                // If a guard may skip the write, the slot's earlier value is needed.
                Use::Written if always => written.insert(slot),
                _ if written.has(slot) => {}
                _ => read.insert(slot),
            });
        }
        let (live_in, live_out) = (read.clone(), Set::new(count));
        blocks.push(Block { start, end, next, read, written, live_in, live_out });
    }
    loop {
        let mut changed = false;
        for n in (0..blocks.len()).rev() {
            let mut out = Set::new(count);
            blocks[n].next.iter().for_each(|&next| out.union(&blocks[next].live_in));
            let block = &mut blocks[n];
            if out != block.live_out {
                let through = out.0.iter().zip(&block.written.0).zip(&block.read.0);
                block.live_in = Set(through.map(|((out, written), read)| out & !written | read).collect());
                block.live_out = out;
                changed = true;
            }
        }
        if !changed {
            return blocks;
        }
    }
}

/// Renumbers the code's slots so that few are needed. Slots in `pinned` are not shared, and
/// adjacent ones stay adjacent.
///
/// Sets `code.registers`, and sets `code.zeroed` to the slots that may be read before they are
/// written.
pub(super) fn allocate(code: &mut Code, count: usize, mut pinned: Vec<Slot>) {
    for i in &code.instructions {
        if let Op::WideAtomic(..) = i.op {
            pinned.extend([i.d, i.c, i.e].into_iter().flat_map(|first| [first, first + 1]));
        }
    }
    pinned.extend([TRUE, SINK, CARRY, ZERO]);
    pinned.sort_unstable();
    pinned.dedup();
    let blocks = blocks(code, count);
    let mut numbers = vec![Slot::MAX; count];
    for (number, &slot) in pinned.iter().enumerate() {
        numbers[slot as usize] = number as Slot;
    }
    // The span of instructions in which each slot is in use. A slot that is live through a block
    // uses the whole block.
    let mut spans = vec![(usize::MAX, 0); count];
    let mut widen = |slot: Slot, at: usize| {
        let span = &mut spans[slot as usize];
        *span = (span.0.min(at), span.1.max(at));
    };
    for block in &blocks {
        block.live_in.iter().for_each(|slot| widen(slot, block.start));
        block.live_out.iter().for_each(|slot| widen(slot, block.end));
        for at in block.start..block.end {
            slots(&mut code.instructions[at], &mut code.lists, |&mut slot, _| widen(slot, at));
        }
    }
    let mut order: Vec<(usize, usize, Slot)> = (0..count as Slot)
        .filter(|&slot| numbers[slot as usize] == Slot::MAX && spans[slot as usize].0 != usize::MAX)
        .map(|slot| (spans[slot as usize].0, spans[slot as usize].1, slot))
        .collect();
    order.sort_unstable();
    let mut next = pinned.len() as Slot;
    let (mut busy, mut free) = (BTreeSet::new(), Vec::new());
    for (start, end, slot) in order {
        while let Some(&(until, number)) = busy.first().filter(|&&(until, _)| until < start) {
            busy.remove(&(until, number));
            free.push(number);
        }
        let number = free.pop().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        numbers[slot as usize] = number;
        busy.insert((end, number));
    }
    let new = |slot: Slot| numbers[slot as usize];
    code.zeroed = blocks[0].live_in.iter().filter(|slot| !pinned.contains(slot)).map(new).collect();
    for i in &mut code.instructions {
        slots(i, &mut code.lists, |slot, _| *slot = new(*slot));
    }
    code.constants.iter_mut().for_each(|(slot, _)| *slot = new(*slot));
    code.specials.iter_mut().for_each(|(slot, _)| *slot = new(*slot));
    code.registers = next;
}
