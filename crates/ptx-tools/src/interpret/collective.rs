//! What threads wait for together: warp operations, `activemask` and barriers.

use rand_xoshiro::rand_core::Rng;

use super::machine::{Barrier, Machine, State};
use super::warp::{Lane, together};
use crate::code::{BarrierOp, Instruction, Op, SINK, WarpOp};
use crate::fault::Fault;

impl Machine<'_> {
    /// A thread goes on behind the instruction it waited at.
    fn resume(&mut self, t: u32) {
        self.pcs[t as usize] += 1;
        self.states[t as usize] = State::Running;
        self.runnable.push(t);
    }

    /// All threads of `t`'s warp, by lane.
    pub(super) fn lanes(&self, t: u32) -> std::ops::Range<u32> {
        let thread = t % self.launch.threads;
        let first = t - thread % 32;
        first..first + (self.launch.threads - thread / 32 * 32).min(32)
    }

    /// A thread has come to an instruction of several threads.
    pub(super) fn wait(&mut self, pick: usize, t: u32) -> Result<(), Fault> {
        let i = self.instruction(t);
        match i.op {
            Op::ActiveMask => {
                self.leave(pick, State::Gathering);
                self.gathering += 1;
                Ok(())
            }
            Op::Warp(op) => {
                let mask = self.get(t, i.e) as u32;
                if mask >> (t % self.launch.threads % 32) & 1 == 0 {
                    return Err(Fault::NotInMask { at: self.place(t), mask });
                }
                self.leave(pick, State::Warp);
                self.warp(t, i, op, mask);
                Ok(())
            }
            Op::Barrier { op, .. } => self.barrier(pick, t, i, op),
            _ => Ok(()),
        }
    }

    /// Executes a warp operation if all lanes of its mask are there. Lanes that the block does not have are none.
    fn warp(&mut self, t: u32, i: &Instruction, op: WarpOp, mask: u32) {
        let lanes = self.lanes(t);
        let present = mask & (u32::MAX >> (32 - lanes.len()));
        let members = || lanes.clone().filter(|l| mask >> (l - lanes.start) & 1 == 1);
        let there = |l: u32| {
            self.states[l as usize] == State::Warp
                && self.pcs[l as usize] == self.pcs[t as usize]
                && self.get(l, i.e) as u32 == mask
        };
        if !members().all(there) {
            return;
        }
        let mut parts = [Lane::default(); 32];
        for l in members() {
            let value = i.kind.cut(self.get(l, i.a));
            parts[(l - lanes.start) as usize] =
                Lane { value, b: self.get(l, i.b), c: self.get(l, i.c), ..Lane::default() };
        }
        let garbage = self.random.next_u64() & 0xffff_ffff;
        together(op, i.kind, present, &mut parts, garbage);
        for l in members() {
            let part = parts[(l - lanes.start) as usize];
            self.set(l, i.d, part.result);
            self.set(l, i.d2, part.predicate.into());
            self.resume(l);
        }
    }

    /// Lanes of `t`'s warp that are at the same `activemask` see each other.
    pub(super) fn release_gathered(&mut self, t: u32) {
        let lanes = self.lanes(t);
        let gathered: Vec<u32> = lanes.clone().filter(|&l| self.states[l as usize] == State::Gathering).collect();
        let masks: Vec<u32> = gathered
            .iter()
            .map(|&l| {
                let same = gathered.iter().filter(|&&o| self.pcs[o as usize] == self.pcs[l as usize]);
                same.fold(0, |mask, o| mask | 1 << (o - lanes.start))
            })
            .collect();
        for (l, mask) in gathered.into_iter().zip(masks) {
            self.set(l, self.instruction(l).d, mask.into());
            self.resume(l);
            self.gathering -= 1;
        }
    }

    fn barrier(&mut self, pick: usize, t: u32, i: &Instruction, op: BarrierOp) -> Result<(), Fault> {
        let r = (t / self.launch.threads) as usize;
        let number = self.get(t, i.a) as u32 as usize;
        let count = (i.b != SINK).then(|| self.get(t, i.b) as u32);
        if number >= 16 || count.is_some_and(|c| c == 0 || c % 32 != 0) {
            return Err(Fault::BadBarrier { at: self.place(t) });
        }
        let barrier = &mut self.residents[r].barriers[number];
        barrier.arrived += 1;
        barrier.count = count;
        if op == BarrierOp::Arrive {
            self.pcs[t as usize] += 1;
        } else {
            let other = barrier.waiting.first().copied();
            barrier.waiting.push(t);
            if let Some(o) = other.filter(|&o| self.pcs[o as usize] != self.pcs[t as usize]) {
                let (other_line, other) = self.statement(o);
                return Err(Fault::DivergentBarrier { at: self.place(t), other_line, other });
            }
            self.leave(pick, State::Barrier);
        }
        self.release_barrier(r, number);
        Ok(())
    }

    /// Lets the threads at a barrier go on if enough have come.
    fn release_barrier(&mut self, r: usize, number: usize) {
        let live = self.residents[r].live;
        let barrier = &mut self.residents[r].barriers[number];
        if barrier.arrived < barrier.count.unwrap_or(live) {
            return;
        }
        let waiting = std::mem::take::<Barrier>(barrier).waiting;
        let Some(&first) = waiting.first() else { return };
        let i = self.instruction(first);
        if let Op::Barrier { op, negate } = i.op {
            let holds = |&&t: &&u32| (self.get(t, i.c) != 0) != negate;
            let count = waiting.iter().filter(holds).count();
            let result = match op {
                BarrierOp::Count => count as u64,
                BarrierOp::All => (count == waiting.len()).into(),
                BarrierOp::Any => (count > 0).into(),
                BarrierOp::Sync | BarrierOp::Arrive => 0,
            };
            for &t in &waiting {
                self.set(t, i.d, result);
            }
        }
        for t in waiting {
            self.resume(t);
        }
    }

    /// A thread is done: barriers wait for one less, and the last one makes room for another block.
    pub(super) fn finished(&mut self, t: u32) {
        let r = (t / self.launch.threads) as usize;
        self.residents[r].live -= 1;
        if self.residents[r].live == 0 {
            self.start_block(r);
            return;
        }
        for number in 0..16 {
            let barrier = &self.residents[r].barriers[number];
            if !barrier.waiting.is_empty() && barrier.count.is_none() {
                self.release_barrier(r, number);
            }
        }
    }
}
