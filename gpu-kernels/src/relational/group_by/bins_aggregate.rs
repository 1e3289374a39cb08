//! Adding the rows of a bin to their groups in the bin's page.

use super::bin::{MAX_STEPS, Rows};
use super::bin_table::{GroupPage, NO_SLOT};
use super::bins_write::{FAILED, THREADS, Thread};
use super::columns::each_on_chip;
use super::on_chip::{MAX_ROWS, OnChip};
use crate::columns::each_column;
use crate::seam::{Block, Global, Shared, Tile};
use crate::types::{KeyWord, Payload, Row};

/// Returns the count of rows that a thread processes at a time. It is smaller for wide rows, so
/// that they fit the registers.
const fn read<K: KeyWord, V: Payload>() -> usize {
    if K::BITS == 32 && V::VALUE_BITS <= 32 { MAX_ROWS } else { MAX_ROWS / 2 }
}

/// Returns a word in place of the key of a row that does not exist. No slot contains it, since it
/// is not 0 and its highest bit is not set.
#[inline(always)]
fn absent<K: KeyWord>() -> K {
    K::from_u64(1)
}

/// Adds all rows to their groups in the page, also their values in the listed columns, if `V` is a
/// list. If `SUMS` is true, only sums of integers are wanted, and if `FLOATS` is, sums of
/// floating-point numbers. If a row finds no slot, the counter [`FAILED`] is
/// set.
///
/// Each lane processes several rows at a time. Most rows find their group in their first slot,
/// which all lanes probe together, and nearly all others in the next two. Then each lane processes
/// its remaining rows, and all lanes continue until no row is left, since lanes that leave a loop
/// separately are slower.
#[inline(always)]
pub(super) fn aggregate<const SUMS: bool, const FLOATS: bool, K: KeyWord, V: Row, B: Block, S: Shared<u32>>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, V::Word>>,
    (rows, columns): (Rows<K, V>, Global<u64>),
    page: GroupPage<S>,
    counters: impl Shared<u32>,
) {
    let page = if SUMS { page.of_sums() } else { page };
    let rows = if SUMS { Rows { split: true, ..rows } } else { rows };
    let bin = Bin { rows, page };
    let many = read::<K, V>() as u32 * THREADS;
    block.tiles_of(threads, |warp, threads| {
        let mut warp_first = warp.first_thread();
        if warp_first < rows.count {
            warp.each(threads, |lane, thread| bin.load(warp_first, lane, thread));
        }
        while warp_first < rows.count {
            warp.each(threads, |lane, thread| {
                // The rows of the next round are loaded before the rows of this round are added.
                (thread.keys, thread.values) = (thread.next_keys, thread.next_values);
                if warp_first + many < rows.count {
                    bin.load(warp_first + many, lane, thread);
                    if V::IS_LIST {
                        bin.prefetch_columns(columns, warp_first + many + lane);
                    }
                }
                bin.seek(warp_first, lane, thread);
            });
            let mut steps = 0;
            // At most `MAX_STEPS` steps for each row of a lane.
            while warp.ballot(threads, |_, thread| thread.pending != 0) != 0 {
                if steps == read::<K, V>() as u32 * MAX_STEPS {
                    warp.each(threads, |_, _| {
                        counters.fetch_max(FAILED, 1);
                    });
                    return;
                }
                steps += 1;
                warp.each(threads, |_, thread| bin.seek_on(thread));
            }
            warp.each(threads, |lane, thread| {
                for i in 0..read::<K, V>() {
                    thread.slots[i] = page.copy(thread.slots[i], lane);
                }
                let at = thread.slots.map(|copy| copy.wrapping_add(page.chip.low));
                if V::IS_LIST {
                    bin.add_columns(columns, thread, warp_first + lane);
                }
                let chip = if FLOATS { page.chip.without_floats() } else { page.chip };
                if read::<K, V>() == MAX_ROWS {
                    chip.add::<MAX_ROWS, V::Word>(at, thread.values);
                } else {
                    chip.add::<{ MAX_ROWS / 2 }, V::Word>(at, thread.values);
                }
            });
            if FLOATS {
                add_floats::<K, V, _, _>(warp, threads, page.chip);
            }
            warp_first += many;
        }
    });
}

/// The rows of a bin, and its page.
#[derive(Clone, Copy)]
struct Bin<K: KeyWord, V: Payload, S> {
    rows: Rows<K, V>,
    page: GroupPage<S>,
}

impl<K: KeyWord, V: Payload, S: Shared<u32>> Bin<K, V, S> {
    /// Returns whether all rows of a warp's round exist. The last round of a block may have fewer
    /// rows.
    #[inline(always)]
    fn is_full(&self, warp_first: u32) -> bool {
        warp_first - warp_first % THREADS + read::<K, V>() as u32 * THREADS <= self.rows.count
    }

    /// Adds a lane's rows of a round, the first of which is `row`, to the aggregates of the listed
    /// columns.
    #[inline(always)]
    fn add_columns(&self, columns: Global<u64>, thread: &Thread<K, V::Word>, row: u32) {
        let Self { rows, page } = *self;
        // Rows that do not exist have spare aggregates.
        each_on_chip!((column, own) in columns, after page.chip => {
            let at = thread.slots.map(|copy| copy.wrapping_add(own.low));
            let row_of = |i: usize| (row + i as u32 * THREADS < rows.count).then(|| rows.first + (row + i as u32 * THREADS) as u64);
            if read::<K, V>() == MAX_ROWS {
                column.add_apart::<MAX_ROWS, S>(&own, at, row_of);
            } else {
                column.add_apart::<{ MAX_ROWS / 2 }, S>(&own, at, row_of);
            }
        });
    }

    /// Prefetches the values of a lane's rows of a round, the first of which is `row`.
    #[inline(always)]
    fn prefetch_columns(&self, columns: Global<u64>, row: u32) {
        each_column!(column in columns => {
            for i in 0..read::<K, V>() {
                let row = row + i as u32 * THREADS;
                if row < self.rows.count {
                    column.prefetch(self.rows.first + row as u64);
                }
            }
        });
    }

    /// Loads a lane's rows of a round.
    #[inline(always)]
    fn load(&self, warp_first: u32, lane: u32, thread: &mut Thread<K, V::Word>) {
        let from = self.rows.from(warp_first + lane);
        for i in 0..read::<K, V>() {
            if self.is_full(warp_first) || warp_first + i as u32 * THREADS + lane < self.rows.count {
                (thread.next_keys[i], thread.next_values[i]) = from.load(i as u32 * THREADS);
            }
        }
    }

    /// Probes for the groups of a lane's rows. Rows whose groups are not found are pending.
    #[inline(always)]
    fn seek(&self, warp_first: u32, lane: u32, thread: &mut Thread<K, V::Word>) {
        let Self { rows, page } = *self;
        if self.is_full(warp_first) && rows.split {
            for i in 0..read::<K, V>() {
                thread.keys[i] = page.held_for(thread.keys[i]);
            }
        } else {
            for i in 0..read::<K, V>() {
                let key = thread.keys[i];
                let mixed = if rows.split { key } else { key.mixed(rows.a, rows.b) };
                let is_there = warp_first + i as u32 * THREADS + lane < rows.count;
                let is_own = is_there && (rows.split || page.has(mixed));
                thread.keys[i] = if is_own { page.held_for(mixed) } else { absent() };
            }
        }
        let mut seen = [K::default(); MAX_ROWS];
        for i in 0..read::<K, V>() {
            thread.slots[i] = page.home(thread.keys[i]);
            seen[i] = page.seen(thread.slots[i]);
        }
        thread.pending = 0;
        for i in 0..read::<K, V>() {
            let held = thread.keys[i];
            if seen[i] != held {
                if held == absent() {
                    thread.slots[i] = page.spare(lane);
                } else {
                    let look = page.look_further(held, thread.slots[i], seen[i]);
                    thread.slots[i] = look.slot;
                    thread.taken += look.took as u32;
                    thread.pending |= ((look.slot == NO_SLOT) as u32) << i;
                }
            }
        }
        thread.slot = NO_SLOT;
    }

    /// Probes one more slot for the first of a lane's pending rows.
    #[inline(always)]
    fn seek_on(&self, thread: &mut Thread<K, V::Word>) {
        let page = self.page;
        if thread.pending == 0 {
            return;
        }
        let row = thread.pending.trailing_zeros();
        // The key is selected by masks, since an index that varies would put the keys on the stack.
        let mut held = K::default();
        for i in 0..read::<K, V>() {
            held = held.either(thread.keys[i] & if i as u32 == row { K::ALL_ONES } else { K::default() });
        }
        if thread.slot == NO_SLOT {
            thread.slot = page.second(held);
        }
        let look = page.look(held, thread.slot, page.seen(thread.slot));
        thread.taken += look.took as u32;
        if look.slot == NO_SLOT {
            thread.slot = page.next(held, thread.slot);
        } else {
            for i in 0..read::<K, V>() {
                thread.slots[i] = if i as u32 == row { look.slot } else { thread.slots[i] };
            }
            thread.pending &= thread.pending - 1;
            thread.slot = NO_SLOT;
        }
    }
}

/// If fewer lanes wait to add, each adds its numbers itself.
const FEW_WAITING: u32 = 4;

/// Adds the addend of each row of a warp's lanes to the sum of its slot.
///
/// Each lane tries once. If many lanes fail, then many rows have the same key. Each step adds up
/// the numbers of the waiting lanes with one slot, so that these need not wait for each other.
#[inline(always)]
fn add_floats<K: KeyWord, V: Row, T: Tile, S: Shared<u32>>(
    warp: &mut T,
    threads: &mut T::Local<Thread<K, V::Word>>,
    chip: OnChip<S>,
) {
    let addend_of = |thread: &Thread<K, V::Word>, row: usize| chip.column().addend(thread.values[row]);
    warp.each(threads, |_, thread| {
        for i in 0..read::<K, V>() {
            thread.pending |= (!chip.try_add_float(thread.slots[i], addend_of(thread, i)) as u32) << i;
        }
    });
    // At most as many steps as all lanes have rows.
    loop {
        let waiting = warp.ballot(threads, |_, thread| thread.pending != 0);
        if waiting.count_ones() < FEW_WAITING {
            break;
        }
        warp.each(threads, |_, thread| {
            // The row is selected by masks, as in `seek_on`.
            (thread.slot, thread.addend) = (NO_SLOT, (-0.0f64).to_bits());
            for i in (0..read::<K, V>()).rev() {
                if thread.pending >> i & 1 != 0 {
                    (thread.slot, thread.addend) = (thread.slots[i], addend_of(thread, i));
                }
            }
        });
        let first = waiting.trailing_zeros();
        let slot = warp.pick(threads, first, |thread| thread.slot);
        let nothing = (-0.0f64).to_bits();
        let sum = warp.sum_floats(threads, |_, thread| if thread.slot == slot { thread.addend } else { nothing });
        warp.each(threads, |lane, thread| {
            if lane == first {
                chip.add_float(slot, sum);
            }
            if thread.slot == slot {
                thread.pending &= thread.pending - 1;
            }
        });
    }
    warp.each(threads, |_, thread| {
        for i in 0..read::<K, V>() {
            if thread.pending >> i & 1 != 0 {
                chip.add_float(thread.slots[i], addend_of(thread, i));
            }
        }
        thread.pending = 0;
    });
}
