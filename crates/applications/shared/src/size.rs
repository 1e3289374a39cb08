//! Sizes of memory, as users write them.

use std::fmt;

/// A count of bytes, shown in the largest unit of which it has at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// The letters of the units, each 1024 of the one before it.
const UNITS: [char; 4] = ['K', 'M', 'G', 'T'];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.0.checked_ilog2().unwrap_or(0) / 10;
        match UNITS.get((unit as usize).min(UNITS.len()).wrapping_sub(1)) {
            None => write!(f, "{} bytes", self.0),
            Some(letter) => {
                let unit = unit.min(UNITS.len() as u32);
                let value = self.0 as f64 / (1u64 << (10 * unit)) as f64;
                let decimals = if value.fract() == 0.0 { 0 } else { 1 };
                write!(f, "{value:.decimals$} {letter}iB")
            }
        }
    }
}

/// Returns the bytes that a text stands for: a number, optionally with a unit from `K` to `T`.
pub fn parse(text: &str) -> Result<u64, String> {
    const WRONG: &str = "give bytes, or a number with K, M, G or T behind it, such as 500M or 4G";
    let lower = text.trim().to_ascii_uppercase();
    let short = lower.strip_suffix("IB").or_else(|| lower.strip_suffix('B')).unwrap_or(&lower);
    let unit = UNITS.iter().position(|unit| short.ends_with(*unit));
    let number = if unit.is_some() { &short[..short.len() - 1] } else { short };
    let number: f64 = number.trim().parse().map_err(|_| WRONG.to_owned())?;
    let bytes = number * unit.map_or(1.0, |unit| (1u64 << (10 * (unit + 1))) as f64);
    if bytes.is_finite() && bytes >= 0.0 { Ok(bytes as u64) } else { Err(WRONG.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("1k", 1 << 10),
            ("500M", 500 << 20),
            ("4G", 4 << 30),
            ("1.5 GiB", 3 << 29),
            ("2TB", 2 << 40),
            ("7b", 7),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "4X", "-1G", "nan", "inf", "four", "1e999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_shown_in_units() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1 << 10, "1 KiB"),
            (3 << 29, "1.5 GiB"),
            (8 << 30, "8 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
