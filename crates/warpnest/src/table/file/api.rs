//! Saving and loading: what every table has.

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

/// Saving and loading. The [guide](crate::guide::files) has an example; docs/file-format.md has the
/// format.
impl<T: Kind> Table<T> {
    /// Writes the table to `to`: its memory as it is, so that loading it is a copy and no build.
    /// Any device can load what any other one saved.
    ///
    /// It takes about the time that the slower of the device's link and `to` takes, and up to 8
    /// mebibytes of the host's memory. `to` gets large pieces and needs no buffer. After an error
    /// it may have a part of the table.
    ///
    /// # Errors
    /// [`FileError::Io`](crate::error::FileError::Io): the error of `to`.
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn save(&self, mut to: impl Write) -> Result<()> {
        self.write(&mut to)
    }

    /// Saves the table to a file, as a whole: a new file is written beside it, forced to the disk,
    /// and then renamed. Until then, and after an error, `path` is what it was before.
    ///
    /// # Errors
    /// As for [`Table::save`], with the path.
    pub fn save_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = Written::beside(path)?;
        self.write(&mut file).map_err(|error| with_path(error, path))?;
        file.keep()
    }

    /// Loads a table that [`Table::save`] wrote, of the same design and with keys and values of the
    /// same sizes, whatever device it was on. It answers, and changes, as the saved one did.
    ///
    /// `from` needs no buffer, and may come from anybody: data that was damaged, cut or made to do
    /// harm is refused, or gives a table with wrong answers at worst. Nothing is read past the end
    /// of the table. The types of keys and values are not in the file, only their sizes: give those
    /// that were saved. Of a type with bytes that are no value, such as `char`, this does not
    /// compile: load a table of `u32`. Only the times of the report's stages are lost.
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
    /// * [`FileError`](crate::error::FileError): which says what is wrong with the file, or the
    ///   error of `from`.
    /// * The device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::NoWideAtomics`](crate::Error::NoWideAtomics),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn load(device: &Device, mut from: impl Read) -> Result<Self>
    where
        T: Loads,
    {
        const { T::ANY_BYTES };
        Self::read(Incoming::open(device, T::file_kind(), Source::Stream(&mut from), None)?)
    }

    /// Loads a table from a file. Its length is compared with its header before any memory is
    /// taken.
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
