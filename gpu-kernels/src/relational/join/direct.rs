//! Joins with a small build side, which is ordered by bucket in memory. The probe rows need not be
//! split, since the build side fits in the cache.

use super::buckets::InMemory;
use super::emit::{Outputs, emit_last, emit_pairs};
use super::fill::{COUNTERS, TOTAL};
use super::header;
use super::probe::{HELD, THREADS, Thread, find, row};
use super::written::Emit;
use crate::seam::{Block, Global, Shared};
use crate::types::KeyWord;

/// The count of adjacent rows that a block reads together.
const SECTOR: u64 = 8;

/// The scalar arguments of [`JoinDirect`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinDirectParams {
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
    /// The binary logarithm of the count of buckets.
    pub bucket_bits: u32,
    /// The count of probe rows of a block, a multiple of 32 and at most
    /// [`ROUND_ROWS`](super::ROUND_ROWS).
    pub block_rows: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Joins the probe rows with build rows that are ordered by their buckets, which are the upper
    /// bits of mixed keys. Each block joins the plan's `block_rows` probe rows. `starts` has the
    /// start of each bucket, and the end of the last bucket.
    ///
    /// The count of pairs is added to the header's [`LENGTH`](super::header::LENGTH). All pairs are
    /// written if there is capacity for them. If the header's [`FAILED`](super::header::FAILED) is
    /// set, nothing is done.
    JoinDirect<K: KeyWord>, "join_direct", threads 512, resident 2, shared start: u64 = 1,
        shared counters: u32 = COUNTERS;
    {
        build_keys: Global<K>, build_rows: Global<u32>, starts: Global<u32>, probe_keys: Global<K>,
        build_out: Global<u32>, probe_out: Global<u32>, header: Global<u64>, plan: JoinDirectParams,
    }
}

impl<K: KeyWord> JoinDirect<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, start: B::Shared<u64>, counters: B::Shared<u32>) {
        let JoinDirectParams { a, b, probe, capacity, emit, bucket_bits, block_rows, .. } = self.plan;
        if self.header.load_read_only(header::FAILED) != 0 {
            return;
        }
        let emit = Emit(emit);
        let build = InMemory { keys: self.build_keys, rows: self.build_rows, starts: self.starts, bucket_bits };
        let outputs = Outputs::without_keys(self.build_out, self.probe_out, capacity, self.header);
        // Each sector of keys belongs to the next block, since adjacent rows may share a key of
        // many build rows.
        let (blocks, first) = (block.grid() as u64 * SECTOR, block.index() as u64 * SECTOR);
        let number = |row: u32| row as u64 / SECTOR * blocks + first + row as u64 % SECTOR;
        let is_there = |row: u32| row < block_rows && number(row) < probe;
        // If there are few rows, they are spread over all warps, since each row may have many pairs
        // to write.
        let is_spread = block_rows < THREADS;
        let row = |thread: u32, i: usize| {
            let thread = if is_spread { thread % 32 * (THREADS / 32) + thread / 32 } else { thread };
            row(thread, i)
        };
        let keys = self.probe_keys;
        let mut threads = block.local(|_| Thread::<K>::new());
        block.phase(&mut threads, |thread, state| {
            for i in 0..HELD {
                if is_there(row(thread, i)) {
                    state.rows[i] = number(row(thread, i)) as u32;
                    state.keys[i] = keys.load_streaming(state.rows[i] as u64).mixed(a, b);
                    state.there |= 1 << i;
                }
            }
            if thread == 0 {
                counters.set(TOTAL, 0);
            }
        });
        find(block, &mut threads, build, emit);
        if emit.has(Emit::PAIRS) {
            emit_pairs(block, &mut threads, outputs, (start, counters), build);
        }
        emit_last(block, &mut threads, outputs, (start, counters), emit);
    }
}
