//! The means of groups.

use crate::primitives::reduce::SumKind;
use crate::seam::{Block, Global};

kernel! {
    /// Divides sums by counts: `means[i] = sums[i] / counts[i]`, as `f64`. The mean of integers is
    /// the nearest `f64`. One thread processes an item.
    ///
    /// `uppers` has the sums of the upper halves of 64-bit integers, whose own sums may have
    /// wrapped. It is null if no sum has wrapped, and for other numbers.
    Means<>, "means", threads 256;
    { sums: Global<u64>, uppers: Global<u64>, counts: Global<u32>, means: Global<u64>, plan: MeansParams }
}

/// The scalar arguments of [`Means`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MeansParams {
    /// The count of items.
    pub items: u64,
    /// The kind of numbers, a [`SumKind`].
    pub kind: u32,
    /// An unused field: 0.
    pub padding: u32,
}

impl Means {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let item = first + thread as u64;
            if item >= args.plan.items {
                return;
            }
            let (sum, count) = (args.sums.load_streaming(item), args.counts.load_streaming(item));
            let mean = if args.plan.kind == SumKind::Float as u32 {
                f64::from_bits(sum) / count as f64
            } else {
                let is_signed = args.plan.kind == SumKind::Signed as u32;
                let upper = if !args.uppers.is_null() {
                    args.uppers.load_streaming(item)
                } else if is_signed {
                    (sum as i64 >> 32) as u64
                } else {
                    sum >> 32
                };
                mean_of_integers(sum, upper, is_signed, count)
            };
            args.means.store_streaming(item, mean.to_bits());
        });
    }
}

/// Returns the mean of `count` integers as the nearest `f64`, or NaN if `count` is 0. `sum` is the
/// sum of the integers, which may have wrapped, and `upper` is the sum of their upper halves.
#[inline(always)]
pub fn mean_of_integers(sum: u64, upper: u64, is_signed: bool, count: u32) -> f64 {
    let divisor = count as u64;
    if divisor == 0 {
        return f64::NAN;
    }
    // There are fewer than 2^32 lower halves, so their sum has not wrapped.
    let lower = sum.wrapping_sub(upper << 32);
    // The sum is `upper * 2^32 + lower`. Its absolute value is computed first.
    let upper = upper.wrapping_add(lower >> 32);
    let lower = lower as u32;
    let is_negative = is_signed && (upper as i64) < 0;
    let (upper, lower) =
        if is_negative { ((!upper).wrapping_add((lower == 0) as u64), lower.wrapping_neg()) } else { (upper, lower) };
    // This is long division. The quotient is at most the greatest integer, so it has 64 bits.
    let (high, rest) = (upper / divisor, upper % divisor);
    let low = (rest << 32) | lower as u64;
    let (mut quotient, mut rest) = ((high << 32) | (low / divisor), low % divisor);
    if quotient | rest == 0 {
        return 0.0;
    }
    // More bits are computed, until the first bit that is set is the highest.
    let mut scale = 1.0;
    let mut more = |quotient: &mut u64, bits: u32| {
        let next = rest << bits;
        *quotient = (*quotient << bits) | (next / divisor);
        rest = next % divisor;
        scale *= 1.0 / (1u64 << bits) as f64;
    };
    // At most three rounds of 32 bits, since the quotient is at least 2^-32.
    while quotient >> 32 == 0 {
        more(&mut quotient, 32);
    }
    let zeros = quotient.leading_zeros();
    more(&mut quotient, zeros);
    // The conversion rounds. A remainder sets the lowest bit, so that the number is not taken for
    // one that is halfway between two.
    let mean = (quotient | (rest != 0) as u64) as f64 * scale;
    if is_negative { -mean } else { mean }
}
