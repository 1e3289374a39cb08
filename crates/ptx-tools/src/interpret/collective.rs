//! The operations in which threads wait for each other: warp operations, `activemask` and barriers.

use super::lanes::{LANES, lanes};
use super::machine::{Barrier, Machine};
use super::warp::together;
use crate::code::{BarrierOp, Instruction, Op, SINK, WarpOp};
use crate::fault::Fault;

impl Machine<'_> {
    /// Makes a thread continue after the instruction at which it waited.
    fn resume(&mut self, t: u32) {
        let warp = &mut self.warps[(t / LANES) as usize];
        warp.pcs[(t % LANES) as usize] += 1;
        warp.running |= 1 << (t % LANES);
        self.list(t / LANES);
    }

    /// Handles lanes of a warp that have reached an instruction in which threads wait for each
    /// other.
    pub(super) fn wait(&mut self, w: u32, mask: u32) -> Result<(), Fault> {
        let i = self.instruction(w * LANES + mask.trailing_zeros());
        match i.op {
            Op::ActiveMask => {
                let warp = &mut self.warps[w as usize];
                warp.running &= !mask;
                warp.gathering |= mask;
            }
            Op::Warp(op) => {
                for lane in lanes(mask) {
                    self.vote(w, lane, i, op)?;
                }
            }
            Op::Barrier { op, .. } => {
                for lane in lanes(mask) {
                    self.barrier(w * LANES + lane, i, op)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a lane that has reached a warp operation. The operation is executed once all lanes
    /// of its mask have reached it.
    ///
    /// Lanes of the mask that the block does not have are ignored.
    fn vote(&mut self, w: u32, lane: u32, i: &Instruction, op: WarpOp) -> Result<(), Fault> {
        let t = w * LANES + lane;
        let mask = self.get(t, i.e) as u32;
        if mask >> lane & 1 == 0 {
            return Err(Fault::NotInMask { at: self.location(t), mask });
        }
        let pc = self.pc(t);
        let warp = &mut self.warps[w as usize];
        warp.running &= !(1 << lane);
        warp.voting |= 1 << lane;
        let (voting, members) = (warp.voting, mask & warp.lanes);
        let there = |other: u32| {
            let other = w * LANES + other;
            self.pc(other) == pc && self.get(other, i.e) as u32 == mask
        };
        if voting & members != members || !lanes(members).all(there) {
            return Ok(());
        }
        let (mut file, random) = self.file(w);
        together(op, i, members, &mut file, random);
        self.warps[w as usize].voting &= !members;
        for member in lanes(members) {
            self.resume(w * LANES + member);
        }
        Ok(())
    }

    /// Executes `activemask` for the waiting lanes. The result is the mask of lanes at the same
    /// instruction.
    pub(super) fn release_gathered(&mut self, w: u32) {
        let warp = &mut self.warps[w as usize];
        let (gathered, pcs) = (std::mem::take(&mut warp.gathering), warp.pcs);
        for lane in lanes(gathered) {
            let same = lanes(gathered).filter(|&other| pcs[other as usize] == pcs[lane as usize]);
            let mask = same.fold(0u32, |mask, other| mask | 1 << other);
            let t = w * LANES + lane;
            self.set(t, self.instruction(t).d, mask.into());
            self.resume(t);
        }
    }

    fn barrier(&mut self, t: u32, i: &Instruction, op: BarrierOp) -> Result<(), Fault> {
        let r = self.resident(t);
        let number = self.get(t, i.a) as u32 as usize;
        let count = (i.b != SINK).then(|| self.get(t, i.b) as u32);
        if number >= 16 || count.is_some_and(|c| c == 0 || c % 32 != 0) {
            return Err(Fault::BadBarrier { at: self.location(t) });
        }
        let barrier = &mut self.residents[r].barriers[number];
        barrier.arrived += 1;
        barrier.count = count;
        if op == BarrierOp::Arrive {
            self.warps[(t / LANES) as usize].pcs[(t % LANES) as usize] += 1;
        } else {
            let other = barrier.waiting.first().copied();
            barrier.waiting.push(t);
            if let Some(o) = other.filter(|&o| self.pc(o) != self.pc(t)) {
                let (other_line, other) = self.statement(o);
                return Err(Fault::DivergentBarrier { at: self.location(t), other_line, other });
            }
            self.warps[(t / LANES) as usize].running &= !(1 << (t % LANES));
        }
        self.release_barrier(r, number);
        Ok(())
    }

    /// Lets the threads at a barrier continue if enough threads have arrived.
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
        let mut last = None;
        for t in waiting {
            // After a barrier, the lanes of a warp may be interleaved in another way.
            if last.replace(t / LANES) != Some(t / LANES) {
                self.change_gait(t / LANES);
            }
            self.resume(t);
        }
    }

    /// Marks lanes of a warp as done. Barriers then wait for fewer threads, and the block's last
    /// lanes free its resident for another block.
    pub(super) fn finished(&mut self, w: u32, mask: u32) {
        let warp = &mut self.warps[w as usize];
        warp.running &= !mask;
        warp.done |= mask;
        let r = self.resident(w * LANES);
        self.residents[r].live -= mask.count_ones();
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
