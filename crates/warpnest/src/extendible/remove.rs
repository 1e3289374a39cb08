//! Batches of removals, and the merging of buckets after them.

use super::directory::Directory;
use super::table::{Lists, unless_out_of_memory};
use super::{ExtendibleTable, Table};
use crate::{Buffer, Result, Stream};
use gpu_kernels::extendible::{
    Absorb, AroundParams, InspectParams, MergeAround, MergeBuddies, MergeParams, MergedParams, Remove, RemoveParams,
    TableDepths, counts,
};
use gpu_kernels::types::{KeyWord, ValueWord};

impl<K: KeyWord, V: ValueWord> ExtendibleTable<K, V> {
    /// Removes keys, and answers which were there. Waits until it is known what is to be merged and
    /// how deep the directory must be, and not for the rest. But if most of the memory is no longer
    /// needed, it waits until the buckets have moved next to each other. The memory where they were
    /// has then been given back.
    ///
    /// # Safety
    /// There are as many values as keys, and a found-word for every 32 of them. Nothing else uses
    /// them.
    pub(super) unsafe fn remove_keys(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        found: &Buffer<u32>,
    ) -> Result<u64> {
        self.recover(stream)?;
        self.work.counts.fill(stream, 0)?;
        self.change(stream, |map| {
            // SAFETY: the caller guarantees the outputs.
            let removed = unsafe { map.launch_remove(stream, keys, values, found)? };
            map.length -= removed;
            if removed != 0 {
                map.merge(stream, keys)?;
            }
            Ok(removed)
        })
    }

    /// Queues the removal; waits until it is known how many keys were there.
    ///
    /// # Safety
    /// As for [`ExtendibleTable::remove_keys`].
    unsafe fn launch_remove(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        found: &Buffer<u32>,
    ) -> Result<u64> {
        let Self { work, table, .. } = self;
        let plan = RemoveParams { layout: table.layout(), keys: keys.len() as u64 };
        stream.batch(|batch| {
            let Lists { segments, pages } = table.write(batch);
            let remove = Remove::<K, V> {
                keys: batch.read(keys),
                segments,
                pages,
                values: batch.write(values),
                found: batch.write(found),
                counts: batch.write(&work.counts),
                plan,
            };
            // SAFETY: the caller guarantees the answers, and the table is whole.
            unsafe { batch.launch(&remove, plan.keys) }
        })?;
        work.counts.download_at(stream, counts::REMOVED as usize)
    }

    /// Merges buckets with their buddies where both together have few records, and shrinks the
    /// directory as far as that allows, after `keys` were removed. For lack of memory it may be
    /// left undone; the next removal then goes over all buckets.
    fn merge(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let Self { work, table, device, .. } = self;
        let (used, number) = (table.used, keys.len() as u64);
        // Only the buckets of removed keys, and those that they are merged with, can now have few
        // records. For many keys it is faster to read all headers in order than to read some of
        // them in the order of the keys.
        let all_buckets = self.unmerged || number >= used / 4;
        // No bucket is deeper than the directory, and each key's part of the range is merged once a
        // depth.
        let depth = table.directory.depth() as u64;
        let most = if all_buckets { used } else { used.min(number * depth) };
        self.unmerged = true;
        if unless_out_of_memory(work.fit_merged(device, most as usize))?.is_none() {
            return Ok(());
        }
        let merged = &work.merged;
        let (layout, most) = (table.layout(), self.config.max_merged());
        let (mut all, mut deepest, mut more) = (0, all_buckets, depth != 0);
        while more {
            stream.batch(|batch| {
                let Lists { segments, pages } = table.write(batch);
                let (pages, merged, counts) = (pages.cast(), batch.write(merged), batch.write(&work.counts));
                // SAFETY: the table is whole, and there is capacity for all indices of buckets that
                // can be merged.
                unsafe {
                    if all_buckets {
                        let plan = MergeParams { layout, used, most };
                        batch.launch(&MergeBuddies { segments, pages, merged, counts, plan }, used)
                    } else {
                        let (keys, plan) = (batch.read(keys), AroundParams { layout, keys: number, most });
                        batch.launch(&MergeAround { keys, segments, pages, merged, counts, plan }, number)
                    }
                }
            })?;
            let counted = work.counts.download(stream)?;
            more = counted[counts::MERGED as usize] != all;
            all = counted[counts::MERGED as usize];
            deepest |= counted[counts::DEEPEST_MERGED as usize] != 0;
        }
        if all != 0 {
            self.absorb(stream, all)?;
        }
        // Otherwise every bucket table still has a bucket that is as deep as it.
        self.unmerged = all != 0 && deepest && !self.shrink_directory(stream)?;
        // Pack also if nothing was merged: there may have been no memory for it after an earlier
        // removal.
        self.pack(stream, SPACIOUS)
    }

    /// Moves the records of merged buckets, and frees these buckets.
    fn absorb(&mut self, stream: &Stream, number: u64) -> Result<()> {
        let (table, merged) = (&mut self.table, &self.work.merged);
        let plan = MergedParams { layout: table.layout(), merged: number };
        stream.batch(|batch| {
            let Lists { segments, pages } = table.write(batch);
            let absorb = Absorb::<K, V> { merged: batch.read(merged), segments, pages, plan };
            // SAFETY: the headers of the merged buckets say into which buckets they go, and these
            // have capacity for them.
            unsafe { batch.launch(&absorb, 32 * number) }
        })?;
        table.release(stream, merged, (number, 1, 0))
    }

    /// Merges bucket tables that buckets no longer tell apart, and halves the segment table while
    /// it is deeper than they are. Returns whether there was enough memory for it.
    pub(super) fn shrink_directory(&mut self, stream: &Stream) -> Result<bool> {
        let Self { table, device, .. } = self;
        if table.directory.depth() == 0 {
            return Ok(true);
        }
        let shrunk = unless_out_of_memory(Self::shrunk(table, device, stream))?;
        let is_shrunk = shrunk.is_some();
        if let Some((directory, segments)) = shrunk {
            (table.directory, table.segments) = (directory, segments);
        }
        Ok(is_shrunk)
    }

    fn shrunk(table: &Table<K, V>, device: &crate::Device, stream: &Stream) -> Result<(Directory, Buffer<u64>)> {
        let depths = Buffer::<u32>::zeroed(device, table.segments.len())?;
        let plan = InspectParams { layout: table.layout(), used: table.used };
        stream.batch(|batch| {
            let Lists { segments, pages } = table.read(batch);
            let find_depths = TableDepths { segments, pages: pages.cast(), depths: batch.write(&depths), plan };
            // SAFETY: the table is whole, and there is a word for each segment.
            unsafe { batch.launch(&find_depths, table.used) }
        })?;
        let depths = depths.download(stream)?;
        let mut needs = vec![0; table.directory.numbers()];
        for (segment, number) in table.directory.first_segments() {
            needs[number as usize] = depths[segment];
        }
        let mut directory = table.directory.clone();
        directory.shrink(needs);
        let segments = table.segments_of(&directory)?;
        Ok((directory, segments))
    }
}

/// The ratio of capacity to buckets above which buckets are moved next to each other: more memory
/// is then given back than the move takes meanwhile.
const SPACIOUS: usize = 4;
