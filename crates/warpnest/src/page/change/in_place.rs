//! Changes of a table in place: the choice between going to pairs directly and rewriting pages.

use super::direct::Added;
use crate::page::table::PageTable;
use crate::table::input::Input;
use crate::table::raw::Outputs;
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The share of the keys, one in so many, from which on a batch is worth rewriting all pages.
const KEYS_A_CHANGE: u64 = 16;
/// The share of the keys that batches change directly before one rewrites the pages, however small
/// it is. As pairs come and go, more and more filter bits are set for none that is there.
const KEYS_A_REWRITE: u64 = 4;

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns whether a batch rewrites all pages.
    fn rewrites(&self, batch: u64) -> bool {
        batch >= self.length / KEYS_A_CHANGE || self.changed + batch >= self.length / KEYS_A_REWRITE
    }

    /// Adds pairs in place, and counts the keys that are new. Of equal keys in the batch the last
    /// one counts. The table has pairs already.
    ///
    /// If nothing can be allocated the table is unchanged. After any other error it is empty.
    pub(in crate::page) fn add_in_place(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<Added> {
        if self.rewrites(input.pairs) {
            return self.add_by_pages(stream, input);
        }
        self.changed += input.pairs;
        if self.add_directly(stream, input)? == Added::All {
            return Ok(Added::All);
        }
        // Pages can evict many pairs at once. To add pairs once more changes nothing.
        match self.add_by_pages(stream, input) {
            // A part of the batch is in the table, whatever failed.
            Err(source) if !matches!(source, Error::Emptied { .. }) => Err(self.emptied(stream, source)),
            added => added,
        }
    }

    /// Removes keys in place; returns how many were there. Of equal keys one gets the answer.
    /// Errors leave the table as errors of [`PageTable::add_in_place`] do. The table has pairs.
    ///
    /// # Safety
    /// There are as many values as keys, and a found-word for every 32 of them, if there are any.
    /// Nothing else uses them.
    pub(in crate::page) unsafe fn remove_in_place(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<V>>>,
    ) -> Result<u64> {
        let batch = keys.len() as u64;
        if outputs.is_none() && self.rewrites(batch) {
            return self.remove_by_pages(stream, keys);
        }
        self.changed += batch;
        // SAFETY: the caller guarantees the outputs.
        let removed = unsafe { self.remove_directly(stream, keys, outputs)? };
        if self.changed < self.length / KEYS_A_REWRITE {
            return Ok(removed);
        }
        match self.remove_by_pages(stream, &Buffer::uninitialized(&self.device, 0)?) {
            // The keys are gone all the same, and the next batch tries again.
            Ok(_) | Err(Error::OutOfMemory { .. }) => Ok(removed),
            Err(error) => Err(error),
        }
    }
}
