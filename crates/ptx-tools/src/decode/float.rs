//! The decoding of the few floating-point instructions that integer kernels use.

use super::Decoder;
use super::integer::{comparison, join};
use super::syntax::{Operand, Reason};
use crate::code::{Comparison, FloatOp, Instruction, Join, Kind, Op, Rounding, TRUE};

fn operation(name: &str) -> Option<(FloatOp, usize)> {
    Some(match name {
        "add" => (FloatOp::Add, 2),
        "sub" => (FloatOp::Sub, 2),
        "mul" => (FloatOp::Mul, 2),
        "div" => (FloatOp::Div, 2),
        "fma" | "mad" => (FloatOp::Fma, 3),
        "neg" => (FloatOp::Neg, 1),
        "abs" => (FloatOp::Abs, 1),
        "min" => (FloatOp::Min, 2),
        "max" => (FloatOp::Max, 2),
        "sqrt" => (FloatOp::Sqrt, 1),
        "rcp" => (FloatOp::Reciprocal, 1),
        _ => return None,
    })
}

fn rounding(name: &str) -> Option<Rounding> {
    Some(match name {
        "rn" | "rni" => Rounding::Nearest,
        "rz" | "rzi" => Rounding::Zero,
        "rm" | "rmi" => Rounding::Down,
        "rp" | "rpi" => Rounding::Up,
        _ => return None,
    })
}

/// Returns the float comparison of this name, and whether it is true for NaN operands.
fn float_comparison(name: &str) -> Option<(Comparison, bool)> {
    match name {
        "num" => return Some((Comparison::Ordered, false)),
        "nan" => return Some((Comparison::Unordered, true)),
        _ => {}
    }
    if let Some(ordered) = name.strip_suffix('u').filter(|n| n.len() == 2) {
        return comparison(ordered).map(|(how, _)| (how, true));
    }
    comparison(name).filter(|(_, unsigned)| !unsigned).map(|(how, _)| (how, false))
}

impl<'a> Decoder<'a> {
    /// Decodes instructions on floats. Returns false for any other opcode.
    pub(super) fn float(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<bool, Reason> {
        let Some(kind) = parts.last().and_then(|k| Kind::parse(k)) else { return Ok(false) };
        let base = Instruction { kind, ..Instruction::default() };
        match (parts, ops) {
            (["cvt", modes @ .., to, _], [d, a]) => {
                let to = Kind::parse(to).ok_or("type")?;
                if !to.float && !kind.float {
                    return Ok(false);
                }
                let mut round = Rounding::Nearest;
                for mode in modes {
                    round = rounding(mode).ok_or_else(|| format!(".{mode}"))?;
                }
                // The host rounds an integer or a wider float to the nearest float.
                if to.float && to.bits() < kind.bits() + 64 * u32::from(!kind.float) && round != Rounding::Nearest {
                    return Err("rounding".into());
                }
                let whole = modes.iter().any(|m| m.ends_with('i')) || !to.float;
                let op = Op::FloatConvert(round);
                let e = u32::from(whole && kind.float);
                let (d, a) = (self.target(d)?, self.source(a)?);
                self.push(Instruction { op, to, d, a, e, ..base });
            }
            (["setp", how, middle @ .., _], [d, a, b, rest @ ..]) if kind.float => {
                let (how, or_nan) = float_comparison(how).ok_or_else(|| format!(".{how}"))?;
                let (joined, c, negate) = match (middle, rest) {
                    ([], []) => (Join::And, TRUE, false),
                    ([name], [c]) => {
                        let (c, negate) = self.predicate(c)?;
                        (join(name).ok_or_else(|| format!(".{name}"))?, c, negate)
                    }
                    _ => return Err("form of setp".into()),
                };
                let (d, d2) = self.target_pair(d)?;
                let (a, b) = (self.source(a)?, self.source(b)?);
                let op = Op::FloatCompare { how, or_nan, join: joined, negate };
                self.push(Instruction { op, d, d2, a, b, c, ..base });
            }
            ([name, modes @ .., _], [d, sources @ ..]) if kind.float => {
                let Some((op, count)) = operation(name) else { return Ok(false) };
                if let Some(mode) = modes.iter().find(|m| !["rn", "approx", "full"].contains(m)) {
                    return Err(format!(".{mode}"));
                }
                if sources.len() != count {
                    return Err(format!("{count} sources were expected"));
                }
                let mut i = Instruction { op: Op::Float(op), d: self.target(d)?, ..base };
                for (field, source) in [&mut i.a, &mut i.b, &mut i.c].into_iter().zip(sources) {
                    *field = self.source(source)?;
                }
                self.push(i);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
