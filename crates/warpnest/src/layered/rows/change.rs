//! Insertions and removals of rows.
//!
//! A batch is first divided: into its different keys, each with its last row, and these into keys
//! that the map does not have and keys that it has. New keys come into the map after their rows are
//! there, and rows of others are replaced last. So whatever fails, every key has a whole row, but
//! for a copy that the device did not end.

use super::RowMap;
use crate::design::Changes;
use crate::primitives::{Scratch, check_items, compact, gather, gather_found, iota, launch_scatter, state_words};
use crate::runtime::lent::Lent;
use crate::table::input::{Input, Known, check_keys};
use crate::table::raw::ReadTable;
use crate::table::retaining::{dropped, kept};
use crate::types::Plain;
use crate::{Answers, Buffer, Error, InputError, Key, PageMap, Result, Stream};

/// The most rows: their numbers have 32 bits, and all ones is none.
const MOST: usize = u32::MAX as usize;

/// The different keys of a batch, divided by whether the map has them. Sources are rows of the
/// batch: the last one of each key.
struct Divided<W> {
    new_keys: Buffer<W>,
    new_sources: Buffer<u32>,
    held_rows: Buffer<u32>,
    held_sources: Buffer<u32>,
}

/// Changes, batch by batch.
impl<K: Key, R: Plain, D: Changes> RowMap<K, R, D> {
    /// Gives every key its row; returns how many of the keys were new. Of several rows of a key the
    /// last one counts.
    ///
    /// # Errors
    /// * [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    ///   [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more,
    ///   [`InputError::TooManyPairs`](crate::InputError::TooManyPairs) if the map would have more
    ///   than 2^32 - 1 rows, [`Error::WrongDevice`](crate::Error::WrongDevice): nothing was done.
    /// * As for [`BulkMap::insert_many`](crate::BulkMap::insert_many) of the map under it.
    pub fn insert_many(&mut self, keys: &[K], rows: &[R]) -> Result<usize> {
        crate::error::same_length(("the keys", keys.len()), ("the rows", rows.len()))?;
        let device = self.device().clone();
        let (keys, rows) = (Lent::new(&device, keys)?, Lent::new(&device, rows)?);
        self.insert_many_on(device.default_stream(), &keys, &rows)
    }

    /// Does [`RowMap::insert_many`] from buffers; waits until it is known how many keys were new.
    ///
    /// # Errors
    /// As for [`RowMap::insert_many`].
    pub fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, rows: &Buffer<R>) -> Result<usize> {
        check_keys(self.device(), stream, keys)?;
        rows.check_device("the buffer of rows", self.device())?;
        crate::error::same_length(("the keys", keys.len()), ("the rows", rows.len()))?;
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
            // Until the insertion has succeeded it is unknown which of the rows are in use.
            let (before, free) = (self.len(), self.free.take());
            let (keys, values) = (&divided.new_keys, Some(&targets));
            let input = Input { keys, values, pairs: new as u64, known: Known::Unique };
            if let Err(error) = D::insert::<K::Word, u32>(&mut self.map.table, stream, input) {
                if self.map.table.check_usable().is_ok() && self.len() == before {
                    // None of the keys came in.
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

    /// Divides a batch.
    fn divide(&self, stream: &Stream, keys: &Buffer<K>) -> Result<Divided<K::Word>> {
        let device = self.device();
        let mut numbers = Buffer::uninitialized(device, keys.len())?;
        iota(stream, &mut numbers)?;
        // In a page map the last pair of a key counts.
        let last = PageMap::<K, u32>::build_on(stream, device, keys, &numbers)?;
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
        // SAFETY: there is a source for each target, and it is a row of the batch.
        stream.batch(|batch| unsafe { launch_scatter(batch, batch_rows, batch.read(sources), targets, &self.rows) })
    }

    /// Removes the keys; returns the rows that they had. Of several equal keys one gets the row,
    /// and the others are no longer there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`](crate::BulkMap::remove_many).
    pub fn remove_many(&mut self, keys: &[K]) -> Result<Vec<Option<R>>> {
        let device = self.device().clone();
        let stream = device.default_stream();
        self.remove_many_on(stream, &*Lent::new(&device, keys)?)?.download(stream)
    }

    /// Does [`RowMap::remove_many`] from a buffer; waits until it is known how many keys were
    /// there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many_on`](crate::BulkMap::remove_many_on).
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<Answers<R>> {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.remove_many_into(stream, keys, &mut answers)?;
        Ok(answers)
    }

    /// Does [`RowMap::remove_many_on`] into existing answers. Returns how many keys were there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many_into`](crate::BulkMap::remove_many_into).
    pub fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, answers: &mut Answers<R>) -> Result<usize> {
        crate::error::same_length(("the keys", keys.len()), ("the answers", answers.len()))?;
        answers.values.check_device("the buffer of answers", self.device())?;
        self.take_out(stream, keys, Some(answers))
    }

    /// Removes the keys without a look at their rows; returns how many were there.
    ///
    /// # Errors
    /// As for [`BulkMap::erase_many`](crate::BulkMap::erase_many).
    pub fn erase_many(&mut self, keys: &[K]) -> Result<usize> {
        let device = self.device().clone();
        self.erase_many_on(device.default_stream(), &*Lent::new(&device, keys)?)
    }

    /// Does [`RowMap::erase_many`] from a buffer; waits until it is known how many keys were there.
    ///
    /// # Errors
    /// As for [`BulkMap::erase_many_on`](crate::BulkMap::erase_many_on).
    pub fn erase_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<usize> {
        self.take_out(stream, keys, None)
    }

    /// Removes keys, with or without their rows as answers.
    fn take_out(&mut self, stream: &Stream, keys: &Buffer<K>, answers: Option<&mut Answers<R>>) -> Result<usize> {
        let device = self.device().clone();
        check_keys(&device, stream, keys)?;
        check_items(keys.len())?;
        // All memory is taken first, so that nothing was done if it is lacking.
        let mut removed = Answers::<u32>::uninitialized(&device, keys.len())?;
        let mut gone = Buffer::<u32>::uninitialized(&device, keys.len())?;
        let (mut count, mut scratch) = (Buffer::<u32>::uninitialized(&device, 1)?, Scratch::new(&device));
        scratch.reserve(state_words::<u32>(keys.len() as u64))?;
        let most = keys.len().min(self.len());
        if let Some(free) = &mut self.free {
            free.reserve(stream, free.len() + most)?;
        }
        // Until all is done it is unknown which of the rows are in use.
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

    /// Removes those keys whose flag in `keep` is false; returns how many of them were there, as
    /// [`BulkMap::retain_many`](crate::BulkMap::retain_many) does.
    ///
    /// # Errors
    /// As for [`BulkMap::retain_many`](crate::BulkMap::retain_many).
    pub fn retain_many(&mut self, keys: &[K], keep: &[bool]) -> Result<usize> {
        crate::error::same_length(("the keys", keys.len()), ("the flags", keep.len()))?;
        let dropped: Vec<K> = keys.iter().zip(keep).filter(|(_, keep)| !**keep).map(|(key, _)| *key).collect();
        self.erase_many(&dropped)
    }

    /// Does [`RowMap::retain_many`] from buffers, as
    /// [`BulkMap::retain_many_on`](crate::BulkMap::retain_many_on) does.
    ///
    /// # Errors
    /// As for [`BulkMap::retain_many_on`](crate::BulkMap::retain_many_on).
    pub fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, keep: &Buffer<u32>) -> Result<usize> {
        check_keys(self.device(), stream, keys)?;
        let dropped = dropped(self.device(), stream, keys.words(), keep)?;
        // SAFETY: the words are those of keys.
        self.erase_many_on(stream, &unsafe { dropped.reinterpreted::<K>() })
    }

    /// Gives one key its row; returns whether the key was new. It is for a change of a few keys.
    ///
    /// # Errors
    /// As for [`RowMap::insert_many`].
    pub fn insert(&mut self, key: K, row: R) -> Result<bool> {
        Ok(self.insert_many(&[key], &[row])? == 1)
    }

    /// Removes one key; returns the row that it had. It is for a change of a few keys.
    ///
    /// # Errors
    /// As for [`RowMap::remove_many`].
    pub fn remove(&mut self, key: K) -> Result<Option<R>> {
        Ok(self.remove_many(&[key])?[0])
    }

    /// Removes all keys. The memory of the rows stays for others.
    ///
    /// # Errors
    /// As for [`BulkMap::clear`](crate::BulkMap::clear).
    pub fn clear(&mut self) -> Result<()> {
        let device = self.device().clone();
        self.clear_on(device.default_stream())
    }

    /// Does [`RowMap::clear`] on `stream`.
    ///
    /// # Errors
    /// As for [`BulkMap::clear_on`](crate::BulkMap::clear_on).
    pub fn clear_on(&mut self, stream: &Stream) -> Result<()> {
        stream.check_device(self.device())?;
        let free = self.free.take();
        self.map.clear_on(stream)?;
        self.rows.empty();
        let mut free = free.map_or_else(|| Buffer::uninitialized(self.device(), 0), Ok)?;
        free.empty();
        self.free = Some(free);
        Ok(())
    }

    /// Reserves memory for `additional` more keys and their rows, so that neither the array of rows
    /// nor the map need grow until they are there. (An [`ExtendibleMap`](crate::ExtendibleMap)
    /// grows with its keys all the same.)
    ///
    /// # Errors
    /// [`InputError::TooManyPairs`](crate::InputError::TooManyPairs), and as for
    /// [`PageMap::reserve`](crate::PageMap::reserve) or
    /// [`LinearMap::reserve`](crate::LinearMap::reserve): keys and rows are unchanged.
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        let device = self.device().clone();
        let stream = device.default_stream();
        let fresh = additional.saturating_sub(self.free_rows(stream)?);
        let after = self.rows.len().saturating_add(fresh);
        if after > MOST {
            return Err(Error::Input(InputError::TooManyPairs { asked: after as u64, limit: MOST as u64 }));
        }
        self.rows.reserve(stream, after)?;
        D::reserve::<K::Word, u32>(&mut self.map.table, stream, additional as u64)
    }

    /// Gives back memory that is not needed: rows that no key has, what batches left, and, as
    /// [`BulkMap::shrink_to_fit`](crate::BulkMap::shrink_to_fit) does, that of the map. If rows are
    /// free, map and rows are copied, and are in memory twice meanwhile.
    ///
    /// # Errors
    /// As for [`BulkMap::shrink_to_fit`](crate::BulkMap::shrink_to_fit): keys and rows are
    /// unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.device().clone();
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
        let mut map = self.map.try_clone_on(stream)?;
        // If the copy was emptied, this map was not.
        map.insert_many_on(stream, &keys, &numbers).map_err(|error| match error {
            Error::Emptied { source } => *source,
            error => error,
        })?;
        map.shrink_to_fit()?;
        *self = Self { map, rows, free: Some(Buffer::uninitialized(&device, 0)?) };
        Ok(())
    }
}
