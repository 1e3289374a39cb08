//! The rows that no key has, as a stack of row indices. Insertions pop indices from its end, and
//! removals push them there.

use super::RowTable;
use crate::design::Changes;
use crate::error::FileError;
use crate::primitives::{Scratch, iota, number_from, scatter, sort_keys};
use crate::table::raw::ReadTable;
use crate::types::Plain;
use crate::{Buffer, Device, Key, Result, Stream};

impl<K: Key, R: Plain, D: Changes> RowTable<K, R, D> {
    /// Returns the count of rows that no key has. If a change failed, finds out first which rows
    /// these are.
    pub(super) fn free_rows(&mut self, stream: &Stream) -> Result<usize> {
        if let Some(free) = &self.free {
            return Ok(free.len());
        }
        if self.map.table.check_usable().is_err() {
            // The next change of the map recovers its state, even a change without keys.
            let nothing = (Buffer::uninitialized(self.map.device(), 0)?, Buffer::uninitialized(self.map.device(), 0)?);
            self.map.insert_many(&nothing.0, &nothing.1)?;
        }
        let (_, used) = self.map.pairs_on(stream)?;
        let free = unused(stream, self.map.device(), &used, self.rows.len())?;
        let free = free.ok_or_else(|| FileError::inconsistent("two keys have the same row"))?;
        Ok(self.free.insert(free).len())
    }

    /// Returns the indices of the rows for `new` new keys: `reused` free rows, and then rows behind
    /// all existing ones. The free rows stay on the stack.
    pub(super) fn targets(&self, stream: &Stream, new: usize, reused: usize) -> Result<Buffer<u32>> {
        let mut targets = Buffer::uninitialized(self.map.device(), new)?;
        // The indices of the free rows replace the first `reused` indices.
        number_from(stream, (self.rows.len() as u32).wrapping_sub(reused as u32), &mut targets)?;
        if let Some(free) = self.free.as_ref().filter(|_| reused != 0) {
            let [from, end] = [free.len() - reused, free.len()].map(|row| row * size_of::<u32>());
            stream.batch(|batch| batch.copy(free, from..end, &targets))?;
        }
        Ok(targets)
    }
}

/// Returns the indices below `end` that are not among `used`. Returns `None` if two of `used` are
/// equal, or one is not below `end`.
pub(super) fn unused(stream: &Stream, device: &Device, used: &Buffer<u32>, end: usize) -> Result<Option<Buffer<u32>>> {
    let Some(free) = end.checked_sub(used.len()) else { return Ok(None) };
    let mut numbers = Buffer::uninitialized(device, end)?;
    iota(stream, &mut numbers)?;
    // Indices in use are overwritten by the greatest word, which is no index. So they are behind
    // the others after the sort. If they were distinct, `free` indices are left.
    let mut struck = Buffer::<u32>::uninitialized(device, used.len())?;
    struck.set_bytes(stream, 0xff)?;
    scatter(stream, &struck, used, &mut numbers)?;
    sort_keys(stream, &mut Scratch::new(device), &mut numbers)?;
    if free < end && numbers.download_at(stream, free)? != u32::MAX {
        return Ok(None);
    }
    numbers.set_length(free);
    Ok(Some(numbers.shrunk(stream, device, free)?.unwrap_or(numbers)))
}
