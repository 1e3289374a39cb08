//! The description of groups whose rows are adjacent.

use crate::seam::{Block, Global};

/// The scalar arguments of [`DescribeGroups`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DescribeParams {
    /// The count of groups.
    pub groups: u64,
}

kernel! {
    /// Writes the count of rows of each group, and its first and last row. Outputs that are not
    /// wanted are null. One thread describes a group.
    ///
    /// The rows of group `g` are `rows[starts[g]..starts[g + 1]]`. There is at least one, and they
    /// ascend. `rows` may be null if neither first nor last rows are wanted.
    DescribeGroups<>, "describe_groups", threads 256;
    {
        starts: Global<u32>, rows: Global<u32>, counts: Global<u32>, firsts: Global<u32>, lasts: Global<u32>,
        plan: DescribeParams,
    }
}

impl DescribeGroups {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.plan.groups, |group| {
            let start = args.starts.load_read_only(group);
            let end = args.starts.load_read_only(group + 1);
            if !args.counts.is_null() {
                args.counts.store_streaming(group, end.wrapping_sub(start));
            }
            if !args.firsts.is_null() {
                args.firsts.store_streaming(group, args.rows.load_read_only(start as u64));
            }
            if !args.lasts.is_null() {
                args.lasts.store_streaming(group, args.rows.load_read_only(end.wrapping_sub(1) as u64));
            }
        });
    }
}
