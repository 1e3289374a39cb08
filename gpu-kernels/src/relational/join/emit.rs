//! Writing the results of a round of probe rows.

use super::buckets::Buckets;
use super::fill::TOTAL;
use super::header;
use super::probe::{HELD, LONG, Thread, element, pick_key};
use super::written::Emit;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::types::KeyWord;

/// The build row of a probe row without a match.
pub const NO_ROW: u32 = u32::MAX;

/// The arrays to which pairs of rows are written.
#[derive(Clone, Copy)]
pub(super) struct Outputs<K> {
    /// The indices of the build rows, or null if they are not wanted.
    pub build: Global<u32>,
    pub probe: Global<u32>,
    /// The keys of the pairs, or null if they are not wanted.
    pub keys: Global<K>,
    /// The first constant of the mix and the inverse multiplier of the second, used if keys are
    /// wanted.
    pub mix: [u64; 2],
    /// The capacity of the arrays, in pairs.
    pub capacity: u64,
    pub header: Global<u64>,
}

impl<K: KeyWord> Outputs<K> {
    /// Returns the arrays of a join that does not write keys.
    #[inline(always)]
    pub fn without_keys(build: Global<u32>, probe: Global<u32>, capacity: u64, header: Global<u64>) -> Self {
        // SAFETY: keys are not written if the pointer is null.
        let keys = unsafe { Global::null() };
        Self { build, probe, keys, mix: [0; 2], capacity, header }
    }

    /// Writes a pair, for which there is capacity, with its mixed key.
    #[inline(always)]
    pub fn store(&self, target: u64, probe: u32, build: u32, mixed: K) {
        self.probe.store_streaming(target, probe);
        self.build.store_streaming(target, build);
        if !self.keys.is_null() {
            self.keys.store_streaming(target, mixed.unmixed_by(self.mix[0], self.mix[1]));
        }
    }

    /// Writes a probe row without a build row. There must be capacity for it.
    #[inline(always)]
    pub fn store_alone(&self, target: u64, probe: u32) {
        self.probe.store_streaming(target, probe);
        if !self.build.is_null() {
            self.build.store_streaming(target, NO_ROW);
        }
    }

    /// Reserves output rows. Returns the index of the first, or `None` if there is not enough
    /// capacity. In that case the join is launched again with more capacity.
    #[inline(always)]
    pub fn reserve(&self, rows: u64) -> Option<u64> {
        let first = self.header.atomic(header::LENGTH).fetch_add(rows);
        if first + rows <= self.capacity { Some(first) } else { None }
    }

    /// Returns the outputs starting at index `first`.
    #[inline(always)]
    fn from(&self, first: u64) -> Self {
        let build = if self.build.is_null() { self.build } else { self.build.offset(first) };
        let keys = if self.keys.is_null() { self.keys } else { self.keys.offset(first) };
        Self { build, keys, probe: self.probe.offset(first), ..*self }
    }
}

/// The start of a block's output rows if there is no capacity for them, or no rows.
const NOWHERE: u64 = u64::MAX;

/// Returns the count of earlier lanes whose bit in `lanes` is set.
#[inline(always)]
fn rank(lanes: u32, lane: u32) -> u32 {
    (lanes & ((1 << lane) - 1)).count_ones()
}

/// Reserves the count of output rows that `wanted` returns for each thread. `start` becomes the
/// index of the block's first output row, and each thread's `next` the offset of its warp from
/// there. The counter [`TOTAL`] is 0 before and after.
#[inline(always)]
fn reserve<K: KeyWord, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    outputs: Outputs<K>,
    (start, counters): (impl Shared<u64>, impl Shared<u32>),
    wanted: impl Fn(&Thread<K>) -> u32 + Sync,
) {
    block.tiles_of(threads, |warp, threads| {
        warp.exclusive_sum(
            threads,
            |_, thread| wanted(thread),
            |lane, thread, _, sum| {
                if lane == 0 {
                    thread.next = if sum == 0 { 0 } else { counters.fetch_add(TOTAL, sum) };
                }
            },
        );
        let first = warp.pick(threads, 0, |thread| thread.next);
        warp.each(threads, |_, thread| thread.next = first);
    });
    block.sync();
    block.phase(threads, |thread, _| {
        if thread == 0 {
            let rows = counters.get(TOTAL);
            let first = if rows == 0 { None } else { outputs.reserve(rows as u64) };
            start.set(0, first.unwrap_or(NOWHERE));
            counters.set(TOTAL, 0);
        }
    });
}

/// Writes each pair of a probe row of the round and a build row with an equal key.
#[inline(always)]
pub(super) fn emit_pairs<K: KeyWord, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    outputs: Outputs<K>,
    (start, counters): (impl Shared<u64>, impl Shared<u32>),
    build: impl Buckets<K>,
) {
    reserve(block, threads, outputs, (start, counters), Thread::pairs);
    if start.get(0) == NOWHERE {
        return;
    }
    let outputs = outputs.from(start.get(0));
    block.tiles_of(threads, |warp, threads| {
        let has_several = |thread: &Thread<K>| {
            let mut all = 0;
            for i in 0..HELD {
                all |= thread.counts[i];
            }
            all > 1
        };
        if warp.ballot(threads, |_, thread| has_several(thread)) == 0 {
            for i in 0..HELD {
                let lanes = warp.ballot(threads, |_, thread| thread.counts[i] != 0);
                warp.each(threads, |lane, thread| {
                    if thread.counts[i] != 0 {
                        let target = thread.next + rank(lanes, lane);
                        outputs.store(target as u64, thread.rows[i], build.row(thread.at[i]), thread.keys[i]);
                    }
                    thread.next += lanes.count_ones();
                });
            }
            return;
        }
        for i in 0..opaque(HELD as u32) {
            warp.exclusive_sum(
                threads,
                |_, thread| element(&thread.counts, i) & !LONG,
                |_, thread, before, sum| {
                    thread.target = thread.next + before;
                    thread.next += sum;
                },
            );
            warp.each(threads, |_, thread| {
                let mut left = element(&thread.counts, i);
                if left & LONG != 0 {
                    return;
                }
                let (key, row) = (super::probe::key(&thread.keys, i), element(&thread.rows, i));
                let (mut at, mut target) = (element(&thread.at, i), thread.target as u64);
                // At most as many steps as rows of the bucket, since `left` of them have the key.
                while left != 0 {
                    if build.key(at) == key {
                        outputs.store(target, row, build.row(at), key);
                        target += 1;
                        left -= 1;
                    }
                    at += 1;
                }
            });
            emit_long(warp, threads, outputs, build, i);
        }
    });
}

/// Writes the pairs of row `i` of each lane whose bucket is long.
#[inline(always)]
fn emit_long<K: KeyWord, W: Tile>(
    warp: &mut W,
    threads: &mut W::Local<Thread<K>>,
    outputs: Outputs<K>,
    build: impl Buckets<K>,
    i: u32,
) {
    let mut long = warp.ballot(threads, |_, thread| element(&thread.counts, i) > LONG);
    // At most 32 steps: each clears a bit.
    while long != 0 {
        let lane = long.trailing_zeros();
        let key = pick_key::<K, _>(warp, threads, lane, i);
        let row = warp.pick(threads, lane, |thread| element(&thread.rows, i));
        let mut target = warp.pick(threads, lane, |thread| thread.target) as u64;
        let count = warp.pick(threads, lane, |thread| element(&thread.counts, i)) & !LONG;
        let (mut at, rows) = build.bucket(key);
        let end = at + rows;
        if count == rows {
            // All rows of the bucket have this key.
            warp.each(threads, |lane, _| {
                let mut other = lane;
                while other < count {
                    outputs.store(target + other as u64, row, build.row(at + other), key);
                    other += 32;
                }
            });
            at = end;
        }
        while at < end {
            let here = |lane: u32| at + lane < end && build.key(at + lane) == key;
            let lanes = warp.ballot(threads, |lane, _| here(lane));
            warp.each(threads, |lane, _| {
                if lanes >> lane & 1 != 0 {
                    outputs.store(target + rank(lanes, lane) as u64, row, build.row(at + lane), key);
                }
            });
            target += lanes.count_ones() as u64;
            at += 32;
        }
        long &= long - 1;
    }
}

/// Writes the probe rows of the round whose bit is set in the result of `wanted`.
#[inline(always)]
pub(super) fn emit_once<K: KeyWord, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    outputs: Outputs<K>,
    (start, counters): (impl Shared<u64>, impl Shared<u32>),
    wanted: impl Fn(&Thread<K>) -> u32 + Sync,
) {
    reserve(block, threads, outputs, (start, counters), |thread| wanted(thread).count_ones());
    if start.get(0) == NOWHERE {
        return;
    }
    let outputs = outputs.from(start.get(0));
    block.tiles_of(threads, |warp, threads| {
        for i in 0..HELD {
            let lanes = warp.ballot(threads, |_, thread| wanted(thread) >> i & 1 != 0);
            warp.each(threads, |lane, thread| {
                if lanes >> lane & 1 != 0 {
                    outputs.store_alone((thread.next + rank(lanes, lane)) as u64, thread.rows[i]);
                }
                thread.next += lanes.count_ones();
            });
        }
    });
}

/// Writes the outputs that need all build rows, for a round that was compared with all of them.
#[inline(always)]
pub(super) fn emit_last<K: KeyWord, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    outputs: Outputs<K>,
    shared: (impl Shared<u64>, impl Shared<u32>),
    emit: Emit,
) {
    if emit.needs_all() {
        let flip = if emit.has(Emit::UNMATCHED) { u32::MAX } else { 0 };
        emit_once(block, threads, outputs, shared, |thread| thread.there & (thread.matched ^ flip));
    }
}
