//! The decoding of operands, from tokens to slots.

use super::Decoder;
use super::names::{Name, fixed_special, number, special};
use super::syntax::{Operand, Reason, listed, split};
use crate::code::{SINK, Slot, ZERO};

impl<'a> Decoder<'a> {
    /// Returns the slot and width of a register, or `None` if the name is not a register.
    fn find_register(&mut self, name: &str) -> Option<(Slot, u32)> {
        let Decoder { scopes, slots, .. } = self;
        match scopes.find(name)? {
            Name::Register { bits, slot } => {
                let slot = *slot.get_or_insert_with(|| slots.fresh(if *bits == 128 { 2 } else { 1 }));
                Some((slot, *bits))
            }
            Name::Address(_) => None,
        }
    }

    pub fn register(&mut self, name: &str) -> Result<Slot, Reason> {
        if name == "_" {
            return Ok(SINK);
        }
        self.find_register(name).filter(|r| r.1 <= 64).map(|r| r.0).ok_or_else(|| format!("no register {name}"))
    }

    /// Returns the slot of a result register.
    pub fn target(&mut self, operand: Operand) -> Result<Slot, Reason> {
        match operand {
            [name] => self.register(name.text),
            _ => Err("a register was expected".into()),
        }
    }

    /// Returns the width in bits of the register that an operand names, or 64 if it names no
    /// register.
    pub fn width(&mut self, operand: Operand) -> u32 {
        match operand {
            [name] => self.find_register(name.text).map_or(64, |r| r.1),
            _ => 64,
        }
    }

    /// Returns the first of the two slots of a 128-bit register.
    pub fn wide(&mut self, operand: Operand) -> Result<Slot, Reason> {
        match operand {
            [name] if name.is("_") => Ok(self.slots.fresh(2)),
            [name] => match self.find_register(name.text) {
                Some((slot, 128)) => Ok(slot),
                _ => Err("a register of 128 bits was expected".into()),
            },
            _ => Err("a register of 128 bits was expected".into()),
        }
    }

    /// Returns the slots of `d` or `d|p`.
    pub fn target_pair(&mut self, operand: Operand) -> Result<(Slot, Slot), Reason> {
        match operand {
            [d, bar, p] if bar.is("|") => Ok((self.register(d.text)?, self.register(p.text)?)),
            _ => Ok((self.target(operand)?, SINK)),
        }
    }

    /// Returns the address that a symbol stands for.
    fn symbol(&mut self, name: &str) -> Option<u64> {
        if let Some(Name::Address(a)) = self.scopes.find(name) {
            return Some(*a);
        }
        self.outer.params.get(name).or_else(|| self.outer.globals.get(name)).copied()
    }

    /// Returns the value of an integer, a symbol, or a sum of integers and symbols.
    fn constant(&mut self, operand: Operand) -> Result<u64, Reason> {
        let (mut sum, mut negative) = (0u64, false);
        for t in operand {
            match t.text {
                "+" => {}
                "-" => negative = !negative,
                word => {
                    let value = number(word).or_else(|| fixed_special(word)).or_else(|| self.symbol(word));
                    let value = value.ok_or_else(|| format!("no register, symbol or number {word}"))?;
                    sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
                    negative = false;
                }
            }
        }
        Ok(sum)
    }

    pub fn constant_slot(&mut self, value: u64) -> Slot {
        if value == 0 { ZERO } else { self.slots.constant(value) }
    }

    /// Returns the slot of a value that is read: a register, special register, symbol or integer.
    pub fn source(&mut self, operand: Operand) -> Result<Slot, Reason> {
        if let [name] = operand {
            if name.is("_") {
                return Ok(ZERO);
            }
            if let Some((slot, _)) = self.find_register(name.text) {
                return Ok(slot);
            }
            if let Some(what) = special(name.text) {
                return Ok(self.slots.special(what));
            }
        }
        let value = self.constant(operand)?;
        Ok(self.constant_slot(value))
    }

    /// Returns the slot of a predicate that is read, and whether it is negated. The constants
    /// `true` and `false` are integers in PTX.
    pub fn predicate(&mut self, operand: Operand) -> Result<(Slot, bool), Reason> {
        match operand {
            [not, rest @ ..] if not.is("!") => Ok((self.source(rest)?, true)),
            _ => Ok((self.source(operand)?, false)),
        }
    }

    /// Returns an integer that the instruction itself contains.
    pub fn literal(&mut self, operand: Operand) -> Result<u64, Reason> {
        self.constant(operand)
    }

    /// Returns the two slots whose sum is the address, for `[base]`, `[base+offset]` or `[number]`.
    pub fn address(&mut self, operand: Operand<'a>) -> Result<(Slot, Slot), Reason> {
        let [open, inner @ .., close] = operand else { return Err("an address was expected".into()) };
        if !open.is("[") || !close.is("]") || inner.is_empty() {
            return Err("an address was expected".into());
        }
        if let Some((base, _)) = self.find_register(inner[0].text) {
            let offset = self.constant(&inner[1..])?;
            return Ok((base, self.constant_slot(offset)));
        }
        let at = self.constant(inner)?;
        Ok((self.constant_slot(at), ZERO))
    }

    /// Appends the slots of the operands in `{…}`, or of a single operand, to the lists. Returns
    /// their start and count.
    pub fn list(
        &mut self,
        operand: Operand<'a>,
        slot: impl Fn(&mut Self, Operand<'a>) -> Result<Slot, Reason>,
    ) -> Result<(u32, u32), Reason> {
        let parts = match listed(operand) {
            Some(inner) => split(inner)?,
            None => vec![operand],
        };
        let slots = parts.into_iter().map(|p| slot(self, p)).collect::<Result<Vec<_>, _>>()?;
        let start = self.code.lists.len() as u32;
        self.code.lists.extend(&slots);
        Ok((start, slots.len() as u32))
    }
}
