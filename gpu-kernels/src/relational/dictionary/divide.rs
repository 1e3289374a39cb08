//! Rows divided into parts by the hashes of their keys.

use super::table::{GROUP, Hash};
use crate::seam::{Block, Global, Work, vectorized};
use crate::types::KeyWord;

/// The scalar arguments of [`CountParts`] and [`DivideRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DivideParams {
    /// The hash function, of which leading bits are a key's part: as many as it skips.
    pub hash: Hash,
    /// The number of rows of all chunks.
    pub rows: u64,
    /// The number of rows of a chunk; the last one may have fewer.
    pub chunk_rows: u64,
}

impl DivideParams {
    /// Returns the number of parts.
    #[inline(always)]
    pub fn parts(&self) -> u64 {
        1 << self.hash.skipped
    }

    /// Computes the parts of the keys from row `first` on, as many as there are up to `end`; returns
    /// their number.
    #[inline(always)]
    fn parts_of<K: KeyWord>(&self, keys: Global<K>, first: u64, end: u64, parts: &mut [u32; GROUP]) -> usize {
        let here = (end - first).min(GROUP as u64) as usize;
        for i in 0..here {
            parts[i] = self.hash.of(keys.load(first + i as u64)).bits_from(K::BITS - self.hash.skipped);
        }
        here
    }

    /// Returns the rows of a chunk: the first one, and the one behind the last.
    #[inline(always)]
    fn chunk(&self, chunk: u64) -> (u64, u64) {
        let first = chunk * self.chunk_rows;
        (first, self.rows.min(first + self.chunk_rows))
    }
}

cores_kernel! {
    /// Sets the words of each chunk in `counts`, one for each part, to the number of its rows whose
    /// keys are in that part. A block does a chunk.
    CountParts<K: KeyWord>, "dictionary_count_parts", threads 16384;
    { keys: Global<K>, counts: Global<u32>, plan: DivideParams }
}

impl<K: KeyWord> CountParts<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let chunk = block.index() as u64;
        let counts = self.counts.offset(chunk * self.plan.parts());
        vectorized(Count { keys: self.keys, counts, chunk, plan: self.plan });
    }
}

struct Count<K> {
    keys: Global<K>,
    counts: Global<u32>,
    chunk: u64,
    plan: DivideParams,
}

impl<K: KeyWord> Work for Count<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, counts, chunk, plan } = self;
        for part in 0..plan.parts() {
            counts.store(part, 0);
        }
        let (mut first, end) = plan.chunk(chunk);
        let mut parts = [0; GROUP];
        while first < end {
            let here = plan.parts_of(keys, first, end, &mut parts);
            for i in 0..here {
                let part = parts[i] as u64;
                counts.store(part, counts.load(part) + 1);
            }
            first += here as u64;
        }
    }
}

cores_kernel! {
    /// Copies the keys of each chunk, and the numbers of their rows unless `rows_out` is null, to
    /// their parts. `starts` has words as [`CountParts`] writes: where the rows of the chunk begin
    /// in each part. They are changed. A block does a chunk. The order of a part's rows remains.
    DivideRows<K: KeyWord>, "dictionary_divide_rows", threads 16384;
    { keys: Global<K>, starts: Global<u32>, keys_out: Global<K>, rows_out: Global<u32>, plan: DivideParams }
}

impl<K: KeyWord> DivideRows<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { keys, starts, keys_out, rows_out, plan } = self;
        let chunk = block.index() as u64;
        let starts = starts.offset(chunk * plan.parts());
        if rows_out.is_null() {
            vectorized(Divide::<false, K> { keys, starts, keys_out, rows_out, chunk, plan });
        } else {
            vectorized(Divide::<true, K> { keys, starts, keys_out, rows_out, chunk, plan });
        }
    }
}

struct Divide<const ROWS: bool, K> {
    keys: Global<K>,
    starts: Global<u32>,
    keys_out: Global<K>,
    rows_out: Global<u32>,
    chunk: u64,
    plan: DivideParams,
}

impl<const ROWS: bool, K: KeyWord> Work for Divide<ROWS, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, starts, keys_out, rows_out, chunk, plan } = self;
        let (mut first, end) = plan.chunk(chunk);
        let mut parts = [0; GROUP];
        while first < end {
            let here = plan.parts_of(keys, first, end, &mut parts);
            for i in 0..here {
                let (row, part) = (first + i as u64, parts[i] as u64);
                let to = starts.load(part);
                starts.store(part, to + 1);
                keys_out.store(to as u64, keys.load(row));
                if ROWS {
                    rows_out.store(to as u64, row as u32);
                }
            }
            first += here as u64;
        }
    }
}
