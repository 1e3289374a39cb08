//! Text files, plain or compressed by gzip.

use crate::lines::LineEnds;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The number of bytes read at once.
const READ_BYTES: usize = 1 << 18;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The reason why a text cannot be read.
#[derive(Debug, Error)]
pub enum TextError {
    #[error("{}: is a folder; give the files in it", path.display())]
    Folder { path: PathBuf },
    #[error("{}: cannot read the file; give the path of a text, plain or compressed by gzip", path.display())]
    Read { path: PathBuf, source: io::Error },
}

/// A decompressed text whose lines end with a line feed.
pub type Text<'p> = Box<dyn BufRead + Send + 'p>;

/// Opens a file, whatever its name. `progress` is called with the bytes as they are read.
///
/// # Errors
/// [`TextError`].
pub fn open<'p>(path: &Path, progress: impl FnMut(u64) + Send + 'p) -> Result<Text<'p>, TextError> {
    let failed = |source| TextError::Read { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(TextError::Folder { path: path.to_owned() });
    }
    let file = Counted { inner: File::open(path).map_err(failed)?, progress };
    let mut file = BufReader::with_capacity(READ_BYTES, file);
    let is_compressed = file.fill_buf().map_err(failed)?.starts_with(&GZIP);
    Ok(if is_compressed {
        let unpacked = BufReader::with_capacity(READ_BYTES, MultiGzDecoder::new(file));
        Box::new(BufReader::with_capacity(READ_BYTES, LineEnds(unpacked)))
    } else {
        Box::new(BufReader::with_capacity(READ_BYTES, LineEnds(file)))
    })
}

/// A reader that reports how many bytes were read.
struct Counted<R, P> {
    inner: R,
    progress: P,
}

impl<R: Read, P: FnMut(u64)> Read for Counted<R, P> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        (self.progress)(read as u64);
        Ok(read)
    }
}
