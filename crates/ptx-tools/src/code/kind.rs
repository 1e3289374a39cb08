//! The types that instructions work on.

/// The type of an instruction's operands. Registers hold values zero-extended to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The width subtracted from 64.
    pub shift: u8,
    pub signed: bool,
    pub float: bool,
}

impl Kind {
    pub const PREDICATE: Kind = Kind::unsigned(1);
    pub const U32: Kind = Kind::unsigned(32);
    pub const U64: Kind = Kind::unsigned(64);

    pub const fn unsigned(bits: u32) -> Kind {
        Kind { shift: (64 - bits) as u8, signed: false, float: false }
    }

    /// Returns the kind of a name without its dot. 128-bit types have no `Kind`.
    pub fn parse(name: &str) -> Option<Kind> {
        if name == "pred" {
            return Some(Kind::PREDICATE);
        }
        let (class, width) = name.split_at_checked(1)?;
        let bits = match (class.as_bytes()[0], width) {
            (b'b' | b'u' | b's', "8") => 8,
            (b'b' | b'u' | b's', "16") => 16,
            (b'b' | b'u' | b's' | b'f', "32") => 32,
            (b'b' | b'u' | b's' | b'f', "64") => 64,
            _ => return None,
        };
        Some(Kind { signed: class == "s", float: class == "f", ..Kind::unsigned(bits) })
    }

    #[inline(always)]
    pub fn bits(self) -> u32 {
        64 - u32::from(self.shift)
    }

    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// Returns the value cut to the type's bits.
    #[inline(always)]
    pub fn cut(self, value: u64) -> u64 {
        value & (u64::MAX >> self.shift)
    }

    /// Returns the value widened to 64 bits: sign-extended if the type is signed, else
    /// zero-extended.
    #[inline(always)]
    pub fn widen(self, value: u64) -> u64 {
        let high = value << self.shift;
        if self.signed { ((high as i64) >> self.shift) as u64 } else { high >> self.shift }
    }
}
