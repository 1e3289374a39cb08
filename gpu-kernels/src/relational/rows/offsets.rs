//! Checking the offsets of texts.

use crate::seam::{Block, Global};
use crate::types::Scalar;

/// The scalar arguments of [`CheckOffsets`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CheckOffsetsParams {
    /// The count of offsets.
    pub offsets: u64,
    /// The greatest offset that is allowed.
    pub limit: u64,
}

kernel! {
    /// Finds the first offset that is less than the previous offset or greater than the limit. For
    /// each such offset `i`, raises `header[0]`, 0 at first, to `u64::MAX - i`. One thread checks
    /// an offset.
    CheckOffsets<O: Scalar>, "check_offsets", threads 256;
    { offsets: Global<O>, header: Global<u64>, plan: CheckOffsetsParams }
}

impl<O: Scalar> CheckOffsets<O> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let CheckOffsetsParams { offsets, limit } = args.plan;
        block.each_item(offsets, |number| {
            let offset = args.offsets.load_read_only(number).to_u64();
            let before = if number == 0 { 0 } else { args.offsets.load_read_only(number - 1).to_u64() };
            if offset < before || offset > limit {
                args.header.atomic(0).fetch_max(u64::MAX - number);
            }
        });
    }
}
