//! The errors of saving and loading tables.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The reason why a table could not be saved or loaded. The text says what to do about it.
///
/// If loading fails, no table is left on the device. If saving to a path fails, an existing file
/// there is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The data does not begin like a table of this library.
    #[error("this is no table that warpnest saved: it begins with {found:02x?}; give a file that `save` wrote")]
    Foreign {
        /// The first bytes of the data, at most eight.
        found: Vec<u8>,
    },

    /// A later version of the library wrote the file.
    #[error(
        "the file has format {version}, and this version of warpnest reads formats up to {newest}: update warpnest"
    )]
    Newer {
        /// The version of the file's format.
        version: u32,
        /// The newest format version that this library reads.
        newest: u32,
    },

    /// The file has a table of another kind, or with keys or values of other sizes.
    #[error("the file has {found}, and {asked} was asked for: load it as what it is")]
    OtherTable {
        /// The table in the file.
        found: TableKind,
        /// The requested table.
        asked: TableKind,
    },

    /// The header's checksum is wrong.
    #[error("the header, the file's first 4096 bytes, is damaged: take another copy of the file")]
    DamagedHeader,

    /// The checksum of a chunk is wrong, or padding is not 0.
    #[error(
        "chunk {chunk} of the section `{section}`, from byte {offset} of the file on, is damaged: take another copy of the file"
    )]
    Damaged {
        /// The name of the section.
        section: &'static str,
        /// The index of the chunk in its section. The padding behind the chunks counts as one more
        /// chunk.
        chunk: u64,
        /// The offset of the chunk in the file, in bytes.
        offset: u64,
    },

    /// The data ends too early.
    #[error(
        "the file is cut short: it has {has} bytes, and its table needs {needs}; take another copy, or save it again"
    )]
    Cut {
        /// The count of bytes that the data has.
        has: u64,
        /// The count of bytes that the data must have, as far as it is known.
        needs: u64,
    },

    /// The file is longer than its table.
    #[error("the file has {has} bytes, and its table ends after {needs}: it is not the file that was saved")]
    Longer {
        /// The count of bytes that the data has.
        has: u64,
        /// The count of bytes that the table takes.
        needs: u64,
    },

    /// All checksums are right, but no table has such contents.
    #[error(
        "the file's checksums are right, but {what}: no version of warpnest saves such a table; do not use the file"
    )]
    Inconsistent {
        /// The contradiction.
        what: &'static str,
    },

    /// The device cannot use a file's contents in place.
    #[error(
        "{device} does not share the host's memory, so no file can be mapped for it: `load_from` the file, or take Device::cpu()"
    )]
    CannotMap {
        /// The device's name.
        device: String,
    },

    /// Something is wrong with a file that was given by its path.
    #[error("{}: {reason}", path.display())]
    InFile {
        /// The path of the file.
        path: PathBuf,
        /// The reason, which is any other variant.
        reason: Box<FileError>,
    },

    /// The operating system reported an error, or the given reader or writer did.
    #[error("{}", not_done(action, path.as_ref(), source))]
    Io {
        /// The action that failed, such as `write`.
        action: &'static str,
        /// The path of the file, if there is one.
        path: Option<PathBuf>,
        /// The error. The text of this variant contains it, so it is not returned again by
        /// [`source`](std::error::Error::source).
        r#source: IoError,
    },
}

impl FileError {
    /// Returns the reason without the path of the file. It is any variant except
    /// [`FileError::InFile`].
    ///
    /// ```
    /// use warpnest::{error::FileError, Device, Error, PageMap};
    ///
    /// let path = std::env::temp_dir().join(format!("foreign-{}.warpnest", std::process::id()));
    /// std::fs::write(&path, "no table").unwrap();
    /// let loaded = PageMap::<u32, u32>::load_from(&Device::cpu(), &path);
    /// let Err(Error::File(error)) = loaded else { panic!() };
    /// assert!(error.to_string().starts_with(&path.display().to_string()));
    /// assert!(matches!(error.reason(), FileError::Foreign { .. }));
    /// # let _ = std::fs::remove_file(path);
    /// ```
    pub fn reason(&self) -> &Self {
        match self {
            Self::InFile { reason, .. } => reason.reason(),
            error => error,
        }
    }
}

fn not_done(action: &str, path: Option<&PathBuf>, source: &IoError) -> String {
    match path {
        Some(path) => format!("could not {action} {}: {source}", path.display()),
        None => format!("could not {action}: {source}"),
    }
}

/// An error of the operating system, or of a reader or writer. It can be cloned. Two of these
/// errors are equal if their kinds and their texts are equal.
#[derive(Clone, Debug)]
pub struct IoError(Arc<io::Error>);

impl IoError {
    /// Returns the original error.
    pub fn get(&self) -> &io::Error {
        &self.0
    }
}

impl From<io::Error> for IoError {
    fn from(error: io::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl PartialEq for IoError {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind() == other.0.kind() && self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// A kind of table, as the header of a file stores it, with the sizes of its keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableKind {
    /// The name of the design, such as `Page`. For a compacting table or multimap it is the table
    /// under it.
    pub design: &'static str,
    /// The name of the type that users see: `Map`, `Set`, `CompactingTable`, `MultiMap` or
    /// `RowMap`.
    pub form: &'static str,
    /// The count of bytes of a key, 4 or 8.
    pub key_bytes: u8,
    /// The bytes of a value: 4 or 8 in a map, 0 in a set or compacting table, and the bytes of a
    /// row in a row map.
    pub value_bytes: u32,
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { design, form, key_bytes, value_bytes } = self;
        match *form {
            "Map" | "Set" => write!(f, "a {design}{form}")?,
            _ => write!(f, "a {form} on {design}")?,
        }
        write!(f, " with keys of {key_bytes} bytes")?;
        match (*form, *value_bytes) {
            (_, 0) => Ok(()),
            ("RowMap", bytes) => write!(f, " and rows of {bytes}"),
            (_, bytes) => write!(f, " and values of {bytes}"),
        }
    }
}
