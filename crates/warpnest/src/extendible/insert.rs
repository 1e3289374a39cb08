//! Batches of insertions. First the needs of a batch are predicted, then the table grows, and then
//! the records are stored (Hu 2015, §2.5).

use super::ExtendibleTable;
use super::directory::Directory;
use super::table::Lists;
use super::work::{at_least, extend};
use crate::primitives::{compact, flag_last_of_each, sort_pairs_by_mixed_key};
use crate::{Buffer, Error, FullError, Result, Stream};
use gpu_kernels::extendible::{
    Divide, DivideParams, InsertFresh, LEAF_WORDS, Locate, NODE_WORDS, Needs, NeedsParams, Overflows, SearchParams,
    Update, counts,
};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The predicted needs of a batch.
struct Prediction {
    /// The count of buckets to split.
    overflowing: u64,
    /// The count of new buckets that they are split into.
    leaves: u64,
    /// The depth of the deepest of the new buckets.
    deepest: u32,
}

/// The growth of the directory.
struct Growth {
    directory: Directory,
    segments: Buffer<u64>,
}

impl<K: KeyWord, V: ValueWord> ExtendibleTable<K, V> {
    /// Inserts pairs, and counts new keys. Waits until the batch's needs are known, but not for the
    /// rest.
    pub(super) fn insert_pairs(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        crate::table::input::check_pairs(&self.device, stream, keys, values)?;
        self.recover(stream)?;
        let pairs = keys.len() as u64;
        if pairs == 0 {
            return Ok(0);
        }
        let fresh = self.look(stream, keys, values)?;
        let prediction = self.predict(stream, fresh)?;
        let growth = self.reserve_for(stream, &prediction)?;
        // From here on nothing allocates memory, because the kernels were loaded when the map was
        // created. If the device fails nevertheless, the keys are lost, and the error says so.
        self.change(stream, |map| {
            map.split(stream, &prediction, growth)?;
            map.insert_fresh(stream, fresh)?;
            // If the counts are equal, all pairs have new keys.
            if fresh != pairs { map.update(stream, pairs) } else { Ok(()) }
        })?;
        self.length += fresh;
        Ok(fresh)
    }

    /// Sorts the pairs, finds those with new keys, and returns the count of these pairs.
    fn look(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        let Self { work, table, .. } = self;
        work.fit(&self.device, keys.len())?;
        let sorted = (&mut work.keys, &mut work.values);
        sort_pairs_by_mixed_key(stream, &mut work.scratch, table.constants, (keys, values), sorted)?;
        flag_last_of_each(stream, &work.keys, &mut work.last)?;
        let plan = SearchParams { layout: table.layout(), pairs: keys.len() as u64 };
        stream.batch(|batch| {
            let Lists { segments, pages } = table.read(batch);
            let (keys, last) = (batch.read(&work.keys), batch.read(&work.last));
            let locate = Locate::<K, V> { keys, last, segments, pages, fresh: batch.write(&work.fresh), plan };
            // SAFETY: there is a bit for each key, and the table is valid.
            unsafe { batch.launch(&locate, plan.pairs) }
        })?;
        let (scratch, count) = (&mut work.scratch, &mut work.count);
        compact(stream, scratch, &work.values, &work.fresh, &mut work.fresh_values, count)?;
        compact(stream, scratch, &work.keys, &work.fresh, &mut work.fresh_keys, count)?;
        Ok(count.download(stream)?[0] as u64)
    }

    /// Finds out in rounds which buckets must be split and how often (algorithm A).
    fn predict(&mut self, stream: &Stream, fresh: u64) -> Result<Prediction> {
        let Self { work, table, device, .. } = self;
        let mut prediction = Prediction { overflowing: 0, leaves: 0, deepest: 0 };
        if fresh == 0 {
            return Ok(prediction);
        }
        let (layout, capacity) = (table.layout(), table.shape.records as u64);
        // An overflowing bucket has a new key, and more records than its capacity.
        let most = fresh.min(table.buckets()).min((self.length + fresh) / (capacity + 1));
        extend(device, stream, &mut work.overflowing, 0, NODE_WORDS * most)?;
        work.counts.fill(stream, 0)?;
        stream.batch(|batch| {
            let Lists { segments, pages } = table.read(batch);
            let overflows = Overflows::<K, V> {
                keys: batch.read(&work.fresh_keys),
                segments,
                pages,
                nodes: batch.write(&work.overflowing),
                counts: batch.write(&work.counts),
                plan: SearchParams { layout, pairs: fresh },
            };
            // SAFETY: the keys are mixed and sorted, and the list has capacity for all nodes that
            // are possible.
            unsafe { batch.launch(&overflows, fresh) }
        })?;
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
            stream.batch(|batch| {
                batch.zero_range(&work.counts, counts::NODES as usize..counts::NODES as usize + 1)?;
                let divide = Divide::<K, V> {
                    keys: batch.read(&work.fresh_keys),
                    pages: table.read(batch).pages,
                    nodes: batch.read(from),
                    next: batch.write(to),
                    leaves: batch.write(&work.leaves),
                    counts: batch.write(&work.counts),
                    plan: DivideParams { layout, nodes },
                };
                // SAFETY: there are `nodes` nodes. The lists have capacity for two halves of each,
                // as nodes and as leaves.
                unsafe { batch.launch(&divide, 32 * nodes) }
            })?;
            found = work.counts.download(stream)?;
            let depth = table.shape.max_depth;
            // The loop ends: if keys cannot be told apart, one half of a node is empty and thus a
            // leaf, which becomes deeper in every round.
            if found[counts::DEEPEST as usize] > depth as u64 {
                let records = table.shape.records;
                return Err(Error::Full(FullError::TooDeep { pairs: fresh, records, depth }));
            }
            round += 1;
        }
        prediction.leaves = found[counts::LEAVES as usize];
        prediction.deepest = found[counts::DEEPEST as usize] as u32;
        Ok(prediction)
    }

    /// Reserves all memory that the prediction needs, and returns the growth of the directory. A
    /// lookup still sees the same table.
    fn reserve_for(&mut self, stream: &Stream, prediction: &Prediction) -> Result<Option<Growth>> {
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
        stream.batch(|batch| {
            batch.zero(needs, segments)?;
            let find_needs = Needs {
                leaves: batch.read(&work.leaves),
                segments: batch.read(&table.segments),
                needs: batch.write(needs),
                counts: batch.write(&work.counts),
                plan: NeedsParams { layout, leaves },
            };
            // SAFETY: there are `leaves` leaves, and a word for each segment of a directory of
            // depth `deepest`.
            unsafe { batch.launch(&find_needs, leaves) }
        })?;
        if work.counts.download_at(stream, counts::NEEDS as usize)? == 0 {
            return Ok(None);
        }
        let mut directory = table.directory.clone();
        let copies = directory.grow(deepest, &needs.download_front(stream, segments)?);
        table.tables.reserve(directory.numbers())?;
        let segments = table.segments_of(&directory)?;
        work.copies = table.copy_list(&copies, &table.tables, &table.tables)?;
        Ok(Some(Growth { directory, segments }))
    }

    /// Grows the directory and splits the buckets (algorithms B and C). Each record of a split
    /// bucket moves once, and new keys of the bucket are stored in the same pass.
    fn split(&mut self, stream: &Stream, prediction: &Prediction, growth: Option<Growth>) -> Result<()> {
        let Self { work, table, .. } = self;
        let &Prediction { overflowing, leaves, .. } = prediction;
        if let Some(Growth { directory, segments }) = growth {
            table.copy_tables(stream, &work.copies, &table.tables, &table.tables)?;
            (table.directory, table.segments) = (directory, segments);
        }
        work.placed.fill(stream, 0)?;
        if leaves == 0 {
            return Ok(());
        }
        let new = (&work.fresh_keys, &work.fresh_values);
        table.build(stream, (&work.leaves, leaves), new, &work.placed)?;
        // The second word of a node begins with the index of its bucket.
        table.release(stream, &work.overflowing, (overflowing, 2 * NODE_WORDS, 2))
    }

    /// Inserts the new keys whose buckets are not split (algorithm D).
    fn insert_fresh(&self, stream: &Stream, fresh: u64) -> Result<()> {
        let Self { work, table, .. } = self;
        stream.batch(|batch| {
            let Lists { segments, pages } = table.write(batch);
            let insert = InsertFresh::<K, V> {
                keys: batch.read(&work.fresh_keys),
                values: batch.read(&work.fresh_values),
                placed: batch.read(&work.placed),
                segments,
                pages,
                plan: SearchParams { layout: table.layout(), pairs: fresh },
            };
            // SAFETY: the keys are mixed, distinct and sorted. Only keys with a `placed` bit are in
            // the table already. The buckets have capacity for the other keys.
            unsafe { batch.launch(&insert, fresh) }
        })
    }

    /// Updates the values of keys that were in the table before the batch.
    fn update(&self, stream: &Stream, pairs: u64) -> Result<()> {
        let Self { work, table, .. } = self;
        stream.batch(|batch| {
            let Lists { segments, pages } = table.write(batch);
            let update = Update::<K, V> {
                keys: batch.read(&work.keys),
                values: batch.read(&work.values),
                last: batch.read(&work.last),
                fresh: batch.read(&work.fresh),
                segments,
                pages,
                plan: SearchParams { layout: table.layout(), pairs },
            };
            // SAFETY: there is a value and a bit for each key. The keys with a `last` bit are
            // distinct, and all of them are in the table unless they are fresh.
            unsafe { batch.launch(&update, pairs) }
        })
    }
}
