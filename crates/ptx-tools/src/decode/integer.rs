//! The decoding of integer arithmetic, comparisons, selections and conversions.

use super::Decoder;
use super::syntax::{Operand, Reason};
use crate::code::{Comparison, Instruction, Join, Kind, Op, TRUE};

/// Returns the comparison of this name, and whether it treats its operands as unsigned regardless
/// of their type.
pub(super) fn comparison(name: &str) -> Option<(Comparison, bool)> {
    Some(match name {
        "eq" => (Comparison::Equal, false),
        "ne" => (Comparison::NotEqual, false),
        "lt" => (Comparison::Less, false),
        "le" => (Comparison::LessEqual, false),
        "gt" => (Comparison::Greater, false),
        "ge" => (Comparison::GreaterEqual, false),
        "lo" => (Comparison::Less, true),
        "ls" => (Comparison::LessEqual, true),
        "hi" => (Comparison::Greater, true),
        "hs" => (Comparison::GreaterEqual, true),
        _ => return None,
    })
}

pub(super) fn join(name: &str) -> Option<Join> {
    Some(match name {
        "and" => Join::And,
        "or" => Join::Or,
        "xor" => Join::Xor,
        _ => return None,
    })
}

/// Returns the operation of an instruction of the form `op.type`, and its count of sources.
fn plain(name: &str) -> Option<(Op, usize)> {
    Some(match name {
        "add" => (Op::Add, 2),
        "sub" => (Op::Sub, 2),
        "addc" => (Op::AddCarry { input: true, output: false }, 2),
        "subc" => (Op::SubCarry { input: true, output: false }, 2),
        "add.cc" => (Op::AddCarry { input: false, output: true }, 2),
        "sub.cc" => (Op::SubCarry { input: false, output: true }, 2),
        "addc.cc" => (Op::AddCarry { input: true, output: true }, 2),
        "subc.cc" => (Op::SubCarry { input: true, output: true }, 2),
        "mul.lo" => (Op::MulLow, 2),
        "mul.hi" => (Op::MulHigh, 2),
        "mul.wide" => (Op::MulWide, 2),
        "mad.lo" => (Op::MadLow, 3),
        "mad.hi" => (Op::MadHigh, 3),
        "mad.wide" => (Op::MadWide, 3),
        "mad.lo.cc" => (Op::MadCarry { high: false, input: false, output: true }, 3),
        "mad.hi.cc" => (Op::MadCarry { high: true, input: false, output: true }, 3),
        "madc.lo" => (Op::MadCarry { high: false, input: true, output: false }, 3),
        "madc.hi" => (Op::MadCarry { high: true, input: true, output: false }, 3),
        "madc.lo.cc" => (Op::MadCarry { high: false, input: true, output: true }, 3),
        "madc.hi.cc" => (Op::MadCarry { high: true, input: true, output: true }, 3),
        "div" => (Op::Div, 2),
        "rem" => (Op::Rem, 2),
        "min" => (Op::Min, 2),
        "max" => (Op::Max, 2),
        "and" => (Op::And, 2),
        "or" => (Op::Or, 2),
        "xor" => (Op::Xor, 2),
        "not" => (Op::Not, 1),
        "cnot" => (Op::LogicalNot, 1),
        "neg" => (Op::Neg, 1),
        "abs" => (Op::Abs, 1),
        "shl" => (Op::ShiftLeft, 2),
        "shr" => (Op::ShiftRight, 2),
        "popc" => (Op::PopCount, 1),
        "clz" => (Op::LeadingZeros, 1),
        "brev" => (Op::ReverseBits, 1),
        "bfe" => (Op::Extract, 3),
        "bfi" => (Op::Insert, 4),
        "bfind" => (Op::HighestBit { as_shift: false }, 1),
        "bfind.shiftamt" => (Op::HighestBit { as_shift: true }, 1),
        "prmt" => (Op::Permute, 3),
        "shf.l.wrap" => (Op::FunnelLeft { clamp: false }, 3),
        "shf.l.clamp" => (Op::FunnelLeft { clamp: true }, 3),
        "shf.r.wrap" => (Op::FunnelRight { clamp: false }, 3),
        "shf.r.clamp" => (Op::FunnelRight { clamp: true }, 3),
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    /// Decodes integer instructions. Returns false for any other opcode.
    pub(super) fn integer(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<bool, Reason> {
        let base = Instruction::default();
        match (parts, ops) {
            (["setp", ..], _) => self.compare(parts, ops)?,
            (["set", how, to, kind], [d, a, b]) => {
                let (how, unsigned) = comparison(how).ok_or("comparison")?;
                let (mut kind, to) = (Self::kind(kind)?, Kind::parse(to).ok_or("type")?);
                kind.signed &= !unsigned;
                let (d, a, b) = (self.target(d)?, self.source(a)?, self.source(b)?);
                self.push(Instruction { op: Op::Mask(how), kind, to, d, a, b, ..base });
            }
            (["selp", kind], [d, a, b, p]) => {
                let kind = Kind::parse(kind).ok_or("type")?;
                let (d, a, b) = (self.target(d)?, self.source(a)?, self.source(b)?);
                let c = self.source(p)?;
                self.push(Instruction { op: Op::Select, kind, d, a, b, c, ..base });
            }
            (["cvt", to, kind], [d, a]) => {
                let (to, kind) = (Self::kind(to)?, Self::kind(kind)?);
                // A signed value that is narrower than its register is sign-extended to the
                // register's width.
                let wide = if to.signed { self.width(d).min(64) } else { 64 };
                let (d, a) = (self.target(d)?, self.source(a)?);
                let c = self.constant_slot(u64::MAX >> (64 - wide));
                self.push(Instruction { op: Op::Convert, kind, to, d, a, c, ..base });
            }
            (["lop3", "b32"], [d, a, b, c, table]) => {
                let e = self.literal(table)? as u32;
                let (d, a) = (self.target(d)?, self.source(a)?);
                let (b, c) = (self.source(b)?, self.source(c)?);
                self.push(Instruction { op: Op::Logic3, d, a, b, c, e, ..base });
            }
            ([.., kind], [d, sources @ ..]) => {
                let name = parts[..parts.len() - 1].join(".");
                let Some((op, count)) = plain(&name) else { return Ok(false) };
                let kind = Self::kind(kind)?;
                if matches!(op, Op::MulWide | Op::MadWide) && kind.bits() > 32 {
                    return Err("too wide".into());
                }
                if sources.len() != count {
                    return Err(format!("{count} sources were expected"));
                }
                let mut i = Instruction { op, kind, d: self.target(d)?, ..base };
                let fields: [&mut u32; 4] = [&mut i.a, &mut i.b, &mut i.c, &mut i.e];
                for (field, source) in fields.into_iter().zip(sources) {
                    *field = self.source(source)?;
                }
                self.push(i);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn kind(name: &str) -> Result<Kind, Reason> {
        Kind::parse(name).filter(|k| !k.float).ok_or_else(|| format!(".{name}"))
    }

    /// Decodes `setp.how.type p|q, a, b` and `setp.how.join.type p|q, a, b, {!}c`.
    fn compare(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<(), Reason> {
        let (how, how_joined, kind) = match parts {
            ["setp", how, kind] => (*how, None, *kind),
            ["setp", how, joined, kind] => (*how, Some(join(joined).ok_or_else(|| format!(".{joined}"))?), *kind),
            _ => return Err("form of setp".into()),
        };
        let (how, unsigned) = comparison(how).ok_or_else(|| format!(".{how}"))?;
        let mut kind = Self::kind(kind)?;
        kind.signed &= !unsigned;
        let (d, a, b, c) = match (ops, how_joined) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(_)) => (d, a, b, Some(c)),
            _ => return Err("operands".into()),
        };
        let (d, d2) = self.target_pair(d)?;
        let (a, b) = (self.source(a)?, self.source(b)?);
        let (c, negate) = match c {
            Some(c) => self.predicate(c)?,
            None => (TRUE, false),
        };
        let op = Op::Compare { how, join: how_joined.unwrap_or(Join::And), negate };
        self.push(Instruction { op, kind, d, d2, a, b, c, ..Instruction::default() });
        Ok(())
    }
}
