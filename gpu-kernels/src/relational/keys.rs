//! The keys of a group-by, and their encoding as words whose order is the order of the keys.

use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The keys of rows: words, or the halves of words of 64 bits in two columns.
#[derive(Clone, Copy)]
pub struct RowKeys<K> {
    words: Global<K>,
    upper: Global<u32>,
}

impl<K: KeyWord> RowKeys<K> {
    /// Returns the keys in `words`. Unless `upper` is null, their upper halves are there, and
    /// `words` has the lower ones alone.
    #[inline(always)]
    pub fn new(words: Global<K>, upper: Global<u32>) -> Self {
        Self { words, upper }
    }

    #[inline(always)]
    fn is_halved(&self) -> bool {
        K::BITS == 64 && !self.upper.is_null()
    }

    #[inline(always)]
    fn joined(lower: u32, upper: u32) -> K {
        K::from_u64(lower as u64 | (upper as u64) << 32)
    }

    /// Loads a key through the cache for data that no launch writes.
    #[inline(always)]
    pub fn load_read_only(&self, row: u64) -> K {
        if !self.is_halved() {
            return self.words.load_read_only(row);
        }
        Self::joined(self.words.cast::<u32>().load_read_only(row), self.upper.load_read_only(row))
    }

    /// Loads a key that is read once.
    #[inline(always)]
    pub fn load_streaming(&self, row: u64) -> K {
        if !self.is_halved() {
            return self.words.load_streaming(row);
        }
        Self::joined(self.words.cast::<u32>().load_streaming(row), self.upper.load_streaming(row))
    }

    /// Loads two keys that are read once. The first row is even.
    #[inline(always)]
    pub fn load_pair_streaming(&self, row: u64) -> [K; 2] {
        if !self.is_halved() {
            return self.words.load_pair_streaming(row);
        }
        let lower = self.words.cast::<u32>().load_pair_streaming(row);
        let upper = self.upper.load_pair_streaming(row);
        [Self::joined(lower[0], upper[0]), Self::joined(lower[1], upper[1])]
    }

    /// Loads four keys of 32 bits that are read once. The first row is a multiple of four.
    #[inline(always)]
    pub fn load_four_streaming(&self, row: u64) -> [K; 4] {
        self.words.load_four_streaming(row)
    }
}

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
    /// Unless `upper` is null, it has the upper halves of the keys, and `keys` the lower ones
    /// ([`RowKeys`]). Otherwise `output` may be `keys`.
    EncodeKeys<K: KeyWord>, "encode_keys", threads 256;
    { keys: Global<K>, upper: Global<u32>, output: Global<K>, plan: EncodeParams }
}

impl<K: KeyWord> EncodeKeys<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let EncodeParams { items, flip_before, flip_after, rotate, .. } = args.plan;
        let keys = RowKeys::new(args.keys, args.upper);
        block.each_item(items, |item| {
            let word = keys.load_streaming(item).to_u64();
            let word = word ^ flip_before;
            let word = if rotate == 0 { word } else { word.rotate_left(32) };
            args.output.store_streaming(item, K::from_u64(word ^ flip_after));
        });
    }
}
