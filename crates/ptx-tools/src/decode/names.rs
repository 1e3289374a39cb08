//! The names of an entry point by scope: registers, and shared and local arrays. Also the register
//! file, in which registers get slots.

use std::collections::HashMap;

use crate::code::{Slot, Special, TRUE, ZERO};

/// The item that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A register, which gets its slot when it is first used. A 128-bit register gets two slots.
    Register { bits: u32, slot: Option<Slot> },
    /// The address of a shared or local array, a parameter, or a variable of the module.
    Address(u64),
}

/// The slots of a thread's register file.
#[derive(Debug)]
pub(crate) struct Slots {
    count: Slot,
    pub specials: Vec<(Slot, Special)>,
    constants: HashMap<u64, Slot>,
}

impl Slots {
    /// Makes a register file that has the four slots with fixed meanings.
    pub fn new() -> Self {
        Slots { count: 4, specials: Vec::new(), constants: HashMap::new() }
    }

    pub fn fresh(&mut self, count: u32) -> Slot {
        let slot = self.count;
        self.count += count;
        slot
    }

    pub fn constant(&mut self, value: u64) -> Slot {
        if let Some(&slot) = self.constants.get(&value) {
            return slot;
        }
        let slot = self.fresh(1);
        self.constants.insert(value, slot);
        slot
    }

    /// Returns the count of slots.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Returns the slots that hold constants, and their values.
    pub fn constants(&self) -> Vec<(Slot, u64)> {
        let mut all = vec![(TRUE, 1), (ZERO, 0)];
        all.extend(self.constants.iter().map(|(&value, &slot)| (slot, value)));
        all.sort_unstable();
        all
    }

    pub fn special(&mut self, special: Special) -> Slot {
        if let Some(known) = self.specials.iter().find(|s| s.1 == special) {
            return known.0;
        }
        let slot = self.fresh(1);
        self.specials.push((slot, special));
        slot
    }
}

/// The scopes of an entry point. `{ … }` in inline assembly opens a scope.
#[derive(Debug)]
pub(crate) struct Scopes {
    /// The parent of each scope. Scope 0 belongs to the entry point, and is its own parent.
    parents: Vec<usize>,
    names: Vec<HashMap<String, Name>>,
    now: usize,
}

impl Scopes {
    pub fn new() -> Self {
        Scopes { parents: vec![0], names: vec![HashMap::new()], now: 0 }
    }

    pub fn open(&mut self) {
        self.parents.push(self.now);
        self.names.push(HashMap::new());
        self.now = self.parents.len() - 1;
    }

    pub fn close(&mut self) {
        self.now = self.parents[self.now];
    }

    pub fn current(&self) -> usize {
        self.now
    }

    pub fn declare(&mut self, name: String, what: Name) {
        self.names[self.now].insert(name, what);
    }

    pub fn find(&mut self, name: &str) -> Option<&mut Name> {
        let scope = self.outwards(self.now).find(|&s| self.names[s].contains_key(name))?;
        self.names[scope].get_mut(name)
    }

    /// Returns a scope and all scopes around it.
    pub fn outwards(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        let step = |&s: &usize| (s != 0).then(|| self.parents[s]);
        std::iter::successors(Some(from), step)
    }
}

/// Returns the special register `%name`, if its value can be set at the start of each thread.
pub(crate) fn special(name: &str) -> Option<Special> {
    Some(match name {
        "%tid.x" => Special::Thread,
        "%ntid.x" => Special::Threads,
        "%ctaid.x" => Special::Block,
        "%nctaid.x" => Special::Blocks,
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%lanemask_eq" => Special::MaskEqual,
        "%lanemask_lt" => Special::MaskLess,
        "%lanemask_le" => Special::MaskLessEqual,
        "%lanemask_gt" => Special::MaskGreater,
        "%lanemask_ge" => Special::MaskGreaterEqual,
        "%dynamic_smem_size" => Special::DynamicShared,
        _ => return None,
    })
}

/// Returns the value of a special register that is the same for every thread of every launch.
pub(crate) fn fixed_special(name: &str) -> Option<u64> {
    Some(match name {
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => 0,
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => 1,
        "WARP_SZ" => 32,
        _ => return None,
    })
}

/// Parses an integer as PTX writes it: decimal, hexadecimal, octal or binary, with an optional `U`.
/// For a float, returns its bits.
pub(crate) fn number(word: &str) -> Option<u64> {
    if let Some(bits) = word.strip_prefix("0f").or(word.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().map(u64::from);
    }
    if let Some(bits) = word.strip_prefix("0d").or(word.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    let digits = word.strip_suffix('U').unwrap_or(word);
    if let Some(digits) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = digits.strip_prefix("0b").or(digits.strip_prefix("0B")) {
        u64::from_str_radix(digits, 2).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(&digits[1..], 8).ok()
    } else {
        digits.parse().ok()
    }
}
