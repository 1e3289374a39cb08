//! Changes by batches that are small compared to the table. Pairs are changed one by one, in the
//! table's memory.

use crate::page::table::PageTable;
use crate::table::input::Input;
use crate::table::raw::Outputs;
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::page::{
    AddDirectly, AddParams, EvictLeft, MAX_LEFT, RemoveDirectly, RemoveParams, StoreRepeated, StoreRepeatedParams,
    header,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The count of blocks that evict pairs.
const EVICTING_BLOCKS: u64 = 128;

/// The most pairs that are added directly. The index has several cells for each pair, and the
/// indices of cells have 32 bits.
pub(in crate::page) const MAX_DIRECT: u64 = 1 << 28;

/// The result of adding a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::page) enum Added {
    /// All pairs are in the table.
    All,
    /// Some pair found no slot. Other pairs of the batch may be in the table.
    Full,
}

/// The scratch of a batch of additions: the header, an index of the keys, the pairs that found no
/// empty slot, and the cells of repeated keys. Offsets are in 64-bit words.
struct DirectPlan {
    pairs: u64,
    /// The bits of a cell's index, or `None` if there is no index.
    index_bits: Option<u32>,
}

impl DirectPlan {
    /// Plans a batch. If `unique`, its keys are known to be unique.
    fn new<V: Payload>(pairs: u64, unique: bool) -> Self {
        // At most a quarter of the cells are taken, so that the first probed cell is usually empty.
        let index_bits = (!unique && V::VALUE_BITS != 0).then(|| (2 * pairs).next_power_of_two().ilog2() + 1);
        Self { pairs, index_bits }
    }

    fn index_words(&self) -> u64 {
        self.index_bits.map_or(0, |bits| 1 << (bits - 1))
    }

    /// Returns the count of words that must be 0 at first.
    fn zeros(&self) -> u64 {
        self.left_at()
    }

    fn left_at(&self) -> u64 {
        header::WORDS as u64 + self.index_words()
    }

    fn repeated_at(&self) -> u64 {
        self.left_at() + MAX_LEFT as u64 / 2
    }

    fn words(&self) -> u64 {
        self.repeated_at() + self.index_bits.map_or(0, |_| self.pairs.div_ceil(2))
    }
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Adds pairs one by one, in place, and counts the new keys. If the batch has equal keys, the
    /// last pair wins.
    ///
    /// If memory cannot be allocated, the table is unchanged. After any other error it is empty.
    pub(in crate::page) fn add_directly(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<Added> {
        let plan = DirectPlan::new::<V>(input.pairs, self.config.unique_given(input.known));
        self.scratch.reserve(plan.words())?;
        let added = self.add_each(stream, input, &plan);
        added.map_err(|source| self.emptied(stream, source))
    }

    fn add_each(&mut self, stream: &Stream, input: Input<'_, K, V>, plan: &DirectPlan) -> Result<Added> {
        let Self { scratch, words, layout, .. } = self;
        let scratch = scratch.reserve(plan.words())?;
        let of_add =
            AddParams { layout: *layout, pairs: input.pairs, index_bits: plan.index_bits.unwrap_or(0), padding: 0 };
        // SAFETY: the scratch has the words of its plan, and header and index are 0 when pairs are
        // added. The table has the words of its layout. If there is no index, the batch's keys are
        // unique or have no values.
        stream.batch(|batch| unsafe {
            let pairs = input.read(batch);
            let header = batch.write(scratch);
            let index = plan.index_bits.map(|_| header.offset(header::WORDS as u64).cast());
            let add = AddDirectly::<K, V> {
                keys: pairs.keys,
                values: pairs.values,
                words: batch.write(words).cast(),
                index: index.unwrap_or(Global::null()),
                repeated: header.offset(plan.repeated_at()).cast(),
                left: header.offset(plan.left_at()).cast(),
                header,
                plan: of_add,
            };
            batch.zero(scratch, plan.zeros() as usize)?;
            batch.launch(&add, input.pairs)
        })?;
        let mut found = scratch.download_front(stream, header::WORDS)?;
        if found[header::LEFT as usize] > MAX_LEFT as u64 {
            self.length += found[header::LENGTH as usize];
            return Ok(Added::Full);
        }
        if found[header::LEFT as usize] != 0 {
            // SAFETY: as above. The previous launch wrote the header and the list.
            stream.batch(|batch| unsafe {
                let pairs = input.read(batch);
                let header = batch.write(scratch);
                let evict = EvictLeft::<K, V> {
                    keys: pairs.keys,
                    values: pairs.values,
                    words: batch.write(words).cast(),
                    left: header.offset(plan.left_at()).cast(),
                    header,
                    plan: of_add,
                };
                batch.launch_blocks(&evict, EVICTING_BLOCKS)
            })?;
            found = scratch.download_front(stream, header::WORDS)?;
        }
        let (repeated, failed) = (found[header::REPEATED as usize], found[header::FAILED as usize] != 0);
        if repeated != 0 && !failed {
            // SAFETY: as above. The list has `repeated` cells.
            stream.batch(|batch| unsafe {
                let pairs = input.read(batch);
                let scratch = batch.read(scratch);
                let store = StoreRepeated::<K, V> {
                    keys: pairs.keys,
                    values: pairs.values,
                    words: batch.write(words).cast(),
                    index: scratch.offset(header::WORDS as u64).cast(),
                    repeated: scratch.offset(plan.repeated_at()).cast(),
                    plan: StoreRepeatedParams { layout: *layout, repeated },
                };
                batch.launch(&store, repeated)
            })?;
        }
        self.length += found[header::LENGTH as usize];
        Ok(if failed { Added::Full } else { Added::All })
    }

    /// Removes keys one by one, in place, and returns the count of removed keys. If a key is
    /// repeated, only one removal answers with its value. After an error the table is as after an
    /// error of [`PageTable::add_directly`].
    ///
    /// # Safety
    /// The outputs, if any, have a value for each key and a word of found-bits for every 32 keys.
    /// Nothing else uses them.
    pub(in crate::page) unsafe fn remove_directly(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<V>>>,
    ) -> Result<u64> {
        self.scratch.reserve(header::WORDS as u64)?;
        // SAFETY: the caller guarantees the outputs.
        let removed = unsafe { self.remove_each(stream, keys, outputs) };
        removed.map_err(|source| self.emptied(stream, source))
    }

    /// Removes keys as [`PageTable::remove_directly`] does.
    ///
    /// # Safety
    /// As for [`PageTable::remove_directly`].
    unsafe fn remove_each(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<V>>>,
    ) -> Result<u64> {
        let Self { scratch, words, layout, .. } = self;
        let scratch = scratch.reserve(header::WORDS as u64)?;
        stream.batch(|batch| {
            batch.zero(scratch, header::WORDS)?;
            let remove = RemoveDirectly::<K, V> {
                keys: batch.read(keys),
                words: batch.write(words).cast(),
                // SAFETY: the kernel's documentation allows null for the values and for the
                // found-bits.
                values: unsafe { batch.write_or_null(outputs.and_then(|(values, _)| values)) },
                // SAFETY: as above.
                found: unsafe { batch.write_or_null(outputs.map(|(_, found)| found)) },
                header: batch.write(scratch),
                plan: RemoveParams { layout: *layout, keys: keys.len() as u64 },
            };
            // SAFETY: the caller guarantees the outputs; the table and its layout belong together,
            // and the header is 0.
            unsafe { batch.launch(&remove, keys.len() as u64) }
        })?;
        let counted = scratch.download_front(stream, header::WORDS)?;
        let removed = counted[header::LENGTH as usize];
        // A file may have stated a wrong count, so `length` may be too small.
        self.length = self.length.saturating_sub(removed);
        self.layout.holes |= (counted[header::HOLES as usize] != 0) as u32;
        Ok(removed)
    }

    /// Empties the table after a change that failed halfway.
    pub(in crate::page) fn emptied(&mut self, stream: &Stream, source: Error) -> Error {
        self.empty(stream);
        Error::Emptied { source: Box::new(source) }
    }
}
