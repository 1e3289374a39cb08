//! Code for kernels that order a tile of pairs by a digit: the offsets of items, and the sums of
//! digits.
//!
//! Digits are processed in pairs: their two 16-bit counters share a word, and their sums are
//! published in the halves of a 64-bit word.

use crate::seam::{Atomic, Block, DeviceScope, Global, Shared, Tile, Word, opaque, pause};
use crate::types::{KeyWord, Payload};

/// The count of threads of a block.
pub const THREADS: usize = 512;
pub const WARPS: u32 = THREADS as u32 / 32;
/// The most items of a thread.
pub const MAX_ITEMS: usize = 16;

/// The count of 64-bit words of staging, which hold the warps' counters first and the items later.
pub const STAGING_WORDS: usize = 4096;
/// The 16-bit counters fill the staging words: each warp has one for each value of a digit.
const _: () = assert!(STAGING_WORDS * 4 == (WARPS as usize) << super::MAX_BITS);
/// The keys or the values of a tile fill the staging words, too.
const _: () = assert!(STAGING_WORDS as u64 == tile::<u64, u64>() && STAGING_WORDS as u64 * 2 == tile::<u32, u32>());

/// Returns the count of items of a thread. It is smaller for wide items, so that they fit the
/// registers.
pub const fn items<K: KeyWord, V: Payload>() -> usize {
    if K::BITS == 32 && V::VALUE_BITS <= 32 && !V::IS_LIST { MAX_ITEMS } else { MAX_ITEMS / 2 }
}

/// Returns the count of items of a tile, which one block moves.
pub const fn tile<K: KeyWord, V: Payload>() -> u64 {
    (THREADS * items::<K, V>()) as u64
}

/// The count of bits of a rank, which is stored below the digit.
pub const RANK_BITS: u32 = 16;
pub const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// Returns the offset in its tile of item `row` of a thread.
#[inline(always)]
pub fn item_of_row<K: KeyWord, V: Payload>(thread: u32, row: usize) -> u32 {
    (thread & !31) * items::<K, V>() as u32 + row as u32 * 32 + thread % 32
}

/// Loads the items of a thread from a tile of `here` items, without reading beyond these.
#[inline(always)]
pub fn load_rows<K: KeyWord, V: Payload, T: Word>(
    tile_of: Global<T>,
    here: u32,
    thread: u32,
    into: &mut [T; MAX_ITEMS],
) {
    let from = tile_of.offset(item_of_row::<K, V>(thread, 0) as u64);
    if here as u64 == tile::<K, V>() {
        for row in 0..items::<K, V>() {
            into[row] = from.load_streaming(row as u64 * 32);
        }
    } else {
        for row in 0..items::<K, V>() {
            if item_of_row::<K, V>(thread, row) < here {
                into[row] = from.load_streaming(row as u64 * 32);
            }
        }
    }
}

/// Prefetches the items of a thread's warp before [`load_rows`]: each lane prefetches one line.
#[inline(always)]
pub fn prefetch_rows<K: KeyWord, V: Payload, T: Word>(tile_of: Global<T>, here: u32, thread: u32) {
    let line = (128 / size_of::<T>()) as u32;
    let item = (thread & !31) * items::<K, V>() as u32 + thread % 32 * line;
    if thread % 32 * line < 32 * items::<K, V>() as u32 && item < here {
        tile_of.prefetch_far(item as u64);
    }
}

/// The sums of a pair of digits, kept by one thread.
pub struct DigitSums {
    /// The counts of items of the tile with these digits, one in each half.
    pub tile: u64,
    /// The count of items of the tile with smaller digits.
    pub start: u32,
}

/// Adds up the counters of a pair of digits in `sets` sets, which are `pairs` words apart.
#[inline(always)]
pub fn sum_of_sets(counters: impl Shared<u32>, sets: u32, pairs: u32, pair: u32) -> u64 {
    let mut counts = 0;
    for set in 0..sets {
        counts += counters.get(set * pairs + pair);
    }
    (counts & 0xffff) as u64 | (counts as u64 >> 16) << 32
}

/// Replaces the counters by the offsets where each set's items of each digit begin. `sets` is at
/// most the count of warps.
#[inline(always)]
pub fn begin_sets(counters: impl Shared<u32>, sets: u32, pairs: u32, pair: u32, sum: &DigitSums) {
    // All reads come first, so that no read waits for a write.
    let mut counts = [0; WARPS as usize];
    for set in 0..WARPS {
        if set < sets {
            counts[set as usize] = counters.get(set * pairs + pair);
        }
    }
    let mut begins = sum.start | (sum.start + sum.tile as u32) << 16;
    for set in 0..WARPS {
        if set < sets {
            counters.set(set * pairs + pair, begins);
        }
        begins += counts[set as usize];
    }
}

/// Returns the offset of an item in the tile. `ranked` has its digit above its rank. The counters
/// of its set, which begin at word `set`, must have been replaced by [`begin_sets`].
#[inline(always)]
pub fn offset_in_tile(counters: impl Shared<u32>, set: u32, ranked: u32) -> u32 {
    let (digit, rank) = (ranked >> RANK_BITS, ranked & RANK_MASK);
    let begin = counters.get(set + digit / 2) >> (digit % 2 * 16) & 0xffff;
    opaque(begin + rank)
}

/// Sets each thread's `start` to the count of the tile's items with smaller digits, where there are
/// `pairs` pairs of digits. There is no barrier at the end.
#[inline(always)]
pub fn exclusive_sum<B: Block>(block: &mut B, local: &mut B::Local<DigitSums>, sums: impl Shared<u32>, pairs: u32) {
    block.tiles_of(local, |warp, local| {
        let number = warp.first_thread() / 32;
        warp.exclusive_sum(
            local,
            |_, sum| sum.tile as u32 + (sum.tile >> 32) as u32,
            |lane, sum, before, total| {
                sum.start = before;
                if lane == 0 {
                    sums.set(number, total);
                }
            },
        );
    });
    block.sync();
    block.each(local, |thread, sum| {
        if thread < pairs {
            for warp in 0..WARPS {
                // All sums are read, so that no read waits for another.
                let earlier = sums.get(warp);
                sum.start += if warp < thread / 32 { earlier } else { 0 };
            }
        }
    });
}

/// The status of a word with the sums of two adjacent digits of a tile. Each half has a sum of 30
/// bits and a status above it.
pub const SUM: u64 = 0x4000_0000_4000_0000;
pub const PREFIX: u64 = 0x8000_0000_8000_0000;
const SUMS: u64 = 0x3fff_ffff_3fff_ffff;

/// The count of tiles whose words one step of the look-back reads.
const WINDOW: usize = 4;

/// The words that all tiles publish: one word for each tile and pair of digits.
#[derive(Clone, Copy)]
pub struct Published {
    pub words: Global<u64>,
    pub pairs: u32,
}

impl Published {
    /// Returns the word in which `tile` publishes its sums for `pair`. Word indices fit 32 bits.
    #[inline(always)]
    pub fn word(&self, tile: u32, pair: u32) -> Atomic<u64, DeviceScope> {
        self.words.atomic((tile * self.pairs + pair) as u64)
    }

    /// Returns the sums of the tiles before `tile`, by the method of
    /// [`look_back`](crate::primitives::look_back). Here one thread looks back for two digits.
    #[inline(always)]
    pub fn before(&self, tile: u32, pair: u32) -> u64 {
        let mut sums = 0;
        let mut end = tile;
        let mut known = tile == 0;
        // At most as many steps as earlier tiles, since the first tile knows its sum. The thread
        // waits only for blocks that started before its own.
        while !known {
            // Several words are read at once, so that each step back takes as long as one read.
            let mut words = [PREFIX; WINDOW];
            for back in 0..WINDOW {
                if (back as u32) < end {
                    words[back] = self.word(end - 1 - back as u32, pair).load();
                }
            }
            // There is no early exit, so that LLVM unrolls the loop on the GPU. Both halves have
            // the same status.
            let mut missing = false;
            for back in 0..WINDOW {
                let low = words[back] as u32;
                missing |= low < SUM as u32;
                if !missing && !known {
                    sums += words[back] & SUMS;
                    end = end.wrapping_sub(1);
                    known = low >= PREFIX as u32;
                }
            }
            if missing && !known {
                pause();
            }
        }
        sums
    }
}
