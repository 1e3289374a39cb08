//! Rehashing to a larger table, a smaller table, or a table without tombstones. This module also
//! decides when a batch of [`apply`](super::apply) or [`combine`](super::combine) needs a rehash.

use super::config::max_keys;
use super::table::{Counts, LinearTable, cell, in_cell};
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::double_word::{Half, PackedPair};
use gpu_kernels::linear::{Rehash, RehashParams, header};
use gpu_kernels::types::{KeyWord, ValueWord};

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Reserves capacity for `additional` more keys, so that the table need not grow when they are
    /// inserted.
    pub(super) fn reserve(&mut self, stream: &Stream, additional: u64) -> Result<()> {
        self.recover(stream)?;
        if additional <= self.spare_capacity() {
            return Ok(());
        }
        let lines = self.lines_for(self.counts.keys.saturating_add(additional))?.max(self.layout.lines);
        self.rehash(stream, lines)
    }

    /// Frees the memory that the keys do not need.
    pub(super) fn shrink(&mut self, stream: &Stream) -> Result<()> {
        self.recover(stream)?;
        let lines = self.lines_for(self.counts.keys)?;
        if lines < self.layout.lines { self.rehash(stream, lines) } else { Ok(()) }
    }

    /// Makes the slots of removed keys empty again, which shortens searches. The table keeps its
    /// size.
    pub(super) fn drop_tombstones(&mut self, stream: &Stream) -> Result<()> {
        self.recover(stream)?;
        match self.counts {
            Counts { removed: 0, .. } => Ok(()),
            Counts { keys: 0, .. } => self.clear_all(stream),
            _ => self.rehash(stream, self.layout.lines),
        }
    }

    fn lines_for(&self, pairs: u64) -> Result<u32> {
        self.config.lines_for::<PackedPair<K, V>>(pairs, self.load())
    }

    /// Moves all keys to a table of `lines` lines, with other constants, and waits. The new table
    /// must have capacity for all keys.
    fn rehash(&mut self, stream: &Stream, lines: u32) -> Result<()> {
        let layout = self.config.layout(&mut self.random, lines);
        let slots = layout.slots::<PackedPair<K, V>>() as usize;
        let mut words = match Buffer::uninitialized(&self.device, slots) {
            // The scratch may be as large as the new table.
            Err(Error::OutOfMemory { .. }) if self.scratch.memory_bytes() != 0 => {
                self.scratch.release();
                Buffer::uninitialized(&self.device, slots)?
            }
            words => words?,
        };
        words.set_bytes(stream, 0xff)?;
        let (old_header, mut new_header) = (self.header.download(stream)?, [0; header::WORDS]);
        new_header[..header::ASKED as usize].copy_from_slice(cell(&old_header));
        new_header[(header::COUNTERS + header::GAINED) as usize] = in_cell(&old_header);
        let new_header = Buffer::from_slice(&self.device, &new_header)?;
        stream.batch(|batch| {
            let rehash = Rehash::<Half<K, V>> {
                old: batch.read(&self.words),
                words: batch.write(&words),
                header: batch.write(&new_header),
                plan: RehashParams { slots: self.slots(), layout },
            };
            // SAFETY: the old table has the slots of its layout. The new table has the slots of the
            // new layout, and all of them are empty.
            unsafe { batch.launch(&rehash, self.slots()) }
        })?;
        self.counts = Counts::of(&new_header.download(stream)?);
        (self.layout, self.words, self.header) = (layout, words, new_header);
        Ok(())
    }

    /// Returns the count of new keys that the load factor allows, and the count of empty slots that
    /// they may take. If there are tombstones, which may be reused, keys and tombstones may take
    /// two thirds of the slots beyond the load factor.
    fn spare_capacities(&self) -> [u64; 2] {
        let (Counts { taken, keys, removed, .. }, most) = (self.counts, max_keys(self.slots(), self.load()));
        let max_taken = if removed != 0 { (most + 2 * self.slots()) / 3 } else { most };
        [most.saturating_sub(keys), max_taken.saturating_sub(taken)]
    }

    /// Returns the count of new keys that fit before the table must grow or be rehashed.
    pub(super) fn spare_capacity(&self) -> u64 {
        let [for_keys, in_slots] = self.spare_capacities();
        for_keys.min(in_slots)
    }

    /// Returns whether tombstones hinder inserting `coming` keys, of which the load factor allows
    /// more than there are empty slots.
    pub(super) fn hindered(&self, coming: u64) -> bool {
        let [for_keys, in_slots] = self.spare_capacities();
        in_slots < coming.min(for_keys)
    }

    /// Rehashes before a large batch of insertions, if there are more tombstones than keys. Probing
    /// past tombstones takes longer than moving the keys and emptying a table. If memory for the
    /// rehash is lacking, the batch goes on without it.
    pub(super) fn tidy(&mut self, stream: &Stream, coming: u64) -> Result<()> {
        let Counts { keys, removed, .. } = self.counts;
        if removed <= keys || coming < keys.max(self.slots() / 8) {
            return Ok(());
        }
        match self.drop_tombstones(stream) {
            // The table is unchanged, unless emptying it failed partway. Then its state is unknown.
            Err(Error::OutOfMemory { .. }) => self.check(),
            done => done,
        }
    }

    /// Makes capacity for up to `coming` new keys. Returns whether the spare capacity is larger
    /// now.
    pub(super) fn grow_for(&mut self, stream: &Stream, coming: u64) -> Result<bool> {
        let ([for_keys, in_slots], before) = (self.spare_capacities(), self.spare_capacity());
        let lines = if self.config.design.grows && coming > for_keys {
            // A batch that is much larger than the table has mostly new keys, so the table grows
            // for the whole batch at once. Otherwise the table doubles, possibly several times.
            let keys = self.counts.keys;
            let pairs = if keys < coming / 4 { keys + coming } else { 2 * keys.max(BATCH) };
            self.lines_for(pairs)?.max(self.layout.lines)
        } else {
            self.layout.lines
        };
        // A new table of the same size helps if tombstones take up slots, but not if there are too
        // many keys.
        if lines > self.layout.lines || in_slots < for_keys {
            self.rehash(stream, lines)?;
        }
        Ok(self.spare_capacity() > before)
    }
}

/// The fewest keys for which allocating another table is worth its cost.
const BATCH: u64 = 1024;
