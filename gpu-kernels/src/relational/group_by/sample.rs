//! A sample of rows: its distinct keys, and how often each key was drawn.

use crate::page::position;
use crate::relational::keys::RowKeys;
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Scalar};

/// The words of the header.
pub mod header {
    /// The count of rows that were drawn.
    pub const DRAWN: u64 = 0;
    /// The count of hot keys that were drawn more often than the keys counted in [`CANDIDATES`].
    pub const FREQUENT: u64 = 1;
    /// The count of keys that compete for the remaining slots. At most some of them are hot.
    pub const CANDIDATES: u64 = 2;
    /// The count of rows whose key is not hot.
    pub const MISSED: u64 = 3;
    /// The count of groups of hot keys.
    pub const GROUPS: u64 = 4;
    /// The count of rows of the largest region of missed rows.
    pub const MOST_MISSED: u64 = 5;
    /// The length of the header.
    pub const WORDS: usize = 8;
}

/// The count of classes of keys. The class is how often a key was drawn, up to this count minus
/// one.
pub const CLASSES: u32 = 64;

/// The count of threads of a block that draws.
const THREADS: u32 = 512;
/// The count of cells of a block's table of keys. After them are the counts of draws of the keys.
const CELLS: u32 = 2 * THREADS;

/// The scalar arguments of [`SampleKeys`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SampleKeysParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of rows.
    pub rows: u64,
    /// The count of bits of a position, since there are at most 2^`position_bits` rows.
    pub position_bits: u32,
    /// The count of bits of a draw's index. There are 2^`sample_bits` draws, and twice as many
    /// cells.
    pub sample_bits: u32,
}

impl SampleKeysParams {
    /// Returns the row of a draw. Less than half of all draws have no row.
    #[inline(always)]
    fn row(&self, draw: u64) -> Option<u64> {
        let row = position(draw, self.a, self.position_bits);
        if draw >> self.sample_bits == 0 && row < self.rows { Some(row) } else { None }
    }

    /// Returns the key of a cell that contains `owner`, which is the index of a draw plus 1.
    #[inline(always)]
    pub(super) fn key_of<K: KeyWord>(&self, keys: RowKeys<K>, owner: u32) -> K {
        keys.load_read_only(position(owner as u64 - 1, self.a, self.position_bits))
    }
}

/// A key that a thread drew, and its cell in the block's table.
struct Drawn<K> {
    key: Option<K>,
    cell: u32,
    is_first: bool,
}

kernel! {
    /// Draws a row for each thread, at positions that are all different, and finds the distinct
    /// keys. `cells` and `counts` become a hash table of the keys. A cell is the index of a draw of
    /// the key plus 1, or 0; a count tells how often the key was drawn. The header's
    /// [`header::DRAWN`] becomes the count of rows, and `classes` the count of keys of each class.
    ///
    /// The keys are [`RowKeys`]. There are 2^(`sample_bits` + 1) cells and counts. All four outputs
    /// are 0 at first.
    SampleKeys<K: KeyWord>, "group_sample", threads 512,
        shared held: u64 = 512, shared owners: u32 = 2048, shared changes: u32 = 64;
    {
        keys: Global<K>, upper: Global<u32>, cells: Global<u32>, counts: Global<u32>, classes: Global<u32>, header: Global<u64>,
        plan: SampleKeysParams
    }
}

impl<K: KeyWord> SampleKeys<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, held: B::Shared<u64>, owners: B::Shared<u32>, changes: B::Shared<u32>) {
        let args = self;
        let (plan, keys) = (args.plan, args.row_keys());
        let first = block.first_thread();
        let mut threads = block.local(|_| Drawn { key: None, cell: 0, is_first: false });
        let drawn = block.count(&mut threads, |thread, drawn| {
            for part in 0..4 {
                owners.set(thread + part * THREADS, 0);
            }
            if thread < CLASSES {
                changes.set(thread, 0);
            }
            drawn.key = plan.row(first + thread as u64).map(|row| keys.load_read_only(row));
            held.set(thread, drawn.key.unwrap_or_default().to_u64());
            drawn.key.is_some()
        });
        // Keys are counted on chip first, since additions for a frequent key to memory would be
        // slow.
        block.phase(&mut threads, |thread, drawn| {
            let Some(key) = drawn.key else { return };
            let mut cell = key.mix(plan.a, plan.b).scaled(CELLS);
            // At most as many steps as cells: there are more cells than threads, so an empty one
            // ends the loop.
            loop {
                let owner = owners.compare_exchange(cell, 0, thread + 1);
                if owner == 0 || held.get(owner - 1) == key.to_u64() {
                    drawn.is_first = owner == 0;
                    break;
                }
                cell = (cell + 1) % CELLS;
            }
            drawn.cell = cell;
            owners.fetch_add(CELLS + cell, 1);
        });
        block.phase(&mut threads, |thread, drawn| {
            let (Some(key), true) = (drawn.key, drawn.is_first) else { return };
            let times = owners.get(CELLS + drawn.cell);
            let before = args.add(key, first as u32 + thread + 1, times);
            let (old, new) = (before.min(CLASSES - 1), (before + times).min(CLASSES - 1));
            if old != new {
                changes.fetch_add(new, 1);
                if old != 0 {
                    changes.fetch_add(old, u32::MAX);
                }
            }
        });
        block.each(&mut threads, |thread, _| {
            if thread < CLASSES && changes.get(thread) != 0 {
                args.classes.atomic(thread as u64).fetch_add(changes.get(thread));
            }
            if thread == 0 {
                args.header.atomic(header::DRAWN).fetch_add(drawn as u64);
            }
        });
    }

    #[inline(always)]
    fn row_keys(&self) -> RowKeys<K> {
        RowKeys::new(self.keys, self.upper)
    }

    /// Adds a key that was drawn `times` times. Returns how often other blocks drew it before.
    #[inline(always)]
    fn add(&self, key: K, owner: u32, times: u32) -> u32 {
        let Self { cells, counts, plan, .. } = *self;
        let mask = (2 << plan.sample_bits) - 1;
        let mut cell = (key.mix(plan.a, plan.b) >> (31 - plan.sample_bits)) & mask;
        // At most as many steps as cells: there are twice as many cells as draws, so an empty one
        // ends the loop.
        loop {
            let at = cells.atomic(cell as u64);
            let mut found = at.load();
            if found == 0 {
                found = at.compare_exchange(0, owner);
            }
            if found == 0 || plan.key_of(self.row_keys(), found) == key {
                return counts.atomic(cell as u64).fetch_add(times);
            }
            cell = (cell + 1) & mask;
        }
    }
}
