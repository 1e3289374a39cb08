//! The state of a thread while its block aggregates a bin in a page, and the writing of groups.

use super::bin::Groups;
use super::bin_table::{GroupPage, NO_SLOT};
use super::on_chip::MAX_ROWS;
use crate::seam::{Block, Shared, Tile};
use crate::types::{KeyWord, Row, Scalar};

/// The count of threads of a block.
pub(super) const THREADS: u32 = 640;

/// The indices of a block's counters: whether a row found no slot, the count of groups, the count
/// of groups that are written, and whether another page has failed.
pub(super) const FAILED: u32 = 0;
pub(super) const GROUPS: u32 = 1;
pub(super) const WRITTEN: u32 = 2;
pub(super) const STOPPED: u32 = 3;
pub(super) const COUNTERS: usize = 4;

/// The state of a thread.
pub(super) struct Thread<K, W> {
    /// The keys of its rows as slots contain them, or [`absent`], and the values.
    pub keys: [K; MAX_ROWS],
    pub values: [W; MAX_ROWS],
    /// The rows of its next round, which are being loaded.
    pub next_keys: [K; MAX_ROWS],
    pub next_values: [W; MAX_ROWS],
    /// The slots of its rows' groups.
    pub slots: [u32; MAX_ROWS],
    /// A bit for each row that has no slot yet, or whose number is not added yet.
    pub pending: u32,
    /// The slot that is probed next for the first of these rows, or to which it is added.
    pub slot: u32,
    /// The floating-point number of that row.
    pub addend: u64,
    /// The count of slots that its rows have taken.
    pub taken: u32,
    /// The keys of the groups that are being written.
    pub groups: [K; EMITTED],
    /// The index of the warp's first group.
    pub written: u32,
}

impl<K: KeyWord, W: Scalar> Thread<K, W> {
    pub fn new() -> Self {
        Self {
            keys: [K::default(); MAX_ROWS],
            values: [W::default(); MAX_ROWS],
            next_keys: [K::default(); MAX_ROWS],
            next_values: [W::default(); MAX_ROWS],
            slots: [NO_SLOT; MAX_ROWS],
            pending: 0,
            slot: NO_SLOT,
            addend: 0,
            taken: 0,
            groups: [K::default(); EMITTED],
            written: 0,
        }
    }
}

/// The count of slots whose groups a thread writes at a time.
pub(super) const EMITTED: usize = 4;

/// Writes the groups of the page, starting at the offset in `start`. If `SUMS` is true, only sums
/// are wanted.
#[inline(always)]
pub(super) fn write<const SUMS: bool, K: KeyWord, V: Row, B: Block, S: Shared<u32>>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, V::Word>>,
    groups: Groups<K, V>,
    page: GroupPage<S>,
    counters: impl Shared<u32>,
    start: impl Shared<u64>,
) {
    let page = if SUMS { page.of_sums() } else { page };
    block.tiles_of(threads, |warp, threads| {
        let mut warp_first = warp.first_thread();
        while warp_first < page.slots() {
            let slot_of = |lane: u32, i: usize| warp_first + i as u32 * THREADS + lane;
            warp.each(threads, |lane, thread| {
                for i in 0..EMITTED {
                    let slot = slot_of(lane, i);
                    thread.groups[i] = if slot < page.slots() { page.held(slot) } else { K::default() };
                }
            });
            let mut taken = [0; EMITTED];
            for i in 0..EMITTED {
                taken[i] = warp.ballot(threads, |_, thread| thread.groups[i] != K::default());
            }
            let mut all = 0;
            for i in 0..EMITTED {
                all += taken[i].count_ones();
            }
            warp.each(threads, |lane, thread| {
                if lane == 0 {
                    thread.written = counters.fetch_add(WRITTEN, all);
                }
            });
            let mut written = warp.pick(threads, 0, |thread| thread.written);
            for i in 0..EMITTED {
                warp.each(threads, |lane, thread| {
                    let rank = (taken[i] & ((1 << lane) - 1)).count_ones();
                    let target = start.get(0) + (written + rank) as u64;
                    if thread.groups[i] != K::default() {
                        groups.write(target, page.mixed(thread.groups[i]), &page, slot_of(lane, i));
                    }
                });
                written += taken[i].count_ones();
            }
            warp_first += EMITTED as u32 * THREADS;
        }
    });
}
