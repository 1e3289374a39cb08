//! An id for each distinct 64-bit key, over any number of batches.

use super::compute::compute;
use super::parts::{Parts, Wanted};
use crate::primitives::{Scratch, gather, invert, number_from, select, selected};
use crate::relational::Order;
use crate::table::raw::ReadTable;
use crate::{Answers, Buffer, Device, InputError, PageMap, Result, Stream};

/// The ids of all keys so far, in the order of first appearance.
#[derive(Debug)]
pub(super) struct KeyIds {
    ids: PageMap<u64, u32>,
    /// The key of each id. The buffer has capacity for more keys.
    keys: Buffer<u64>,
    /// The first id. It is 1 if 0 stands for keys without an id, and otherwise 0.
    first: u32,
}

impl KeyIds {
    /// Returns an instance without ids.
    ///
    /// If `zero_is_none`, ids start at 1, because a lookup returns 0 for keys that it does not
    /// find.
    pub(super) fn new(stream: &Stream, device: &Device, zero_is_none: bool) -> Result<Self> {
        let mut keys = Buffer::uninitialized(device, 0)?;
        if zero_is_none {
            keys.resize(stream, 1)?;
        }
        Ok(Self { ids: PageMap::new(device)?, keys, first: zero_is_none as u32 })
    }

    /// Returns the count of keys that have ids.
    pub(super) fn len(&self) -> usize {
        self.keys.len() - self.first as usize
    }

    /// Returns whether all keys have ids in the map, which a failed change may have ended.
    pub(super) fn is_whole(&self) -> bool {
        self.ids.len() == self.len()
    }

    /// Returns the bytes on the device.
    pub(super) fn memory_bytes(&self) -> usize {
        self.ids.memory_bytes() + size_of::<u64>() * self.keys.capacity()
    }

    /// Looks up the ids of keys, in memory of the scratch.
    pub(super) fn get(&self, stream: &Stream, scratch: &mut Scratch, keys: &Buffer<u64>) -> Result<Answers<u32>> {
        let (values, found) = (scratch.lend(keys.len())?, scratch.lend(keys.len().div_ceil(32))?);
        // SAFETY: there is a value for each key, and a found-word for every 32 keys. Both buffers
        // are new.
        unsafe { self.ids.table().find(stream, keys, (Some(&values), &found))? };
        Ok(Answers { values, found, numbers: None })
    }

    /// Returns the ids of keys, in memory of the scratch. Keys without an id get the next ids.
    ///
    /// # Errors
    /// After [`InputError::TooManyPairs`], and after
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) before anything was changed, all ids are
    /// unchanged. After any other error, [`KeyIds::is_whole`] tells whether they are.
    pub(super) fn get_or_insert(
        &mut self,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &Buffer<u64>,
    ) -> Result<Buffer<u32>> {
        let Answers { values, found, .. } = self.get(stream, scratch, keys)?;
        let missing = self.missing(stream, scratch, keys, &found)?;
        if !missing.is_empty() {
            self.insert(stream, scratch, &missing)?;
            // SAFETY: as in `get`, which returned both buffers.
            unsafe { self.ids.table().find(stream, keys, (Some(&values), &found))? };
        }
        scratch.give_back(missing);
        scratch.give_back(found);
        Ok(values)
    }

    /// Returns the keys that were not found, which may be repeated.
    fn missing(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &Buffer<u64>,
        found: &Buffer<u32>,
    ) -> Result<Buffer<u64>> {
        let mut missing = scratch.lend::<u64>(keys.len())?;
        invert(stream, found, keys.len() as u64)?;
        select(stream, scratch, keys, found, (&missing, 0))?;
        missing.set_length(selected(stream, scratch)? as usize);
        Ok(missing)
    }

    /// Gives the next ids to the distinct keys of `missing`.
    fn insert(&mut self, stream: &Stream, scratch: &mut Scratch, missing: &Buffer<u64>) -> Result<()> {
        let wanted = Wanted { ids: false, counts: false, first_rows: false, order: Order::FirstSeen, seed: None };
        let memory = Parts { keys: scratch.lend(missing.len())?, ids: None, counts: None, first_rows: None };
        let new = compute(stream, scratch, missing, &wanted, memory)?.keys;
        let (before, after) = (self.keys.len(), self.keys.len() + new.len());
        if after > u32::MAX as usize {
            let first = self.first as u64;
            return Err(InputError::TooManyPairs { asked: after as u64 - first, limit: u32::MAX as u64 - first }.into());
        }
        let mut ids = scratch.lend::<u32>(new.len())?;
        number_from(stream, before as u32, &mut ids)?;
        self.keys.resize(stream, after)?;
        let added = self.keys.slice_mut(before..).and_then(|mut behind| behind.copy_from(stream, &new));
        if let Err(error) = added.and_then(|()| self.ids.on(stream)?.insert_many(&new, &ids)) {
            self.keys.set_length(before);
            return Err(error);
        }
        scratch.give_back(ids);
        scratch.give_back(new);
        Ok(())
    }

    /// Returns the key of each id, in memory of the scratch. An id that no key has gives 0.
    pub(super) fn keys_of(&self, stream: &Stream, scratch: &mut Scratch, ids: &Buffer<u32>) -> Result<Buffer<u64>> {
        let mut keys = scratch.lend::<u64>(ids.len())?;
        gather(stream, &self.keys, ids, &mut keys)?;
        Ok(keys)
    }
}
