//! Information about a file whose table or whose types are not known.

use super::header::{Header, PAGE, section_names};
use super::paths::{open, with_path};
use super::read::check_length;
use super::source::read_up_to;
use super::verify::verify;
use crate::error::{FileError, TableKind};
use crate::{Error, Result};
use std::io::Read;
use std::path::Path;

/// The contents of a file that can be read without the types of its keys and values.
///
/// ```
/// use warpnest::{files::FileInfo, Device, RowMap};
///
/// let path = std::env::temp_dir().join(format!("places-{}.warpnest", std::process::id()));
/// let places = RowMap::<u64, [f32; 3]>::build(&Device::best()?, &[7, 8], &[[0.0; 3], [1.0; 3]])?;
/// places.save_to(&path)?;
/// let info = FileInfo::open(&path)?;
/// assert_eq!(info.kind.to_string(), "a RowMap on Page with keys of 8 bytes and rows of 12");
/// assert_eq!((info.keys, info.values), (2, 2));
/// assert_eq!(FileInfo::verify(std::fs::File::open(&path).unwrap())?, info);
/// # let _ = std::fs::remove_file(path);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The kind of the table, and the sizes of its keys and values.
    pub kind: TableKind,
    /// The version of the format.
    pub format: u32,
    /// The count of keys.
    pub keys: u64,
    /// The count of values. It equals the count of keys in a map, is 0 in a set or a compacting
    /// table, and may be larger in a multimap.
    pub values: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// The names of the sections, with the count of bytes of each section.
    pub sections: Vec<(&'static str, u64)>,
    /// The checksum of the header.
    pub checksum: u64,
}

impl FileInfo {
    /// Reads the header of a file. Checks the header by its checksum, and the length of the file by
    /// the length in the header, but does not read the contents.
    ///
    /// # Errors
    /// A [`FileError`](crate::error::FileError) about the header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (mut file, bytes) = open(path)?;
        let told = read_header(&mut file, bytes).map(|(header, seal)| Self::of(&header, seal));
        told.map_err(|error| with_path(error, path))
    }

    /// Reads all of a file, and compares all checksums with the contents. Takes about two mebibytes
    /// of host memory.
    ///
    /// # Errors
    /// [`FileError`](crate::error::FileError), which tells what is damaged and where, or contains
    /// the error of `from`.
    pub fn verify(mut from: impl Read) -> Result<Self> {
        let (header, seal) = read_header(&mut from, None)?;
        verify(&mut from, &header, seal)?;
        let needs = header.file_bytes();
        match read_up_to(&mut from, &mut [0])? {
            0 => Ok(Self::of(&header, seal)),
            more => Err(Error::File(FileError::Longer { has: needs + more as u64, needs })),
        }
    }

    fn of(header: &Header, seal: u64) -> Self {
        let number = |at: usize| header.numbers.get(at).copied().unwrap_or(0);
        let keys = number(0);
        let values = match (header.kind.form, header.kind.value_bytes) {
            (_, 0) => 0,
            ("MultiMap", _) => number(1),
            _ => keys,
        };
        let sections = section_names(&header.kind).into_iter().zip(header.sections.iter().copied()).collect();
        Self {
            kind: header.kind,
            format: super::header::VERSION,
            keys,
            values,
            bytes: header.file_bytes(),
            sections,
            checksum: seal,
        }
    }
}

/// Reads a header; returns the header's checksum, too.
pub(super) fn read_header(from: &mut dyn Read, bytes: Option<u64>) -> Result<(Header, u64)> {
    let mut page = vec![0; PAGE as usize];
    let read = read_up_to(from, &mut page)?;
    let (header, seal) = Header::decode(&page[..read])?;
    check_length(&header, bytes)?;
    if section_names(&header.kind).len() != header.sections.len() || header.numbers.len() < 2 {
        return Err(FileError::inconsistent("its header has other numbers or sections than such a table"));
    }
    Ok((header, seal))
}
