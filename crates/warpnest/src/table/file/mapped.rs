//! Page tables whose buckets are read from a mapped file.

use super::info;
use super::parts::kind_of;
use super::paths::{io_error, open, with_path};
use super::read::Incoming;
use super::source::Source;
use crate::design::Page;
use crate::error::{FileError, TableKind};
use crate::table::types::check_any_bytes;
use crate::{BulkMap, BulkSet, Device, Error, Key, Result, Value};
use gpu_kernels::types::Nothing;
use memmap2::Mmap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A table that can use the contents of a file where they are.
pub trait MapsFile: Sized {
    /// Puts the table together; `incoming` reads `file`.
    ///
    /// # Safety
    /// The device reads the host's memory. The table is dropped before `file` ends, and nothing
    /// writes to it.
    unsafe fn in_place(incoming: &mut Incoming<'_>, file: &[u8]) -> Result<Self>;
}

/// A [`PageMap`](crate::PageMap) or a [`PageSet`](crate::PageSet) whose buckets are read from a
/// mapped file, on the CPU: [`PageMap::map_file`](BulkMap::map_file) and
/// [`PageSet::map_file`](BulkSet::map_file) open one.
///
/// It dereferences to the table. That cannot be rebuilt, and its
/// [`try_clone`](BulkMap::try_clone) is one in memory, which can.
pub struct Mapped<T> {
    // The table is dropped first.
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

impl<K: Key, V: Value> BulkMap<K, V, Page> {
    /// Maps a file that [`BulkMap::save_to`] wrote, without a copy: a lookup reads the pages of the
    /// file that it needs, and the operating system keeps them as long as there is memory for them.
    ///
    /// It takes the same time whatever the size of the file. So of the file's checksums only the
    /// header's is compared; [`Mapped::verify`] compares the others, and reads the whole file.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let path = std::env::temp_dir().join(format!("squares-{}.warpnest", std::process::id()));
    /// let device = Device::cpu();
    /// PageMap::build(&device, &[2u32, 3], &[4u32, 9])?.save_to(&path)?;
    ///
    /// // SAFETY: nobody else knows of the file.
    /// let squares = unsafe { PageMap::<u32, u32>::map_file(&device, &path)? };
    /// assert_eq!(squares.get_many(&[3, 4])?, [Some(9), None]);
    /// # drop(squares);
    /// # let _ = std::fs::remove_file(path);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError`], which says what is wrong with the file; [`FileError::CannotMap`] unless
    /// `device` is the CPU.
    ///
    /// # Safety
    /// As long as the result lives, nobody may change the file's contents or its length. (To
    /// replace it by renaming another one, as [`BulkMap::save_to`] does, leaves it as it is.)
    pub unsafe fn map_file(device: &Device, path: impl AsRef<Path>) -> Result<Mapped<Self>> {
        const {
            check_any_bytes::<K>();
            check_any_bytes::<V>();
        }
        // SAFETY: the caller keeps others from changing the file.
        unsafe { map(device, kind_of::<K, V::Word>("Page"), path.as_ref(), Self::of) }
    }
}

impl<K: Key> BulkSet<K, Page> {
    /// Maps a file that [`BulkSet::save_to`] wrote, as [`PageMap::map_file`](BulkMap::map_file)
    /// does.
    ///
    /// # Errors
    /// As for [`PageMap::map_file`](BulkMap::map_file).
    ///
    /// # Safety
    /// As for [`PageMap::map_file`](BulkMap::map_file).
    pub unsafe fn map_file(device: &Device, path: impl AsRef<Path>) -> Result<Mapped<Self>> {
        const { check_any_bytes::<K>() };
        // SAFETY: the caller keeps others from changing the file.
        unsafe { map(device, kind_of::<K, Nothing>("Page"), path.as_ref(), Self::of) }
    }
}

/// Maps a file, and puts its table together.
///
/// # Safety
/// As for [`BulkMap::map_file`].
unsafe fn map<R: MapsFile, T>(
    device: &Device,
    kind: TableKind,
    path: &Path,
    of: impl FnOnce(R) -> T,
) -> Result<Mapped<T>> {
    if !device.engine().shares_memory_with_host() {
        return Err(Error::File(FileError::CannotMap { device: device.name().to_owned() }));
    }
    let (file, _) = open(path)?;
    // SAFETY: the caller keeps others from changing the file.
    let file = unsafe { Mmap::map(&file) }.map_err(io_error("map", path))?;
    let table = (|| {
        let mut bytes = &file[..];
        let mut incoming = Incoming::open(device, kind, Source::Stream(&mut bytes), Some(file.len() as u64))?;
        // SAFETY: the device reads the host's memory. The table is dropped before the mapping, and
        // only lent out, so that nothing writes to it.
        let table = unsafe { R::in_place(&mut incoming, &file)? };
        incoming.finish()?;
        Ok(table)
    })();
    let table = of(table.map_err(|error| with_path(error, path))?);
    Ok(Mapped { table, file, path: path.to_owned() })
}

impl<K: Key, V: Value> Mapped<BulkMap<K, V, Page>> {
    /// Compares the checksums of the whole file with its contents.
    ///
    /// # Errors
    /// [`FileError::Damaged`].
    pub fn verify(&self) -> Result<()> {
        verify(&self.file, &self.path)
    }
}

impl<K: Key> Mapped<BulkSet<K, Page>> {
    /// Compares the checksums of the whole file with its contents.
    ///
    /// # Errors
    /// [`FileError::Damaged`].
    pub fn verify(&self) -> Result<()> {
        verify(&self.file, &self.path)
    }
}

fn verify(file: &[u8], path: &Path) -> Result<()> {
    let mut bytes = file;
    let header = info::read_header(&mut bytes, Some(file.len() as u64));
    let verified = header.and_then(|(header, seal)| info::verify(&mut bytes, &header, seal));
    verified.map_err(|error| with_path(error, path))
}
