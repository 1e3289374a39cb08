//! Insertions and removals of rows.
//!
//! First a batch is reduced to its distinct keys, each with its last row. These are divided into
//! keys that are new and keys that the map has. A new key is inserted after its row is copied. The
//! rows of the other keys are replaced last. So after any failure every key has a complete row,
//! unless the device stopped during the copy.

use super::{RowTable, Rows};
use crate::design::Changes;
use crate::primitives::{Scratch, check_items, compact, gather, gather_found, iota, launch_scatter, state_words};
use crate::table::input::{Input, Known};
use crate::table::kind::{Erases, Inserts};
use crate::table::raw::ReadTable;
use crate::table::retaining::{dropped, kept};
use crate::types::Plain;
use crate::{Answers, Buffer, Error, InputError, Key, PageMap, Result, Stream};

/// The most rows, because row indices have 32 bits and all ones is not an index.
const MOST: usize = u32::MAX as usize;

/// The distinct keys of a batch, divided into new keys and keys that the map has. A source is the
/// index of a key's last row in the batch.
struct Divided<W> {
    new_keys: Buffer<W>,
    new_sources: Buffer<u32>,
    held_rows: Buffer<u32>,
    held_sources: Buffer<u32>,
}

impl<K: Key, R: Plain, D: Changes> Erases for Rows<K, R, D> {
    fn erase(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>) -> Result<usize> {
        table.take_out(stream, keys, None)
    }

    fn reserve(table: &mut Self::Table, stream: &Stream, additional: usize) -> Result<()> {
        let fresh = additional.saturating_sub(table.free_rows(stream)?);
        let after = table.rows.len().saturating_add(fresh);
        if after > MOST {
            return Err(Error::Input(InputError::TooManyPairs { asked: after as u64, limit: MOST as u64 }));
        }
        table.rows.reserve(stream, after)?;
        D::reserve::<K::Word, u32>(&mut table.map.table, stream, additional as u64)
    }

    fn clear(table: &mut Self::Table, stream: &Stream) -> Result<()> {
        table.clear(stream)
    }
}

impl<K: Key, R: Plain, D: Changes> Inserts for Rows<K, R, D> {
    fn insert(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>, rows: &Buffer<R>) -> Result<usize> {
        table.insert(stream, keys, rows)
    }

    fn remove(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>, answers: &mut Answers<R>) -> Result<usize> {
        table.take_out(stream, keys, Some(answers))
    }
}

impl<K: Key, R: Plain, D: Changes> RowTable<K, R, D> {
    /// Stores a row for every key, and returns the count of new keys. If a key has several rows,
    /// the last row wins.
    fn insert(&mut self, stream: &Stream, keys: &Buffer<K>, rows: &Buffer<R>) -> Result<usize> {
        check_items(keys.len())?;
        let free = self.free_rows(stream)?;
        if keys.is_empty() {
            return Ok(0);
        }
        let divided = self.divide(stream, keys)?;

        let new = divided.new_sources.len();
        let (end, reused) = (self.rows.len(), new.min(free));
        let after = end + new - reused;
        if after > MOST {
            return Err(Error::Input(InputError::TooManyPairs { asked: after as u64, limit: MOST as u64 }));
        }
        if new != 0 {
            let targets = self.targets(stream, new, reused)?;
            self.rows.reserve(stream, after)?;
            self.rows.set_length(after);
            if let Err(error) = self.copy_rows(stream, rows, &divided.new_sources, &targets) {
                self.rows.set_length(end);
                return Err(error);
            }
            // Until the insertion has succeeded, it is unknown which of the rows are in use.
            let (before, free) = (self.map.len(), self.free.take());
            let (keys, values) = (&divided.new_keys, Some(&targets));
            let input = Input { keys, values, pairs: new as u64, known: Known::Unique };
            if let Err(error) = D::insert::<K::Word, u32>(&mut self.map.table, stream, input) {
                if self.map.table.check_usable().is_ok() && self.map.len() == before {
                    // None of the keys was inserted.
                    self.rows.set_length(end);
                    self.free = free;
                }
                return Err(error);
            }
            self.free = free;
            if let Some(free) = &mut self.free {
                free.set_length(free.len() - reused);
            }
        }
        self.copy_rows(stream, rows, &divided.held_sources, &divided.held_rows)?;
        Ok(new)
    }

    /// Divides a batch into new and existing keys.
    fn divide(&self, stream: &Stream, keys: &Buffer<K>) -> Result<Divided<K::Word>> {
        let device = self.map.device();
        let mut numbers = Buffer::uninitialized(device, keys.len())?;
        iota(stream, &mut numbers)?;
        // In a page map the last pair of a key wins.
        let last = PageMap::<K, u32>::build(&stream.device(), keys, &numbers)?;
        let different = if last.len() == keys.len() { None } else { Some(last.pairs_on(stream)?) };
        drop(last);
        let (keys, sources) = different.as_ref().map_or((keys, &numbers), |(keys, sources)| (keys, sources));
        let Answers { values, found, .. } = self.map.get_many_on(stream, keys)?;
        Ok(Divided {
            new_keys: dropped(device, stream, keys.words(), &found)?,
            new_sources: dropped(device, stream, sources, &found)?,
            held_rows: kept(device, stream, &values, &found)?,
            held_sources: kept(device, stream, sources, &found)?,
        })
    }

    /// Copies rows of a batch to rows of the map.
    fn copy_rows(
        &self,
        stream: &Stream,
        batch_rows: &Buffer<R>,
        sources: &Buffer<u32>,
        targets: &Buffer<u32>,
    ) -> Result<()> {
        // SAFETY: there is a source for each target, and each source is a row of the batch.
        stream.batch(|batch| unsafe { launch_scatter(batch, batch_rows, batch.read(sources), targets, &self.rows) })
    }

    /// Removes keys. If `answers` is given, the rows are written to it.
    fn take_out(&mut self, stream: &Stream, keys: &Buffer<K>, answers: Option<&mut Answers<R>>) -> Result<usize> {
        let device = self.map.device().clone();
        check_items(keys.len())?;
        // All memory is allocated first, so that nothing has changed if memory is lacking.
        let mut removed = Answers::<u32>::uninitialized(&device, keys.len())?;
        let mut gone = Buffer::<u32>::uninitialized(&device, keys.len())?;
        let (mut count, mut scratch) = (Buffer::<u32>::uninitialized(&device, 1)?, Scratch::new(&device));
        scratch.reserve(state_words::<u32>(keys.len() as u64))?;
        let most = keys.len().min(self.map.len());
        if let Some(free) = &mut self.free {
            free.reserve(stream, free.len() + most)?;
        }
        // Until everything is done, it is unknown which of the rows are in use.
        let free = self.free.take();
        let number = self.map.remove_many_into(stream, keys, &mut removed)?;
        if let Some(mut free) = free {
            compact(stream, &mut scratch, &removed.values, &removed.found, &mut gone, &mut count)?;
            let (end, words) = (free.len(), size_of::<u32>());
            free.set_length(end + number);
            if number != 0 {
                stream.batch(|batch| batch.copy_to(&gone, 0..number * words, &free, end * words))?;
            }
            self.free = Some(free);
        }
        if let Some(answers) = answers {
            gather_found(stream, &self.rows, &removed, &mut answers.values)?;
            std::mem::swap(&mut removed.found, &mut answers.found);
        }
        Ok(number)
    }

    fn clear(&mut self, stream: &Stream) -> Result<()> {
        let free = self.free.take();
        self.map.on(stream)?.clear()?;
        self.rows.empty();
        let mut free = free.map_or_else(|| Buffer::uninitialized(self.map.device(), 0), Ok)?;
        free.empty();
        self.free = Some(free);
        Ok(())
    }

    pub(super) fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.map.device().clone();
        let stream = device.default_stream();
        if self.free_rows(stream)? == 0 {
            if let Some(rows) = self.rows.shrunk(stream, &device, self.rows.len())? {
                self.rows = rows;
            }
            self.free = Some(Buffer::uninitialized(&device, 0)?);
            return self.map.shrink_to_fit();
        }
        let (keys, old) = self.map.pairs_on(stream)?;
        let mut rows = Buffer::uninitialized(&device, keys.len())?;
        gather(stream, &self.rows, &old, &mut rows)?;
        let mut numbers = old;
        iota(stream, &mut numbers)?;
        let mut map = self.map.try_clone()?;
        // An error may say that the copy was emptied, but this map was not.
        map.insert_many(&keys, &numbers).map_err(|error| match error {
            Error::Emptied { source } => *source,
            error => error,
        })?;
        map.shrink_to_fit()?;
        *self = Self { map, rows, free: Some(Buffer::uninitialized(&device, 0)?) };
        Ok(())
    }
}
