//! Replacing the indices of rows.

use crate::seam::{Block, Global};

/// The scalar arguments of [`RenumberRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RenumberRowsParams {
    /// The count of row indices.
    pub items: u64,
    /// The count of rows in the range of valid indices. Other indices are not changed, for example
    /// [`NO_ROW`](crate::relational::join::NO_ROW).
    pub rows: u64,
    /// The number that is added to an index.
    pub first: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Replaces row index `r` by `numbers[r] + first`, or by `r + first` if `numbers` is null. One
    /// thread replaces an index.
    RenumberRows<>, "renumber_rows", threads 256;
    { items: Global<u32>, numbers: Global<u32>, plan: RenumberRowsParams }
}

impl RenumberRows {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RenumberRowsParams { items, rows, first, .. } = args.plan;
        block.each_item(items, |item| {
            let row = args.items.load_streaming(item);
            if (row as u64) < rows {
                let number = if args.numbers.is_null() { row } else { args.numbers.load_read_only(row as u64) };
                args.items.store_streaming(item, number.wrapping_add(first));
            }
        });
    }
}
