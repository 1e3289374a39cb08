//! The decoding of loads, stores, atomics, and conversions between address spaces.

use super::Decoder;
use super::syntax::{Operand, Reason, is_list};
use crate::code::{AtomicOp, Instruction, Kind, Op, SINK};
use crate::fault::Space;
use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

/// Returns whether the interpreter ignores a qualifier. Its memory is sequentially consistent and
/// has no caches.
fn is_hint(part: &str) -> bool {
    let hints = [
        "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "sc", "cta", "cluster", "gpu", "sys",
        "nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "noftz", "unified",
    ];
    hints.contains(&part) || part.starts_with("L1::") || part.starts_with("L2::")
}

fn space(part: &str) -> Option<Space> {
    Some(match part {
        "global" | "const" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "param" | "param::entry" => Space::Param,
        "local" => Space::Local,
        _ => return None,
    })
}

fn atomic_op(part: &str) -> Option<AtomicOp> {
    Some(match part {
        "add" => AtomicOp::Add,
        "exch" => AtomicOp::Exchange,
        "cas" => AtomicOp::CompareExchange,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "inc" => AtomicOp::Increment,
        "dec" => AtomicOp::Decrement,
        _ => return None,
    })
}

/// The properties of a memory access, from the parts of its opcode.
struct Access {
    space: Space,
    kind: Kind,
    wide: bool,
    elements: u32,
    atomic: Option<AtomicOp>,
    has_policy: bool,
}

fn access(parts: &[&str]) -> Result<Access, Reason> {
    let mut out = Access {
        space: Space::Generic,
        kind: Kind::U32,
        wide: false,
        elements: 1,
        atomic: None,
        has_policy: parts.contains(&"L2::cache_hint"),
    };
    let (&last, rest) = parts.split_last().ok_or("a type was expected")?;
    for &part in rest {
        if let Some(s) = space(part) {
            out.space = s;
        } else if let Some(op) = atomic_op(part) {
            out.atomic = Some(op);
        } else if let Some(n) = part.strip_prefix('v').and_then(|n| n.parse().ok()).filter(|n| [2, 4, 8].contains(n)) {
            out.elements = n;
        } else if !is_hint(part) {
            return Err(format!(".{part}"));
        }
    }
    if last == "b128" {
        (out.kind, out.wide) = (Kind::U64, true);
    } else {
        out.kind = Kind::parse(last).filter(|k| k.bits() >= 8).ok_or_else(|| format!(".{last}"))?;
    }
    Ok(out)
}

impl<'a> Decoder<'a> {
    /// Decodes memory instructions. Returns false for any other opcode.
    pub(super) fn memory(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<bool, Reason> {
        match parts {
            ["ld", "param", ..] if ops.get(1).is_some_and(|o| o.iter().any(|t| t.is("retval0"))) => {
                return Err("result of a call".into());
            }
            ["ld" | "ldu", rest @ ..] => self.load(rest, ops)?,
            ["st", rest @ ..] => self.store(rest, ops)?,
            ["atom", rest @ ..] => self.atomic(rest, ops, true)?,
            ["red", rest @ ..] if rest.first() != Some(&"async") => self.atomic(rest, ops, false)?,
            ["cvta", rest @ ..] => self.change_space(rest, ops)?,
            ["isspacep", ..] => return Err("isspacep".into()),
            ["prefetch" | "prefetchu" | "discard" | "applypriority" | "fence" | "membar" | "nanosleep", ..] => {}
            ["createpolicy", ..] => {
                let d = self.target(ops.first().ok_or("too few operands")?)?;
                self.push(Instruction { op: Op::Move, kind: Kind::U64, d, ..Instruction::default() });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn load(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<(), Reason> {
        let access = access(parts)?;
        let (([target, address], false) | ([target, address, _], true)) = (ops, access.has_policy) else {
            return Err("operands".into());
        };
        if access.atomic.is_some() {
            return Err("qualifier".into());
        }
        let (a, b) = self.address(address)?;
        let space = access.space;
        let base = Instruction { kind: access.kind, to: access.kind, a, b, ..Instruction::default() };
        if access.wide {
            let d = self.wide(target)?;
            let start = self.code.lists.len() as u32;
            self.code.lists.extend([d, d + 1]);
            self.push(Instruction { op: Op::LoadList(space), d: start, c: 2, ..base });
        } else if is_list(target) {
            let (d, c) = self.list(target, Self::target)?;
            if c != access.elements {
                return Err("as many registers as elements were expected".into());
            }
            self.push(Instruction { op: Op::LoadList(space), d, c, ..base });
        } else {
            let to = Kind::unsigned(self.width(target).min(64));
            let d = self.target(target)?;
            self.push(Instruction { op: Op::Load(space), to, d, ..base });
        }
        Ok(())
    }

    fn store(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<(), Reason> {
        let access = access(parts)?;
        let (([address, value], false) | ([address, value, _], true)) = (ops, access.has_policy) else {
            return Err("operands".into());
        };
        if access.atomic.is_some() {
            return Err("qualifier".into());
        }
        let (a, b) = self.address(address)?;
        let space = access.space;
        let base = Instruction { kind: access.kind, a, b, ..Instruction::default() };
        if access.wide {
            let v = self.wide(value)?;
            let start = self.code.lists.len() as u32;
            self.code.lists.extend([v, v + 1]);
            self.push(Instruction { op: Op::StoreList(space), d: start, c: 2, ..base });
        } else if is_list(value) {
            let (d, c) = self.list(value, Self::source)?;
            if c != access.elements {
                return Err("as many registers as elements were expected".into());
            }
            self.push(Instruction { op: Op::StoreList(space), d, c, ..base });
        } else {
            let d = self.source(value)?;
            self.push(Instruction { op: Op::Store(space), d, ..base });
        }
        Ok(())
    }

    fn atomic(&mut self, parts: &[&str], ops: &[Operand<'a>], has_result: bool) -> Result<(), Reason> {
        let access = access(parts)?;
        let op = access.atomic.ok_or("an atomic operation was expected")?;
        let (result, ops) = match ops {
            [result, rest @ ..] if has_result => (Some(*result), rest),
            _ => (None, ops),
        };
        let ops = match ops {
            [rest @ .., _policy] if access.has_policy => rest,
            _ => ops,
        };
        if access.elements != 1 || (access.kind.float && op != AtomicOp::Add) {
            return Err("this atomic".into());
        }
        let source = if access.wide { Self::wide } else { Self::source };
        let (address, c, e) = match (op, ops) {
            (AtomicOp::CompareExchange, [address, c, e]) => (address, source(self, c)?, source(self, e)?),
            (AtomicOp::CompareExchange, _) => return Err("operands".into()),
            (_, [address, c]) => (address, source(self, c)?, SINK),
            _ => return Err("operands".into()),
        };
        let (a, b) = self.address(address)?;
        let d = match result {
            Some(result) if access.wide => self.wide(result)?,
            Some(result) => self.target(result)?,
            None if access.wide => self.slots.fresh(2),
            None => SINK,
        };
        let op = if access.wide {
            if !matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange) {
                return Err("this atomic of 128 bits".into());
            }
            Op::WideAtomic(access.space, op)
        } else {
            Op::Atomic(access.space, op)
        };
        self.push(Instruction { op, kind: access.kind, d, a, b, c, e, ..Instruction::default() });
        Ok(())
    }

    /// Decodes `cvta`. Global addresses equal generic addresses, and addresses of other spaces are
    /// moved into or out of their window.
    fn change_space(&mut self, parts: &[&str], ops: &[Operand<'a>]) -> Result<(), Reason> {
        let (from_generic, name, kind) = match parts {
            ["to", name, kind] => (true, *name, *kind),
            [name, kind] => (false, *name, *kind),
            _ => return Err("operands".into()),
        };
        let window = match space(name).ok_or("a space was expected")? {
            Space::Shared => SHARED_WINDOW,
            Space::Param => PARAM_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Global | Space::Generic => 0,
        };
        let kind = Kind::parse(kind).ok_or("a type was expected")?;
        let [d, a] = ops else { return Err("operands".into()) };
        let (d, a) = (self.target(d)?, self.source(a)?);
        let op = match (window, from_generic) {
            (0, _) => Op::Move,
            (_, true) => Op::Sub,
            (_, false) => Op::Add,
        };
        let b = self.constant_slot(window);
        self.push(Instruction { op, kind, d, a, b, ..Instruction::default() });
        Ok(())
    }
}
