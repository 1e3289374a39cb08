//! Words of two halves, one above the other, which are changed as a whole.

use crate::seam::Global;
use crate::types::{KeyWord, Scalar};

pub use crate::types::Double;

macro_rules! double {
    ($word:ty, $half:ty, $in_sector:literal, |$memory:ident, $first:ident| $read:expr, $load_relaxed:expr) => {
        impl Double for $word {
            type Half = $half;
            type Sector = [$word; $in_sector];
            const IN_SECTOR: u32 = $in_sector;
            const ALL_ONES: Self = <$word>::MAX;
            #[inline(always)]
            fn of(upper: $half, lower: $half) -> Self {
                (upper as $word) << <$half>::BITS | lower as $word
            }
            #[inline(always)]
            fn upper(self) -> $half {
                (self >> <$half>::BITS) as $half
            }
            #[inline(always)]
            fn lower(self) -> $half {
                self as $half
            }
            #[inline(always)]
            fn read_sector($memory: Global<Self>, $first: u64) -> Self::Sector {
                $read
            }
            #[inline(always)]
            fn load_sector_relaxed($memory: Global<Self>, $first: u64) -> Self::Sector {
                $load_relaxed
            }
        }
    };
}

/// Joins the words of two accesses to pairs.
#[inline(always)]
fn four<T: Copy>([a, b]: [T; 2], [c, d]: [T; 2]) -> [T; 4] {
    [a, b, c, d]
}

double! {
    u64, u32, 4, |memory, first|
    four(memory.load_pair_read_only(first), memory.load_pair_read_only(first + 2)),
    four(memory.load_pair_relaxed(first), memory.load_pair_relaxed(first + 2))
}
double! {
    u128, u64, 2, |memory, first|
    [memory.load_read_only(first), memory.load_read_only(first + 1)],
    [memory.atomic(first).load(), memory.atomic(first + 1).load()]
}

/// The word of two halves of type `H`.
pub type Doubled<H> = <H as Scalar>::Double;
/// The word type for keys and values of a table that stores both as halves of one word: the wider
/// of the two.
pub type Half<K, V> = <K as KeyWord>::PackedWord<V>;
/// A word that holds a key and its value: 64 bits if both have 32, else 128.
pub type PackedPair<K, V> = Doubled<Half<K, V>>;
