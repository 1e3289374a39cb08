//! The keys of a group-by as words whose order is the order of the keys.

use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`EncodeKeys`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EncodeParams {
    /// The count of keys.
    pub items: u64,
    /// The bits that are flipped first.
    pub flip_before: u64,
    /// The bits that are flipped last.
    pub flip_after: u64,
    /// The count of bits by which the word is rotated between the two flips: 0 or 32.
    pub rotate: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Flips bits of each key, exchanges its halves if the plan says so, and flips bits again. One
    /// thread encodes a key.
    ///
    /// If `keys` is null, the lower half of a key is in `lower` and the upper half in `upper`;
    /// otherwise these two are null. `output` may be `keys`.
    EncodeKeys<K: KeyWord>, "encode_keys", threads 256;
    { keys: Global<K>, lower: Global<u32>, upper: Global<u32>, output: Global<K>, plan: EncodeParams }
}

impl<K: KeyWord> EncodeKeys<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let EncodeParams { items, flip_before, flip_after, rotate, .. } = args.plan;
        block.each_item(items, |item| {
            let word = if args.keys.is_null() {
                args.lower.load_streaming(item) as u64 | (args.upper.load_streaming(item) as u64) << 32
            } else {
                args.keys.load_streaming(item).to_u64()
            };
            let word = word ^ flip_before;
            let word = if rotate == 0 { word } else { word.rotate_left(32) };
            args.output.store_streaming(item, K::from_u64(word ^ flip_after));
        });
    }
}
