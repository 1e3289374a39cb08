//! Parts of the rows, each encoded by a core: no key is in two of them.

use super::chunks::encode;
use super::table::{Dictionary, Hash, Rows, most_bits};
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`EncodeParts`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EncodePartsParams {
    /// The hash function, which skips the bits that are a key's part.
    pub hash: Hash,
    /// The number of rows of the largest part.
    pub largest: u64,
}

impl EncodePartsParams {
    /// Returns the words of a block's memory: the slots of a dictionary, and for each row of the
    /// largest part an id and a count.
    #[inline(always)]
    pub fn block_words(&self) -> u64 {
        (1 << most_bits(self.largest)) + 2 * self.largest
    }
}

cores_kernel! {
    /// Encodes the rows of each part, which [`DivideRows`](super::DivideRows) made. Blocks take
    /// parts in turn, so there are as many as cores.
    ///
    /// Part `p` has the keys from `starts[p]` to `starts[p + 1]`, which are changed. `rows` are
    /// their rows, `keys_out` the different keys of all parts, `ids` the ids of all rows by these,
    /// and `counts` the number of rows of each key. `ids`, with `rows`, and `counts` may be null.
    /// `memory` has [`EncodePartsParams::block_words`] for each block, which may hold anything. The
    /// words of `progress` are 0 before, and then the number of parts that were taken, and the
    /// number of keys.
    EncodeParts<K: KeyWord>, "dictionary_encode_parts", threads 16384;
    {
        keys: Global<K>, rows: Global<u32>, starts: Global<u32>, parts: u64, keys_out: Global<K>,
        ids: Global<u32>, counts: Global<u32>, memory: Global<u32>, progress: Global<u32>,
        plan: EncodePartsParams,
    }
}

impl<K: KeyWord> EncodeParts<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let memory = self.memory.offset(block.index() as u64 * self.plan.block_words());
        let mut expected = 0;
        loop {
            let part = self.progress.atomic(0).fetch_add(1) as u64;
            if part >= self.parts {
                return;
            }
            let (first, end) = (self.starts.load(part) as u64, self.starts.load(part + 1) as u64);
            expected = self.encode(first, end - first, expected, memory);
        }
    }

    /// Encodes the rows of a part, the first of which is number `first` of all parts; returns the
    /// number of their keys, of which so many are expected.
    #[inline(always)]
    fn encode(self, first: u64, rows: u64, expected: u64, memory: Global<u32>) -> u64 {
        let (slots, of_rows) = (memory, memory.offset(1 << most_bits(self.plan.largest)));
        let of_keys = of_rows.offset(self.plan.largest);
        // SAFETY: it is tested before it is used.
        let null = unsafe { Global::null() };
        let keys = self.keys.offset(first);
        let encoded = encode(Rows {
            dictionary: Dictionary::new(slots, keys, self.plan.hash, (most_bits(2 * expected), most_bits(rows))),
            keys,
            weights: null,
            ids: if self.ids.is_null() { null } else { of_rows },
            counts: if self.counts.is_null() { null } else { of_keys },
            rows,
        });
        let begin = self.progress.atomic(1).fetch_add(encoded.length);
        for id in 0..encoded.length as u64 {
            self.keys_out.store(begin as u64 + id, keys.load(id));
        }
        if !self.counts.is_null() {
            for id in 0..encoded.length as u64 {
                self.counts.store(begin as u64 + id, of_keys.load(id));
            }
        }
        if !self.ids.is_null() {
            for row in 0..rows {
                self.ids.store(self.rows.load(first + row) as u64, begin + of_rows.load(row));
            }
        }
        encoded.length as u64
    }
}
