//! The sequences of a file.

use super::texts::Texts;
use needletail::errors::{ParseError, ParseErrorKind};
use needletail::parse_fastx_reader;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thiserror::Error;
use warpnest_applications_shared::memory;
use warpnest_applications_shared::size::Size;
use warpnest_applications_shared::text::{self, TextError};

/// The maximum bytes that the parser may take for a record: its text, and an offset for each line.
/// A record may also take at most an eighth of the memory left, because the parser has two copies
/// while a record grows, and packers hold earlier texts.
pub const MAX_RECORD_BYTES: u64 = 4 << 30;
/// The bytes of a line's offset.
const LINE_BYTES: u64 = 8;

/// The reason why a file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("{}: the file has no records; give a FASTA or FASTQ file", path.display())]
    NoRecords { path: PathBuf },
    #[error(
        "{}: neither FASTA nor FASTQ: the text begins with '{}', and not with '>' or '@'; plain files and gzip are read",
        path.display(),
        first.escape_ascii()
    )]
    Format { path: PathBuf, first: u8 },
    #[error(
        "{}: record {record} cannot be read; nothing was counted, so repair the file or fetch it again",
        path.display()
    )]
    Record { path: PathBuf, record: u64, source: ParseError },
    #[error(
        "{}: record {record} takes more than {limit} of memory; is this a file of sequences? If so, divide the record{}",
        path.display(),
        if limit.0 < MAX_RECORD_BYTES { ", or allow more by --memory" } else { "" }
    )]
    TooLong { path: PathBuf, record: u64, limit: Size },
}

/// Reads a file, plain or compressed by gzip, whatever its name, and returns the number of its
/// records. A record of more bytes than `limit` is refused. `progress` is called with the bytes as
/// they are read.
///
/// # Errors
/// [`ReadError`].
pub fn read(path: &Path, limit: u64, texts: &mut Texts, progress: &(dyn Fn(u64) + Sync)) -> Result<u64, ReadError> {
    let failed = |source| ReadError::from(TextError::Read { path: path.to_owned(), source });
    let limit = limit.min(memory::left() / 8);
    let taken = Arc::new(AtomicU64::new(0));
    let mut text = Weighed { inner: text::open(path, progress)?, taken: taken.clone(), limit };
    match first_letter(&mut text.inner).map_err(failed)? {
        Some(b'>' | b'@') => (),
        Some(first) => return Err(ReadError::Format { path: path.to_owned(), first }),
        None => return Err(ReadError::NoRecords { path: path.to_owned() }),
    }
    let mut records = 0;
    let of_record = |record: u64, source: ParseError| match source.kind {
        _ if taken.load(Relaxed) > limit => ReadError::TooLong { path: path.to_owned(), record, limit: Size(limit) },
        ParseErrorKind::EmptyFile => ReadError::NoRecords { path: path.to_owned() },
        ParseErrorKind::Io => failed(io::Error::other(source.msg)),
        _ => ReadError::Record { path: path.to_owned(), record, source },
    };
    let mut parser = parse_fastx_reader(text).map_err(|source| of_record(1, source))?;
    while let Some(record) = parser.next() {
        let record = record.map_err(|source| of_record(records + 1, source))?;
        texts.add(record.raw_seq());
        records += 1;
        taken.store(0, Relaxed);
    }
    Ok(records)
}

/// Returns the first byte that is not white space without consuming it, or `None` at the end.
fn first_letter(text: &mut dyn BufRead) -> io::Result<Option<u8>> {
    loop {
        let bytes = text.fill_buf()?;
        let spaces = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let (first, is_end) = (bytes.get(spaces).copied(), bytes.is_empty());
        text.consume(spaces);
        if first.is_some() || is_end {
            return Ok(first);
        }
    }
}

/// A reader that fails once a record would take too much memory.
struct Weighed<R> {
    inner: R,
    /// The number of bytes read since the last record.
    taken: Arc<AtomicU64>,
    limit: u64,
}

impl<R: Read> Read for Weighed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.taken.load(Relaxed) > self.limit {
            return Err(io::Error::other("a record is too long"));
        }
        let read = self.inner.read(bytes)?;
        let lines = bytes[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        self.taken.fetch_add(read as u64 + LINE_BYTES * lines, Relaxed);
        Ok(read)
    }
}
