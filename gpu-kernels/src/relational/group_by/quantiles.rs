//! Quantiles of groups, from sorted ranks of their values.

use crate::column_values::ColumnParams;
use crate::seam::{Block, Global};
use crate::types::Scalar;

kernel! {
    /// Writes words that sort like the values. NaNs are before all numbers, or with
    /// `is_descending`, where the greatest value is first, behind them. One thread processes a
    /// value.
    OrderValues<W: Scalar>, "order_values", threads 256;
    { values: Global<W>, ranks: Global<W>, plan: OrderValuesParams }
}

/// The scalar arguments of [`OrderValues`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OrderValuesParams {
    /// The type of the values.
    pub column: ColumnParams,
    /// The count of values.
    pub items: u64,
    /// 1 if the greatest value is first, 0 if the least value is.
    pub is_descending: u32,
    /// An unused field: 0.
    pub padding: u32,
}

impl<W: Scalar> OrderValues<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.plan.items, |item| {
            let rank = args.plan.column.max_rank(args.values.load_streaming(item));
            args.ranks.store_streaming(item, if args.plan.is_descending != 0 { !rank } else { rank });
        });
    }
}

kernel! {
    /// Writes a quantile of each group, interpolated between two neighbours. One thread processes a
    /// group.
    ///
    /// The ascending ranks of group `g`, as [`OrderValues`] writes them, are
    /// `ranks[starts[g]..starts[g + 1]]`. There is at least one. If one is the rank of a NaN, the
    /// quantile is a NaN.
    Quantiles<W: Scalar>, "quantiles", threads 256;
    { ranks: Global<W>, starts: Global<u32>, quantiles: Global<u64>, plan: QuantilesParams }
}

/// The scalar arguments of [`Quantiles`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct QuantilesParams {
    /// The type of the values.
    pub column: ColumnParams,
    /// The count of groups.
    pub groups: u64,
    /// The bits of the quantile, an `f64` from 0 to 1.
    pub quantile: u64,
}

impl<W: Scalar> Quantiles<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let QuantilesParams { column, groups, quantile } = args.plan;
        block.each_item(groups, |group| {
            let (start, end) = (args.starts.load_read_only(group), args.starts.load_read_only(group + 1));
            let last = end.wrapping_sub(start).wrapping_sub(1);
            let value = |index: u32| {
                let rank = args.ranks.load_read_only(start.wrapping_add(index) as u64);
                column.number(column.of_max_rank(rank))
            };
            let position = f64::from_bits(quantile) * last as f64;
            let below = position as u32;
            let above = if below < last { below + 1 } else { last };
            let least = value(0);
            let between = between(value(below), value(above), position - below as f64);
            let found = if least.is_nan() { least } else { between };
            args.quantiles.store_streaming(group, found.to_bits());
        });
    }
}

/// Returns the number at `share` of the distance between two numbers.
#[inline(always)]
fn between(low: f64, high: f64, share: f64) -> f64 {
    let (distance, rest) = (high - low, 1.0 - share);
    if share == 0.0 || low == high {
        low
    } else if distance == f64::INFINITY {
        // One of the numbers is infinite, or the distance is too large for a number.
        low * rest + high * share
    } else if share < 0.5 {
        low + distance * share
    } else {
        // From the nearer end, the result is exact at both ends.
        high - distance * rest
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn numbers_between_two_numbers() {
        assert_eq!([0.0, 0.25, 0.75].map(|share| between(4.0, 8.0, share)), [4.0, 5.0, 7.0]);
        assert_eq!(between(f64::NEG_INFINITY, f64::NEG_INFINITY, 0.5), f64::NEG_INFINITY);
        assert_eq!(between(1.0, f64::INFINITY, 0.1), f64::INFINITY);
        assert_eq!(between(1.0, f64::INFINITY, 0.0), 1.0);
        assert_eq!(between(-f64::MAX, f64::MAX, 0.5), 0.0);
        assert!(between(f64::NEG_INFINITY, f64::INFINITY, 0.5).is_nan());
    }
}
