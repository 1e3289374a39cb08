//! The offsets at which the pages' pairs begin, for pairs that are in the order of their pages.

use crate::page::form::Layout;
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`Starts`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StartsParams {
    /// The layout of the table.
    pub layout: Layout,
    /// The count of keys.
    pub keys: u64,
}

kernel! {
    /// Sets `starts[p]` to the offset of the first key whose page is not below `p`, and
    /// `starts[pages]` to the count of keys.
    ///
    /// One thread per start does a binary search, which reads far fewer keys than there are.
    Starts<K: KeyWord>, "page_starts", threads 256;
    { keys: Global<K>, starts: Global<u32>, plan: StartsParams }
}

impl<K: KeyWord> Starts<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let StartsParams { layout, keys } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let page = first + thread as u64;
            if page > layout.pages() as u64 {
                return;
            }
            let (mut low, mut high) = (0, keys);
            // At most 64 steps: each halves the range.
            while low < high {
                let middle = low.midpoint(high);
                let mixed = args.keys.load_read_only(middle).mixed(layout.a, layout.b);
                if (mixed.scaled(layout.pages()) as u64) < page {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            args.starts.store(page, low as u32);
        });
    }
}
