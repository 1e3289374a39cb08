//! Variances and standard deviations of groups, from squares of deviations.

use crate::column_values::ColumnParams;
use crate::seam::{Block, Global, square_root};
use crate::types::Scalar;

kernel! {
    /// Writes the square of each value's deviation from the mean of its group, as `f64`. One thread
    /// processes a value.
    ///
    /// Value `i` belongs to the group `ids[i]`, which has a mean.
    SquareDeviations<W: Scalar>, "square_deviations", threads 256;
    { values: Global<W>, ids: Global<u32>, means: Global<u64>, squares: Global<u64>, plan: DeviationsParams }
}

/// The scalar arguments of [`SquareDeviations`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeviationsParams {
    /// The type of the values.
    pub column: ColumnParams,
    /// The count of values.
    pub items: u64,
}

impl<W: Scalar> SquareDeviations<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.plan.items, |item| {
            let value = args.plan.column.number(args.values.load_streaming(item));
            let mean = args.means.load_read_only(args.ids.load_streaming(item) as u64);
            let deviation = value - f64::from_bits(mean);
            args.squares.store_streaming(item, (deviation * deviation).to_bits());
        });
    }
}

kernel! {
    /// Divides sums of squares by counts of rows, from which `ddof` is subtracted, and takes the
    /// square roots if the plan says so. A group that has no more than `ddof` rows gets a NaN. One
    /// thread processes a group.
    Spreads<>, "spreads", threads 256;
    { squares: Global<u64>, counts: Global<u32>, spreads: Global<u64>, plan: SpreadsParams }
}

/// The scalar arguments of [`Spreads`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SpreadsParams {
    /// The count of groups.
    pub groups: u64,
    /// The count that is subtracted from the count of rows.
    pub ddof: u32,
    /// 1 for standard deviations, 0 for variances.
    pub is_root: u32,
}

impl Spreads {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let SpreadsParams { groups, ddof, is_root } = args.plan;
        block.each_item(groups, |group| {
            let (squares, count) = (args.squares.load_streaming(group), args.counts.load_streaming(group));
            let mut spread = f64::NAN;
            if count > ddof {
                spread = f64::from_bits(squares) / (count - ddof) as f64;
            }
            if is_root != 0 {
                spread = square_root(spread);
            }
            args.spreads.store_streaming(group, spread.to_bits());
        });
    }
}
