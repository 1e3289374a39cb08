//! Opens files, and replaces files atomically: writes a new file beside the old file, and renames
//! it.

use crate::error::FileError;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A new file in the folder of the file that it will replace. It is removed unless
/// [`Written::keep`] is called.
pub(super) struct Written {
    file: NamedTempFile,
    path: PathBuf,
}

impl Written {
    /// Makes an empty file in the folder of `path`.
    pub(super) fn beside(path: &Path) -> Result<Self> {
        let folder = folder_of(path);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".warpnest-").suffix(".part");
        // Any new file has these permissions, restricted by the process's mask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(io_error("create a file beside", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Flushes the file to the disk and renames it to its path.
    pub(super) fn keep(self) -> Result<()> {
        let Self { file, path } = self;
        file.as_file().sync_all().map_err(io_error("force to the disk", &path))?;
        file.persist(&path).map_err(|error| io_error("replace", &path)(error.error))?;
        // The new name must reach the disk, too. On systems where a folder cannot be opened, the
        // system decides when it does.
        #[cfg(unix)]
        if let Ok(folder) = File::open(folder_of(&path)) {
            folder.sync_all().map_err(io_error("force the folder to the disk of", &path))?;
        }
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Opens a file; returns its length, too, if it is a regular file.
pub(super) fn open(path: &Path) -> Result<(File, Option<u64>)> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let about = file.metadata().map_err(io_error("read the length of", path))?;
    Ok((file, about.is_file().then_some(about.len())))
}

/// Returns a function that turns an error of the operating system into an error of this library.
pub(super) fn io_error<'p>(action: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Error + 'p {
    move |error| Error::File(FileError::Io { action, path: Some(path.to_owned()), source: error.into() })
}

/// Returns the error with the path added, if it is an error of a file.
pub(super) fn with_path(error: Error, path: &Path) -> Error {
    match error {
        Error::File(FileError::Io { action, path: None, source }) => {
            let action = if action.starts_with("write") { "write" } else { "read" };
            Error::File(FileError::Io { action, path: Some(path.to_owned()), source })
        }
        // These errors contain the path already.
        Error::File(error @ (FileError::Io { .. } | FileError::InFile { .. })) => Error::File(error),
        Error::File(error) => Error::File(FileError::InFile { path: path.to_owned(), reason: Box::new(error) }),
        error => error,
    }
}
