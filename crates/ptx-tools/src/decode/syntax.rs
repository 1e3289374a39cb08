//! The parsing of a statement's tokens into operands and declarations.

use super::names::number;
use crate::code::Kind;
use crate::token::Token;

/// The reason why a statement cannot be decoded.
pub(crate) type Reason = String;

/// The tokens of one operand.
pub(crate) type Operand<'a> = &'a [Token<'a>];

/// Splits the tokens at the commas outside of brackets.
pub(crate) fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Result<Vec<&'t [Token<'a>]>, Reason> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, t) in tokens.iter().enumerate() {
        match t.text {
            "[" | "{" | "(" => depth += 1,
            "]" | "}" | ")" => depth -= 1,
            "," if depth == 0 => {
                out.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if !tokens.is_empty() {
        out.push(&tokens[start..]);
    }
    if out.iter().any(|o| o.is_empty()) { Err("an operand is empty".into()) } else { Ok(out) }
}

/// Returns the tokens within `{…}`.
pub(super) fn listed<'a>(operand: Operand<'a>) -> Option<Operand<'a>> {
    match operand {
        [open, inner @ .., close] if open.is("{") && close.is("}") => Some(inner),
        _ => None,
    }
}

/// Returns whether the operand is a list within `{…}`.
pub(crate) fn is_list(operand: Operand) -> bool {
    listed(operand).is_some()
}

/// Returns the name, bytes and alignment of an array or scalar declaration such as
/// `.shared .align 16 .b8 sm[1024]`.
///
/// An array without a size (`sm[]`) has 0 bytes.
pub(crate) fn variable(tokens: &[Token]) -> Option<(String, u64, u64)> {
    let mut align = None;
    let mut kind = None;
    let mut i = 0;
    while let Some(t) = tokens.get(i) {
        if t.is(".align") {
            align = Some(number(tokens.get(i + 1)?.text)?);
            i += 2;
            continue;
        }
        if let Some(k) = Kind::parse(t.text.trim_start_matches('.')).filter(|_| t.text.starts_with('.')) {
            kind = Some(u64::from(k.bytes()));
        } else if !t.text.starts_with('.') {
            break;
        }
        i += 1;
    }
    let (name, kind) = (tokens.get(i)?.text.to_string(), kind?);
    let mut bytes = kind;
    let mut rest = &tokens[i + 1..];
    while let [open, size, tail @ ..] = rest {
        if !open.is("[") {
            break;
        }
        if size.is("]") {
            bytes = 0;
            rest = tail;
        } else {
            bytes = bytes.checked_mul(number(size.text)?).filter(|&b| b <= 1 << 32)?;
            rest = tail.get(1..)?;
        }
    }
    let align = align.unwrap_or(kind);
    (align.is_power_of_two() && align <= 1 << 16).then_some((name, bytes, align))
}
