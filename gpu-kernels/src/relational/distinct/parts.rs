//! Parts of the rows, each encoded by a core. No key is in two parts.

use super::chunks::{encode, offset_if_any};
use super::table::{Dictionary, Hash, Rows, most_bits};
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The scalar arguments of [`EncodeParts`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EncodePartsParams {
    /// The hash function, which skips the bits that determine a key's part.
    pub hash: Hash,
    /// The count of rows of the largest part.
    pub largest: u64,
}

impl EncodePartsParams {
    /// Returns the count of words of a block's memory: the slots of a dictionary, and a count for
    /// each row of the largest part.
    #[inline(always)]
    pub fn block_words(&self) -> u64 {
        (1 << most_bits(self.largest)) + self.largest
    }
}

/// The words of [`EncodeParts`]'s progress: the count of parts that blocks have taken, and the
/// count of keys.
pub const PROGRESS_WORDS: u64 = 2;

cores_kernel! {
    /// Encodes the rows of each part, which [`DivideKeys`](super::DivideKeys) made. Each block
    /// takes part after part, so there are as many blocks as cores.
    ///
    /// Part `p` has the keys from `starts[p]` to `starts[p + 1]`; these are overwritten. `ids`
    /// becomes the ids of these keys, `keys_out` the distinct keys of all parts, and `counts` the
    /// count of rows of each. Each of the three arrays may be null. `memory` has
    /// [`EncodePartsParams::block_words`] words of any contents for each block. `progress` has
    /// [`PROGRESS_WORDS`] words, which are 0 before.
    EncodeParts<K: KeyWord>, "dictionary_encode_parts", threads 16384;
    {
        keys: Global<K>, starts: Global<u32>, parts: u64, keys_out: Global<K>, ids: Global<u32>,
        counts: Global<u32>, memory: Global<u32>, progress: Global<u32>, plan: EncodePartsParams,
    }
}

impl<K: KeyWord> EncodeParts<K> {
    /// Does the work of a block.
    #[inline(always)]
    pub fn run<B: Block>(self, block: &mut B) {
        let memory = self.memory.offset(block.index() as u64 * self.plan.block_words());
        let mut expected = 0;
        // At most as many steps as parts.
        loop {
            let part = self.progress.atomic(0).fetch_add(1) as u64;
            if part >= self.parts {
                return;
            }
            let (first, end) = (self.starts.load(part) as u64, self.starts.load(part + 1) as u64);
            expected = self.encode(first, end - first, expected, memory);
        }
    }

    /// Encodes the rows of a part, whose first row has index `first` among the rows of all parts.
    /// Returns the count of their keys, of which `expected` is an estimate.
    #[inline(always)]
    fn encode(self, first: u64, rows: u64, expected: u64, memory: Global<u32>) -> u64 {
        let (slots, of_keys) = (memory, memory.offset(1 << most_bits(self.plan.largest)));
        // SAFETY: the pointer is tested before it is used.
        let null = unsafe { Global::null() };
        let (keys, ids) = (self.keys.offset(first), offset_if_any(self.ids, first));
        let encoded = encode(Rows {
            dictionary: Dictionary::new(slots, keys, self.plan.hash, (most_bits(2 * expected), most_bits(rows))),
            keys,
            weights: null,
            ids,
            counts: if self.counts.is_null() { null } else { of_keys },
            rows,
        });
        let begin = self.progress.atomic(1).fetch_add(encoded.length);
        if !self.keys_out.is_null() {
            for id in 0..encoded.length as u64 {
                self.keys_out.store(begin as u64 + id, keys.load(id));
            }
        }
        if !self.counts.is_null() {
            for id in 0..encoded.length as u64 {
                self.counts.store(begin as u64 + id, of_keys.load(id));
            }
        }
        if !ids.is_null() {
            for row in 0..rows {
                ids.store(row, begin + ids.load(row));
            }
        }
        encoded.length as u64
    }
}

/// The scalar arguments of [`OrderKeys`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OrderKeysParams {
    /// The count of rows.
    pub rows: u64,
}

cores_kernel! {
    /// Orders the ids of [`EncodeParts`]'s keys by their first rows: replaces `ids`, and writes the
    /// keys to `keys_out` and their counts, unless these are null, to `counts_out`. `ordered` has a
    /// word for each key. The launch has one block.
    OrderKeys<K: KeyWord>, "dictionary_order_keys", threads 16384;
    {
        keys: Global<K>, ids: Global<u32>, ordered: Global<u32>, counts: Global<u32>, keys_out: Global<K>,
        counts_out: Global<u32>, progress: Global<u32>, plan: OrderKeysParams,
    }
}

/// The id of a key that has none yet. It is no valid id, since there are fewer keys.
const NONE: u32 = u32::MAX;

impl<K: KeyWord> OrderKeys<K> {
    /// Does the work of the block.
    #[inline(always)]
    pub fn run<B: Block>(self, _block: &mut B) {
        let Self { keys, ids, ordered, counts, keys_out, counts_out, progress, plan } = self;
        for id in 0..progress.load(1) as u64 {
            ordered.store(id, NONE);
        }
        let mut next = 0;
        for row in 0..plan.rows {
            let id = ids.load(row) as u64;
            let mut number = ordered.load(id);
            if number == NONE {
                number = next;
                next += 1;
                ordered.store(id, number);
                keys_out.store(number as u64, keys.load(row));
                if !counts.is_null() {
                    counts_out.store(number as u64, counts.load(id));
                }
            }
            ids.store(row, number);
        }
    }
}
