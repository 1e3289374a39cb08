//! Rehashing to another table: a larger one, a smaller one, or one without removed keys; and when a
//! batch of [`apply`](super::apply) or [`combine`](super::combine) needs one.

use super::config::max_keys;
use super::table::{Counts, LinearTable, cell, in_cell};
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::double::{Half, PackedPair};
use gpu_kernels::linear::{Rehash, RehashParams, header};
use gpu_kernels::types::{KeyWord, ValueWord};

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Reserves capacity for `additional` more keys, so that the table need not grow until they are
    /// there.
    pub(super) fn reserve(&mut self, stream: &Stream, additional: u64) -> Result<()> {
        self.recover(stream)?;
        if additional <= self.spare_capacity() {
            return Ok(());
        }
        let lines = self.lines_for(self.counts.keys.saturating_add(additional))?.max(self.layout.lines);
        self.rehash(stream, lines)
    }

    /// Gives back the memory that the keys do not need.
    pub(super) fn shrink(&mut self, stream: &Stream) -> Result<()> {
        self.recover(stream)?;
        let lines = self.lines_for(self.counts.keys)?;
        if lines < self.layout.lines { self.rehash(stream, lines) } else { Ok(()) }
    }

    /// Makes the slots of removed keys empty again, which shortens searches; the table keeps its
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

    /// Moves all keys to a table of `lines` lines, which has capacity for them, with other
    /// constants; waits.
    fn rehash(&mut self, stream: &Stream, lines: u32) -> Result<()> {
        let layout = self.config.layout(&mut self.random, lines);
        let slots = layout.slots::<PackedPair<K, V>>() as usize;
        let mut words = match Buffer::uninitialized(&self.device, slots) {
            // What batches worked in may be as large.
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
            // SAFETY: the old table has as many slots as its layout says. The new one has as many
            // as the new layout says, all of them empty.
            unsafe { batch.launch(&rehash, self.slots()) }
        })?;
        self.counts = Counts::of(&new_header.download(stream)?);
        (self.layout, self.words, self.header) = (layout, words, new_header);
        Ok(())
    }

    /// Returns how many more keys the load allows, and how many more slots they may take. Together
    /// with the slots of removed keys, which may be used again, keys may take two thirds of the
    /// slots beyond the load.
    fn spare_capacities(&self) -> [u64; 2] {
        let (Counts { taken, keys, removed, .. }, most) = (self.counts, max_keys(self.slots(), self.load()));
        let max_taken = if removed != 0 { (most + 2 * self.slots()) / 3 } else { most };
        [most.saturating_sub(keys), max_taken.saturating_sub(taken)]
    }

    /// Returns how many new keys fit before the table must grow or be rehashed.
    pub(super) fn spare_capacity(&self) -> u64 {
        let [for_keys, in_slots] = self.spare_capacities();
        for_keys.min(in_slots)
    }

    /// Returns whether slots of removed keys are what prevents `coming` keys, of those that the
    /// load allows.
    pub(super) fn hindered(&self, coming: u64) -> bool {
        let [for_keys, in_slots] = self.spare_capacities();
        in_slots < coming.min(for_keys)
    }

    /// Rehashes before a large batch of insertions, if removed keys have more slots than present
    /// ones. To pass the slots of removed keys costs more than to move the others and to empty a
    /// table. It is not worth an error.
    pub(super) fn tidy(&mut self, stream: &Stream, coming: u64) -> Result<()> {
        let Counts { keys, removed, .. } = self.counts;
        if removed <= keys || coming < keys.max(self.slots() / 8) {
            return Ok(());
        }
        match self.drop_tombstones(stream) {
            // The table is unchanged, unless it was to be emptied and it is unknown how far that
            // went.
            Err(Error::OutOfMemory { .. }) => self.check(),
            done => done,
        }
    }

    /// Makes capacity for new keys, of which up to `coming` may come. Returns whether there is more
    /// spare capacity now.
    pub(super) fn grow_for(&mut self, stream: &Stream, coming: u64) -> Result<bool> {
        let ([for_keys, in_slots], before) = (self.spare_capacities(), self.spare_capacity());
        let lines = if self.config.design.grows && coming > for_keys {
            // If most keys are new, grow for all of them at once; else double, which may happen
            // again.
            let keys = self.counts.keys;
            let pairs = if keys < coming / 4 { keys + coming } else { 2 * keys.max(BATCH) };
            self.lines_for(pairs)?.max(self.layout.lines)
        } else {
            self.layout.lines
        };
        // A new table of the same size helps if removed keys take up slots, and not if there are
        // too many other keys.
        if lines > self.layout.lines || in_slots < for_keys {
            self.rehash(stream, lines)?;
        }
        Ok(self.spare_capacity() > before)
    }
}

/// The count of keys that are worth a table of their own.
const BATCH: u64 = 1024;
