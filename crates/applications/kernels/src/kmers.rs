//! K-mers: each run of `k` neighbouring bases of a sequence as a key with two bits per base.
//!
//! These kernels belong to the example `kmers`.
//!
//! **Bases** have the codes A 0, C 1, G 2 and T 3, so that the complement of a code is its bits
//! inverted. A word has [`BASES_IN_WORD`] bases, the first base in its highest bits, so keys are in
//! the order of their texts.

use gpu_kernels::seam::{Block, Global};
use gpu_kernels::types::KeyWord;

/// The maximum number of bases of a k-mer, which a key of 64 bits holds.
pub const MAX_K: u32 = 32;
/// The maximum number of bases of a k-mer whose key has 32 bits.
pub const MAX_NARROW_K: u32 = 16;
/// The number of bases in a word.
pub const BASES_IN_WORD: usize = 32;

/// The scalar arguments of [`Kmers`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KmersParams {
    /// The number of bases.
    pub bases: u64,
    /// The index in `keys` at which the first key is stored.
    pub first: u64,
    /// The number of bases of a k-mer: 1 to [`MAX_K`], or to [`MAX_NARROW_K`] with keys of 32 bits.
    pub k: u32,
    /// 1 if a key is the smaller of the k-mer and its reverse complement, 0 if it is the k-mer.
    pub canonical: u32,
}

gpu_kernels::kernel! {
    /// Writes the keys of the k-mers that begin at the bases flagged in `starts`. One thread per
    /// base.
    ///
    /// Word `w` of `bases` begins with base `32 · w`; there is one word more than the bases need.
    /// Bit `i` of `starts[w]` is set if a complete k-mer begins at base `32 · w + i`. `before[w]`
    /// is the number of k-mers that begin before word `w`. So the keys are contiguous in `keys`, in
    /// the order of the sequence, starting at index `first`.
    Kmers<K: KeyWord>, "kmers_keys", threads 256;
    { bases: Global<u64>, starts: Global<u32>, before: Global<u32>, keys: Global<K>, plan: KmersParams }
}

impl<K: KeyWord> Kmers<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let KmersParams { bases, first, k, canonical } = args.plan;
        block.each_item(bases, |base| {
            let (word, bit) = (base / BASES_IN_WORD as u64, base as u32 % BASES_IN_WORD as u32);
            let starts = args.starts.load_read_only(word);
            if starts >> bit & 1 == 0 {
                return;
            }
            let number = args.before.load_read_only(word) + (starts & ((1 << bit) - 1)).count_ones();
            let (here, next) = (args.bases.load_read_only(word), args.bases.load_read_only(word + 1));
            // The shift is in two steps, because it is 64 in all if the k-mer begins at the word's
            // first base.
            let window = here << (2 * bit) | next >> 1 >> (63 - 2 * bit);
            let forward = window >> (64 - 2 * k);
            let key = if canonical != 0 { forward.min(reverse_complement(forward, k)) } else { forward };
            args.keys.store_streaming(first + number as u64, K::from_u64(key));
        });
    }
}

/// Returns the key of the other strand: the complements of `k` bases in reverse order.
#[inline(always)]
pub fn reverse_complement(key: u64, k: u32) -> u64 {
    // The reversal also swaps the two bits of each base, so they are swapped back.
    let reversed = (!key).reverse_bits();
    let pairs = reversed >> 1 & 0x5555_5555_5555_5555 | (reversed & 0x5555_5555_5555_5555) << 1;
    pairs >> (64 - 2 * k)
}
