//! The buffers that batches work in, and their sizes.

use super::shape::Shape;
use crate::primitives::{MAX_ITEMS, Scratch, sort_scratch_bytes, state_words};
use crate::{Buffer, Device, Error, InputError, Result, Stream};
use gpu_kernels::extendible::{LEAF_WORDS, NODE_WORDS, counts};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The buffers that batches work in.
#[derive(Debug)]
pub(super) struct Work<K, V> {
    /// The mixed keys of the batch, sorted. `values` are their values.
    pub keys: Buffer<K>,
    pub values: Buffer<V>,
    /// A bit for each pair: whether it is the last pair of its key.
    pub last: Buffer<u32>,
    /// A bit for each pair: whether it is the last pair of its key and the key is not in the table.
    pub fresh: Buffer<u32>,
    /// The keys that are not in the table, at the front. `fresh_values` are their values.
    pub fresh_keys: Buffer<K>,
    pub fresh_values: Buffer<V>,
    /// A bit for each fresh pair: whether it was stored when its bucket was split.
    pub placed: Buffer<u32>,
    pub count: Buffer<u32>,
    /// The buckets that must be split. `nodes` are the parts to divide further, for two successive
    /// rounds. `leaves` are the final parts.
    pub overflowing: Buffer<u64>,
    pub nodes: [Buffer<u64>; 2],
    pub leaves: Buffer<u64>,
    /// The depth that the bucket table of each segment must reach.
    pub needs: Buffer<u32>,
    /// The list of bucket tables to copy. The buffer is kept after the launch that reads it,
    /// because freeing it would wait for that launch.
    pub copies: Buffer<u64>,
    /// The indices of buckets that were merged into other buckets.
    pub merged: Buffer<u32>,
    pub counts: Buffer<u64>,
    pub scratch: Scratch,
}

impl<K: KeyWord, V: ValueWord> Work<K, V> {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let bits = || Buffer::uninitialized(device, 0);
        let words = || Buffer::uninitialized(device, 0);
        let (keys, fresh_keys) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let (values, fresh_values) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self {
            keys,
            values,
            last: bits()?,
            fresh: bits()?,
            fresh_keys,
            fresh_values,
            placed: bits()?,
            count: Buffer::uninitialized(device, 1)?,
            overflowing: words()?,
            nodes: [words()?, words()?],
            leaves: words()?,
            needs: bits()?,
            copies: words()?,
            merged: bits()?,
            counts: Buffer::uninitialized(device, counts::WORDS)?,
            scratch: Scratch::new(device),
        })
    }

    /// Makes capacity for `buckets` indices of merged buckets.
    pub(super) fn fit_merged(&mut self, device: &Device, buckets: usize) -> Result<()> {
        at_least(device, &mut self.merged, buckets)
    }

    pub(super) fn fit(&mut self, device: &Device, pairs: usize) -> Result<()> {
        for keys in [&mut self.keys, &mut self.fresh_keys] {
            keys.fit(device, pairs)?;
        }
        for values in [&mut self.values, &mut self.fresh_values] {
            values.fit(device, pairs)?;
        }
        for bits in [&mut self.last, &mut self.fresh, &mut self.placed] {
            bits.fit(device, pairs.div_ceil(32))?;
        }
        Ok(())
    }

    /// Returns the sizes of the buffers that the last batch left.
    pub(super) fn kept(&self) -> Kept {
        let [even, odd] = [&self.nodes[0], &self.nodes[1]].map(|nodes| 8 * nodes.len() as u64);
        Kept {
            pairs: self.keys.len() as u64,
            overflowing: 8 * self.overflowing.len() as u64,
            nodes: even.max(odd),
            leaves: 8 * self.leaves.len() as u64,
            needs: 4 * self.needs.len() as u64,
            copies: 8 * self.copies.len() as u64,
            merged: 4 * self.merged.len() as u64,
            scratch: self.scratch.memory_bytes() as u64,
        }
    }
}

/// The sizes of the buffers that a batch leaves for the next one. They are 0 before the first
/// batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// The count of pairs for which the buffers have capacity, until a batch changes it.
    pairs: u64,
    /// The bytes of a list, like all following fields. `nodes` is for the longer list of nodes.
    overflowing: u64,
    nodes: u64,
    leaves: u64,
    needs: u64,
    copies: u64,
    merged: u64,
    scratch: u64,
}

/// The properties of a batch of insertions that determine how much memory it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub pairs: u64,
    /// The count of records of the table after the batch, if all keys are new.
    pub records: u64,
    /// The count of buckets in use. `depth` is the depth of the directory.
    pub buckets: u64,
    pub depth: u32,
    /// The bytes of the lists of segments, pages and free indices, which the batch may replace by
    /// longer lists.
    pub lists: u64,
}

impl Batch {
    /// Returns the most bytes that the batch takes in addition to the pairs and the grown table. It
    /// assumes that the directory becomes no deeper than [`depth_for`] returns.
    pub(super) fn scratch_bytes<K: KeyWord, V: ValueWord>(&self, shape: &Shape, kept: Kept) -> Result<u64> {
        let &Self { pairs, records, buckets, lists, .. } = self;
        if pairs > MAX_ITEMS as u64 {
            return Err(Error::Input(InputError::TooManyItems { asked: pairs, limit: MAX_ITEMS as u64 }));
        }
        let (of_key, of_value) = ((K::BITS / 8) as u64, (V::BITS / 8) as u64);
        let capacity = pairs.max(kept.pairs);
        let of_pairs = 2 * (list(of_key * capacity) + list(of_value * capacity)) + 3 * list(4 * capacity.div_ceil(32));
        let compacting = 8 * state_words::<K>(pairs).max(state_words::<V>(pairs));
        let working = sort_scratch_bytes::<K, V>(pairs)?.max(compacting).max(kept.scratch);

        // A part of the range is halved if a bucket cannot hold it. Such a part has a new key, and
        // more records than a bucket's capacity. So at each depth there are at most `most` such
        // parts, and no more than there are parts. Halving a part makes two leaves of one.
        let most = pairs.min(records / (shape.records as u64 + 1));
        let depth = depth_for(shape, records).max(self.depth);
        let overflowing = most.min(buckets);
        let halved: u64 = (0..depth).map(|depth| most.min((shape.roots as u64) << depth)).sum();
        let leaves = if halved == 0 { 0 } else { overflowing + halved };
        let segments = if halved == 0 { 0 } else { (shape.groups as u64) << depth };
        let (of_node, of_leaf) = (8 * NODE_WORDS, 8 * LEAF_WORDS);
        let of_buckets = list(kept.overflowing.max(of_node * overflowing))
            + 2 * list(kept.nodes.max(of_node * 2 * most))
            // A longer list of leaves is up to twice as long as necessary, and the previous list
            // still exists.
            + list(kept.leaves.max(of_leaf * 3 * leaves))
            + list(kept.needs.max(4 * segments))
            // Each copy has two addresses, and the list of an earlier batch still exists. Each
            // split bucket table has a part that is halved.
            + list(kept.copies) + list(16 * halved.min(segments))
            + list(kept.merged);
        let counters = list(4) + list(8 * counts::WORDS as u64);
        Ok(of_pairs + working + of_buckets + counters + lists)
    }
}

/// Returns the bytes of a list.
fn list(bytes: u64) -> u64 {
    // Even an empty buffer has an address.
    bytes.max(16)
}

/// Returns the largest expected depth of a directory for `records` records, if their hashes are
/// spread evenly. The probability that a part of that depth overflows a bucket is one in a million.
fn depth_for(shape: &Shape, records: u64) -> u32 {
    let full = shape.records as f64 + 1.0;
    let holds = |depth: &u32| {
        let parts = shape.roots as f64 * 2f64.powi(*depth as i32);
        let mean = records as f64 / parts;
        // This is Chernoff's bound of the upper tail of a Poisson distribution, for all parts
        // together.
        mean < full && parts.ln() - mean + full * (1.0 + (mean / full).ln()) < -1e6f64.ln()
    };
    (0..shape.max_depth).find(holds).unwrap_or(shape.max_depth)
}

/// Makes a list at least `length` long. Its contents may be lost.
pub(super) fn at_least(device: &Device, list: &mut Buffer<u32>, length: usize) -> Result<()> {
    // The length at least doubles, so that a growing table does not allocate in every batch.
    if list.len() < length { list.fit(device, length.max(2 * list.len())) } else { Ok(()) }
}

/// Makes a list at least `words` words long. Its first `kept` words are preserved.
pub(super) fn extend(device: &Device, stream: &Stream, list: &mut Buffer<u64>, kept: u64, words: u64) -> Result<()> {
    if list.len() as u64 >= words {
        return Ok(());
    }
    if kept == 0 {
        return list.fit(device, words as usize);
    }
    let longer = Buffer::uninitialized(device, words.max(2 * kept) as usize)?;
    stream.batch(|batch| batch.copy(list, 0..8 * kept as usize, &longer))?;
    *list = longer;
    Ok(())
}
