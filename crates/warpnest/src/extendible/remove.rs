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
    /// Removes keys, and answers which of them were in the table. Waits until it is known what is
    /// to be merged and how deep the directory must be, but not until this is done. If most of the
    /// memory is no longer needed, it also waits until the buckets have moved next to each other.
    /// Their old memory has then been freed.
    ///
    /// # Safety
    /// There is a value for each key, and a word of found-bits for every 32 keys. Nothing else uses
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

    /// Queues the removal, and waits for the count of removed keys.
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
            // SAFETY: the caller guarantees the answers, and the table is valid.
            unsafe { batch.launch(&remove, plan.keys) }
        })?;
        work.counts.download_at(stream, counts::REMOVED as usize)
    }

    /// Merges buckets with their buddies if the two together have few records, and then shrinks the
    /// directory, after `keys` were removed. If memory is lacking, it does nothing, and the next
    /// removal looks at all buckets.
    fn merge(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let Self { work, table, device, .. } = self;
        let (used, number) = (table.used, keys.len() as u64);
        // Only the buckets of removed keys, and buckets that are merged with them, can now have few
        // records. For many keys it is faster to read all headers in order than to read some of
        // them in the order of the keys.
        let all_buckets = self.unmerged || number >= used / 4;
        // No bucket is deeper than the directory, and the part of the range around a key is merged
        // at most once at each depth.
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
                // SAFETY: the table is valid, and the list has capacity for the indices of all
                // buckets that can be merged.
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
        // If no bucket of its table's depth was merged, every table still has one and cannot
        // shrink.
        self.unmerged = all != 0 && deepest && !self.shrink_directory(stream)?;
        // Buckets are packed even if nothing was merged now, because memory may have been lacking
        // after an earlier removal.
        self.pack(stream, SPACIOUS)
    }

    /// Moves the records of merged buckets, and frees these buckets.
    fn absorb(&mut self, stream: &Stream, number: u64) -> Result<()> {
        let (table, merged) = (&mut self.table, &self.work.merged);
        let plan = MergedParams { layout: table.layout(), merged: number };
        stream.batch(|batch| {
            let Lists { segments, pages } = table.write(batch);
            let absorb = Absorb::<K, V> { merged: batch.read(merged), segments, pages, plan };
            // SAFETY: the headers of the merged buckets name the buckets that absorb them, and
            // these have capacity for the records.
            unsafe { batch.launch(&absorb, 32 * number) }
        })?;
        table.release(stream, merged, (number, 1, 0))
    }

    /// Merges bucket tables that no bucket distinguishes, and halves the segment table as long as
    /// it is deeper than all bucket tables. Returns whether there was enough memory.
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
            // SAFETY: the table is valid, and there is a word for each segment.
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

/// The ratio of capacity to buckets above which buckets are moved next to each other. Above it, the
/// move frees more memory than it takes temporarily.
const SPACIOUS: usize = 4;
