//! The file of a row map: the file of the map of its keys, and the rows. The free rows are found
//! out from the map.

use super::RowTable;
use super::free::unused;
use crate::design::Changes;
use crate::error::FileError;
use crate::table::file::{Incoming, Loading, Parts, Section};
use crate::table::raw::{ReadTable, StoredTable};
use crate::types::Plain;
use crate::{Buffer, BulkMap, Device, Key, Result};

// A file may have any bytes, so only tables whose rows may be any bytes are loaded (`Loads`).
impl<K: Key, R: Plain, D: Changes> StoredTable for RowTable<K, R, D> {
    fn set_device(&mut self, device: &Device) {
        self.map.table.set_device(device);
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let rows = self.rows.len() as u64;
        parts.numbers([self.map.len() as u64, size_of::<R>() as u64, rows]);
        self.map.table.parts(parts)?;
        parts.section(Section::of(&self.rows, rows));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        // The header's kind also has the second number, the bytes of a row.
        let (keys, _, rows) = (incoming.number()?, incoming.number()?, incoming.short()?);
        let map: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        let (device, stream) = (incoming.device, incoming.device.default_stream());
        let mut loading = Loading::<R>::new(device, rows as u64)?;
        incoming.section(loading.bytes(), &mut loading, &|_, _| Ok(()))?;

        let (written, used) = (Buffer::uninitialized(device, map.len())?, Buffer::uninitialized(device, map.len())?);
        // SAFETY: both outputs have an element for each key.
        let pairs = unsafe { map.table.write(stream, &written, Some(&used))? };
        if map.len() as u64 != keys || pairs != keys {
            return Err(FileError::inconsistent("it has another number of keys than its header says"));
        }
        // If lookups find different rows for all keys, the keys are different, too. If a key were
        // there twice, one copy would keep its row when the other gets a new index.
        let found = Buffer::<u32>::uninitialized(device, map.len().div_ceil(32))?;
        // SAFETY: there is a value for each key, and a word for every 32 keys.
        unsafe { map.table.find(stream, &written, (Some(&used), &found))? };
        let found: u64 = found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum();
        if found != keys {
            return Err(FileError::inconsistent("it has a key that no lookup finds"));
        }
        drop(written);
        let free = unused(stream, device, &used, rows as usize)?;
        let wrong = || FileError::inconsistent("two keys have the same row, or one has a row that there is not");
        Ok(Self { map, rows: loading.done()?, free: Some(free.ok_or_else(wrong)?) })
    }
}
