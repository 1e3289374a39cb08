//! The file of a compacting table: that of the map of its keys, and the keys in the order of their
//! ids.

use super::work::Work;
use super::{CompactingConfig, CompactingTable};
use crate::error::{FileError, TableKind};
use crate::table::file::{self, Incoming, Limit, Loading, Parts, Section};
use crate::table::id_table::Ids;
use crate::table::raw::StoredTable;
use crate::types::check_any_bytes;
use crate::{BulkMap, Device, Key, Result};
use std::io::{Read, Write};
use std::path::Path;

/// Saving and loading, as maps have it. docs/file-format.md has the format.
impl<K: Key, D: Ids> CompactingTable<K, D> {
    /// Writes the table to `to`, as [`BulkMap::save`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::save`].
    pub fn save(&self, to: impl Write) -> Result<()> {
        file::save(self.device(), Self::kind(), &self.parts()?, to)
    }

    /// Saves the table to a file, as [`BulkMap::save_to`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::save_to`].
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        file::save_to(self.device(), Self::kind(), &self.parts()?, path.as_ref())
    }

    /// Loads a table that [`CompactingTable::save`] wrote, as [`BulkMap::load`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load(device: &Device, from: impl Read) -> Result<Self> {
        const { check_any_bytes::<K>() };
        file::load(device, Self::kind(), from, Self::put_together)
    }

    /// Loads a table from a file, as [`BulkMap::load_from`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        const { check_any_bytes::<K>() };
        file::load_from(device, Self::kind(), path.as_ref(), Self::put_together)
    }

    fn kind() -> TableKind {
        TableKind { design: D::NAME, form: "CompactingTable", key_bytes: size_of::<K>() as u8, value_bytes: 0 }
    }

    fn parts(&self) -> Result<Parts<'_>> {
        let mut parts = Parts::default();
        let keys = self.keys.len() as u64;
        parts.numbers([keys, self.config.in_order as u64]);
        self.ids.table.parts(&mut parts)?;
        parts.section(Section::of(&self.keys, keys));
        Ok(parts)
    }

    fn put_together(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (keys, in_order) = (incoming.number()?, incoming.flag()?);
        incoming.values = Some(Limit { below: keys, copies: true });
        let ids: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        if ids.len() as u64 != keys {
            return Err(FileError::inconsistent("it has another number of keys than of ids"));
        }
        let device = incoming.device;
        let mut loading = Loading::<K>::new(device, keys)?;
        incoming.section(loading.bytes(), &mut loading, &|_, _| Ok(()))?;
        let config = CompactingConfig { ids: D::config(&ids.table).clone(), in_order };
        Ok(Self { config, ids, keys: loading.done()?, work: Work::new(device)? })
    }
}
