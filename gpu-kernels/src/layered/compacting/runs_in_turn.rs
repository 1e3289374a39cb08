//! Ids for rows in the order of their keys, by one thread of a CPU for each chunk of them: the rows
//! of a key, a run, are neighbours.

use crate::seam::{Block, Global, Work, vectorized};
use crate::types::KeyWord;

/// The scalar arguments of [`CountRuns`] and [`NumberRuns`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RunsParams {
    /// The number of rows of all chunks.
    pub rows: u64,
    /// The number of rows of a chunk; the last one may have fewer.
    pub chunk_rows: u64,
}

impl RunsParams {
    /// Returns the first row of a chunk, and the row behind its last one.
    #[inline(always)]
    fn chunk(&self, chunk: u32) -> (u64, u64) {
        let first = chunk as u64 * self.chunk_rows;
        (first, self.rows.min(first + self.chunk_rows))
    }
}

cores_kernel! {
    /// Sets `found[c]` to the number of runs that begin in chunk `c` of `keys`, which are in order.
    /// A block does a chunk.
    CountRuns<K: KeyWord>, "compacting_count_runs", threads 16384;
    { keys: Global<K>, found: Global<u64>, plan: RunsParams }
}

impl<K: KeyWord> CountRuns<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let (first, end) = self.plan.chunk(block.index());
        self.found.store(block.index() as u64, vectorized(Count { keys: self.keys, first, end }));
    }
}

/// The count of the runs that begin among some rows.
struct Count<K> {
    keys: Global<K>,
    first: u64,
    end: u64,
}

impl<K: KeyWord> Work for Count<K> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let Self { keys, first, end } = self;
        let later = first.max(1);
        let begins = |row: u64| (keys.load_streaming(row) != keys.load_streaming(row - 1)) as u64;
        (later.min(end)..end).map(begins).sum::<u64>() + (first == 0 && end != 0) as u64
    }
}

cores_kernel! {
    /// Gives the runs that begin in chunk `c` of `keys` the ids from `found[c]` on, in their order.
    /// A block does a chunk.
    ///
    /// `ids[rows[i]]` becomes the id of the run of `keys[i]`, `keys_out[id]` its key, and
    /// `counts[id]` the number of its rows. `rows` are the numbers of all rows, in any order.
    NumberRuns<K: KeyWord>, "compacting_number_runs", threads 16384;
    {
        keys: Global<K>, rows: Global<u32>, found: Global<u64>, ids: Global<u32>, keys_out: Global<K>,
        counts: Global<u32>, plan: RunsParams,
    }
}

impl<K: KeyWord> NumberRuns<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { keys, rows, found, ids, keys_out, counts, plan } = self;
        let (first, end) = plan.chunk(block.index());
        let id = found.load(block.index() as u64);
        vectorized(Number { keys, rows, ids, keys_out, counts, first, end, last: plan.rows - 1, id });
    }
}

/// The runs that begin among the rows from `first` to `end`, and their ids from `id` on. The
/// number of the last of all rows is `last`.
struct Number<K> {
    keys: Global<K>,
    rows: Global<u32>,
    ids: Global<u32>,
    keys_out: Global<K>,
    counts: Global<u32>,
    first: u64,
    end: u64,
    last: u64,
    id: u64,
}

/// The distance to the row whose id is prefetched when one is written.
const AHEAD: u64 = 16;

impl<K: KeyWord> Work for Number<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, rows, ids, keys_out, counts, first, end, last, mut id } = self;
        let continues = |row: u64| keys.load_streaming(row) == keys.load_streaming(row - 1);
        // A run that began before is another chunk's, and the last one here may end in the next.
        let mut row = first;
        while row < end && row != 0 && continues(row) {
            row += 1;
        }
        while row < end {
            let begin = row;
            loop {
                ids.store(rows.load_streaming(row) as u64, id as u32);
                ids.prefetch(rows.load_streaming(last.min(row + AHEAD)) as u64);
                row += 1;
                if row > last || !continues(row) {
                    break;
                }
            }
            keys_out.store(id, keys.load_streaming(begin));
            counts.store(id, (row - begin) as u32);
            id += 1;
        }
    }
}
