//! Dividing rows into parts by the hashes of their keys.

use super::table::{GROUP, Hash};
use crate::seam::{Block, Global, Work, vectorized};
use crate::types::KeyWord;

/// The scalar arguments of [`CountParts`], [`DivideKeys`] and [`GatherIds`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DivideParams {
    /// The hash function. The leading bits of a hash that the dictionaries skip are the index of
    /// the key's part.
    pub hash: Hash,
    /// The count of rows of all chunks.
    pub rows: u64,
    /// The count of rows of a chunk. The last chunk may have fewer.
    pub chunk_rows: u64,
}

impl DivideParams {
    /// Returns the count of parts.
    #[inline(always)]
    pub fn parts(&self) -> u64 {
        1 << self.hash.skipped
    }

    /// Computes the parts of a group of keys starting at row `first`, up to `end`. Returns the
    /// count of keys of the group.
    #[inline(always)]
    fn parts_of<K: KeyWord>(&self, keys: Global<K>, first: u64, end: u64, parts: &mut [u32; GROUP]) -> usize {
        let here = (end - first).min(GROUP as u64) as usize;
        for i in 0..here {
            parts[i] = self.hash.of(keys.load(first + i as u64)).bits_from(K::BITS - self.hash.skipped);
        }
        here
    }

    /// Returns the rows of a chunk: the first row, and the end.
    #[inline(always)]
    fn chunk(&self, chunk: u64) -> (u64, u64) {
        let first = chunk * self.chunk_rows;
        (first, self.rows.min(first + self.chunk_rows))
    }
}

cores_kernel! {
    /// Counts, for each chunk, the rows whose keys are in each part. `counts` has a word per part
    /// for each chunk. A block counts a chunk.
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
    /// Copies the keys of each chunk to their parts. `starts` has a word per part for each chunk:
    /// the index where the rows of the chunk begin in the part. These words are changed. A block
    /// copies a chunk. The order of a part's rows is kept.
    DivideKeys<K: KeyWord>, "dictionary_divide_keys", threads 16384;
    { keys: Global<K>, starts: Global<u32>, keys_out: Global<K>, plan: DivideParams }
}

impl<K: KeyWord> DivideKeys<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { keys, starts, keys_out, plan } = self;
        let chunk = block.index() as u64;
        let starts = starts.offset(chunk * plan.parts());
        vectorized(Divide { keys, starts, keys_out, chunk, plan });
    }
}

struct Divide<K> {
    keys: Global<K>,
    starts: Global<u32>,
    keys_out: Global<K>,
    chunk: u64,
    plan: DivideParams,
}

impl<K: KeyWord> Work for Divide<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, starts, keys_out, chunk, plan } = self;
        let (mut first, end) = plan.chunk(chunk);
        let mut parts = [0; GROUP];
        while first < end {
            let here = plan.parts_of(keys, first, end, &mut parts);
            for i in 0..here {
                let at = next(starts, parts[i]);
                keys_out.store(at, keys.load(first + i as u64));
            }
            first += here as u64;
        }
    }
}

cores_kernel! {
    /// Copies the ids of rows that [`DivideKeys`] divided back into the order of the rows. `starts`
    /// are the words that [`DivideKeys`] got, and are changed. A block gathers the ids of a chunk.
    ///
    /// Cores read the parts, where each core has its own rows, and write adjacent rows. If they
    /// scattered the ids of a part instead, several cores would write the same lines.
    GatherIds<K: KeyWord>, "dictionary_gather_ids", threads 16384;
    { keys: Global<K>, starts: Global<u32>, in_parts: Global<u32>, ids: Global<u32>, plan: DivideParams }
}

impl<K: KeyWord> GatherIds<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let Self { keys, starts, in_parts, ids, plan } = self;
        let chunk = block.index() as u64;
        let starts = starts.offset(chunk * plan.parts());
        vectorized(Gather { keys, starts, in_parts, ids, chunk, plan });
    }
}

struct Gather<K> {
    keys: Global<K>,
    starts: Global<u32>,
    in_parts: Global<u32>,
    ids: Global<u32>,
    chunk: u64,
    plan: DivideParams,
}

impl<K: KeyWord> Work for Gather<K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, starts, in_parts, ids, chunk, plan } = self;
        let (mut first, end) = plan.chunk(chunk);
        let mut parts = [0; GROUP];
        while first < end {
            let here = plan.parts_of(keys, first, end, &mut parts);
            for i in 0..here {
                let at = next(starts, parts[i]);
                ids.store(first + i as u64, in_parts.load(at));
            }
            first += here as u64;
        }
    }
}

/// Returns the index of the next row of a part, and counts the row.
#[inline(always)]
fn next(starts: Global<u32>, part: u32) -> u64 {
    let at = starts.load(part as u64);
    starts.store(part as u64, at + 1);
    at as u64
}
