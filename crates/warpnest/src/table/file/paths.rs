//! Files by their paths: written beside the old one and renamed, and opened with their length.

use crate::error::FileError;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A new file beside the one that it will replace. It is removed unless it is kept.
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
        // The permissions of any new file are these, as the process's mask restricts them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(io_error("create a file beside", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Forces the file to the disk and gives it its path.
    pub(super) fn keep(self) -> Result<()> {
        let Self { file, path } = self;
        file.as_file().sync_all().map_err(io_error("force to the disk", &path))?;
        file.persist(&path).map_err(|error| io_error("replace", &path)(error.error))?;
        // The new name must be on the disk, too. Where a folder cannot be opened, that is left to
        // the system.
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

/// Opens a file; returns its length, too, if it is one that has a length.
pub(super) fn open(path: &Path) -> Result<(File, Option<u64>)> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let about = file.metadata().map_err(io_error("read the length of", path))?;
    Ok((file, about.is_file().then_some(about.len())))
}

/// Returns what makes an error of the operating system one of this library.
pub(super) fn io_error<'p>(action: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Error + 'p {
    move |error| Error::File(FileError::Io { action, path: Some(path.to_owned()), source: error.into() })
}

/// Returns the error with the path, if it is one of a file.
pub(super) fn with_path(error: Error, path: &Path) -> Error {
    match error {
        Error::File(FileError::Io { action, path: None, source }) => {
            let action = if action.starts_with("write") { "write" } else { "read" };
            Error::File(FileError::Io { action, path: Some(path.to_owned()), source })
        }
        // It has the path already.
        Error::File(error @ (FileError::Io { .. } | FileError::InFile { .. })) => Error::File(error),
        Error::File(error) => Error::File(FileError::InFile { path: path.to_owned(), reason: Box::new(error) }),
        error => error,
    }
}
