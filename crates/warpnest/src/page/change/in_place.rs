//! Changes of a table in place. Either each pair is changed directly, or all pages are rewritten.

use super::direct::Added;
use crate::page::table::PageTable;
use crate::table::input::Input;
use crate::table::raw::Outputs;
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The divisor of the table's keys that gives the least size of a batch that rewrites all pages.
const KEYS_A_CHANGE: u64 = 16;
/// The divisor of the table's keys that gives the count of direct changes after which a batch of
/// any size rewrites all pages. As pairs come and go, more and more filter bits stay set for pairs
/// that are gone.
const KEYS_A_REWRITE: u64 = 4;

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns whether a batch of `batch` keys rewrites all pages.
    fn rewrites(&self, batch: u64) -> bool {
        batch >= self.length / KEYS_A_CHANGE || self.changed + batch >= self.length / KEYS_A_REWRITE
    }

    /// Adds pairs in place, and counts the new keys. If the batch has equal keys, the last pair
    /// wins. The table must not be empty.
    ///
    /// If memory cannot be allocated, the table is unchanged. After any other error it is empty.
    pub(in crate::page) fn add_in_place(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<Added> {
        if self.rewrites(input.pairs) {
            return self.add_by_pages(stream, input);
        }
        self.changed += input.pairs;
        if self.add_directly(stream, input)? == Added::All {
            return Ok(Added::All);
        }
        // Rewriting pages can evict many pairs at once. Adding the same pairs again changes
        // nothing.
        match self.add_by_pages(stream, input) {
            // A part of the batch is in the table already, so the table is emptied.
            Err(source) if !matches!(source, Error::Emptied { .. }) => Err(self.emptied(stream, source)),
            added => added,
        }
    }

    /// Removes keys in place, and returns the count of removed keys. If a key is repeated, only one
    /// removal answers with its value. After an error the table is as after an error of
    /// [`PageTable::add_in_place`]. The table must not be empty.
    ///
    /// # Safety
    /// The outputs, if any, have a value for each key and a word of found-bits for every 32 keys.
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
            // The keys are removed in any case, and the next batch tries the rewrite again.
            Ok(_) | Err(Error::OutOfMemory { .. }) => Ok(removed),
            Err(error) => Err(error),
        }
    }
}
