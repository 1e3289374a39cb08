//! Batches of insertions and removals. A batch is done in place ([`change`](super::in_place)), by a
//! build, or by growing the table ([`grow`](super::grow)).

use super::direct::Added;
use crate::page::build::plan::Plan;
use crate::page::config::{Page, PageConfig};
use crate::page::table::PageTable;
use crate::table::design::{Builds, Changes};
use crate::table::handle::Table;
use crate::table::input::{Input, Known};
use crate::table::kind::OfDesign;
use crate::table::raw::Outputs;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The capacity of a page map or set: the count of keys that it holds before it grows.
impl<T: OfDesign<Design = Page>> Table<T> {
    /// Returns the count of keys that the table holds at its load factor
    /// ([`PageConfig::load`](crate::Config::load)). A batch that would exceed it makes the table
    /// grow.
    pub fn capacity(&self) -> usize {
        self.table.capacity() as usize
    }
}

// After an error of an insertion or a removal the table is unchanged or empty. If it was emptied,
// the error is `Error::Emptied`. If a removed key is repeated, only one removal answers with its
// value.
impl Changes for Page {
    fn reserve<K: KeyWord, P: Payload>(table: &mut PageTable<K, P>, stream: &Stream, additional: u64) -> Result<()> {
        table.reserve(stream, additional)
    }

    fn create<K: KeyWord, P: Payload>(config: PageConfig, device: &Device) -> Result<PageTable<K, P>> {
        let keys = Buffer::uninitialized(device, 0)?;
        let values = (P::VALUE_BITS != 0).then(|| Buffer::uninitialized(device, 0)).transpose()?;
        let nothing = Input { keys: &keys, values: values.as_ref(), pairs: 0, known: Known::Unique };
        Page::build(config, device.default_stream(), device, nothing)
    }

    fn insert<K: KeyWord, P: Payload>(
        table: &mut PageTable<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<u64> {
        if input.pairs == 0 {
            return Ok(0);
        }
        let before = table.length;
        if before == 0 {
            return table.fill(stream, input);
        }
        let capacity = table.capacity();
        let most = before + input.pairs;
        // A batch that mostly gives new values to keys of the table needs no capacity for those
        // keys.
        let needed = if most <= capacity { most } else { before + table.count_absent(stream, input)? };
        if needed > capacity {
            table.grow(stream, input, needed)?;
        } else if table.add_in_place(stream, input)? == Added::Full {
            // A part of the batch is in the table already, so the table must be emptied if growing
            // fails.
            table.grow(stream, input, needed).map_err(|source| table.emptied(stream, source))?;
        }
        // If a promise of unique keys was broken, the table had copies of keys. A build counts each
        // key once.
        Ok(table.length.saturating_sub(before))
    }

    unsafe fn remove<K: KeyWord, P: Payload>(
        table: &mut PageTable<K, P>,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<P>>>,
    ) -> Result<u64> {
        if table.length == 0 || keys.is_empty() {
            let Some((values, found)) = outputs else { return Ok(0) };
            stream.batch(|batch| {
                values.map_or(Ok(()), |values| batch.zero(values, values.len()))?;
                batch.zero(found, found.len())
            })?;
            return Ok(0);
        }
        // SAFETY: the caller guarantees the outputs.
        unsafe { table.remove_in_place(stream, keys, outputs) }
    }

    fn clear<K: KeyWord, P: Payload>(table: &mut PageTable<K, P>, stream: &Stream) -> Result<()> {
        let cleared = table.words.fill(stream, 0);
        (table.length, table.layout.holes) = (0, 0);
        if cleared.is_err() {
            table.empty(stream);
        }
        cleared
    }
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Builds an empty table from a batch. The table keeps its size, unless the batch needs a
    /// larger one.
    fn fill(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<u64> {
        let (machine, capacity) = (self.device.machine(), self.capacity());
        let plan = if input.pairs <= capacity {
            let (bits, buckets) = (self.layout.page_bits, self.layout.page_buckets);
            let unique = self.config.unique_given(input.known);
            Plan::new::<K, V, V>(input.pairs, bits, buckets, unique, machine).with_capacity(capacity)
        } else {
            self.config.plan_on::<K, V>(input.pairs, input.known, machine)?
        };
        self.rebuild_planned(stream, (input, &plan))?;
        Ok(self.length)
    }
}
