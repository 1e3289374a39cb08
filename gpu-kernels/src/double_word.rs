//! Words of two halves that are changed as a whole: the slots of the linear table.

use crate::seam::{Global, Lanes};
use crate::types::{KeyWord, Scalar};

pub use crate::types::Double;

macro_rules! double {
    (
        $word:ty, $half:ty, $in_sector:literal, |$memory:ident, $first:ident| $read:expr, $load_relaxed:expr,
        $load_line:expr, |$lanes:ident, $line:ident, $upper:ident| $compare_line:expr
    ) => {
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
            type Line = [$word; 2 * $in_sector];
            #[inline(always)]
            fn load_line($memory: Global<Self>, $first: u64) -> Self::Line {
                $load_line
            }
            #[inline(always)]
            fn load_line_relaxed(memory: Global<Self>, first: u64) -> Self::Line {
                core::array::from_fn(|i| memory.atomic(first + i as u64).load())
            }
            #[inline(always)]
            fn compare_line($lanes: impl Lanes, $line: Self::Line, $upper: $half) -> u32 {
                $compare_line
            }
        }
    };
}

/// Joins the words of two loads of two words each.
#[inline(always)]
fn four<T: Copy>([a, b]: [T; 2], [c, d]: [T; 2]) -> [T; 4] {
    [a, b, c, d]
}

/// Joins the words of two loads of four words each.
#[inline(always)]
fn eight<T: Copy>([a, b, c, d]: [T; 4], [e, f, g, h]: [T; 4]) -> [T; 8] {
    [a, b, c, d, e, f, g, h]
}

double! {
    u64, u32, 4, |memory, first|
    four(memory.load_pair_read_only(first), memory.load_pair_read_only(first + 2)),
    four(memory.load_pair_relaxed(first), memory.load_pair_relaxed(first + 2)),
    eight(memory.load_four(first), memory.load_four(first + 4)),
    |lanes, line, upper| lanes.compare_eight(line, upper)
}
double! {
    u128, u64, 2, |memory, first|
    [memory.load_read_only(first), memory.load_read_only(first + 1)],
    [memory.atomic(first).load(), memory.atomic(first + 1).load()],
    core::array::from_fn(|i| memory.load(first + i as u64)),
    |_lanes, line, upper| {
        let mut flags = 0;
        for i in 0..4 {
            flags |= ((line[i].upper() == upper) as u32) << i;
            flags |= ((line[i] == u128::MAX) as u32) << (8 + i);
            flags |= ((line[i].upper() == u64::MAX) as u32) << (16 + i);
        }
        flags
    }
}

/// The word of two halves of type `H`.
pub type Doubled<H> = <H as Scalar>::Double;
/// The word type for the keys and values of a table that stores both as halves of one word. It is
/// the wider of the two types.
pub type Half<K, V> = <K as KeyWord>::PackedWord<V>;
/// A word that contains a key and its value: 64 bits if both have 32 bits, else 128.
pub type PackedPair<K, V> = Doubled<Half<K, V>>;
