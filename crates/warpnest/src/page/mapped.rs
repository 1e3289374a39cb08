//! Maps and sets whose buckets are read from a mapped file.

use super::config::Page;
use crate::table::file::{Mapped, map};
use crate::table::handle::Table;
use crate::table::kind::{Loads, OfDesign};
use crate::{Device, Result};
use std::path::Path;

impl<T: OfDesign<Design = Page> + Loads> Table<T> {
    /// Maps a file that [`Table::save_to`] wrote, without a copy. A lookup reads the pages of the
    /// file that it needs, and the operating system keeps these pages as long as it has memory for
    /// them.
    ///
    /// Mapping takes the same time for a file of any size, because only the checksum of the file's
    /// header is compared. [`Mapped::verify`] reads the whole file and compares the other
    /// checksums.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let path = std::env::temp_dir().join(format!("squares-{}.warpnest", std::process::id()));
    /// let device = Device::cpu();
    /// PageMap::build(&device, &[2u32, 3], &[4u32, 9])?.save_to(&path)?;
    ///
    /// // SAFETY: no other program knows the path of the file.
    /// let squares = unsafe { PageMap::<u32, u32>::map_file(&device, &path)? };
    /// assert_eq!(squares.get_many(&[3, 4])?, [Some(9), None]);
    /// # drop(squares);
    /// # let _ = std::fs::remove_file(path);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError`](crate::error::FileError), which says what is wrong with the file.
    /// [`FileError::CannotMap`](crate::error::FileError::CannotMap) if `device` is not the CPU.
    ///
    /// # Safety
    /// As long as the result lives, nobody may change the file's contents or its length. Replacing
    /// the file by renaming another one to its path, as [`Table::save_to`] does, is allowed.
    pub unsafe fn map_file(device: &Device, path: impl AsRef<Path>) -> Result<Mapped<Self>> {
        const { T::ANY_BYTES };
        // SAFETY: the caller keeps others from changing the file.
        unsafe { map(device, T::file_kind(), path.as_ref(), Self::of) }
    }
}
