//! The methods that save and load tables, which every table has.

use super::parts::Parts;
use super::paths::{Written, open, with_path};
use super::read::Incoming;
use super::source::Source;
use super::write::write;
use crate::table::handle::Table;
use crate::table::kind::{Kind, Loads};
use crate::table::raw::StoredTable;
use crate::{Device, Result};
use std::io::{Read, Write};
use std::path::Path;

/// Saving and loading. The [guide](crate::guide::files) has an example; docs/file-format.md
/// describes the format.
impl<T: Kind> Table<T> {
    /// Writes the table to `to`. The file contains the table's memory as it is, so loading needs a
    /// copy and no build. Any other device can load the table.
    ///
    /// It takes about as long as the slower of the device's link and `to`, and up to 8 mebibytes of
    /// host memory. `to` receives large blocks, so it needs no buffer. After an error `to` may
    /// contain a part of the table.
    ///
    /// # Errors
    /// [`FileError::Io`](crate::error::FileError::Io), with the error of `to`;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn save(&self, mut to: impl Write) -> Result<()> {
        self.write(&mut to)
    }

    /// Saves the table to a file atomically: writes a new file beside `path`, flushes it to the
    /// disk, and then renames it. Until the rename, and after an error, the file at `path` is
    /// unchanged.
    ///
    /// # Errors
    /// As for [`Table::save`]; the error contains the path.
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = Written::beside(path)?;
        self.write(&mut file).map_err(|error| with_path(error, path))?;
        file.keep()
    }

    /// Loads a table that [`Table::save`] wrote. The design and the sizes of keys and values must
    /// be the same, but the device may differ. The loaded table answers, and changes, like the
    /// saved table.
    ///
    /// `from` needs no buffer, and may be untrusted. Damaged, truncated or malicious data is
    /// refused, or at worst gives a table with wrong answers. Nothing is read past the end of the
    /// table. The file contains the sizes of keys and values but not their types, so use the types
    /// that were saved. Types for which some bytes are invalid, such as `char`, do not compile
    /// here: load a table of `u32` instead. The loaded report has no times of the build's stages.
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
    /// * [`FileError`](crate::error::FileError), which tells what is wrong with the file, or
    ///   contains the error of `from`.
    /// * An error of the device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::NoWideAtomics`](crate::Error::NoWideAtomics),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn load(device: &Device, mut from: impl Read) -> Result<Self>
    where
        T: Loads,
    {
        const { T::ANY_BYTES };
        Self::read(Incoming::open(device, T::file_kind(), Source::Stream(&mut from), None)?)
    }

    /// Loads a table from a file. The length of the file is compared with its header before any
    /// memory is allocated.
    ///
    /// # Errors
    /// As for [`Table::load`].
    pub fn load_from(device: &Device, path: impl AsRef<Path>) -> Result<Self>
    where
        T: Loads,
    {
        const { T::ANY_BYTES };
        let path = path.as_ref();
        let (mut file, bytes) = open(path)?;
        let source = Source::of_file(&mut file, bytes.is_some());
        let loaded = Incoming::open(device, T::file_kind(), source, bytes).and_then(Self::read);
        loaded.map_err(|error| with_path(error, path))
    }

    fn write(&self, to: &mut dyn Write) -> Result<()> {
        let mut parts = Parts::default();
        self.table.parts(&mut parts)?;
        write(self.device(), T::file_kind(), &parts, to)
    }

    fn read(mut incoming: Incoming<'_>) -> Result<Self> {
        let table = StoredTable::from_parts(&mut incoming)?;
        incoming.finish()?;
        Ok(Self::of(table))
    }
}
