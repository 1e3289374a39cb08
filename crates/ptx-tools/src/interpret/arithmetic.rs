//! The arithmetic that takes more than one line. Arguments are zero-extended, and results are
//! truncated to their type.

use crate::code::{AtomicOp, Comparison, FloatOp, Join, Kind, Rounding};

#[inline(always)]
pub(crate) fn compare(how: Comparison, kind: Kind, a: u64, b: u64) -> bool {
    // After the shift, both values use the top bits of the word, so only the sign needs special
    // treatment.
    let (a, b) = (a << kind.shift, b << kind.shift);
    let flip = u64::from(kind.signed) << 63;
    let (x, y) = (a ^ flip, b ^ flip);
    match how {
        Comparison::Equal => x == y,
        Comparison::NotEqual => x != y,
        Comparison::Less => x < y,
        Comparison::LessEqual => x <= y,
        Comparison::Greater => x > y,
        Comparison::GreaterEqual => x >= y,
        Comparison::Ordered => true,
        Comparison::Unordered => false,
    }
}

#[inline(always)]
pub(crate) fn join(how: Join, a: bool, b: bool) -> bool {
    match how {
        Join::And => a & b,
        Join::Or => a | b,
        Join::Xor => a ^ b,
    }
}

/// Returns the low and the high half of the full product, each as wide as the type.
#[inline(always)]
pub(crate) fn product(kind: Kind, a: u64, b: u64) -> (u64, u64) {
    let (a, b) = (kind.widen(a), kind.widen(b));
    let p =
        if kind.signed { (i128::from(a as i64) * i128::from(b as i64)) as u128 } else { u128::from(a) * u128::from(b) };
    (kind.cut(p as u64), kind.cut((p >> kind.bits()) as u64))
}

/// Returns the full product of values of a type with at most 32 bits.
#[inline(always)]
pub(crate) fn wide_product(kind: Kind, a: u64, b: u64) -> u64 {
    Kind::unsigned((2 * kind.bits()).min(64)).cut(kind.widen(a).wrapping_mul(kind.widen(b)))
}

/// Divides as the GPU does: a division by zero returns all ones.
#[inline(always)]
pub(crate) fn divide(kind: Kind, a: u64, b: u64) -> u64 {
    let (a, b) = (kind.widen(a), kind.widen(b));
    kind.cut(match b {
        0 => u64::MAX,
        _ if kind.signed => (a as i64).wrapping_div(b as i64) as u64,
        _ => a / b,
    })
}

#[inline(always)]
pub(crate) fn remainder(kind: Kind, a: u64, b: u64) -> u64 {
    let (a, b) = (kind.widen(a), kind.widen(b));
    kind.cut(match b {
        0 => a,
        _ if kind.signed => (a as i64).wrapping_rem(b as i64) as u64,
        _ => a % b,
    })
}

/// Returns the sum and the carry.
#[inline(always)]
pub(crate) fn add_carry(kind: Kind, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(kind.cut(a)) + u128::from(kind.cut(b)) + u128::from(carry);
    (kind.cut(sum as u64), (sum >> kind.bits()) as u64)
}

/// Returns the difference and the borrow.
#[inline(always)]
pub(crate) fn sub_borrow(kind: Kind, a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let (a, b) = (kind.cut(a), u128::from(kind.cut(b)) + u128::from(borrow));
    (kind.cut(a.wrapping_sub(b as u64)), u64::from(u128::from(a) < b))
}

#[inline(always)]
pub(crate) fn shift_left(kind: Kind, a: u64, by: u64) -> u64 {
    let by = by as u32;
    if by >= kind.bits() { 0 } else { kind.cut(a << by) }
}

#[inline(always)]
pub(crate) fn shift_right(kind: Kind, a: u64, by: u64) -> u64 {
    let (a, by) = (kind.widen(a), by as u32);
    match (kind.signed, by >= kind.bits()) {
        (true, over) => kind.cut(((a as i64) >> if over { 63 } else { by }) as u64),
        (false, true) => 0,
        (false, false) => a >> by,
    }
}

/// Returns the result of `bfe`: `len` bits of `a` that begin at bit `pos`. For a signed type, the
/// field is sign-extended.
pub(crate) fn extract(kind: Kind, a: u64, pos: u64, len: u64) -> u64 {
    let (pos, len) = (pos & 0xff, (len & 0xff).min(64));
    if len == 0 {
        return 0;
    }
    let wide = u128::from(kind.widen(a)) | if kind.signed && kind.widen(a) >> 63 == 1 { !0 << 64 } else { 0 };
    let top = u64::from(kind.bits()) - 1;
    let field = (wide >> pos.min(127)) as u64 & (u64::MAX >> (64 - len));
    let sign = kind.signed && a >> (pos + len - 1).min(top) & 1 == 1;
    let fill = if sign && len < 64 { u64::MAX << len } else { 0 };
    kind.cut(field | fill)
}

/// Returns the result of `bfi`: `b` with `len` bits of `a` inserted at bit `pos`.
pub(crate) fn insert(kind: Kind, a: u64, b: u64, pos: u64, len: u64) -> u64 {
    let (pos, len) = (pos & 0xff, (len & 0xff).min(64));
    if len == 0 || pos >= u64::from(kind.bits()) {
        return kind.cut(b);
    }
    let mask = (u64::MAX >> (64 - len)) << pos;
    kind.cut((b & !mask) | ((a << pos) & mask))
}

/// Returns the result of `bfind`: the position of the highest bit that differs from the sign.
pub(crate) fn highest_bit(kind: Kind, a: u64, as_shift: bool) -> u64 {
    let a = kind.widen(a);
    let a = if kind.signed && (a as i64) < 0 { kind.cut(!a) } else { kind.cut(a) };
    if a == 0 {
        return u32::MAX.into();
    }
    let at = 63 - a.leading_zeros();
    u64::from(if as_shift { kind.bits() - 1 - at } else { at })
}

/// Returns the result of `prmt` without a mode. Four bits of `selector` select each byte of the
/// result.
pub(crate) fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (b << 32 | (a & 0xffff_ffff)).to_le_bytes();
    (0..4).fold(0, |out, i| {
        let pick = selector >> (4 * i);
        let byte = bytes[(pick & 7) as usize];
        let byte = if pick & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        out | u64::from(byte) << (8 * i)
    })
}

/// Returns the result of `shf`: 32 bits of the 64-bit value `b:a`.
pub(crate) fn funnel(left: bool, clamp: bool, a: u64, b: u64, by: u64) -> u64 {
    let both = b << 32 | (a & 0xffff_ffff);
    let by = if clamp { (by as u32).min(32) } else { by as u32 & 31 };
    let out = if left { both >> (32 - by) } else { both >> by };
    out & 0xffff_ffff
}

/// Returns the result of `lop3`: each bit is bit `4a + 2b + c` of the truth table.
pub(crate) fn logic3(a: u64, b: u64, c: u64, table: u32) -> u64 {
    let out = (0..8).filter(|i| table >> i & 1 == 1).fold(0, |out, i| {
        let pick = |x: u64, bit: u32| if i & bit != 0 { x } else { !x };
        out | (pick(a, 4) & pick(b, 2) & pick(c, 1))
    });
    out & 0xffff_ffff
}

/// Returns the value that an atomic operation stores.
#[inline(always)]
pub(crate) fn atomic(op: AtomicOp, kind: Kind, old: u64, b: u64, c: u64) -> u64 {
    let b = kind.cut(b);
    match op {
        AtomicOp::Add if kind.float => float(FloatOp::Add, kind, old, b, 0),
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::Exchange => b,
        AtomicOp::CompareExchange => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::Min => {
            if compare(Comparison::Less, kind, b, old) {
                b
            } else {
                old
            }
        }
        AtomicOp::Max => {
            if compare(Comparison::Greater, kind, b, old) {
                b
            } else {
                old
            }
        }
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}

fn is_single(kind: Kind) -> bool {
    kind.bits() == 32
}

/// Returns the value as an `f64`, which can represent every `f32`.
fn as_f64(kind: Kind, a: u64) -> f64 {
    if is_single(kind) { f32::from_bits(a as u32).into() } else { f64::from_bits(a) }
}

macro_rules! float_operation {
    ($float:ty, $bits:ty, $op:expr, $a:expr, $b:expr, $c:expr) => {{
        let (x, y, z) =
            (<$float>::from_bits($a as $bits), <$float>::from_bits($b as $bits), <$float>::from_bits($c as $bits));
        let out = match $op {
            FloatOp::Add => x + y,
            FloatOp::Sub => x - y,
            FloatOp::Mul => x * y,
            FloatOp::Div => x / y,
            FloatOp::Fma => x.mul_add(y, z),
            FloatOp::Neg => -x,
            FloatOp::Abs => x.abs(),
            FloatOp::Min => x.min(y),
            FloatOp::Max => x.max(y),
            FloatOp::Sqrt => x.sqrt(),
            FloatOp::Reciprocal => 1.0 / x,
        };
        u64::from(out.to_bits())
    }};
}

pub(crate) fn float(op: FloatOp, kind: Kind, a: u64, b: u64, c: u64) -> u64 {
    if is_single(kind) { float_operation!(f32, u32, op, a, b, c) } else { float_operation!(f64, u64, op, a, b, c) }
}

pub(crate) fn float_compare(how: Comparison, or_nan: bool, kind: Kind, a: u64, b: u64) -> bool {
    let (a, b) = (as_f64(kind, a), as_f64(kind, b));
    if a.is_nan() || b.is_nan() {
        return or_nan;
    }
    match how {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::Ordered => true,
        Comparison::Unordered => false,
    }
}

/// Returns the result of `cvt` if at least one of the two types is a float.
pub(crate) fn float_convert(kind: Kind, to: Kind, a: u64, round: Rounding, whole: bool) -> u64 {
    if !kind.float {
        let a = kind.widen(a);
        return match (is_single(to), kind.signed) {
            (true, true) => (a as i64 as f32).to_bits().into(),
            (true, false) => (a as f32).to_bits().into(),
            (false, true) => (a as i64 as f64).to_bits(),
            (false, false) => (a as f64).to_bits(),
        };
    }
    let mut x = as_f64(kind, a);
    if whole {
        x = match round {
            Rounding::Nearest => x.round_ties_even(),
            Rounding::Zero => x.trunc(),
            Rounding::Down => x.floor(),
            Rounding::Up => x.ceil(),
        };
    }
    if to.float {
        return if is_single(to) { (x as f32).to_bits().into() } else { x.to_bits() };
    }
    // A value out of range is clamped to the type, as on the GPU. A NaN becomes 0.
    let bits = to.bits();
    to.cut(if to.signed {
        let top = i64::MAX >> (64 - bits);
        (x as i64).clamp(!top, top) as u64
    } else {
        (x as u64).min(u64::MAX >> (64 - bits))
    })
}
