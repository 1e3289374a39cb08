//! Batches of insertions: what a batch needs is found out first; then the table grows; then it gets the records (the paper, section 2.5).

use super::ExtendibleMap;
use super::directory::Directory;
use crate::buffer::Tracked;
use crate::primitives::{Scratch, compact, mark_last_of_each, sort_pairs_by_mixed_key};
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::extendible::{
    Divide, DividePlan, InsertFresh, LEAF_WORDS, Locate, NODE_WORDS, Needs, NeedsPlan, Overflows, SearchPlan, Update,
    counts,
};

/// What batches work in.
#[derive(Debug)]
pub(super) struct Work<K, V> {
    /// The mixed keys of the batch, in order, and their values.
    keys: Buffer<K>,
    values: Buffer<V>,
    /// A bit for each: whether it is the last pair of its key.
    last: Buffer<u32>,
    /// Whether it is that, and the key is not in the table.
    fresh: Buffer<u32>,
    /// The pairs of these keys, at the front.
    fresh_keys: Buffer<K>,
    fresh_values: Buffer<V>,
    /// A bit for each of them: whether it has its place, since its bucket was split.
    placed: Buffer<u32>,
    count: Buffer<u32>,
    /// Buckets that must be split; of their parts those that must be divided further, of two rounds; and what they are divided into.
    overflowing: Buffer<u64>,
    nodes: [Buffer<u64>; 2],
    leaves: Buffer<u64>,
    /// What bucket tables must become.
    needs: Buffer<u32>,
    /// Buckets that were merged into others.
    pub merged: Buffer<u32>,
    pub counts: Buffer<u64>,
    scratch: Scratch,
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
            merged: bits()?,
            counts: Buffer::uninitialized(device, counts::WORDS)?,
            scratch: Scratch::new(device),
        })
    }

    /// Makes room for the numbers of so many buckets.
    pub fn fit_merged(&mut self, device: &Device, buckets: usize) -> Result<()> {
        at_least(device, &mut self.merged, buckets)
    }

    fn fit(&mut self, device: &Device, pairs: usize) -> Result<()> {
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
}

/// Makes a list at least `length` long, whatever it holds.
fn at_least(device: &Device, list: &mut Buffer<u32>, length: usize) -> Result<()> {
    // As much more as it has, so that a table that grows does not ask each time.
    if list.len() < length { list.fit(device, length.max(2 * list.len())) } else { Ok(()) }
}

/// Makes a list at least `words` words long; its first `kept` stay.
fn extend(device: &Device, stream: &Stream, list: &mut Buffer<u64>, kept: u64, words: u64) -> Result<()> {
    if list.len() as u64 >= words {
        return Ok(());
    }
    let longer = Buffer::uninitialized(device, words.max(2 * kept) as usize)?;
    stream.batch(&[&*list], &[&longer], |batch| {
        // SAFETY: the old list has that many words, and the new one is longer.
        unsafe { batch.copy(list.address(), longer.address(), 8 * kept as usize) }
    })?;
    *list = longer;
    Ok(())
}

/// What a batch needs.
struct Prediction {
    /// Buckets that are split.
    overflowing: u64,
    /// Buckets that they are split into.
    leaves: u64,
    /// The depth of the deepest of these.
    deepest: u32,
}

/// How the directory is to grow.
struct Growth {
    directory: Directory,
    segments: Buffer<u64>,
    /// Which bucket tables are to be copied.
    copies: Buffer<u64>,
}

impl<K: Key, V: Value> ExtendibleMap<K, V> {
    /// Gives every key its value; returns how many of the keys were new. Of several pairs of a key the last one counts.
    ///
    /// # Errors
    /// * [`Error::LengthsDiffer`], [`Error::TooManyItems`], [`Error::TooDeep`], [`Error::OutOfMemory`]: nothing was done.
    /// * [`Error::Driver`]: the map may be empty now.
    pub fn insert_many(&mut self, keys: &[K], values: &[V]) -> Result<u64> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        let keys = Buffer::from_slice(&self.device, keys)?;
        let values = Buffer::from_slice(&self.device, values)?;
        let device = self.device.clone();
        self.insert_many_on(device.default_stream(), &keys, &values)
    }

    /// [`ExtendibleMap::insert_many`] from buffers; waits until it is known what the table must get, and not for the rest.
    ///
    /// # Errors
    /// As for [`ExtendibleMap::insert_many`], and [`Error::WrongDevice`].
    pub fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        crate::error::check_pairs(&self.device, stream, keys, values)?;
        self.mend(stream)?;
        let pairs = keys.len() as u64;
        if pairs == 0 {
            return Ok(0);
        }
        let fresh = self.look(stream, keys, values)?;
        let prediction = self.predict(stream, fresh)?;
        let growth = self.make_room(stream, &prediction)?;
        // From here on nothing takes memory.
        self.change(stream, |map| {
            map.split(stream, &prediction, growth)?;
            map.insert_fresh(stream, fresh)?;
            // Else all of them were new.
            if fresh != pairs { map.update(stream, pairs) } else { Ok(()) }
        })?;
        self.length += fresh;
        Ok(fresh)
    }

    /// Puts the pairs in order, and finds those of keys that are new; returns how many these are.
    fn look(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        let Self { work, table, .. } = self;
        work.fit(&self.device, keys.len())?;
        let sorted = (&mut work.keys, &mut work.values);
        sort_pairs_by_mixed_key(stream, &mut work.scratch, table.constants, (keys, values), sorted)?;
        mark_last_of_each(stream, &work.keys, &mut work.last)?;
        let plan = SearchPlan { layout: table.layout(), pairs: keys.len() as u64 };
        let locate = Locate::<K, V> {
            keys: work.keys.argument(),
            last: work.last.argument(),
            segments: table.segments.argument(),
            pages: table.page_list(),
            fresh: work.fresh.argument(),
            plan,
        };
        let mut reads = table.tracked();
        reads.extend([&work.keys as &dyn Tracked, &work.last]);
        // SAFETY: a bit for each of the keys, and the table is whole.
        unsafe { stream.launch(&locate, plan.pairs, &reads, &[&work.fresh])? };
        let (scratch, count) = (&mut work.scratch, &mut work.count);
        compact(stream, scratch, &work.values, &work.fresh, &mut work.fresh_values, count)?;
        compact(stream, scratch, &work.keys, &work.fresh, &mut work.fresh_keys, count)?;
        Ok(count.download(stream)?[0] as u64)
    }

    /// Round by round, how far which buckets must be split (algorithm A).
    fn predict(&mut self, stream: &Stream, fresh: u64) -> Result<Prediction> {
        let Self { work, table, device, .. } = self;
        let mut prediction = Prediction { overflowing: 0, leaves: 0, deepest: 0 };
        if fresh == 0 {
            return Ok(prediction);
        }
        let (layout, capacity) = (table.layout(), table.shape.records as u64);
        // A bucket that overflows has a new key, and more records than there is room for.
        let most = fresh.min(table.buckets()).min((self.length + fresh) / (capacity + 1));
        extend(device, stream, &mut work.overflowing, 0, NODE_WORDS * most)?;
        work.counts.fill(stream, 0)?;
        let plan = SearchPlan { layout, pairs: fresh };
        let overflows = Overflows::<K, V> {
            keys: work.fresh_keys.argument(),
            segments: table.segments.argument(),
            pages: table.page_list(),
            nodes: work.overflowing.argument(),
            counts: work.counts.argument(),
            plan,
        };
        let mut reads = table.tracked();
        reads.push(&work.fresh_keys);
        // SAFETY: the keys are mixed and in order, and there is room for as many nodes as there can be.
        unsafe { stream.launch(&overflows, fresh, &reads, &[&work.overflowing, &work.counts])? };
        let mut found = work.counts.download(stream)?;
        prediction.overflowing = found[counts::NODES as usize];
        let mut round = 0;
        while found[counts::NODES as usize] != 0 {
            let (nodes, leaves) = (found[counts::NODES as usize], found[counts::LEAVES as usize]);
            extend(device, stream, &mut work.leaves, LEAF_WORDS * leaves, LEAF_WORDS * (leaves + 2 * nodes))?;
            let [even, odd] = &mut work.nodes;
            let (from, to) = if round % 2 == 0 { (odd, even) } else { (even, odd) };
            extend(device, stream, to, 0, NODE_WORDS * 2 * nodes)?;
            let from = if round == 0 { &work.overflowing } else { &*from };
            let divide = Divide::<K, V> {
                keys: work.fresh_keys.argument(),
                pages: table.page_list(),
                nodes: from.argument(),
                next: to.argument(),
                leaves: work.leaves.argument(),
                counts: work.counts.argument(),
                plan: DividePlan { layout, nodes },
            };
            let mut reads = table.tracked();
            reads.extend([&work.fresh_keys as &dyn Tracked, from]);
            stream.batch(&reads, &[&*to, &work.leaves, &work.counts], |batch| {
                batch.zero_at(&work.counts, counts::NODES as usize)?;
                // SAFETY: there are that many nodes, and room for two halves of each, as nodes and as leaves.
                unsafe { batch.launch(&divide, 32 * nodes) }
            })?;
            found = work.counts.download(stream)?;
            let depth = table.shape.most_depth;
            // Where keys cannot be told apart one half of a node is empty, and so a leaf: this comes to an end.
            if found[counts::DEEPEST as usize] > depth as u64 {
                let records = table.shape.records;
                return Err(Error::TooDeep { pairs: fresh, records, depth });
            }
            round += 1;
        }
        prediction.leaves = found[counts::LEAVES as usize];
        prediction.deepest = found[counts::DEEPEST as usize] as u32;
        Ok(prediction)
    }

    /// Takes all memory that the prediction asks for, and says how the directory is to grow. What a lookup sees does not change.
    fn make_room(&mut self, stream: &Stream, prediction: &Prediction) -> Result<Option<Growth>> {
        let Self { work, table, device, .. } = self;
        let &Prediction { leaves, deepest, .. } = prediction;
        if leaves == 0 {
            return Ok(None);
        }
        table.reserve_buckets(stream, leaves)?;
        let layout = table.layout();
        let segments = (layout.groups() as usize) << deepest;
        at_least(device, &mut work.needs, segments)?;
        let needs = &work.needs;
        let launch = Needs {
            leaves: work.leaves.argument(),
            segments: table.segments.argument(),
            needs: needs.argument(),
            counts: work.counts.argument(),
            plan: NeedsPlan { layout, leaves },
        };
        stream.batch(&[&work.leaves, &table.segments], &[needs, &work.counts], |batch| {
            batch.zero(needs, segments)?;
            // SAFETY: there are that many leaves, and a word for each segment of so deep a directory.
            unsafe { batch.launch(&launch, leaves) }
        })?;
        if work.counts.download_at(stream, counts::NEEDS as usize)? == 0 {
            return Ok(None);
        }
        let mut directory = table.directory.clone();
        let copies = directory.grow(deepest, &needs.download_front(stream, segments)?);
        table.tables.reserve(directory.numbers())?;
        let segments = table.segments_of(&directory)?;
        let copies = table.copy_list(&copies, &table.tables, &table.tables)?;
        Ok(Some(Growth { directory, segments, copies }))
    }

    /// Grows the directory and splits the buckets (algorithms B and C); each record of theirs moves once, and their new keys come with them.
    fn split(&mut self, stream: &Stream, prediction: &Prediction, growth: Option<Growth>) -> Result<()> {
        let Self { work, table, .. } = self;
        let &Prediction { overflowing, leaves, .. } = prediction;
        if let Some(Growth { directory, segments, copies }) = growth {
            table.copy_tables(stream, &copies, &table.tables, &table.tables)?;
            (table.directory, table.segments) = (directory, segments);
        }
        work.placed.fill(stream, 0)?;
        if leaves == 0 {
            return Ok(());
        }
        let new = (&work.fresh_keys, &work.fresh_values);
        table.build(stream, (&work.leaves, leaves), new, &work.placed)?;
        // A node's second word begins with the number of its bucket.
        let list = work.overflowing.argument::<u32>();
        table.release(stream, &work.overflowing, list, (overflowing, 2 * NODE_WORDS, 2))
    }

    /// Inserts the new keys of the other buckets (algorithm D).
    fn insert_fresh(&self, stream: &Stream, fresh: u64) -> Result<()> {
        let Self { work, table, .. } = self;
        let insert = InsertFresh::<K, V> {
            keys: work.fresh_keys.argument(),
            values: work.fresh_values.argument(),
            placed: work.placed.argument(),
            segments: table.segments.argument(),
            pages: table.page_list(),
            plan: SearchPlan { layout: table.layout(), pairs: fresh },
        };
        let reads: [&dyn Tracked; 3] = [&work.fresh_keys, &work.fresh_values, &work.placed];
        // SAFETY: the keys are mixed, different, in order and not in the table unless they are placed, and the buckets have room for them.
        unsafe { stream.launch(&insert, fresh, &reads, &table.tracked()) }
    }

    /// Gives keys that were there already their values.
    fn update(&self, stream: &Stream, pairs: u64) -> Result<()> {
        let Self { work, table, .. } = self;
        let update = Update::<K, V> {
            keys: work.keys.argument(),
            values: work.values.argument(),
            last: work.last.argument(),
            fresh: work.fresh.argument(),
            segments: table.segments.argument(),
            pages: table.page_list(),
            plan: SearchPlan { layout: table.layout(), pairs },
        };
        let reads: [&dyn Tracked; 4] = [&work.keys, &work.values, &work.last, &work.fresh];
        // SAFETY: as many values and bits as keys; those that are last are different, and in the table unless they are fresh.
        unsafe { stream.launch(&update, pairs, &reads, &table.tracked()) }
    }
}
