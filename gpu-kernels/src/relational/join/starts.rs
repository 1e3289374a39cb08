//! The starts of bins, for rows that are in the order of their bins.

use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`BinStarts`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BinStartsParams {
    /// The count of keys.
    pub keys: u64,
    /// The count of bits of a bin's index, at least 1.
    pub bits: u32,
    /// The most keys of a bin, from 1 to 2^32 - 1.
    pub most: u32,
}

kernel! {
    /// Sets `starts[b]` to the index of the first mixed key whose upper bits are not below `b`, and
    /// the last start to the count of keys. The keys are in the order of these bits. If a bin has
    /// more keys than the plan allows, the header's [`FAILED`](super::header::FAILED) is set.
    ///
    /// One thread per start does a binary search.
    BinStarts<K: KeyWord>, "join_starts", threads 256;
    { keys: Global<K>, starts: Global<u32>, header: Global<u64>, plan: BinStartsParams }
}

impl<K: KeyWord> BinStarts<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let BinStarts { keys, starts, header, plan } = self;
        let BinStartsParams { keys: count, bits, most } = plan;
        block.each_item((1 << bits) + 1, |bin| {
            let (mut low, mut high) = (0, count);
            // At most 64 steps: each halves the range.
            while low < high {
                let middle = low.midpoint(high);
                if (keys.load_read_only(middle).bits_from(K::BITS - bits) as u64) < bin {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            starts.store(bin, low as u32);
            let first_too_many = low + most as u64;
            if first_too_many < count && keys.load_read_only(first_too_many).bits_from(K::BITS - bits) as u64 == bin {
                header.atomic(super::header::FAILED).store(1);
            }
        });
    }
}
