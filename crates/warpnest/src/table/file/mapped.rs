//! Tables whose words are read from a mapped file.

use super::info;
use super::paths::{io_error, open, with_path};
use super::read::Incoming;
use super::source::Source;
use super::verify::verify;
use crate::error::{FileError, TableKind};
use crate::{Device, Error, Result};
use memmap2::Mmap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A table that can use the contents of a mapped file without a copy.
pub(crate) trait MapsFile: Sized {
    /// Makes the table; `incoming` reads the bytes of `file`.
    ///
    /// # Safety
    /// The device reads host memory. The table is dropped before the mapping `file` ends, and
    /// nothing writes to the table.
    unsafe fn in_place(incoming: &mut Incoming<'_>, file: &[u8]) -> Result<Self>;
}

/// A [`PageMap`](crate::PageMap) or a [`PageSet`](crate::PageSet) whose buckets are read from a
/// mapped file, on the CPU. [`PageMap::map_file`](crate::BulkMap::map_file) and
/// [`PageSet::map_file`](crate::BulkSet::map_file) open a file.
///
/// It dereferences to the table. The mapped table cannot be rebuilt, but
/// [`try_clone`](crate::BulkMap::try_clone) copies it to a table in memory, which can.
pub struct Mapped<T> {
    // Fields are dropped in order, so the table is dropped before the mapping.
    table: T,
    file: Mmap,
    path: PathBuf,
}

impl<T> Deref for Mapped<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.table
    }
}

impl<T: fmt::Debug> fmt::Debug for Mapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapped").field(&self.table).finish()
    }
}

/// Maps a file, and makes its table.
///
/// # Safety
/// As for [`PageMap::map_file`](crate::BulkMap::map_file).
pub(crate) unsafe fn map<R: MapsFile, T>(
    device: &Device,
    kind: TableKind,
    path: &Path,
    of: impl FnOnce(R) -> T,
) -> Result<Mapped<T>> {
    if !device.engine().shares_memory_with_host() {
        return Err(Error::File(FileError::CannotMap { device: device.name().to_owned() }));
    }
    let (file, _) = open(path)?;
    // SAFETY: the caller guarantees that nothing changes the file.
    let file = unsafe { Mmap::map(&file) }.map_err(io_error("map", path))?;
    let table = (|| {
        let mut bytes = &file[..];
        let mut incoming = Incoming::open(device, kind, Source::Stream(&mut bytes), Some(file.len() as u64))?;
        // SAFETY: the device reads host memory. The table is dropped before the mapping, and is
        // only lent as a shared reference, so nothing writes to it.
        let table = unsafe { R::in_place(&mut incoming, &file)? };
        incoming.finish()?;
        Ok(table)
    })();
    let table = of(table.map_err(|error| with_path(error, path))?);
    Ok(Mapped { table, file, path: path.to_owned() })
}

impl<T> Mapped<T> {
    /// Compares the checksums of the whole file with its contents.
    ///
    /// # Errors
    /// [`FileError::Damaged`].
    pub fn verify(&self) -> Result<()> {
        let mut bytes = &self.file[..];
        let header = info::read_header(&mut bytes, Some(self.file.len() as u64));
        let verified = header.and_then(|(header, seal)| verify(&mut bytes, &header, seal));
        verified.map_err(|error| with_path(error, &self.path))
    }
}
