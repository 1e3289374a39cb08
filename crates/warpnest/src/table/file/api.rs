//! Saving and loading: what maps and sets have; compacting tables and multimaps have the same.

use super::parts::{Parts, kind_of};
use super::paths::{Written, open};
use super::read::Incoming;
use super::source::Source;
use super::write::write;
use crate::error::TableKind;
use crate::table::design::{Design, Sets};
use crate::table::raw::StoredTable;
use crate::types::check_any_bytes;
use crate::{BulkMap, BulkSet, Device, Key, Result, Value};
use gpu_kernels::types::Nothing;
use std::io::{Read, Write};
use std::path::Path;

/// Writes a table to `to`.
pub(crate) fn save(device: &Device, kind: TableKind, parts: &Parts<'_>, mut to: impl Write) -> Result<()> {
    write(device, kind, parts, &mut to)
}

/// Writes a table to a file, which replaces the one at `path` once it is whole.
pub(crate) fn save_to(device: &Device, kind: TableKind, parts: &Parts<'_>, path: &Path) -> Result<()> {
    let mut file = Written::beside(path)?;
    write(device, kind, parts, &mut file).map_err(|error| super::paths::with_path(error, path))?;
    file.keep()
}

/// Reads a table, which `take` puts together.
pub(crate) fn load<T>(
    device: &Device,
    kind: TableKind,
    mut from: impl Read,
    take: impl FnOnce(&mut Incoming<'_>) -> Result<T>,
) -> Result<T> {
    finished(Incoming::open(device, kind, Source::Stream(&mut from), None)?, take)
}

/// Reads a table from a file, which `take` puts together.
pub(crate) fn load_from<T>(
    device: &Device,
    kind: TableKind,
    path: &Path,
    take: impl FnOnce(&mut Incoming<'_>) -> Result<T>,
) -> Result<T> {
    let (mut file, bytes) = open(path)?;
    let source = Source::of_file(&mut file, bytes.is_some());
    let loaded = Incoming::open(device, kind, source, bytes).and_then(|incoming| finished(incoming, take));
    loaded.map_err(|error| super::paths::with_path(error, path))
}

fn parts_of(table: &impl StoredTable) -> Result<Parts<'_>> {
    let mut parts = Parts::default();
    table.parts(&mut parts)?;
    Ok(parts)
}

fn finished<T>(mut incoming: Incoming<'_>, take: impl FnOnce(&mut Incoming<'_>) -> Result<T>) -> Result<T> {
    let table = take(&mut incoming)?;
    incoming.finish()?;
    Ok(table)
}

/// Saving and loading. The [guide](crate::guide::files) has an example; docs/file-format.md has the
/// format.
impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    /// Writes the map to `to`: its memory as it is, so that loading it is a copy and no build. Any
    /// device can load what any other one saved.
    ///
    /// It takes about the time that the slower of the device's link and `to` takes, and up to 8
    /// mebibytes of the host's memory. `to` gets large pieces and needs no buffer. After an error
    /// it may have a part of the map.
    ///
    /// # Errors
    /// [`FileError::Io`](crate::FileError::Io): the error of `to`.
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn save(&self, to: impl Write) -> Result<()> {
        save(self.device(), kind_of::<K, V::Word>(D::NAME), &parts_of(&self.table)?, to)
    }

    /// Saves the map to a file, as a whole: a new file is written beside it, forced to the disk,
    /// and then renamed. Until then, and after an error, `path` is what it was before.
    ///
    /// # Errors
    /// As for [`BulkMap::save`], with the path.
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        save_to(self.device(), kind_of::<K, V::Word>(D::NAME), &parts_of(&self.table)?, path.as_ref())
    }

    /// Loads a map that [`BulkMap::save`] wrote, of the same design and with keys and values of the
    /// same sizes, whatever device it was on. It answers, and changes, as the saved one did.
    ///
    /// `from` needs no buffer, and may come from anybody: data that was damaged, cut or made to do
    /// harm is refused, or gives a map with wrong answers at worst. Nothing is read past the map's
    /// end. The types of keys and values are not in the file, only their sizes: give those that
    /// were saved. Of a type with bytes that are no value, such as `char`, this does not compile:
    /// load a map of `u32`. Only the times of the report's stages are lost.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let map = PageMap::build(&Device::best()?, &[7u32, 8], &[1u64, 2])?;
    /// let mut saved = Vec::new();
    /// map.save(&mut saved)?;
    /// let map = PageMap::<u32, u64>::load(&Device::cpu(), &saved[..])?;
    /// assert_eq!(map.get(8)?, Some(2));
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use warpnest::{Device, PageMap};
    /// PageMap::<char, u64>::load(&Device::cpu(), &[][..]).unwrap();
    /// ```
    ///
    /// # Errors
    /// * [`FileError`](crate::FileError): which says what is wrong with the file, or the error of
    ///   `from`.
    /// * The device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::NoWideAtomics`](crate::Error::NoWideAtomics),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn load(device: &Device, from: impl Read) -> Result<Self> {
        const {
            check_any_bytes::<K>();
            check_any_bytes::<V>();
        }
        load(device, kind_of::<K, V::Word>(D::NAME), from, StoredTable::from_parts).map(Self::of)
    }

    /// Loads a map from a file. Its length is compared with its header before any memory is taken.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        const {
            check_any_bytes::<K>();
            check_any_bytes::<V>();
        }
        load_from(device, kind_of::<K, V::Word>(D::NAME), path.as_ref(), StoredTable::from_parts).map(Self::of)
    }
}

/// Saving and loading. The [guide](crate::guide::files) has an example; docs/file-format.md has the
/// format.
impl<K: Key, D: Sets> BulkSet<K, D> {
    /// Writes the set to `to`, as [`BulkMap::save`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::save`].
    pub fn save(&self, to: impl Write) -> Result<()> {
        save(self.device(), kind_of::<K, Nothing>(D::NAME), &parts_of(&self.table)?, to)
    }

    /// Saves the set to a file, as [`BulkMap::save_to`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::save_to`].
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        save_to(self.device(), kind_of::<K, Nothing>(D::NAME), &parts_of(&self.table)?, path.as_ref())
    }

    /// Loads a set that [`BulkSet::save`] wrote, as [`BulkMap::load`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load(device: &Device, from: impl Read) -> Result<Self> {
        const { check_any_bytes::<K>() };
        load(device, kind_of::<K, Nothing>(D::NAME), from, StoredTable::from_parts).map(Self::of)
    }

    /// Loads a set from a file, as [`BulkMap::load_from`] does with a map.
    ///
    /// # Errors
    /// As for [`BulkMap::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        const { check_any_bytes::<K>() };
        load_from(device, kind_of::<K, Nothing>(D::NAME), path.as_ref(), StoredTable::from_parts).map(Self::of)
    }
}
