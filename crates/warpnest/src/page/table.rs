//! The table in memory: its buckets and its properties.

use super::build::report::PageReport;
use super::config::Page;
use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::raw::RawTable;
use crate::{Buffer, Config, Device, Result, Stream};
use gpu_kernels::page::{BUCKET_WORDS, Layout};
use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar, WordOf};
use std::marker::PhantomData;

/// The table of a [`PageMap`](crate::PageMap), or of a [`PageSet`](crate::PageSet) if the payload
/// is `Nothing`.
#[derive(Debug)]
pub struct PageTable<K: KeyWord, V: Payload> {
    pub(super) device: Device,
    pub(super) config: Config<Page>,
    pub(super) layout: Layout,
    pub(super) words: Buffer<u64>,
    pub(super) scratch: Scratch,
    pub(super) length: u64,
    /// The count of keys that batches have changed directly since all pages were last written.
    pub(super) changed: u64,
    /// Whether the buckets are in a mapped file. Such buckets are not changed, and their tags are
    /// not checked.
    pub(super) mapped: bool,
    pub(super) report: PageReport,
    pub(super) types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns the table's layout and hash constants, for a kernel of your own. The layout and
    /// [`PageTable::words`] make a [`Table`](gpu_kernels::page::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the buckets, possibly followed by words that the table does not use.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the count of slots in all buckets.
    pub fn slots(&self) -> u64 {
        self.layout.buckets() as u64 * self.layout.slots as u64
    }

    /// Returns whether pairs may have been removed from full buckets. If so, an empty slot in a
    /// bucket does not prove that a pair is in none of its later candidate buckets.
    pub fn has_holes(&self) -> bool {
        self.layout.holes != 0
    }

    /// Returns the count of pairs, or keys of a set, that the table holds at its load factor. A
    /// batch that would exceed it makes the table grow.
    pub fn capacity(&self) -> u64 {
        self.config.capacity_of::<K, V>(&self.layout)
    }

    /// Returns the count of words that the buckets take.
    pub(super) fn words_in_use(&self) -> usize {
        words_of::<K, V>(&self.layout) as usize
    }

    /// Returns the count of buckets that may contain pairs. It is 0 for an empty map, whatever its
    /// words contain.
    pub(super) fn buckets_with_pairs(&self) -> u64 {
        if self.length == 0 { 0 } else { self.layout.buckets() as u64 }
    }
}

/// Returns the count of 64-bit words of the buckets.
pub(super) fn words_of<K: KeyWord, V: Payload>(layout: &Layout) -> u64 {
    layout.buckets() as u64 * (BUCKET_WORDS * <K::PackedWord<V> as Scalar>::BITS / 64) as u64
}

impl<K: KeyWord, V: Payload> RawTable<K, WordOf<V>> for PageTable<K, V> {
    type Ref = PageRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> PageRef<K, V> {
        let words = uses.read(&self.words);
        // SAFETY: an empty table's ref does not access null.
        let words = if self.length == 0 { unsafe { Global::null() } } else { words };
        PageRef::new(words, self.layout)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        let table = Self {
            device: self.device.clone(),
            config: self.config.clone(),
            layout: self.layout,
            words: self.words.duplicate_front(stream, &self.device, self.words_in_use())?,
            scratch: Scratch::new(&self.device),
            length: self.length,
            changed: self.changed,
            mapped: false,
            report: self.report.clone(),
            types: PhantomData,
        };
        if self.mapped {
            // The copy can be changed, so its tags must be valid.
            table.check_tags(stream)?;
        }
        Ok(table)
    }

    fn shrink_to_fit(&mut self) -> Result<()> {
        self.scratch.release();
        let device = self.device.clone();
        if self.length != 0 && self.shrink(device.default_stream())? {
            return Ok(());
        }
        self.trim()
    }

    fn trim(&mut self) -> Result<()> {
        self.scratch.release();
        if self.length == 0 {
            return self.shrink_empty();
        }
        let (stream, words) = (self.device.default_stream(), self.words_in_use());
        if let Some(words) = self.words.shrunk(stream, &self.device, words)? {
            self.words = words;
        }
        Ok(())
    }
}
