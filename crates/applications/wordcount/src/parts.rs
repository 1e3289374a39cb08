//! The parts of a file, read one after the other. No word is divided between two parts.

use super::words::Kind;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thiserror::Error;
use warpnest_applications_shared::memory;
use warpnest_applications_shared::size::Size;
use warpnest_applications_shared::text::{self, Text, TextError};

/// The maximum bytes of a word, besides a sixteenth of the memory left, because a whole part is
/// kept.
pub const MAX_WORD_BYTES: u64 = 256 << 20;

/// The reason why the next part cannot be read.
#[derive(Debug, Error)]
pub enum PartError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("a word has more than {limit}, behind {lines} lines of the part")]
    Word { lines: u64, limit: Size },
}

/// A file read in parts, plain or compressed by gzip, whatever its name.
pub struct Parts {
    path: PathBuf,
    text: Text<'static>,
    kind: Kind,
    /// The number of bytes of a part, unless a word is longer.
    length: usize,
    max_word_bytes: usize,
    /// The end of the text that was read, with which the next part begins.
    rest: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl Parts {
    /// Opens a file. A part has `length` bytes of the text, or more if a word is longer.
    pub fn open(path: &Path, length: usize, kind: Kind) -> Result<Self, PartError> {
        let read = Arc::new(AtomicU64::new(0));
        let counter = read.clone();
        let text = text::open(path, move |bytes| {
            counter.fetch_add(bytes, Relaxed);
        })?;
        let max_word_bytes = MAX_WORD_BYTES.min(memory::left() / 16) as usize;
        Ok(Self { path: path.to_owned(), text, kind, length: length.max(1), max_word_bytes, rest: Vec::new(), read })
    }

    /// Returns how many bytes of the file were read.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// Reads the next part into `part`, and returns whether there was one. A part ends after a
    /// character that belongs to no word, or at the end of the text.
    pub fn next(&mut self, part: &mut Vec<u8>) -> Result<bool, PartError> {
        part.clear();
        part.append(&mut self.rest);
        let mut searched = 0;
        loop {
            let wanted = self.length.max(part.len()) as u64;
            let read = self.text.by_ref().take(wanted).read_to_end(part);
            let read = read.map_err(|source| TextError::Read { path: self.path.clone(), source })?;
            let last = part[searched..].iter().rposition(|byte| is_between(*byte, self.kind));
            let end = last.map_or(0, |last| searched + last + 1);
            if part.len() - end > self.max_word_bytes {
                let lines = part[..end].iter().filter(|byte| **byte == b'\n').count() as u64;
                return Err(PartError::Word { lines, limit: Size(self.max_word_bytes as u64) });
            }
            if read == 0 {
                return Ok(!part.is_empty());
            }
            if end > 0 {
                self.rest.extend_from_slice(&part[end..]);
                part.truncate(end);
                return Ok(true);
            }
            searched = part.len();
        }
    }
}

/// Returns whether a byte is a whole character in UTF-8 that belongs to no word.
fn is_between(byte: u8, kind: Kind) -> bool {
    match kind {
        Kind::Spaces => byte.is_ascii_whitespace(),
        Kind::Letters => byte.is_ascii() && !byte.is_ascii_alphanumeric() && byte != b'\'',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest_applications_shared::testing::{Folder, gzip};

    fn parts_of(bytes: &[u8], length: usize) -> Result<Vec<Vec<u8>>, PartError> {
        parts_within(bytes, length, Kind::Spaces, 1 << 20)
    }

    fn parts_within(bytes: &[u8], length: usize, kind: Kind, limit: usize) -> Result<Vec<Vec<u8>>, PartError> {
        let folder = Folder::new();
        let mut parts = Parts::open(folder.write("text", bytes).as_ref(), length, kind)?;
        parts.max_word_bytes = limit;
        let (mut part, mut all) = (Vec::new(), Vec::new());
        while parts.next(&mut part)? {
            all.push(part.clone());
        }
        assert_eq!(parts.bytes_read(), bytes.len() as u64);
        Ok(all)
    }

    #[test]
    fn parts_end_between_words_and_are_the_text() {
        let text = b"a bc\ndef  ghijklmnop\tq rs";
        for length in 1..30 {
            for bytes in [text.to_vec(), gzip(text)] {
                let parts = parts_of(&bytes, length).unwrap();
                assert_eq!(parts.concat(), text);
                let (last, others) = parts.split_last().unwrap();
                assert!(
                    others.iter().all(|part| part.ends_with(b" ") || part.ends_with(b"\n") || part.ends_with(b"\t"))
                );
                assert!(!last.is_empty() && parts.len() > 1 || length > text.len() / 2, "{length}: {parts:?}");
            }
        }
        assert_eq!(parts_of(b"", 4).unwrap(), [b""; 0]);
        let two = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(parts_of(&two, 100).unwrap().concat(), b"one two");
    }

    #[test]
    fn text_without_white_space_is_divided_where_no_word_of_letters_is() {
        let text = "one,two;'three'four\u{e9}-five".repeat(100);
        let parts = parts_within(text.as_bytes(), 30, Kind::Letters, 50).unwrap();
        assert!(parts.concat() == text.as_bytes() && parts.len() > 20, "{}", parts.len());
        let mut ends = parts[..parts.len() - 1].iter().map(|part| part[part.len() - 1]);
        assert!(ends.all(|byte| b",;-".contains(&byte)));
        assert!(matches!(parts_within(text.as_bytes(), 30, Kind::Spaces, 50), Err(PartError::Word { .. })));
    }

    #[test]
    fn a_word_beyond_the_limit_is_an_error_and_not_kept() {
        let text = [&b"short\n"[..], &b"a".repeat(1000)].concat();
        for kind in [Kind::Spaces, Kind::Letters] {
            let read = |limit| parts_within(&gzip(&text), 100, kind, limit);
            assert_eq!(read(1000).unwrap().concat(), text);
            // The part before has the line end, so no lines are counted.
            assert!(matches!(read(999), Err(PartError::Word { lines: 0, limit: Size(999) })));
        }
    }

    #[test]
    fn lines_end_in_every_way() {
        for text in ["a\nb\n", "a\rb\r"] {
            assert_eq!(parts_of(text.as_bytes(), 100).unwrap().concat(), b"a\nb\n");
        }
        assert_eq!(parts_of(b"a\r\nb\r\n", 100).unwrap().concat(), b"a\r\nb\r\n");
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let whole = gzip(&b"word ".repeat(1000));
        assert!(parts_of(&whole[..whole.len() - 9], 100).is_err());
    }
}
