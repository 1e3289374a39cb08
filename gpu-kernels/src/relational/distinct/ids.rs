//! Ids of rows, once groups are known: finding the repeated keys and the first row of each key, and
//! ranking these rows.

use crate::seam::{Block, Global, Tile};

/// The arguments of [`FlagRepeated`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FlagRepeatedParams {
    /// The count of groups.
    pub groups: u64,
}

kernel! {
    /// Sets bit `g mod 32` of `bits[g / 32]` if group `g` has more than one row. Bits after the
    /// last group become 0. One thread processes a group.
    FlagRepeated<>, "flag_repeated", threads 256;
    { counts: Global<u32>, bits: Global<u32>, plan: FlagRepeatedParams }
}

impl FlagRepeated {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FlagRepeatedParams { groups } = args.plan;
        flags(block, args.bits, groups, |group| args.counts.load_streaming(group) > 1);
    }
}

/// The arguments of kernels over the answers of a lookup of all rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowsOfKeysParams {
    /// The count of rows.
    pub rows: u64,
    /// The count of ids that lookups returned, which come before the ids of other rows.
    pub ids: u32,
    /// 1 if a lookup returns the first row with a key, 0 if it returns an id.
    pub by_first: u32,
}

kernel! {
    /// Sets bit `r mod 32` of `bits[r / 32]` if row `r` is the first row with its key. If a lookup
    /// did not find the key, no other row has it. Bits after the last row become 0. One thread
    /// processes a row.
    ///
    /// `found` may be null if all keys were found. If lookups returned ids instead of rows, only
    /// rows whose key was not found are flagged.
    FlagFirsts<>, "flag_firsts", threads 256;
    { values: Global<u32>, found: Global<u32>, bits: Global<u32>, plan: RowsOfKeysParams }
}

impl FlagFirsts {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RowsOfKeysParams { rows, by_first, .. } = args.plan;
        flags(block, args.bits, rows, |row| {
            !is_found(args.found, row) || by_first != 0 && args.values.load_streaming(row) == row as u32
        });
    }
}

kernel! {
    /// Replaces the result of a lookup for each row by the id of the row's key. One thread
    /// processes a row.
    ///
    /// If lookups returned first rows, the id is the count of flagged rows before the key's first
    /// row. If they returned ids, these stay, and the keys of the other rows get the next ids, in
    /// the order of the rows. `found` may be null if all keys were found.
    ///
    /// A word of `ranks` has the flags of 32 rows in its lower half, and the count of flags before
    /// them in its upper half.
    NumberRows<>, "number_rows", threads 256;
    { values: Global<u32>, found: Global<u32>, ranks: Global<u64>, plan: RowsOfKeysParams }
}

impl NumberRows {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RowsOfKeysParams { rows, ids, by_first } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let row = first + thread as u64;
            if row >= rows {
                return;
            }
            if !is_found(args.found, row) {
                args.values.store(row, ids + rank(row as u32, args.ranks));
            } else if by_first != 0 {
                args.values.store(row, rank(args.values.load(row), args.ranks));
            }
        });
    }
}

/// Returns the count of set flags before the flag of a row, from the ranks of [`NumberRows`].
#[inline(always)]
fn rank(row: u32, ranks: Global<u64>) -> u32 {
    let word = ranks.load_read_only((row / 32) as u64);
    let smaller = word as u32 & !(u32::MAX << (row % 32));
    (word >> 32) as u32 + smaller.count_ones()
}

/// Returns whether the lookup of a row found its key.
#[inline(always)]
fn is_found(found: Global<u32>, row: u64) -> bool {
    found.is_null() || found.load_read_only(row / 32) >> (row % 32) & 1 != 0
}

/// Writes the flags of `items` items, with one thread per item.
#[inline(always)]
fn flags<B: Block>(block: &mut B, bits: Global<u32>, items: u64, is_flagged: impl Fn(u64) -> bool + Sync) {
    let block_first = block.first_thread();
    block.tiles(|warp| {
        let first = block_first + warp.first_thread() as u64;
        let mut flagged = warp.local(|lane| {
            let item = first + lane as u64;
            item < items && is_flagged(item)
        });
        let word = warp.ballot(&flagged, |_, flagged| *flagged);
        warp.each(&mut flagged, |lane, _| {
            if lane == 0 && first < items {
                bits.store(first / 32, word);
            }
        });
    });
}
