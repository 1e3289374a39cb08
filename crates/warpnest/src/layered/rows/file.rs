//! The file of a row map: that of the map of its keys, and the rows. Which rows are free follows
//! from the map.

use super::RowMap;
use super::free::unused;
use crate::design::Changes;
use crate::error::{FileError, TableKind};
use crate::primitives::check_row;
use crate::table::file::{self, Incoming, Loading, Parts, ROW_MAP, Section};
use crate::table::raw::{ReadTable, StoredTable};
use crate::types::{Plain, check_any_bytes};
use crate::{Buffer, BulkMap, Device, Key, Result};
use bytemuck::AnyBitPattern;
use std::io::{Read, Write};
use std::path::Path;

/// Saving and loading, as maps have it. docs/file-format.md has the format.
impl<K: Key, R: Plain, D: Changes> RowMap<K, R, D> {
    /// Writes the map to `to`, as [`BulkMap::save`] does with a map. Rows that no key has are
    /// written, too; [`RowMap::shrink_to_fit`] leaves none.
    ///
    /// # Errors
    /// As for [`BulkMap::save`].
    pub fn save(&self, to: impl Write) -> Result<()> {
        file::save(self.device(), Self::kind(), &self.parts()?, to)
    }

    /// Saves the map to a file, as [`BulkMap::save_to`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::save_to`].
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        file::save_to(self.device(), Self::kind(), &self.parts()?, path.as_ref())
    }

    /// Loads a map that [`RowMap::save`] wrote, with keys and rows of the same sizes, as
    /// [`BulkMap::load`] does with a map. A file may have any bytes, so any bytes must be a row.
    /// Then it finds out which rows are free, which takes memory for a moment ([`RowMap`]).
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load(device: &Device, from: impl Read) -> Result<Self>
    where
        R: AnyBitPattern,
    {
        const { check_any_bytes::<K>() };
        file::load(device, Self::kind(), from, Self::put_together)
    }

    /// Loads a map from a file, as [`BulkMap::load_from`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self>
    where
        R: AnyBitPattern,
    {
        const { check_any_bytes::<K>() };
        file::load_from(device, Self::kind(), path.as_ref(), Self::put_together)
    }

    fn kind() -> TableKind {
        let (key_bytes, value_bytes) = (size_of::<K>() as u8, size_of::<R>() as u32);
        TableKind { design: D::NAME, form: ROW_MAP, key_bytes, value_bytes }
    }

    fn parts(&self) -> Result<Parts<'_>> {
        let mut parts = Parts::default();
        let rows = self.rows.len() as u64;
        parts.numbers([self.len() as u64, size_of::<R>() as u64, rows]);
        self.map.table.parts(&mut parts)?;
        parts.section(Section::of(&self.rows, rows));
        Ok(parts)
    }

    fn put_together(incoming: &mut Incoming<'_>) -> Result<Self> {
        const { check_row::<R>() };
        // The header's kind has the bytes of a row.
        let (keys, _, rows) = (incoming.number()?, incoming.number()?, incoming.short()?);
        let map: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        let (device, stream) = (incoming.device, incoming.device.default_stream());
        let mut loading = Loading::<R>::new(device, rows as u64)?;
        incoming.section(loading.bytes(), &mut loading, &|_, _| Ok(()))?;

        let (written, used) = (Buffer::uninitialized(device, map.len())?, Buffer::uninitialized(device, map.len())?);
        // SAFETY: both have an element for each key.
        let pairs = unsafe { map.table.write(stream, &written, Some(&used))? };
        if map.len() as u64 != keys || pairs != keys {
            return Err(FileError::inconsistent("it has another number of keys than its header says"));
        }
        // What a lookup of each key finds counts: if these rows differ, so do the keys, and no slot
        // has another row. A key that was there twice would keep one of its rows when the other
        // gets a new number.
        let found = Buffer::<u32>::uninitialized(device, map.len().div_ceil(32))?;
        // SAFETY: there are as many values as keys, and a word for every 32 of them.
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
