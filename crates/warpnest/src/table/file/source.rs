//! The source of a file's bytes: a stream, or a file that can be read at any offset.

use crate::Result;
use crate::error::FileError;
use std::fs::File;
use std::io::{self, ErrorKind, Read};

/// The source of a file's bytes.
pub enum Source<'r> {
    /// A stream, which the calling thread reads from the beginning to the end.
    Stream(&'r mut dyn Read),
    /// A file, which any thread can read at any offset.
    File(&'r File),
}

impl<'r> Source<'r> {
    /// Returns the source of a file. A regular file can be read at any offset.
    pub fn of_file(file: &'r mut File, is_regular: bool) -> Self {
        if is_regular && cfg!(any(unix, windows)) { Self::File(file) } else { Self::Stream(file) }
    }

    /// Reads until `bytes` is full or the data ends. A file is read starting at offset `at`.
    /// Returns the count of bytes read.
    pub fn read_up_to(&mut self, at: u64, bytes: &mut [u8]) -> Result<usize> {
        match self {
            Self::Stream(from) => read_up_to(*from, bytes),
            Self::File(file) => read_file(file, at, bytes),
        }
    }
}

/// Reads a stream until `bytes` is full or the data ends; returns the count of bytes read.
pub(super) fn read_up_to(from: &mut dyn Read, bytes: &mut [u8]) -> Result<usize> {
    until_full(bytes, |rest, _| from.read(rest))
}

/// Reads a file, starting at offset `at`, until `bytes` is full or the data ends; returns the count
/// of bytes read.
pub(super) fn read_file(file: &File, at: u64, bytes: &mut [u8]) -> Result<usize> {
    until_full(bytes, |rest, done| read_at(file, rest, at + done as u64))
}

/// Calls `read` until `bytes` is full, with the part that is not yet filled and the length of the
/// filled part.
fn until_full(bytes: &mut [u8], mut read: impl FnMut(&mut [u8], usize) -> io::Result<usize>) -> Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match read(&mut bytes[done..], done) {
            Ok(0) => break,
            // A faulty reader may claim to have read more than was requested; that must not do
            // harm.
            Ok(read) => done = (done + read).min(bytes.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(FileError::io("read the table")(error)),
        }
    }
    Ok(done)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}

#[cfg(not(any(unix, windows)))]
fn read_at(_file: &File, _bytes: &mut [u8], _at: u64) -> io::Result<usize> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_read_at_any_place_up_to_its_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let read = |at, length| {
            let mut bytes = vec![b'-'; length];
            let read = read_file(&file, at, &mut bytes).unwrap();
            (read, String::from_utf8(bytes).unwrap())
        };
        assert_eq!(read(4, 3), (3, "456".to_owned()));
        assert_eq!(read(7, 5), (3, "789--".to_owned()));
        assert_eq!(read(10, 2), (0, "--".to_owned()));
        assert_eq!(read(0, 10).0, 10);
        // The file may shrink while it is read.
        file.set_len(5).unwrap();
        assert_eq!(read(4, 3), (1, "4--".to_owned()));
        assert_eq!(read(7, 3), (0, "---".to_owned()));
    }

    #[test]
    fn calls_are_repeated_until_all_is_there() {
        let mut answers = [Err(ErrorKind::Interrupted.into()), Ok(3), Ok(100)].into_iter();
        let mut calls = Vec::new();
        let read = until_full(&mut [0; 8], |rest, done| {
            calls.push((rest.len(), done));
            answers.next().unwrap()
        });
        assert_eq!((read, calls), (Ok(8), vec![(8, 0), (8, 0), (5, 3)]));
        assert!(until_full(&mut [0; 8], |_, _| Err(ErrorKind::PermissionDenied.into())).is_err());
    }
}
