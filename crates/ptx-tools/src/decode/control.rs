//! The decoding of branches, barriers, warp operations and moves.

use super::syntax::{Operand, Reason, is_list};
use super::{Decoder, Patch};
use crate::code::{BarrierOp, Instruction, Kind, Op, SINK, WarpOp};

fn shuffle(mode: &str) -> Option<WarpOp> {
    Some(match mode {
        "idx" => WarpOp::ShuffleIndex,
        "bfly" => WarpOp::ShuffleXor,
        "down" => WarpOp::ShuffleDown,
        "up" => WarpOp::ShuffleUp,
        _ => return None,
    })
}

fn vote(mode: &str) -> Option<WarpOp> {
    Some(match mode {
        "ballot" => WarpOp::Ballot,
        "any" => WarpOp::Any,
        "all" => WarpOp::All,
        "uni" => WarpOp::Uniform,
        _ => return None,
    })
}

fn reduction(mode: &str) -> Option<WarpOp> {
    Some(match mode {
        "add" => WarpOp::ReduceAdd,
        "min" => WarpOp::ReduceMin,
        "max" => WarpOp::ReduceMax,
        "and" => WarpOp::ReduceAnd,
        "or" => WarpOp::ReduceOr,
        "xor" => WarpOp::ReduceXor,
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    /// Decodes branches, barriers, warp operations and moves. Returns false for any other opcode.
    pub(super) fn control(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<bool, Reason> {
        let base = Instruction::default();
        match (parts, ops) {
            (["bra"] | ["bra", "uni"], [[label]]) => {
                self.fixup(Patch::Instruction(self.code.instructions.len()), label.text);
                self.push(Instruction { op: Op::Jump, ..base });
            }
            (["brx", "idx", ..], [index, [table]]) => {
                let a = self.source(index)?;
                let &(d, c) = self.tables.get(table.text).ok_or_else(|| format!("no branch table {}", table.text))?;
                self.push(Instruction { op: Op::JumpTable, d, a, c, ..base });
            }
            (["ret" | "exit", ..], []) => self.push(Instruction { op: Op::Exit, ..base }),
            (["trap" | "brkpt"], []) => self.push(Instruction { op: Op::Trap, ..base }),
            (["bar", "warp", "sync"], [mask]) => self.warp(WarpOp::Sync, None, None, mask, Kind::U32)?,
            (["bar" | "barrier", rest @ ..], _) => self.barrier(rest, ops)?,
            (["activemask", "b32"], [d]) => {
                let d = self.target(d)?;
                self.push(Instruction { op: Op::ActiveMask, d, ..base });
            }
            (["vote", "sync", mode, _], [d, p, mask]) => {
                let op = vote(mode).ok_or("vote")?;
                self.warp(op, Some(d), Some(p), mask, Kind::PREDICATE)?;
            }
            (["match", mode @ ("any" | "all"), "sync", kind], [d, a, mask]) => {
                let op = if *mode == "any" { WarpOp::MatchAny } else { WarpOp::MatchAll };
                let kind = Kind::parse(kind).ok_or("a type was expected")?;
                self.warp(op, Some(d), Some(a), mask, kind)?;
            }
            (["redux", "sync", mode, kind], [d, a, mask]) => {
                let op = reduction(mode).ok_or("redux")?;
                let kind = Kind::parse(kind).filter(|k| !k.float).ok_or("a type was expected")?;
                self.warp(op, Some(d), Some(a), mask, kind)?;
            }
            (["elect", "sync"], [d, mask]) => self.warp(WarpOp::Elect, Some(d), None, mask, Kind::U32)?,
            (["shfl", "sync", mode, "b32"], [d, a, b, c, mask]) => {
                let op = Op::Warp(shuffle(mode).ok_or("shfl")?);
                let (d, d2) = self.target_pair(d)?;
                let (a, b) = (self.source(a)?, self.source(b)?);
                let (c, e) = (self.source(c)?, self.source(mask)?);
                self.push(Instruction { op, d, d2, a, b, c, e, ..base });
            }
            (["mov", kind], [d, a]) => self.mov(kind, d, a)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn warp(
        &mut self,
        op: WarpOp,
        d: Option<Operand>,
        a: Option<Operand>,
        mask: Operand,
        kind: Kind,
    ) -> Result<(), Reason> {
        let mut i = Instruction { op: Op::Warp(op), kind, e: self.source(mask)?, ..Instruction::default() };
        if let Some(d) = d {
            (i.d, i.d2) = self.target_pair(d)?;
        }
        if let Some(a) = a {
            let (slot, negate) = self.predicate(a)?;
            i.a = slot;
            if negate {
                // The negated predicate is written to a new slot.
                i.a = self.slots.fresh(1);
                self.push(Instruction {
                    op: Op::Not,
                    kind: Kind::PREDICATE,
                    d: i.a,
                    a: slot,
                    ..Instruction::default()
                });
            }
        }
        self.push(i);
        Ok(())
    }

    fn barrier(&mut self, parts: &[&str], ops: &[Operand]) -> Result<(), Reason> {
        let known = ["cta", "sync", "arrive", "red", "popc", "and", "or", "aligned", "u32", "pred"];
        if let Some(part) = parts.iter().find(|p| !known.contains(p)) {
            return Err(format!(".{part}"));
        }
        let has = |part| parts.contains(&part);
        let op = match () {
            () if has("sync") => BarrierOp::Sync,
            () if has("arrive") => BarrierOp::Arrive,
            () if has("popc") => BarrierOp::Count,
            () if has("and") => BarrierOp::All,
            () if has("or") => BarrierOp::Any,
            () => return Err("kind of barrier".into()),
        };
        let (d, number, count, predicate) = match (op, ops) {
            (BarrierOp::Sync, [number]) => (None, number, None, None),
            (BarrierOp::Sync | BarrierOp::Arrive, [number, count]) => (None, number, Some(count), None),
            (BarrierOp::Sync | BarrierOp::Arrive, _) => return Err("operands".into()),
            (_, [d, number, p]) => (Some(d), number, None, Some(p)),
            (_, [d, number, count, p]) => (Some(d), number, Some(count), Some(p)),
            _ => return Err("operands".into()),
        };
        let mut i = Instruction { a: self.source(number)?, b: SINK, ..Instruction::default() };
        let mut negate = false;
        if let Some(d) = d {
            i.d = self.target(d)?;
        }
        if let Some(count) = count {
            i.b = self.source(count)?;
        }
        if let Some(p) = predicate {
            (i.c, negate) = self.predicate(p)?;
        }
        i.op = Op::Barrier { op, negate };
        self.push(i);
        Ok(())
    }

    fn mov(&mut self, kind: &str, d: Operand<'a>, a: Operand<'a>) -> Result<(), Reason> {
        let base = Instruction { op: Op::Move, ..Instruction::default() };
        if let [name] = a
            && matches!(name.text, "%clock" | "%clock64" | "%globaltimer" | "%clock_hi" | "%globaltimer_lo")
        {
            let kind = Kind::parse(kind).ok_or("a type was expected")?;
            let d = self.target(d)?;
            self.push(Instruction { op: Op::Clock, kind, d, ..base });
            return Ok(());
        }
        if kind == "b128" {
            return self.mov_wide(d, a);
        }
        let kind = Kind::parse(kind).ok_or("a type was expected")?;
        match (is_list(d), is_list(a)) {
            (false, false) => {
                let (d, a) = (self.target(d)?, self.source(a)?);
                self.push(Instruction { kind, d, a, ..base });
            }
            (true, false) => {
                let a = self.source(a)?;
                let (e, c) = self.list(d, Self::target)?;
                let kind = Self::element(kind, c)?;
                self.push(Instruction { op: Op::Unpack, kind, a, c, e, ..base });
            }
            (false, true) => {
                let (e, c) = self.list(a, Self::source)?;
                let d = self.target(d)?;
                let kind = Self::element(kind, c)?;
                self.push(Instruction { op: Op::Pack, kind, d, c, e, ..base });
            }
            (true, true) => return Err("operands".into()),
        }
        Ok(())
    }

    /// Returns the kind of one of `count` equal parts of a value of `kind`.
    fn element(kind: Kind, count: u32) -> Result<Kind, Reason> {
        match count {
            2 | 4 | 8 if kind.bits() >= 16 => Ok(Kind::unsigned(kind.bits() / count)),
            _ => Err("as many registers as parts were expected".into()),
        }
    }

    /// Decodes a move of 128-bit registers into 64-bit moves.
    fn mov_wide(&mut self, d: Operand<'a>, a: Operand<'a>) -> Result<(), Reason> {
        let ends = |s: &mut Self, operand, written: bool| -> Result<[u32; 2], Reason> {
            if is_list(operand) {
                let (start, count) = s.list(operand, if written { Self::target } else { Self::source })?;
                let at = start as usize;
                return if count == 2 { Ok([s.code.lists[at], s.code.lists[at + 1]]) } else { Err("operands".into()) };
            }
            let slot = s.wide(operand)?;
            Ok([slot, slot + 1])
        };
        let (to, from) = (ends(self, d, true)?, ends(self, a, false)?);
        // The values go through new slots, because the lists may name the same registers in another
        // order.
        let through = self.slots.fresh(2);
        let steps = [(through, from[0]), (through + 1, from[1]), (to[0], through), (to[1], through + 1)];
        for (d, a) in steps {
            self.push(Instruction { op: Op::Move, kind: Kind::U64, d, a, ..Instruction::default() });
        }
        Ok(())
    }
}
