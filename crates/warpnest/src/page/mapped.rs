//! Maps and sets whose buckets are read from a mapped file.

use super::config::Page;
use crate::table::file::{Mapped, map};
use crate::table::handle::Table;
use crate::table::kind::{Loads, OfDesign};
use crate::{Device, Result};
use std::path::Path;

impl<T: OfDesign<Design = Page> + Loads> Table<T> {
    /// Maps a file that [`Table::save_to`] wrote, without a copy: a lookup reads the pages of the
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
    /// [`FileError`](crate::error::FileError), which says what is wrong with the file;
    /// [`FileError::CannotMap`](crate::error::FileError::CannotMap) unless `device` is the CPU.
    ///
    /// # Safety
    /// As long as the result lives, nobody may change the file's contents or its length. (To
    /// replace it by renaming another one, as [`Table::save_to`] does, leaves it as it is.)
    pub unsafe fn map_file(device: &Device, path: impl AsRef<Path>) -> Result<Mapped<Self>> {
        const { T::ANY_BYTES };
        // SAFETY: the caller keeps others from changing the file.
        unsafe { map(device, T::file_kind(), path.as_ref(), Self::of) }
    }
}
