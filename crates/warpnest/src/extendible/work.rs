//! What batches work in, and how much memory that takes.

use super::config::Shape;
use crate::primitives::{MAX_ITEMS, Scratch, sort_scratch_bytes, state_words};
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::extendible::{LEAF_WORDS, NODE_WORDS, counts};

/// What batches work in.
#[derive(Debug)]
pub(super) struct Work<K, V> {
    /// The mixed keys of the batch, in order, and their values.
    pub keys: Buffer<K>,
    pub values: Buffer<V>,
    /// A bit for each: whether it is the last pair of its key.
    pub last: Buffer<u32>,
    /// Whether it is that, and the key is not in the table.
    pub fresh: Buffer<u32>,
    /// The pairs of these keys, at the front.
    pub fresh_keys: Buffer<K>,
    pub fresh_values: Buffer<V>,
    /// A bit for each of them: whether it has its place, since its bucket was split.
    pub placed: Buffer<u32>,
    pub count: Buffer<u32>,
    /// Buckets that must be split; of their parts those that must be divided further, of two rounds; and what they are divided into.
    pub overflowing: Buffer<u64>,
    pub nodes: [Buffer<u64>; 2],
    pub leaves: Buffer<u64>,
    /// What bucket tables must become.
    pub needs: Buffer<u32>,
    /// Which bucket tables are to be copied. It stays after the launch that reads it: to give it back would be to wait for that.
    pub copies: Buffer<u64>,
    /// Buckets that were merged into others.
    pub merged: Buffer<u32>,
    pub counts: Buffer<u64>,
    pub scratch: Scratch,
}

impl<K: Key, V: Value> Work<K, V> {
    pub fn new(device: &Device) -> Result<Self> {
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

    /// Makes room for the numbers of so many buckets.
    pub fn fit_merged(&mut self, device: &Device, buckets: usize) -> Result<()> {
        at_least(device, &mut self.merged, buckets)
    }

    pub fn fit(&mut self, device: &Device, pairs: usize) -> Result<()> {
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

    /// What the last batch left.
    pub fn kept(&self) -> Kept {
        let [even, odd] = [&self.nodes[0], &self.nodes[1]].map(|nodes| 8 * nodes.len() as u64);
        Kept {
            pairs: self.keys.len() as u64,
            overflowing: 8 * self.overflowing.len() as u64,
            nodes: even.max(odd),
            leaves: 8 * self.leaves.len() as u64,
            needs: 4 * self.needs.len() as u64,
            copies: 8 * self.copies.len() as u64,
            merged: 4 * self.merged.len() as u64,
            scratch: self.scratch.memory_bytes(),
        }
    }
}

/// What a batch leaves for the next one. Before the first one there is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// The pairs that there is room for, until another batch comes with more or fewer.
    pairs: u64,
    /// Bytes of the lists that stay as long as they have been; of nodes the longer of the two.
    overflowing: u64,
    nodes: u64,
    leaves: u64,
    needs: u64,
    copies: u64,
    merged: u64,
    scratch: u64,
}

/// A batch of insertions, as far as it says how much memory it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub pairs: u64,
    /// Records of the table then, if all keys are new.
    pub records: u64,
    /// Buckets that there are, and how deep the directory is.
    pub buckets: u64,
    pub depth: u32,
    /// Bytes of the lists of segments, pages and free numbers, in whose place there may come longer ones.
    pub lists: u64,
}

impl Batch {
    /// The most bytes that it takes besides the table as it is then, and the pairs, unless it makes a directory deeper than [`depth_for`]
    /// says.
    pub fn scratch_bytes<K: Key, V: Value>(&self, shape: &Shape, kept: Kept) -> Result<u64> {
        let &Self { pairs, records, buckets, lists, .. } = self;
        if pairs > MAX_ITEMS {
            return Err(Error::TooManyItems { asked: pairs, limit: MAX_ITEMS });
        }
        let (of_key, of_value) = ((K::BITS / 8) as u64, (V::BITS / 8) as u64);
        let capacity = pairs.max(kept.pairs);
        let of_pairs = 2 * (list(of_key * capacity) + list(of_value * capacity)) + 3 * list(4 * capacity.div_ceil(32));
        let compacting = 8 * state_words::<K>(pairs).max(state_words::<V>(pairs));
        let working = sort_scratch_bytes::<K, V>(pairs)?.max(compacting).max(kept.scratch);

        // A part of the range that a bucket cannot hold has a new key, and more records than there is room for. It is halved; so each depth
        // has no more of them than parts, and each of them makes two leaves out of one.
        let most = pairs.min(records / (shape.records as u64 + 1));
        let depth = depth_for(shape, records).max(self.depth);
        let overflowing = most.min(buckets);
        let halved: u64 = (0..depth).map(|depth| most.min((shape.roots as u64) << depth)).sum();
        let leaves = if halved == 0 { 0 } else { overflowing + halved };
        let segments = if halved == 0 { 0 } else { (shape.groups as u64) << depth };
        let (of_node, of_leaf) = (8 * NODE_WORDS, 8 * LEAF_WORDS);
        let of_buckets = list(kept.overflowing.max(of_node * overflowing))
            + 2 * list(kept.nodes.max(of_node * 2 * most))
            // A longer list of leaves is up to twice as long as it must be, and the one before it is there still.
            + list(kept.leaves.max(of_leaf * 3 * leaves))
            + list(kept.needs.max(4 * segments))
            // Two addresses each; and the list of an earlier batch is there still. Each table that is split has a part that is halved.
            + list(kept.copies) + list(16 * halved.min(segments))
            + list(kept.merged);
        let counters = list(4) + list(8 * counts::WORDS as u64);
        Ok(of_pairs + working + of_buckets + counters + lists)
    }
}

/// Bytes of a list.
fn list(bytes: u64) -> u64 {
    // An empty buffer has an address, too.
    bytes.max(16)
}

/// How deep a directory for so many records becomes at most, if their hashes are spread evenly: but for one in a million no part of that
/// depth has more records than a bucket.
fn depth_for(shape: &Shape, records: u64) -> u32 {
    let full = shape.records as f64 + 1.0;
    let holds = |depth: &u32| {
        let parts = shape.roots as f64 * 2f64.powi(*depth as i32);
        let mean = records as f64 / parts;
        // Chernoff's bound of the upper tail of Poisson's distribution, for all parts together.
        mean < full && parts.ln() - mean + full * (1.0 + (mean / full).ln()) < -1e6f64.ln()
    };
    (0..shape.max_depth).find(holds).unwrap_or(shape.max_depth)
}

/// Makes a list at least `length` long, whatever it holds.
pub(super) fn at_least(device: &Device, list: &mut Buffer<u32>, length: usize) -> Result<()> {
    // As much more as it has, so that a table that grows does not ask each time.
    if list.len() < length { list.fit(device, length.max(2 * list.len())) } else { Ok(()) }
}

/// Makes a list at least `words` words long; its first `kept` stay.
pub(super) fn extend(device: &Device, stream: &Stream, list: &mut Buffer<u64>, kept: u64, words: u64) -> Result<()> {
    if list.len() as u64 >= words {
        return Ok(());
    }
    if kept == 0 {
        return list.fit(device, words as usize);
    }
    let longer = Buffer::uninitialized(device, words.max(2 * kept) as usize)?;
    stream.batch(&[&*list], &[&longer], |batch| {
        // SAFETY: the old list has that many words, and the new one is longer.
        unsafe { batch.copy(list.address(), longer.address(), 8 * kept as usize) }
    })?;
    *list = longer;
    Ok(())
}
