//! The file of a multimap: that of the map of its keys, the ends of their runs, and the values.
//!
//! A query reads the end of the run that the map names, and values up to there. So the map may name
//! no other runs than there are, and their ends must be in order.

use super::work::Work;
use super::{MultiConfig, MultiMap};
use crate::error::{FileError, TableKind};
use crate::table::file::{self, Incoming, Limit, Loading, Order, Parts, Section};
use crate::table::id_table::Ids;
use crate::table::raw::StoredTable;
use crate::types::check_any_bytes;
use crate::{BulkMap, Device, Key, Result, Value};
use std::io::{Read, Write};
use std::path::Path;

/// Saving and loading, as maps have it. docs/file-format.md has the format.
impl<K: Key, V: Value, D: Ids> MultiMap<K, V, D> {
    /// Writes the map to `to`, as [`BulkMap::save`] does with a map.
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

    /// Loads a map that [`MultiMap::save`] wrote, as [`BulkMap::load`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load(device: &Device, from: impl Read) -> Result<Self> {
        const {
            check_any_bytes::<K>();
            check_any_bytes::<V>();
        }
        file::load(device, Self::kind(), from, Self::put_together)
    }

    /// Loads a map from a file, as [`BulkMap::load_from`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        const {
            check_any_bytes::<K>();
            check_any_bytes::<V>();
        }
        file::load_from(device, Self::kind(), path.as_ref(), Self::put_together)
    }

    fn kind() -> TableKind {
        let (key_bytes, value_bytes) = (size_of::<K>() as u8, size_of::<V>() as u32);
        TableKind { design: D::NAME, form: "MultiMap", key_bytes, value_bytes }
    }

    fn parts(&self) -> Result<Parts<'_>> {
        let mut parts = Parts::default();
        let (runs, pairs) = (self.lasts.len() as u64, self.values.len() as u64);
        parts.numbers([runs, pairs]);
        self.runs.table.parts(&mut parts)?;
        parts.section(Section::of(&self.lasts, runs));
        parts.section(Section::of(&self.values, pairs));
        Ok(parts)
    }

    fn put_together(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (number, pairs) = (incoming.number()?, incoming.number()?);
        incoming.values = Some(Limit { below: number, copies: false });
        let runs: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        if runs.len() as u64 != number {
            return Err(FileError::inconsistent("it has another number of keys than of runs"));
        }
        let device = incoming.device;
        let mut lasts = Loading::<u32>::new(device, number)?;
        let order = Order::new(1);
        incoming.section(lasts.bytes(), &mut lasts, &|at, bytes| order.look::<u32>(at, bytes))?;
        if order.finish()?.map_or(0, |last| last + 1) != pairs {
            return Err(FileError::inconsistent("its runs do not end with its last value"));
        }
        let mut values = Loading::<V>::new(device, pairs)?;
        incoming.section(values.bytes(), &mut values, &|_, _| Ok(()))?;
        let config = MultiConfig { keys: D::config(&runs.table).clone() };
        let (lasts, values, work) = (lasts.done()?, values.done()?, Work::new(device)?);
        Ok(Self { config, runs, lasts, values, work })
    }
}
