//! A round of probe rows: each thread has some of the rows, and counts the build rows with their
//! keys.

use super::buckets::{Buckets, PADDING};
use super::written::Emit;
use crate::seam::{Block, Tile, opaque};
use crate::types::KeyWord;
use core::array::from_fn;

/// The count of threads of a block.
pub(super) const THREADS: u32 = 512;

/// The count of rows of a thread.
pub(super) const HELD: usize = 5;

/// The count of rows of a block's round.
pub const ROUND_ROWS: u32 = THREADS * HELD as u32;

/// The most rows of a bucket that a thread reads by itself. A warp reads longer buckets together.
const MAX_SHORT: u32 = 12;

/// The bit of a count that tells that the key's bucket is long.
pub(super) const LONG: u32 = 1 << 31;

/// The state of a thread: its rows and their matches.
pub(super) struct Thread<K> {
    /// The mixed keys, and the indices in their table of the rows.
    pub keys: [K; HELD],
    pub rows: [u32; HELD],
    /// The index of the first build row with the key, or the start of a long bucket.
    pub at: [u32; HELD],
    /// The count of build rows with the key, and the bit [`LONG`].
    pub counts: [u32; HELD],
    /// A bit for each row that exists, and a bit for each row that has a match.
    pub there: u32,
    pub matched: u32,
    /// The offset of the thread's next output row among the rows that its block has reserved. At
    /// other times a sum of the thread.
    pub next: u32,
    /// The same offset for the rows that are being written.
    pub target: u32,
}

impl<K: KeyWord> Thread<K> {
    pub fn new() -> Self {
        Self {
            keys: [K::default(); HELD],
            rows: [0; HELD],
            at: [0; HELD],
            counts: [0; HELD],
            there: 0,
            matched: 0,
            next: 0,
            target: 0,
        }
    }

    /// Returns the count of all matches of the thread's rows.
    #[inline(always)]
    pub fn pairs(&self) -> u32 {
        let mut sum = 0;
        for i in 0..HELD {
            sum += self.counts[i] & !LONG;
        }
        sum
    }
}

/// Returns the index in its round of a thread's row `i`.
#[inline(always)]
pub(super) fn row(thread: u32, i: usize) -> u32 {
    thread + i as u32 * THREADS
}

/// Returns element `i` of an array that a thread keeps in registers. An index that is not constant
/// would put the array on the stack.
#[inline(always)]
pub(super) fn element(array: &[u32; HELD], i: u32) -> u32 {
    let mut element = 0;
    for j in 0..HELD {
        element |= if j as u32 == i { array[j] } else { 0 };
    }
    element
}

/// Returns element `i` of the keys that a thread keeps in registers.
#[inline(always)]
pub(super) fn key<K: KeyWord>(keys: &[K; HELD], i: u32) -> K {
    let mut key = K::default();
    for j in 0..HELD {
        key = key.either(keys[j] & if j as u32 == i { K::ALL_ONES } else { K::default() });
    }
    key
}

/// Returns key `i` of a lane to all lanes.
#[inline(always)]
pub(super) fn pick_key<K: KeyWord, W: Tile>(warp: &mut W, threads: &W::Local<Thread<K>>, lane: u32, i: u32) -> K {
    let low = warp.pick(threads, lane, |thread| key(&thread.keys, i).to_u64() as u32) as u64;
    if K::BITS == 32 {
        return K::from_u64(low);
    }
    let high = warp.pick(threads, lane, |thread| (key(&thread.keys, i).to_u64() >> 32) as u32) as u64;
    K::from_u64(high << 32 | low)
}

/// Finds the build rows with the keys of all rows of the threads, and sets their positions and
/// counts. Also sets the bits of rows with a match, if an output depends on all build rows.
///
/// Nearly all buckets have at most four rows, which all lanes compare concurrently. If a bucket has
/// more rows, its lane continues alone, and a warp reads long buckets together.
#[inline(always)]
pub(super) fn find<K: KeyWord, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    build: impl Buckets<K>,
    emit: Emit,
) {
    let is_one_enough = emit.is_one_enough();
    block.tiles_of(threads, |warp, threads| {
        warp.each(threads, |_, thread| find_short(thread, build));
        let any_long = |thread: &Thread<K>| {
            let mut any = 0;
            for i in 0..HELD {
                any |= thread.counts[i];
            }
            any & LONG != 0
        };
        let is_any_long = warp.ballot(threads, |_, thread| any_long(thread)) != 0;
        for i in 0..opaque(if is_any_long { HELD as u32 } else { 0 }) {
            find_long(warp, threads, build, i, is_one_enough);
        }
        if emit.needs_all() {
            warp.each(threads, |_, thread| {
                for i in 0..HELD {
                    thread.matched |= ((thread.counts[i] & !LONG != 0) as u32) << i;
                }
            });
        }
    });
}

/// Finds the build rows for a thread's rows in all buckets that are not long.
#[inline(always)]
fn find_short<K: KeyWord>(thread: &mut Thread<K>, build: impl Buckets<K>) {
    let mut more = 0;
    // The loads of all rows are issued before the first of them is used.
    let buckets: [(u32, u32); HELD] = from_fn(|i| build.bucket(thread.keys[i]));
    for i in 0..HELD {
        let (key, (at, rows)) = (thread.keys[i], buckets[i]);
        let rows = if thread.there >> i & 1 != 0 { rows } else { 0 };
        let is_equal: [bool; PADDING as usize] = from_fn(|step| build.has_key((at, rows), step as u32, key));
        let mut behind = PADDING - 1;
        for step in (0..PADDING - 1).rev() {
            behind = if is_equal[step as usize] { step } else { behind };
        }
        thread.at[i] = at + behind;
        thread.counts[i] = is_equal.map(u32::from).iter().sum();
        more |= ((rows > PADDING) as u32) << i;
    }
    // At most 32 steps: each clears a bit.
    while more != 0 {
        let i = more.trailing_zeros();
        more &= more - 1;
        let key = key(&thread.keys, i);
        let (begin, rows) = build.bucket(key);
        let (mut at, end) = (begin + PADDING, begin + rows);
        let (mut first, mut count) = (element(&thread.at, i), element(&thread.counts, i));
        if rows > MAX_SHORT {
            (first, count) = (begin, LONG);
            at = end;
        }
        while at < end {
            if build.key(at) == key {
                first = if count == 0 { at } else { first };
                count += 1;
            }
            at += 1;
        }
        for j in 0..HELD {
            let is_own = j as u32 == i;
            thread.at[j] = if is_own { first } else { thread.at[j] };
            thread.counts[j] = if is_own { count } else { thread.counts[j] };
        }
    }
}

/// Counts the build rows for row `i` of each lane whose bucket is long. If one match is enough,
/// stops after the first rows with a match.
#[inline(always)]
fn find_long<K: KeyWord, W: Tile>(
    warp: &mut W,
    threads: &mut W::Local<Thread<K>>,
    build: impl Buckets<K>,
    i: u32,
    is_one_enough: bool,
) {
    let mut long = warp.ballot(threads, |_, thread| element(&thread.counts, i) == LONG);
    // At most 32 steps: each clears a bit.
    while long != 0 {
        let lane = long.trailing_zeros();
        let key = pick_key::<K, _>(warp, threads, lane, i);
        let (mut at, rows) = build.bucket(key);
        let end = at + rows;
        let mut count = 0;
        while at < end {
            let here = |lane: u32| at + lane < end && build.key(at + lane) == key;
            count += warp.ballot(threads, |lane, _| here(lane)).count_ones();
            at = if count != 0 && is_one_enough { end } else { at + 32 };
        }
        warp.each(threads, |own, thread| {
            if own != lane {
                return;
            }
            for j in 0..HELD {
                thread.counts[j] |= if j as u32 == i { count } else { 0 };
            }
        });
        long &= long - 1;
    }
}
