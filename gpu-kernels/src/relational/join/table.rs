//! A hash table in memory of the rows of a small build side with distinct keys. A probe nearly
//! always reads only 16 bytes.

use super::buckets::Buckets;
use super::emit::{Outputs, emit_last, emit_pairs};
use super::fill::{COUNTERS, TOTAL};
use super::header;
use super::probe::{HELD, Thread, key, row};
use super::written::Emit;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::types::KeyWord;

/// The most sectors between a row and its first sector. If a row would be farther away, the table
/// is not used.
const MAX_DISTANCE: u32 = 128;

/// The count of 64-bit words of a sector.
pub const SECTOR_WORDS: u64 = 2;

/// Returns the count of slots of a sector.
pub const fn slots_of_sector<K: KeyWord>() -> u64 {
    SECTOR_WORDS * 32 / K::BITS as u64
}

/// The arguments of [`FillTable`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of rows, less than 2^31.
    pub rows: u64,
    /// The binary logarithm of the count of sectors, at least 1.
    pub sector_bits: u32,
    /// An unused field: 0.
    pub padding: u32,
}

/// The table: sectors of 16 bytes with one or two slots. A slot contains a mixed key and a row's
/// index plus 1, in one word of 64 bits if the key has 32 bits, and in two words otherwise. An
/// empty slot is 0, and only the last slots of a sector are empty.
#[derive(Clone, Copy)]
pub(super) struct Table<K> {
    words: Global<u64>,
    sector_bits: u32,
    keys: core::marker::PhantomData<K>,
}

/// The result of probing a sector for a key.
pub(super) struct Seen {
    /// The index of the row with the key plus 1, or 0.
    pub row: u32,
    /// Whether the key may be in the next sector, if it is not in this one.
    pub is_full: bool,
}

impl<K: KeyWord> Table<K> {
    /// The count of 64-bit words of a slot.
    const SLOT: u64 = K::BITS as u64 / 32;

    #[inline(always)]
    pub fn new(words: Global<u64>, sector_bits: u32) -> Self {
        Self { words, sector_bits, keys: core::marker::PhantomData }
    }

    #[inline(always)]
    pub fn sector_of(&self, mixed: K) -> u32 {
        mixed.bits_from(K::BITS - self.sector_bits)
    }

    #[inline(always)]
    pub fn next(&self, sector: u32) -> u32 {
        (sector + 1) & ((1 << self.sector_bits) - 1)
    }

    /// Probes a sector for a key.
    #[inline(always)]
    pub fn look(&self, mixed: K, sector: u32) -> Seen {
        let [first, second] = self.words.load_pair_read_only(SECTOR_WORDS * sector as u64);
        let row = if K::BITS == 32 {
            let of = |word: u64| if word >> 32 == mixed.to_u64() { word as u32 } else { 0 };
            of(first) | of(second)
        } else if first == mixed.to_u64() {
            second as u32
        } else {
            0
        };
        Seen { row, is_full: second != 0 }
    }

    /// Returns the index of the row with the key plus 1, or 0.
    #[inline(always)]
    pub fn find(&self, mixed: K) -> u32 {
        let mut sector = self.sector_of(mixed);
        let mut seen = self.look(mixed, sector);
        // At most `MAX_DISTANCE` steps: no row is farther away, and a table without an empty slot
        // within that distance is not used.
        while seen.row == 0 && seen.is_full {
            sector = self.next(sector);
            seen = self.look(mixed, sector);
        }
        seen.row
    }

    /// Writes a row to the first empty slot. Returns false if no slot is near enough, or if the
    /// table has another row with the key already. `key_of` returns the mixed key of another row.
    ///
    /// Rows with one key follow the same probe sequence, and slots stay occupied, so all of them
    /// except one find another.
    #[inline(always)]
    fn insert(&self, mixed: K, row: u32, key_of: impl Fn(u32) -> K) -> bool {
        let mut sector = self.sector_of(mixed);
        for _ in 0..opaque(MAX_DISTANCE) {
            for slot in 0..slots_of_sector::<K>() {
                let at = SECTOR_WORDS * sector as u64 + slot * Self::SLOT;
                let is_equal = if K::BITS == 32 {
                    let there = self.words.atomic(at).compare_exchange(0, mixed.to_u64() << 32 | (row + 1) as u64);
                    if there == 0 {
                        return true;
                    }
                    there >> 32 == mixed.to_u64()
                } else {
                    let there = self.words.atomic(at + 1).compare_exchange(0, row as u64 + 1);
                    if there == 0 {
                        // No thread reads keys before all rows are in the table.
                        self.words.store(at, mixed.to_u64());
                        return true;
                    }
                    key_of(there as u32 - 1) == mixed
                };
                if is_equal {
                    return false;
                }
            }
            sector = self.next(sector);
        }
        false
    }
}

kernel! {
    /// Writes each row to the table, whose words are 0 at first. If some key has several rows, or a
    /// row would be too far away, the header's [`FAILED`](super::header::FAILED) is not 0 at the
    /// end, and the table is incomplete.
    FillTable<K: KeyWord>, "join_fill_table", threads 256;
    { keys: Global<K>, words: Global<u64>, header: Global<u64>, plan: TableParams }
}

impl<K: KeyWord> FillTable<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let Self { keys, words, header, plan } = self;
        let table = Table::new(words, plan.sector_bits);
        let key = |row: u32| keys.load_read_only(row as u64).mixed(plan.a, plan.b);
        let first = block.first_thread();
        let mut rows = block.local(|thread| {
            let row = first + thread as u64;
            Filled { mixed: (row < plan.rows).then(|| key(row as u32)), has_twin: false }
        });
        block.tiles_of(&mut rows, |warp, rows| {
            let mixed = |_, row: &Filled<K>| row.mixed.map(|mixed| (mixed, mixed.bits_from(0)));
            warp.twins(rows, mixed, |lane, row, twin| row.has_twin = twin != lane);
            // This avoids that rows of a frequent key wait for each other. Lanes may read different
            // flags, and must take the same branch.
            let has_failed = |_, row: &Filled<K>| row.has_twin || header.atomic(header::FAILED).load() != 0;
            if warp.ballot(rows, has_failed) != 0 {
                return warp.each(rows, |lane, _| {
                    if lane == 0 {
                        header.atomic(header::FAILED).store(1);
                    }
                });
            }
            let first = first as u32 + warp.first_thread();
            warp.each(rows, |lane, row| {
                if let Some(mixed) = row.mixed
                    && !table.insert(mixed, first + lane, key)
                {
                    header.atomic(header::FAILED).store(1);
                }
            });
        });
    }
}

/// A row that is written to the table.
struct Filled<K> {
    mixed: Option<K>,
    /// Whether another lane has the same key.
    has_twin: bool,
}

/// The row indices that probes have found in a table, in place of buckets.
#[derive(Clone, Copy)]
struct Numbers;

impl<K: KeyWord> Buckets<K> for Numbers {
    #[inline(always)]
    fn bucket(&self, _: K) -> (u32, u32) {
        (0, 0)
    }
    #[inline(always)]
    fn key(&self, _: u32) -> K {
        K::default()
    }
    #[inline(always)]
    fn row(&self, at: u32) -> u32 {
        at
    }
}

/// The scalar arguments of [`JoinTable`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinTableParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of probe rows.
    pub probe: u64,
    /// The capacity of the outputs, in pairs; if 0, pairs are only counted.
    pub capacity: u64,
    /// The outputs for a probe row, an [`Emit`].
    pub emit: u32,
    /// The binary logarithm of the count of sectors.
    pub sector_bits: u32,
    /// The count of probe rows of a block, at most [`ROUND_ROWS`](super::ROUND_ROWS).
    pub block_rows: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Joins the probe rows with the rows of a table that [`FillTable`] has filled. Each block
    /// joins the plan's `block_rows` probe rows. If filling failed, nothing is done.
    ///
    /// The count of pairs is added to the header's [`LENGTH`](super::header::LENGTH). All pairs are
    /// written if there is capacity for them.
    JoinTable<K: KeyWord>, "join_table", threads 512, resident 2, shared start: u64 = 1,
        shared counters: u32 = COUNTERS;
    {
        words: Global<u64>, probe_keys: Global<K>, build_out: Global<u32>, probe_out: Global<u32>,
        header: Global<u64>, plan: JoinTableParams,
    }
}

impl<K: KeyWord> JoinTable<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, start: B::Shared<u64>, counters: B::Shared<u32>) {
        let JoinTableParams { a, b, probe, capacity, emit, sector_bits, block_rows, .. } = self.plan;
        if self.header.load_read_only(header::FAILED) != 0 {
            return;
        }
        let emit = Emit(emit);
        let table = Table::<K>::new(self.words, sector_bits);
        let outputs = Outputs::without_keys(self.build_out, self.probe_out, capacity, self.header);
        let first = block.index() as u64 * block_rows as u64;
        let here = (probe - first).min(block_rows as u64) as u32;
        let keys = self.probe_keys.offset(first);
        let mut threads = block.local(|_| Thread::<K>::new());
        block.phase(&mut threads, |thread, state| {
            let mut more = 0;
            for i in 0..HELD {
                if row(thread, i) < here {
                    state.keys[i] = keys.load_streaming(row(thread, i) as u64).mixed(a, b);
                    state.rows[i] = first as u32 + row(thread, i);
                    state.there |= 1 << i;
                }
            }
            for i in 0..HELD {
                if state.there >> i & 1 != 0 {
                    let seen = table.look(state.keys[i], table.sector_of(state.keys[i]));
                    state.at[i] = seen.row.wrapping_sub(1);
                    state.counts[i] = (seen.row != 0) as u32;
                    state.matched |= ((seen.row != 0) as u32) << i;
                    more |= ((seen.row == 0 && seen.is_full) as u32) << i;
                }
            }
            // At most 32 steps: each clears a bit.
            while more != 0 {
                let i = more.trailing_zeros();
                more &= more - 1;
                let found = table.find(key(&state.keys, i));
                for j in 0..HELD {
                    let is_own = j as u32 == i && found != 0;
                    state.at[j] = if is_own { found - 1 } else { state.at[j] };
                    state.counts[j] |= is_own as u32;
                }
                state.matched |= ((found != 0) as u32) << i;
            }
            if thread == 0 {
                counters.set(TOTAL, 0);
            }
        });
        if emit.has(Emit::PAIRS) {
            emit_pairs(block, &mut threads, outputs, (start, counters), Numbers);
        }
        emit_last(block, &mut threads, outputs, (start, counters), emit);
    }
}
